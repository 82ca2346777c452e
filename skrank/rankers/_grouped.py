"""One estimator around all that rank: groups per row in, queries kept whole inside."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin, is_classifier
from sklearn.utils import ClassifierTags, Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from skrank import _validation as check
from skrank._cut_queries import warn_of_feature
from skrank._engine.collection import collection_grade
from skrank._engine.groups import require_groups
from skrank._fitted import restored_on_failure
from skrank._typing import Estimator, RandomState, Table
from skrank.metrics import Metric
from skrank.objectives import Objective
from skrank.rankers import _checks, _dask
from skrank.rankers._backends import backend_of
from skrank.rankers._base import Ranker
from skrank.rankers._rows import Rows, features
from skrank.rankers._start import Boosting, is_trained_on_queries, predictions
from skrank.rankers._task import task_of
from skrank.rankers._training import VALIDATION, Backend, Fitted


class GroupedRanker(MetaEstimatorMixin, Ranker):
    """A ranker for every tool of scikit-learn, around one of LightGBM, XGBoost or CatBoost.

    Rows come in any order, with the query of each: as `groups`, or on the index of `y` (see
    `skrank.with_groups`). The ranker sorts them by query, passes the queries on as the estimator
    wants them, and holds out whole queries for early stopping. Regressors and classifiers of grades
    can be wrapped too: they are trained on single rows.

    Parameters
    ----------
    estimator : estimator
        LGBMRanker, XGBRanker, CatBoostRanker, DaskLGBMRanker, DaskXGBRanker,
        HistGradientBoostingRegressor, any other regressor, classifier or Pipeline.
    objective : str, Metric or Objective, optional
        What LGBMRanker and XGBRanker train on, such as ``"gap"``, instead of their own objective.
    eval_metric : str, Metric or a sequence of them, optional
        What early stopping follows; of several, the first. For LightGBM, XGBoost, CatBoost and
        HistGradientBoosting, regressors included. Default: the metric of `objective`, in a mixture
        of objectives that of the first which has one; without one, nDCG@10 for LGBMRanker and
        XGBRanker unless they have a metric of their own, and the metric of the estimator for all
        others.
    validation_fraction : float, optional
        Share of the training queries to hold out for early stopping, alike in their numbers of
        relevant documents. Default: none, and no early stopping unless `fit` gets `X_val`.
    early_stopping_rounds : int, "auto" or None, default="auto"
        Rounds without improvement after which training stops, where there is validation; "auto" is
        50. None: values are recorded, and training goes on to the end. Without validation it always
        does, and warns if `eval_metric` or a number of rounds is given.
    refit : bool, default=False
        After early stopping on held-out queries, train on all queries for as many rounds as were
        best.
    init : estimator or "linear", optional
        A ranker or regressor whose scores boosting starts from, trained on the same rows. "linear":
        a `skrank.LinearRanker` on the metric of `objective`, or on GAP if that has none. For
        rankers and regressors of LightGBM, XGBoost and CatBoost, which get the scores as
        `init_score`, `base_margin` or `baseline`: in place of an intercept, before the link of the
        objective. Default: boosting starts from equal scores.
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
    scoring : str or Metric, default="ndcg@10"
        What `score` measures: one metric, whatever is trained or stopped on, so that searches over
        `objective` and `eval_metric` compare like with like.
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
        Highest grade, at least 1: among all labels of the `skrank.with_groups` that those of `fit`
        come from, else among those of `fit`. `skrank.scorer` reads it, so that folds share one
        scale.
    classes_ : ndarray of shape (n_classes,)
        Of `estimator_`, if it is a classifier.
    feature_importances_ : ndarray of shape (n_features,)
        Of `estimator_`, if it has them.
    coef_ : ndarray
        Of `estimator_`, if it is linear.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If `X` has names that are all strings.

    Notes
    -----
    * Give the estimator ``n_jobs=1`` in a search with ``n_jobs=2`` or more.
    * XGBoost is trained by `xgboost.train`, for XGBRanker takes no such objective and averages
      metrics wrongly; `estimator_` is an XGBRanker all the same.
    * HistGradientBoosting is trained once more for as many rounds as were best, for it predicts
      with all its rounds. Its own hold-out of rows, which tears queries apart, is switched off.
    * DaskLGBMRanker and DaskXGBRanker are trained on their cluster, on arrays or Dask collections;
      `estimator_` is an LGBMRanker or XGBRanker then.
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

    __metadata_request__fit: ClassVar[dict[str, object]] = {"position": True}
    _fitted_by: ClassVar[str] = "estimator_"

    def __init__(
        self,
        estimator: Estimator,
        *,
        objective: str | Metric | Objective | None = None,
        eval_metric: str | Metric | Sequence[str | Metric] | None = None,
        validation_fraction: float | None = None,
        early_stopping_rounds: int | str | None = "auto",
        refit: bool = False,
        init: str | Estimator | None = None,
        init_scale: float | None = 1.0,
        unjudged: str = "raise",
        max_queries: int | None = None,
        scoring: str | Metric = "ndcg@10",
        random_state: RandomState = None,
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
        self.scoring = scoring
        self.random_state = random_state

    def fit(
        self,
        X: Table,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        position: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: Table | None = None,
        y_val: ArrayLike | None = None,
        groups_val: ArrayLike | None = None,
        **fit_params: object,
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
        position : array-like of shape (n_rows,), optional
            Where each document was shown, for objectives that learn about positions: whole numbers
            of at least 0. Default: the order of the rows inside their query, with a warning.
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
        asked = {"groups": groups, "qid": qid, "sample_weight": sample_weight, "position": position}
        if not _dask.is_collection(X):
            check.check_same_index(X=X, y=y, **asked)
            check.check_same_index(X_val=X_val, y_val=y_val, groups_val=groups_val)
        _checks.check_parameters(self, backend, X_val, y_val)
        if _dask.is_collection(X):
            given = X, y, groups if qid is None else qid, sample_weight
            external = X_val, y_val, groups_val
            with restored_on_failure(self):
                found = _dask.fit_collections(self, backend, given, external, position, fit_params)
                return self._keep(*found)
        task = task_of(self, trains_objective=backend.trains_objective)
        validates = X_val is not None or self.validation_fraction is not None
        _checks.check_fit_params(fit_params, backend, validates or task.objective is not None)
        _checks.warn_of_no_validation(self, validates)
        with restored_on_failure(self):
            X = self._table(X, reset=True)
            warn_of_feature(X, self)
            check_consistent_length(X, y)
            ids = self._groups(backend, X, y, groups if qid is None else qid)
            graded = backend.ranks or self.eval_metric is not None
            rows = Rows(
                X, y, sample_weight, fit_params, groups=ids, positions=position,
                unjudged=self.unjudged, graded=graded or is_trained_on_queries(self.init),
            )  # fmt: skip
            _checks.check_shown(task.objective, rows)
            if backend.ranks:
                _checks.check_lists(rows)
            elif rows.weights is not None:
                check.check_row_weights(rows.weights)
            train = held_out = None
            if self.validation_fraction is not None or self.max_queries is not None:
                rng = check_random_state(self.random_state)
                train, held_out = rows.choose(self.max_queries, self.validation_fraction, rng)
            valid = None if self.validation_fraction is None else rows.part(held_out)
            if X_val is not None and y_val is not None:
                valid = self._external(X_val, y_val, groups_val, grouped=graded)
            labels = rows.y if valid is None else np.append(rows.y, valid.y)
            max_grade = collection_grade(y, labels)
            task = task.on_scale(max_grade)
            setting = Boosting(self, backend, task)
            fitted = setting.train(rows.part(train), valid)
            if self.refit and train is not None and held_out is not None and len(held_out):
                whole = rows.part(np.append(train, held_out))
                again = setting.train(whole, None, fitted.best_iteration)
                fitted = replace(again, evals=fitted.evals)
            return self._keep(fitted, max_grade)

    def _keep(self, fitted: Fitted, max_grade: int) -> GroupedRanker:
        self.max_grade_ = max_grade
        self.estimator_ = fitted.estimator
        self.best_iteration_ = fitted.best_iteration
        self.init_, self.init_factor_ = fitted.init, fitted.init_factor
        evals = {name: list(map(float, values)) for name, values in fitted.evals.items()}
        self.evals_result_ = {VALIDATION: evals} if evals else {}
        return self

    def predict(self, X: Table) -> np.ndarray:
        """Score rows: within a query, higher ranks first.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
            In the order of the rows. The expected grade, if the estimator is a classifier. With
            `init`, what the estimator predicts where its rounds add to those scores: their sum, or
            of a regressor with a link, as for counts, the inverse link of the sum.
        """
        if _dask.is_collection(X):
            return _dask.predict_collection(self, X)
        X = self._checked(X)
        fitted = Fitted(
            self.estimator_, self.best_iteration_, init=self.init_, init_factor=self.init_factor_
        )
        return predictions(fitted, X)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Table) -> np.ndarray:
        """Probability of each grade, if the estimator is a classifier.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns as in `classes_`.
        """
        X = self._checked(X)
        return self.estimator_.predict_proba(X)

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

    @property
    def classes_(self) -> np.ndarray:
        """Grades that the estimator tells apart, if it is a classifier."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.classes_

    def __sklearn_clone__(self) -> GroupedRanker:
        bare = copy.copy(self)  # the estimator may have a client, which a clone cannot copy
        bare.estimator = None
        made = super(GroupedRanker, bare).__sklearn_clone__()
        made.estimator = _dask.cloned(self.estimator, safe=False)
        return made

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if is_classifier(self.estimator):  # calibration asks for its probabilities
            tags.estimator_type, tags.regressor_tags = "classifier", None
            tags.classifier_tags = ClassifierTags(poor_score=True)
        try:
            tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        except (AttributeError, TypeError):  # an estimator from before scikit-learn's tags
            tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def _table(self, X: Table, *, reset: bool) -> Table:
        X = features(X, polars=backend_of(self.estimator).rounds is None)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    # parts of fit ---------------------------------------------------------------------------------

    def _groups(
        self, backend: Backend, X: Table, y: ArrayLike, groups: ArrayLike | None
    ) -> np.ndarray | None:
        """Query of each row, if it matters."""
        cuts = self.validation_fraction is not None or self.max_queries is not None
        if not backend.ranks and not cuts and not is_trained_on_queries(self.init):
            return None
        return require_groups(groups, y, X, who="GroupedRanker.fit")
