"""RankerMean: the weighted mean of the scores of several rankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import Bunch, Tags, get_tags
from sklearn.utils.validation import validate_data

from skrank import _validation as check
from skrank._engine.groups import collection_grade, index_level, with_groups, without_queries
from skrank._fitted import cloned, predicted_scores
from skrank._typing import Estimator, Options, Table
from skrank.dask._partitions import head_of
from skrank.metrics import Metric
from skrank.rankers._base import Ranker, no_collections
from skrank.rankers._dask import drawn, loaded
from skrank.rankers._fit import finite, shared_starts
from skrank.rankers._kinds import OtherKind, kind_of, weight_argument
from skrank.rankers._rows import Part, Rows
from skrank.scoring import RankingScorer

Named: TypeAlias = tuple[str, Estimator]


class RankerMean(MetaEstimatorMixin, Ranker):
    """The mean of the scores of several rankers.

    Rankers with different errors correct each other: the mean of two rankers often ranks better
    than each of them. It takes the time of both. Each ranker is trained on the same queries.

    The scores of each ranker are divided by their standard deviation inside the training queries.
    The score of a row thus depends on this row only, and `predict` needs no groups.

    Parameters
    ----------
    estimators : sequence of rankers, or of (str, ranker)
        A `skrank.GroupedRanker`, a `skrank.LinearRanker`, a Pipeline or a search with such a
        ranker, any regressor, or a classifier of grades. A ranker without a name gets the name of
        its class in lower case, with a number if several have the same class, as in
        `sklearn.pipeline.make_union`. Names are prefixes of parameters: ``grouped__init_scale``.
    weights : sequence of float, optional
        Weights of the rankers. Default: equal.
    scoring : str, Metric or scorer, default="ndcg@10"
        Metric of `score`.

    Attributes
    ----------
    estimators_ : list of fitted rankers
    named_estimators_ : Bunch
        The fitted rankers by name.
    weights_ : ndarray of shape (n_rankers,)
        Weights, which sum to 1.
    factors_ : ndarray of shape (n_rankers,)
        Weights divided by the standard deviations of scores; 0 for scores that are constant inside
        queries. A prediction is the sum of the rankers' scores times their factors.
    max_grade_ : int
        Highest grade among the labels, at least 1. `skrank.scorer` reads it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If `X` has names that are all strings.

    See Also
    --------
    skrank.GroupedRanker : boosters, which can start from a linear ranker.

    Notes
    -----
    For a mean over seeds, give the same ranker with other seeds, as in the example. Rankers that
    stop early hold out queries by their own `validation_fraction`.

    Examples
    --------
    >>> import lightgbm, skrank
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> y = skrank.with_groups(data.relevance, data.qid)
    >>> def boosted(seed):
    ...     trees = lightgbm.LGBMRanker(
    ...         n_estimators=30, extra_trees=True, random_state=seed, verbosity=-1
    ...     )
    ...     return skrank.GroupedRanker(trees, objective="gap", init="linear")
    >>> mean = skrank.RankerMean([boosted(0), boosted(1)]).fit(data.X, y)
    >>> mean.weights_
    array([0.5, 0.5])
    >>> list(mean.named_estimators_)
    ['groupedranker-1', 'groupedranker-2']
    >>> mean.score(data.X, y) > 0.6
    True
    """

    _inner: ClassVar[tuple[str, ...]] = ("estimators",)

    def __init__(
        self,
        estimators: Sequence[Estimator | Named],
        *,
        weights: Sequence[float] | None = None,
        scoring: str | Metric | RankingScorer = "ndcg@10",
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.scoring = scoring

    def _predict(self, X: Table) -> np.ndarray:
        total = np.zeros(X.shape[0])
        rankers = self.named_estimators_.items()
        for (name, ranker), factor in zip(rankers, self.factors_, strict=True):
            if factor:
                total += factor * _finite_scores(name, ranker, X)
        return total

    def get_params(self, deep: bool = True) -> Options:
        """Get the parameters, and with `deep` those of the rankers.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        dict
            Parameter names and their values.
        """
        params = super().get_params(deep=False)
        if deep:
            for name, ranker in self._named():
                params[name] = ranker
                inner = ranker.get_params() if hasattr(ranker, "get_params") else {}
                params |= {f"{name}__{key}": value for key, value in inner.items()}
        return params

    def set_params(self, **params: Any) -> RankerMean:
        """Set parameters, rankers by their names, and parameters of rankers.

        Parameters
        ----------
        **params
            Such as ``{"groupedranker-1__estimator__num_leaves": 7}``. If a ranker is replaced by
            its name, `estimators` becomes a list of pairs of name and ranker.

        Returns
        -------
        RankerMean
            Itself.
        """
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        named = dict(self._named())
        replaced = {name: params.pop(name) for name in list(params) if name in named}
        if replaced:
            self.estimators = list((named | replaced).items())
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        try:
            inputs = [get_tags(ranker).input_tags for _, ranker in self._named()]
        except (AttributeError, TypeError):  # members that `fit` refuses
            return tags
        tags.input_tags.allow_nan = all(input_tags.allow_nan for input_tags in inputs)
        tags.input_tags.sparse = all(input_tags.sparse for input_tags in inputs)
        return tags

    # steps of fit, called by `Ranker._fit` --------------------------------------------------------

    def _named(self) -> list[Named]:
        """Names and rankers; a ranker without a name is named after its class.

        The list is empty if `estimators` is not a list of rankers, or of pairs of name and ranker.
        """
        members = self.estimators if isinstance(self.estimators, (list, tuple)) else []
        pairs = [member if isinstance(member, tuple) else ("", member) for member in members]
        if not all(len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
            return []
        classes = [type(ranker).__name__.lower() for _, ranker in pairs]
        named = []
        for number, (name, ranker) in enumerate(pairs):
            default = classes[number]
            if classes.count(default) > 1:
                default = f"{default}-{classes[: number + 1].count(default)}"
            named.append((name or default, ranker))
        return named

    def _check_parameters(self, *, has_X_val: bool) -> None:
        named, taken = self._named(), super().get_params(deep=False)
        names = [name for name, _ in named]
        if not named:
            raise ValueError(
                f"estimators={self.estimators!r} must be a list of at least one ranker, or of "
                'pairs ("name", ranker).'
            )
        for name, ranker in named:
            if names.count(name) > 1 or "__" in name or name in taken:
                raise ValueError(
                    f"the name {name!r} in estimators is used twice, contains '__', or is that of "
                    "a parameter: choose another name."
                )
            _check_member(ranker)
        if has_X_val:
            raise ValueError(
                "X_val= of RankerMean would be used by none of its rankers: set their "
                "validation_fraction instead."
            )
        self._weights()

    def _weights(self) -> np.ndarray:
        """Weights of the rankers, which sum to 1."""
        n_rankers = len(self.estimators)
        if self.weights is None:
            return np.full(n_rankers, 1 / n_rankers)
        weights = np.array(check.check_numbers("weights", self.weights))
        if len(weights) != n_rankers or weights.min() < 0 or not weights.sum() > 0:
            raise ValueError(
                f"weights={check.brief(self.weights)} must have a number of at least 0 for each of "
                f"the {n_rankers} rankers, at least one above 0."
            )
        return weights / weights.sum()

    def _train(self, train: Rows, valid: Part | None) -> None:
        # each ranker checks the labels itself
        part = train.check(unjudged="zero", graded=False).part()
        check.query_weights(part.weights, part.queries)  # raises if they vary inside a query
        assert train.groups is not None
        # on the index, since pipelines and searches do not pass groups on
        y = train.y if index_level(train.y) is not None else with_groups(train.y, train.groups)
        members = {}
        with shared_starts():
            for name, ranker in self._named():
                member, weights = cloned(ranker), train.weights
                arguments = {} if weights is None else {weight_argument(member): weights}
                members[name] = member.fit(train.X, y, **arguments)
        self.max_grade_ = collection_grade(train.y, check.as_vector("y", train.y))
        self._set_members(members, part)

    def _train_on_dask(self, train: Rows, valid: Rows | None) -> None:
        named = self._named()
        in_memory = [ranker for _, ranker in named if not isinstance(ranker, Ranker)]
        if in_memory:
            raise no_collections(in_memory[0])
        validate_data(self, without_queries(head_of(train.X)), skip_check_array=True)
        members, weights = {}, train.sample_weight
        with shared_starts():
            for name, ranker in named:
                fit = cloned(ranker).fit
                members[name] = fit(train.X, train.y, train.groups, sample_weight=weights)
        self.max_grade_ = max(member.max_grade_ for member in members.values())
        self._set_members(members, drawn(loaded(train), self).check().part())

    def _set_members(self, members: dict[str, Estimator], part: Part) -> None:
        """Set the fitted attributes; scores are divided by their spread on the rows of `part`."""
        spreads = [
            part.spread(_finite_scores(name, member, part.X)) for name, member in members.items()
        ]
        self.named_estimators_ = Bunch(**members)
        self.estimators_ = list(members.values())
        self.weights_ = self._weights()
        self.factors_ = self.weights_ * [1 / spread if spread > 0 else 0.0 for spread in spreads]


def _check_member(estimator: Estimator) -> None:
    """Raise for a ranker of a booster outside a GroupedRanker, or a value without `fit`."""
    if hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    kind = kind_of(estimator)  # raises if it has no `fit`
    if kind.trains_on_queries and not isinstance(kind, OtherKind):
        cls = type(estimator).__name__
        raise ValueError(
            f"fit of {cls} needs sizes of queries, which RankerMean does not pass: replace {cls}() "
            f"by GroupedRanker({cls}())."
        )


def _finite_scores(name: str, ranker: Estimator, X: Table) -> np.ndarray:
    """Scores of rows; raises for inf and NaN, which would make the mean inf or NaN."""
    scores = np.asarray(predicted_scores(ranker, X), dtype=np.float64)
    return finite(scores, f"the ranker {name!r}")
