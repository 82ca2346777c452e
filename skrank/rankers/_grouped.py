"""GroupedRanker: a booster, or any other estimator, as a ranker that takes groups per row."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin, is_classifier
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from skrank import _validation as check
from skrank._fitted import predicted_scores
from skrank._progress import progress
from skrank._typing import Estimator, Options, RandomState, Table
from skrank.metrics import Metric
from skrank.objectives import Objective
from skrank.rankers import _checks, _dask
from skrank.rankers._base import Ranker, no_collections
from skrank.rankers._fit import Booster, Fit, Start, fit_of, trained_start
from skrank.rankers._kinds import kind_of
from skrank.rankers._linear import linear_init
from skrank.rankers._rows import Part, Rows, categories_of, with_categories
from skrank.scoring import RankingScorer


class GroupedRanker(MetaEstimatorMixin, Ranker):
    """A ranker of LightGBM, XGBoost or CatBoost, for all tools of scikit-learn.

    Rows may be in any order. The query of each row is given as `groups`, or on the index of `y`
    (see `skrank.with_groups`). The ranker sorts rows by query, passes the queries to the estimator
    by the argument that its `fit` has for them, and holds out whole queries for early stopping.
    Regressors and classifiers of grades can be wrapped too; they are trained on single rows.

    Parameters
    ----------
    estimator : estimator
        LGBMRanker, XGBRanker, CatBoostRanker, DaskLGBMRanker, DaskXGBRanker,
        HistGradientBoostingRegressor, any other regressor, classifier or Pipeline.
    objective : str, Metric or Objective, optional
        Objective of LGBMRanker and XGBRanker in place of their own. The name of a metric, such as
        ``"gap"``, is LambdaRank on this metric. Others are ``"softmax"``,
        ``"softrank:gap"``, or a sum such as ``0.9 * LambdaRank("gap") + 0.1 * Softmax()``.
        Parameters of the estimator's own losses, such as label_gain, are refused with it.
    eval_metric : str, Metric or a sequence of them, optional
        Metric for early stopping; the first of several. For LightGBM, XGBoost, CatBoost and
        HistGradientBoosting, regressors included. Default: the metric of `objective`; of a mixture,
        the first metric of its objectives. Without one, nDCG@10 for LGBMRanker and XGBRanker,
        unless they have a metric parameter, and the estimator's own metric otherwise.
    validation_fraction : float, optional
        Share of the training queries to hold out for early stopping, stratified by their numbers of
        relevant documents. Default: none, and no early stopping unless `fit` gets `X_val`.
    early_stopping_rounds : int, "auto" or None, default="auto"
        With validation rows, training stops after this number of rounds without improvement; "auto"
        is 50. None: values are recorded, and all rounds are trained. Without validation rows, all
        rounds are trained, with a warning if `eval_metric` or a number is given.
    init : estimator or "linear", optional
        A ranker or regressor, trained on the same rows, whose scores boosting starts from.
        "linear": a `skrank.LinearRanker` on the metric of `objective`, or on GAP if `objective` has
        no metric. If labels are not grades, it is trained on nDCG, with gain "linear" unless nDCG
        is the metric of `objective`. For rankers and regressors of LightGBM, XGBoost and CatBoost,
        which get the scores as `init_score`, `base_margin` or `baseline`. The scores replace the
        intercept; regressors whose objective has a link, such as Poisson, are refused, and monotone
        constraints of the estimator if the start has none. A fitted
        model in a `sklearn.frozen.FrozenEstimator` is not trained again: with ``init_scale=None``,
        rounds are added to it. Default: boosting starts from equal scores.
    init_scale : float or None, default=1.0
        The scores of `init` are multiplied so that their standard deviation inside queries (of all
        rows, if no queries are needed) is this number; the larger it is, the more trees are needed
        to correct them. None: not multiplied.
    max_queries : int, optional
        Train on at most this number of queries, drawn at random, of which `validation_fraction` are
        held out; a larger number draws the same queries and further ones. For learning curves
        (`validation_curve`) and for halving (``resource="max_queries"``), which would otherwise cut
        queries.
    options : mapping, optional
        Settings that are rarely changed:

        - "unjudged" (default "raise"): `fit` raises an error for documents without a judgment
          (label NaN). "drop": these are left out. "zero": they are not relevant;
        - "refit" (default False): True trains on all queries, after early stopping on held-out
          queries, for the best number of rounds, with the other parameters unchanged, such as
          learning rates that CatBoost chooses.
    scoring : str, Metric or scorer, default="ndcg@10"
        Metric of `score`.
    progress : bool, optional
        Show a bar of the rounds of LightGBM, XGBoost and CatBoost. Default: on a terminal, after
        two seconds.
    random_state : int, RandomState instance or None, default=None
        Seed of the queries held out and drawn. The draw depends on the seed and the query ids, not
        on the order of the rows.

    Attributes
    ----------
    estimator_ : fitted estimator
    best_iteration_ : int or None
        Number of rounds that predictions use; None for an estimator without rounds. With `init`
        and early stopping, 0 if no round was better on held-out queries than the start.
    init_ : fitted estimator or None
        The model whose scores boosting started from.
    init_factor_ : float
        Factor of the scores of `init_`; 0 if these are constant inside queries, and without `init`.
    evals_result_ : dict of str to dict of str to list of float
        ``evals_result_["validation"]["gap@10"]``: values per round, with validation rows; with
        `init`, the value of the start comes first, but for the estimator's own metrics.
    max_grade_ : int
        Highest grade, at least 1: of all labels that were passed to `skrank.with_groups`, if `y` is
        a part of its result; otherwise of the labels of `fit`. `skrank.scorer` reads it, so that
        all folds have the same scale.
    classes_ : ndarray of shape (n_classes,)
        Of `estimator_`, if it is a classifier.
    feature_importances_ : ndarray of shape (n_features,)
        Of `estimator_`, if it has this attribute.
    coef_ : ndarray
        Of `estimator_`, if it is linear.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If `X` has names that are all strings.

    Notes
    -----
    Each of three metrics decides one thing:

    =============  =======================================  ======================================
    parameter      decides                                  default
    =============  =======================================  ======================================
    `objective`    what training improves                   the estimator's own objective
    `eval_metric`  when training stops, on validation rows  the metric of `objective`
    `scoring`      what `score` and searches report         nDCG@10, whatever is trained
    =============  =======================================  ======================================

    * Further arguments of `fit` are passed on to `fit` of the estimator. Arguments of boosters for
      groups, start scores, validation rows and models to continue are refused, as GroupedRanker has
      its own. For other estimators, values with an entry per row follow their rows.
    * Give the estimator ``n_jobs=1`` in a search with ``n_jobs=2`` or more.
    * XGBoost is trained by `xgboost.train`, since XGBRanker does not take objectives of skrank, and
      weighs queries by their size in metrics. `estimator_` is an XGBRanker.
    * HistGradientBoosting trains all rounds, and is trained a second time for the best number of
      rounds, since it predicts with all its rounds. Its own early stopping, which holds out single
      rows, is switched off.
    * DaskLGBMRanker and DaskXGBRanker are trained on their cluster, on arrays or Dask collections.
      `init` and validation rows are in the memory of the client: of collections, at most 1,000,000
      rows, in queries that are drawn at random. Predictions of collections are collections.
      `estimator_` is an LGBMRanker or XGBRanker. DaskLGBMRanker is validated after training.
    * Tools that split or draw rows cut queries: use `max_queries` in place of `learning_curve` and
      of halving over ``"n_samples"``, and `skrank.QueryKFold` in place of `KFold`. See
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

    _inner: ClassVar[tuple[str, ...]] = ("estimator", "init")
    _defaults: ClassVar[Options] = {"unjudged": "raise", "refit": False}
    _categories: dict[object, object]  # dtypes of the training rows' categories, by column
    _named_columns: set[object]  # columns that parameters of the estimator name, as categories

    def __init__(
        self,
        estimator: Estimator,
        *,
        objective: str | Metric | Objective | None = None,
        eval_metric: str | Metric | Sequence[str | Metric] | None = None,
        validation_fraction: float | None = None,
        early_stopping_rounds: int | str | None = "auto",
        init: str | Estimator | None = None,
        init_scale: float | None = 1.0,
        max_queries: int | None = None,
        options: Options | None = None,
        scoring: str | Metric | RankingScorer = "ndcg@10",
        progress: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.eval_metric = eval_metric
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.init = init
        self.init_scale = init_scale
        self.max_queries = max_queries
        self.options = options
        self.scoring = scoring
        self.progress = progress
        self.random_state = random_state

    def fit(
        self,
        X: Table,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        X_val: Table | None = None,
        y_val: ArrayLike | None = None,
        groups_val: ArrayLike | None = None,
        **fit_params: object,
    ) -> GroupedRanker:
        _checks.check_fit_params(self, fit_params)
        rows = Rows(X, y, groups, sample_weight, fit_params)
        return self._fit(rows, X_val, y_val, groups_val)

    def _predict(self, X: Table) -> np.ndarray:
        if not self.init_factor_:
            return predicted_scores(self.estimator_, X)
        scores = Start(self.init_, self.init_factor_).scores(X)
        if self.best_iteration_ == 0:  # no round was better than the start
            return scores
        kind = kind_of(self.estimator_)
        assert isinstance(kind, Booster)  # no other kind has a start
        return scores + kind.margins(self.estimator_, X)

    @available_if(attrgetter("estimator.predict_proba"))
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
        # classifiers stop at their best round by themselves, and none of them has a start
        return self.estimator_.predict_proba(self._checked(X))

    def __getattr__(self, name: str) -> Any:
        if name in ("feature_importances_", "coef_", "classes_") and "estimator_" in vars(self):
            value = getattr(self.estimator_, name)
            if np.ndim(value) == 0:  # None of CatBoost, whose importances for rankings need rows
                return self.estimator_.get_feature_importance(type="PredictionValuesChange")
            return value
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def get_metadata_routing(self) -> MetadataRequest:
        """Get the metadata that `fit` and `score` request.

        Returns
        -------
        MetadataRequest
            Arguments of `fit` of the estimator, such as `categorical_feature`, are requested as
            well, so that tools of scikit-learn pass them on if metadata routing is enabled.
        """
        requests = super().get_metadata_routing()
        known = {*signature(type(self).fit).parameters, *requests.fit.requests}
        if not hasattr(self.estimator, "fit"):
            return requests
        for name, parameter in signature(self.estimator.fit).parameters.items():
            is_any = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if name not in known and not is_any:
                requests.fit.add_request(param=name, alias=True)
        return requests

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if is_classifier(self.estimator):  # CalibratedClassifierCV then uses predict_proba
            tags.estimator_type, tags.regressor_tags = "classifier", None
            tags.classifier_tags = ClassifierTags(poor_score=True)
        try:
            tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        except (AttributeError, TypeError):  # no tags, as before scikit-learn 1.6, or a class
            tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    # steps of fit ---------------------------------------------------------------------------------
    # `Ranker._fit` calls `_check_parameters`; then `_train_on_dask` for collections; else `_table`
    # and `_needs_queries` for training and validation rows, and `_train` with these rows, whose X
    # is a table and whose groups are query ids, or None where no queries are needed.
    # `kind_of(estimator)` knows how estimators of its class are trained, and what they support.
    # `Ranker._checked`, for predictions, checks that the ranker is fitted and calls `_table`.

    def _check_parameters(self, *, has_X_val: bool) -> None:
        _checks.check_parameters(self, has_X_val=has_X_val)

    def _table(self, X: Table, *, reset: bool) -> Table:
        kind = kind_of(self.estimator)
        # boosters read categories of pandas only
        X = check.feature_table(X, keep_polars=not kind.rounds_parameters)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not kind.rounds_parameters:  # such as a pipeline, which encodes columns itself
            return X
        named = vars(self).get("_named_columns")
        if named is None:  # trained on Dask: boosters check columns, and store levels of categories
            return X
        if reset:
            self._categories = categories_of(X)
        remedy = check.MAKE_CATEGORY if reset else check.WAS_NUMBER
        X = check.number_columns(X, remedy, named, categories=self._categories)
        # HistGradientBoosting itself reads unknown levels as missing
        if isinstance(kind, Booster) and hasattr(X, "dtypes"):
            return with_categories(X, self._categories, as_text=kind.text_categories)
        return X

    def _resolved(self, rows: Rows, *, validation: bool) -> Rows:
        kind = kind_of(self.estimator)
        if not validation:
            self._named_columns = kind.named_columns(self.estimator, rows.params)
        rows = super()._resolved(rows, validation=validation)
        kind.check_table(rows.X, self.estimator)
        return rows

    def _needs_queries(self, *, validation: bool) -> bool:
        if kind_of(self.estimator).trains_on_queries:
            return True
        if validation:
            return self.eval_metric is not None
        draws_queries = self.validation_fraction is not None or self.max_queries is not None
        return draws_queries or _trains_on_queries(self.init)

    @property
    def _graded(self) -> bool:
        """True for a model that ranks, and for a ranking metric."""
        ranks = kind_of(self.estimator).trains_on_queries or _trains_on_queries(self.init)
        return ranks or self.eval_metric is not None

    def _train(self, train: Rows, valid: Part | None) -> None:
        kind = kind_of(self.estimator)
        options = self._options()
        rows = train.check(unjudged=options["unjudged"], graded=self._graded)
        if kind.trains_on_queries:
            rows.refuse_single_rows()
        elif rows.weights is not None:  # `Fit.run` checks the weights of queries
            check.check_weights(rows.weights, "sample_weight of row {}".format)

        # no query is held out if X_val is given, which is refused together with
        # `validation_fraction`
        chosen, held_out = rows.choose(
            self.max_queries, self.validation_fraction, self.random_state
        )
        validation = rows.part(held_out) if len(held_out) else valid
        max_grade = rows.max_grade(validation)

        # parts are sorted by query; boosters have no arguments of `fit` with an entry per row
        boosts = bool(kind.rounds_parameters)
        fit = self._trained(rows.part(chosen, slices_params=not boosts), validation, max_grade)
        if options["refit"] and len(held_out):
            assert chosen is not None
            fit = self._trained(rows.part(np.append(chosen, held_out)), None, max_grade, fit)
        self._set_attributes(fit, max_grade)

    def _train_on_dask(self, train: Rows, valid: Rows | None) -> None:
        if not kind_of(self.estimator).on_workers:
            raise no_collections(self)
        self.__dict__.pop("_named_columns", None)  # of an earlier fit
        # workers keep the rows as long as `_loaded` exists
        train_part, valid_part, refit, max_grade, _loaded = _dask.parts_of(self, train, valid)
        fit = self._trained(train_part, valid_part, max_grade)
        if self._options()["refit"] and refit is not None:
            fit = self._trained(refit, None, max_grade, fit)
        self._set_attributes(fit, max_grade)

    def _trained(
        self, train: Part, validation: Part | None, max_grade: int, stopped: Fit | None = None
    ) -> Fit:
        """Train clones of `init` and of the estimator; the returned Fit holds the results.

        With `validation`, training stops early, and `best_iteration` is the best round; without
        early stopping, it is the number of all rounds (None for an estimator without rounds).
        `stopped`, a training that stopped early, is repeated on the rows of `train` for its best
        number of rounds; if this is 0, predictions are the scores of `init`.
        """
        kind = kind_of(self.estimator)
        fit = fit_of(self, kind, train, validation, max_grade)
        if self.init is not None:
            init, is_linear = self.init, isinstance(self.init, str)
            if train.loaded is not None:  # `init` is trained in the memory of the client
                train = _dask.drawn(train.loaded, init).check().part()
            if is_linear:
                init = linear_init(fit, grades=check.are_grades(train.y))
            fit.start = trained_start(kind_of(init), init, self.init_scale, train, shared=is_linear)
        boosts = isinstance(kind, Booster) and not kind.on_workers
        if stopped is not None:
            kind.repeat(fit, stopped)
        rounds = kind.n_rounds(fit.estimator) if boosts else None
        with progress(self.progress if boosts else False, rounds, "rounds") as fit.bar:
            fit.run()
        if stopped is not None:
            fit.log = stopped.log
            if stopped.best_iteration == 0 and fit.start.factor:
                fit.best_iteration = 0
        return fit

    def _set_attributes(self, fit: Fit, max_grade: int) -> None:
        self.max_grade_ = max_grade
        self.estimator_ = fit.estimator
        self.best_iteration_ = fit.best_iteration
        self.init_, self.init_factor_ = fit.start.init, fit.start.factor
        log = {name: list(map(float, values)) for name, values in fit.log.items()}
        self.evals_result_ = {fit.valid_name: log} if log else {}


def _trains_on_queries(init: str | Estimator | None) -> bool:
    """True if `init` is a ranker, "linear" included."""
    return isinstance(init, str) or (init is not None and kind_of(init).trains_on_queries)
