"""One estimator around all that rank: groups per row in, queries kept whole inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import RegressorTags, check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from skrank import _validation as check
from skrank._boosters.adapters import highest_grade
from skrank._cut_queries import TrainedOn, warn_of_feature, warn_of_split
from skrank._engine.groups import require_groups
from skrank._fitted import predicted_scores
from skrank.evaluation._evaluate import unique_metrics
from skrank.metrics import Metric, metric
from skrank.objectives import Objective, as_objective
from skrank.rankers._backends import backend_of
from skrank.rankers._checks import check_fit_params, check_lists, check_parameters
from skrank.rankers._rows import Part, Rows, features
from skrank.rankers._start import Boosting, scores_of
from skrank.rankers._training import VALIDATION, Backend, Task
from skrank.scoring import scorer

_OWN_METRIC = "ndcg@10"  # early stopping of rankers whose objective is their own


class GroupedRanker(MetaEstimatorMixin, BaseEstimator):
    """A ranker for every tool of scikit-learn, around one of LightGBM, XGBoost or CatBoost.

    Rows come in any order, with the query of each: as `groups`, or on the index of `y` (see
    `skrank.with_groups`). The ranker sorts them by query, passes the queries on as the estimator
    wants them, and holds out whole queries for early stopping. Regressors and classifiers of grades
    can be wrapped too: they are trained on single rows.

    Parameters
    ----------
    estimator : estimator
        LGBMRanker, XGBRanker, CatBoostRanker, HistGradientBoostingRegressor, any other regressor,
        classifier or Pipeline.
    objective : str, Metric or Objective, optional
        What LGBMRanker and XGBRanker train on, such as ``"gap"``, instead of their own objective.
    eval_metric : str, Metric or a sequence of them, optional
        What early stopping follows, and what `score` measures; of several, the first. For LightGBM,
        XGBoost, CatBoost and HistGradientBoosting, regressors included. Default: the metric of
        `objective`, in a mixture of objectives that of the first which has one; without one,
        nDCG@10 for LGBMRanker and XGBRanker unless they have a metric of their own, and the metric
        of the estimator for all others.
    validation_fraction : float, optional
        Share of the training queries to hold out for early stopping, alike in their numbers of
        relevant documents. Default: none, and no early stopping unless `fit` gets `X_val`.
    early_stopping_rounds : int or None, default=50
        Rounds without improvement after which training stops, where there is validation. None:
        values are recorded, and training goes on to the end.
    refit : bool, default=False
        After early stopping on held-out queries, train on all queries for as many rounds as were
        best.
    init : estimator or "linear", optional
        A ranker or regressor whose scores boosting starts from, trained on the same rows. "linear":
        a `skrank.LinearRanker` on the metric of `objective`, or on GAP if that has none. For
        rankers and regressors of LightGBM, XGBoost and CatBoost. Default: boosting starts from
        equal scores.
    init_scale : float or None, default=1.0
        Standard deviation inside queries to which the scores of `init` are brought; the larger, the
        more trees it takes to correct them. None: scores as they are.
    unjudged : {"raise", "drop", "zero"}, default="raise"
        What to do with documents that were not judged (label NaN) in `fit`: refuse them, leave them
        out, or take them for not relevant.
    max_queries : int, optional
        Train on no more than so many queries, drawn at random; more of them include the fewer. For
        learning curves (`validation_curve`) and for halving (``resource="max_queries"``), which
        otherwise cut through queries.
    random_state : int, RandomState instance or None, default=None
        Seed of the queries held out and drawn. They depend on it and on the query ids, not on the
        order of the rows.

    Attributes
    ----------
    estimator_ : fitted estimator
    best_iteration_ : int or None
        Rounds that predictions use; None for an estimator without rounds. With `init`, 0 if no
        round was better than the start on held-out queries.
    init_ : fitted estimator or None
        What boosting started from.
    init_factor_ : float
        What the scores of `init_` are multiplied by; 0 where they are constant inside queries.
    evals_result_ : dict of str to dict of str to list of float
        ``evals_result_["validation"]["gap@10"]``: values per round, where there is validation; with
        `init`, that of the start first.
    max_grade_ : int
        Highest grade among the labels, at least 1. `skrank.scorer` reads it, so that folds share
        one scale.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Of `estimator_`, if it has them.
    coef_ : ndarray
        Of `estimator_`, if it is linear.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If `X` has names that are all strings.

    Notes
    -----
    * Give the estimator ``n_jobs=1`` in a search with ``n_jobs=2`` or more.
    * XGBoost is trained by `xgboost.train`, for XGBRanker takes no such objective and averages
      metrics wrongly; `estimator_` is an XGBRanker all the same.
    * HistGradientBoosting is trained once more for as many rounds as were best, for it predicts
      with all its rounds. Its own hold-out of rows, which tears queries apart, is switched off.
    * Tools that cut or draw rows tear queries apart: use `max_queries` in place of `learning_curve`
      and of halving over ``"n_samples"``, and `skrank.QueryKFold` in place of `KFold`. See
      `skrank.CutQueryWarning`.

    Examples
    --------
    >>> import lightgbm, skrank
    >>> from skrank.datasets import make_ranking
    >>> from skrank import GroupedRanker
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> y = skrank.with_groups(data.relevance, data.qid)
    >>> ranker = GroupedRanker(
    ...     lightgbm.LGBMRanker(n_estimators=30, verbosity=-1), objective="gap",
    ...     eval_metric="gap@10", validation_fraction=0.2, early_stopping_rounds=5, random_state=0,
    ... ).fit(data.X, y)
    >>> len(ranker.evals_result_["validation"]["gap@10"]) >= ranker.best_iteration_
    True
    >>> ranker.score(data.X, y) > 0.4
    True
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": True, "qid": UNUSED}
    __metadata_request__score: ClassVar[dict[str, Any]] = {"groups": True}

    def __init__(
        self,
        estimator: Any,
        *,
        objective: str | Metric | Objective | None = None,
        eval_metric: str | Metric | Sequence[str | Metric] | None = None,
        validation_fraction: float | None = None,
        early_stopping_rounds: int | None = 50,
        refit: bool = False,
        init: Any = None,
        init_scale: float | None = 1.0,
        unjudged: str = "raise",
        max_queries: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.eval_metric = eval_metric
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.refit = refit
        self.init = init
        self.init_scale = init_scale
        self.unjudged = unjudged
        self.max_queries = max_queries
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        groups_val: Any = None,
        **fit_params: Any,
    ) -> GroupedRanker:
        """Train.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Whatever the estimator takes: array, DataFrame, sparse matrix.
        y : array-like of shape (n_rows,)
            Labels, at least 0 for a ranker.
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `y`, or of `X`.
        qid : array-like of shape (n_rows,), optional
            Another name for `groups`.
        sample_weight : array-like of shape (n_rows,), optional
            Weights; for a ranker, constant inside a query.
        X_val, y_val, groups_val : optional
            Rows to validate on, instead of `validation_fraction`.
        **fit_params
            Passed on to `fit` of the estimator. Values with an entry per row are sorted with them.

        Returns
        -------
        GroupedRanker
            Itself, fitted.

        Raises
        ------
        ValueError
            If groups are missing where they are needed, of the wrong length, or disagree; if a
            label is negative or NaN; if weights vary inside a query; if the estimator cannot take
            the objective, the metric, or early stopping.
        """
        if groups is not None and qid is not None:
            raise ValueError("groups and qid are two names for the query of each row: give one.")
        if y is None:
            raise ValueError("GroupedRanker requires y to be passed, but the target y is None.")
        backend = backend_of(self.estimator)
        check_parameters(self, backend, X_val, y_val)
        validates = X_val is not None or self.validation_fraction is not None
        check_fit_params(fit_params, backend, validates)
        X = features(X, polars=backend.rounds is None)
        validate_data(self, X, skip_check_array=True)
        warn_of_feature([self])
        check_consistent_length(X, y)
        rows = self._rows(backend, X, y, groups if qid is None else qid, sample_weight, fit_params)
        trained_on = None
        if backend.ranks:
            check_lists(rows)
        if rows.codes is not None:
            trained_on = TrainedOn.of(y, rows.ids, np.bincount(rows.codes))
        train, held_out = self._choose(rows)
        valid = None if held_out is None else rows.part(held_out)
        if X_val is not None:
            valid = self._external(backend, X_val, y_val, groups_val)
            if trained_on is not None and valid.known is not None:
                trained_on.warn_of(y_val, valid.queries, "validated on")
        labels = rows.y if valid is None else np.append(rows.y, valid.y)
        self.max_grade_ = highest_grade(labels.astype(np.float64))
        task = self._task(backend)
        setting = Boosting(self.estimator, backend, self.init, self.init_scale, task)
        fitted = setting.train(rows.part(train), valid)
        if self.refit and train is not None and held_out is not None:
            whole = rows.part(np.append(train, held_out))
            again = setting.train(whole, None, fitted.best_iteration)
            fitted = replace(again, evals=fitted.evals)
        self.estimator_ = fitted.estimator
        self.best_iteration_ = fitted.best_iteration
        self.init_, self.init_factor_ = fitted.init, fitted.init_factor
        evals = {name: list(map(float, values)) for name, values in fitted.evals.items()}
        self.evals_result_ = {VALIDATION: evals} if evals else {}
        self._trained_on = trained_on
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Score rows: within a query, higher ranks first.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
            In the order of the rows. The expected grade, if the estimator is a classifier. With
            `init`, the sum of what it scores and what the rounds add.
        """
        X = self._checked(X)
        if self.init_ is None:
            return predicted_scores(self.estimator_, X)
        start = scores_of(self.init_, self.init_factor_, X)
        return start if self.best_iteration_ == 0 else start + predicted_scores(self.estimator_, X)

    def score(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> float:
        """Measure the ranking of rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `y`, or of `X`.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row's query, constant inside a query.

        Returns
        -------
        float
            Mean over queries of the first `eval_metric`, else of the metric of `objective`, else
            GAP; negated if lower is better.
        """
        self._checked(X)
        chosen = self._named_metrics() or {"gap": metric("gap")}
        one = next(iter(chosen.values()))
        return scorer(one)(self, X, y, groups=groups, sample_weight=sample_weight)  # type: ignore[return-value]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importances of the features, as the estimator measures them."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.feature_importances_

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, if the estimator is linear."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.coef_

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__().items()
        # what the ranker was trained on tells of labels in this process
        return {name: value for name, value in state if name != "_trained_on"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # ensembles take it for what it is to them: one number per row, the higher the better
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags(poor_score=True)
        tags.target_tags.required = True
        try:
            tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        except (AttributeError, TypeError):  # an estimator from before scikit-learn's tags
            tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def _checked(self, X: Any) -> Any:
        """Rows to score, with the features that the ranker was trained on."""
        check_is_fitted(self, "estimator_")
        X = features(X, polars=backend_of(self.estimator).rounds is None)
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    # parts of fit ---------------------------------------------------------------------------------

    def _rows(
        self, backend: Backend, X: Any, y: Any, groups: Any, weight: Any, params: dict[str, Any]
    ) -> Rows:
        cuts = self.validation_fraction is not None or self.max_queries is not None
        ids, self._split_seen = None, False
        if backend.ranks or cuts:
            ids = require_groups(groups, y, X, who="GroupedRanker.fit")
            self._split_seen = warn_of_split(ids)
        graded = backend.ranks or self.eval_metric is not None
        rows = Rows(X, y, weight, params, groups=ids, unjudged=self.unjudged, graded=graded)
        objective = self._objective()
        if objective is not None and objective.takes_positions:
            check.check_rows_shown(rows.kept)
        return rows

    def _choose(self, rows: Rows) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Queries to train and to validate on; None: all, or none."""
        if self.validation_fraction is None and self.max_queries is None:
            return None, None
        rng = check_random_state(self.random_state)
        train, held_out = rows.choose(self.max_queries, self.validation_fraction, rng)
        return train, held_out if len(held_out) else None

    def _external(self, backend: Backend, X_val: Any, y_val: Any, groups_val: Any) -> Part:
        check_consistent_length(X_val, y_val)
        ids = None
        if backend.ranks or self.eval_metric is not None:
            ids = require_groups(groups_val, y_val, X_val, who="validation (groups_val)")
        X_val = features(X_val, polars=backend.rounds is None)
        return Rows(X_val, y_val, groups=ids, unjudged=self.unjudged).part()

    def _objective(self) -> Objective | None:
        return None if self.objective is None else as_objective(self.objective)

    def _named_metrics(self) -> dict[str, Metric]:
        """The metrics that were asked for, by name."""
        chosen: Any = self.eval_metric
        if chosen is None:
            objective = self._objective()
            terms = () if objective is None else objective.terms
            chosen = next((one.metric for _, one in terms if hasattr(one, "metric")), None)
        if chosen is None:
            return {}
        return unique_metrics([chosen] if isinstance(chosen, (str, Metric)) else chosen)

    def _task(self, backend: Backend) -> Task:
        """What to train on; the scale of grades is that of all labels, whichever part has them."""
        objective = self._objective()
        metrics = self._named_metrics()
        if not metrics and backend.trains_objective and not self._has_own_metric():
            metrics = {_OWN_METRIC: metric(_OWN_METRIC)}
        if objective is not None:
            objective = objective.on_scale(self.max_grade_)
        metrics = {name: one.on_scale(self.max_grade_) for name, one in metrics.items()}
        return Task(objective, metrics, self.early_stopping_rounds)

    def _has_own_metric(self) -> bool:
        params = self.estimator.get_params(deep=False)
        return any(params.get(name) for name in ("metric", "metrics", "eval_metric"))
