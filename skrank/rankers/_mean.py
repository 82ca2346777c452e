"""RankerMean: the weighted mean of the scores of several rankers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import Bunch, Tags, get_tags

from skrank import _validation as check
from skrank._engine.groups import collection_grade, index_level, with_groups
from skrank._fitted import cloned, predicted_scores
from skrank._typing import Estimator, Options, RandomState, Table
from skrank.metrics import Metric, metric
from skrank.model_selection import query_train_test_split
from skrank.rankers._base import Ranker
from skrank.rankers._fit import Validator
from skrank.rankers._grouped import GroupedRanker
from skrank.rankers._kinds import OtherKind, kind_of, weight_argument
from skrank.rankers._rows import Part, Rows

Named: TypeAlias = tuple[str, Estimator]

_STEPS = 20  # greatest number of greedy steps; more steps allow finer weights
_UNCHECKED: Options = {"unjudged": "zero", "graded": False}  # each ranker checks the labels itself


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
    weights : sequence of float, "validation" or None, default=None
        Weights of the rankers. "validation": weights with a high `scoring` on the validation rows,
        found by a greedy search from equal weights. None: equal.
    validation_fraction : float, optional
        Share of the training queries to hold out, stratified by their numbers of relevant
        documents. These queries decide on "validation" weights, and on early stopping of rankers
        whose `validation_fraction` is None. Default: none; `fit` may get `X_val` instead.
    scoring : str or Metric, default="ndcg@10"
        Metric of `score`, and of "validation" weights.
    random_state : int, RandomState instance or None, default=None
        Seed of the queries held out. The rankers use their own seeds.

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
    For a mean over seeds, give the same ranker with other seeds, as in the example.

    References
    ----------
    R. Caruana, A. Niculescu-Mizil, G. Crew, A. Ksikes, Ensemble Selection from Libraries of Models,
    ICML 2004: how weights are chosen.

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
    >>> mean = skrank.RankerMean([boosted(0), boosted(1)], validation_fraction=0.2, random_state=0)
    >>> mean.fit(data.X, y).weights_
    array([0.5, 0.5])
    >>> list(mean.named_estimators_)
    ['groupedranker-1', 'groupedranker-2']
    >>> mean.score(data.X, y) > 0.6
    True
    """

    _fitted_by: ClassVar[str] = "estimators_"
    _inner: ClassVar[tuple[str, ...]] = ("estimators",)

    def __init__(
        self,
        estimators: Sequence[Estimator | Named],
        *,
        weights: Sequence[float] | str | None = None,
        validation_fraction: float | None = None,
        scoring: str | Metric = "ndcg@10",
        random_state: RandomState = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.validation_fraction = validation_fraction
        self.scoring = scoring
        self.random_state = random_state

    def predict(self, X: Table) -> np.ndarray:
        """Score rows: within a query, higher ranks first.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
            Weighted mean of the scores of the rankers, each divided by their standard deviation
            inside the training queries.
        """
        X = self._checked(X)
        total = np.zeros(X.shape[0])
        for (name, one), factor in zip(self.named_estimators_.items(), self.factors_, strict=True):
            if factor:
                total += factor * _finite_scores(name, one, X)
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
            for name, one in self._named():
                params[name] = one
                inner = one.get_params() if hasattr(one, "get_params") else {}
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
            inputs = [get_tags(one).input_tags for _, one in self._named()]
        except (AttributeError, TypeError):  # members that `fit` refuses
            return tags
        tags.input_tags.allow_nan = all(one.allow_nan for one in inputs)
        tags.input_tags.sparse = all(one.sparse for one in inputs)
        return tags

    # steps of fit, called by `Ranker._fit` --------------------------------------------------------

    def _named(self) -> list[Named]:
        """Names and rankers; a ranker without a name is named after its class.

        The list is empty if `estimators` is not a list of rankers, or of pairs of name and ranker.
        """
        given = self.estimators if isinstance(self.estimators, (list, tuple)) else []
        pairs = [one if isinstance(one, tuple) else ("", one) for one in given]
        if not all(len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
            return []
        classes = [type(one).__name__.lower() for _, one in pairs]
        named = []
        for number, (name, one) in enumerate(pairs):
            default = classes[number]
            if classes.count(default) > 1:
                default = f"{default}-{classes[: number + 1].count(default)}"
            named.append((name or default, one))
        return named

    def _check_parameters(self, *, has_X_val: bool) -> None:
        metric(self.scoring)  # raises if unknown
        if not self._named():
            raise ValueError(
                f"estimators={self.estimators!r} must be a list of at least one ranker, or of "
                'pairs ("name", ranker).'
            )
        names = [name for name, _ in self._named()]
        taken = super().get_params(deep=False)
        for name in names:
            if names.count(name) > 1 or "__" in name or name in taken:
                raise ValueError(
                    f"the name {name!r} in estimators is used twice, contains '__', or is that of "
                    "a parameter: choose another name."
                )
        for name, one in self._named():
            with _naming(name):
                _check_member(one)
        if self.validation_fraction is not None:
            because = ": it leaves nothing to train on"
            check.check_share("validation_fraction", self.validation_fraction, because)
            if has_X_val:
                raise ValueError("X_val and validation_fraction are given: set one of the two.")
        if isinstance(self.weights, str):
            check.check_choice("weights", self.weights, ("validation",))
            if not has_X_val and self.validation_fraction is None:
                raise ValueError(
                    'weights="validation" needs queries that no ranker was trained on: set '
                    "validation_fraction, or give X_val, y_val and groups_val to fit."
                )
        elif self.weights is not None:
            self._given_weights()

    def _train(self, train: Rows, valid: Rows | None) -> None:
        labels, weights = check.as_vector("y", train.y), train.sample_weight
        if weights is not None:
            weights = check.as_vector("sample_weight", weights, len(labels))
        y, train = train.y, replace(_with_query_index(train), sample_weight=weights)
        if valid is not None:
            valid = _with_query_index(valid)
            labels = np.append(labels, check.as_vector("y_val", valid.y))
        elif self.validation_fraction is not None:
            train, valid = self._split(train, self.validation_fraction)
        self.named_estimators_ = Bunch(
            **{name: _fitted(name, one, train, valid) for name, one in self._named()}
        )
        self.estimators_ = list(self.named_estimators_.values())
        self.max_grade_ = collection_grade(y, labels)
        part = train.check(**_UNCHECKED).part()
        check.query_weights(part.weights, part.queries)  # raises if they vary inside a query
        spreads = np.array([part.spread(scores) for scores in self._scores(part.X)])
        factors = np.divide(1.0, spreads, out=np.zeros_like(spreads), where=spreads > 0)
        self.weights_ = self._weights(factors, valid)
        self.factors_ = self.weights_ * factors

    def _scores(self, X: Table) -> Iterator[np.ndarray]:
        """Scores of the fitted rankers, one after the other."""
        return (_finite_scores(name, one, X) for name, one in self.named_estimators_.items())

    def _split(self, train: Rows, share: float) -> tuple[Rows, Rows]:
        """Training rows, and rows of the queries to hold out."""
        arrays = [train.X, train.y, train.groups]
        if train.sample_weight is not None:
            arrays.append(train.sample_weight)
        parts = query_train_test_split(
            *arrays, test_size=share, stratify="n_relevant", random_state=self.random_state
        )
        return Rows(*parts[::2]), Rows(*parts[1::2])

    def _given_weights(self) -> np.ndarray:
        weights = np.array(check.check_numbers("weights", self.weights))
        if len(weights) != len(self.estimators) or weights.min() < 0 or not weights.sum() > 0:
            raise ValueError(
                f"weights={self.weights!r} must have a number of at least 0 for each of the "
                f"{len(self.estimators)} rankers, at least one above 0."
            )
        return weights / weights.sum()

    def _weights(self, factors: np.ndarray, valid: Rows | None) -> np.ndarray:
        """Weights of the rankers; scores times `factors` are standardised."""
        if self.weights is None:
            return np.full(len(factors), 1 / len(factors))
        if not isinstance(self.weights, str):
            return self._given_weights()
        assert valid is not None
        part = valid.check(**_UNCHECKED).part()
        scores = factors[:, np.newaxis] * np.array(list(self._scores(part.X)))
        return _best_weights(scores, part, metric(self.scoring).on_scale(self.max_grade_))


def _best_weights(scores: np.ndarray, part: Part, metric: Metric) -> np.ndarray:
    """Weights with a high metric on validation rows, found by a greedy search from equal weights.

    Weights are counts divided by their sum. Each step adds 1 to the count that improves the metric
    most; the search ends when no count improves it.
    """
    metrics = Validator(part, {"metric": metric})
    sign = 1 if metric.greater_is_better else -1

    def value(counts: np.ndarray) -> float:
        return sign * metrics.means(counts @ scores)["metric"]

    counts = np.ones(len(scores))
    best = value(counts)
    for _ in range(_STEPS):
        tried = counts + np.eye(len(scores))
        values = [value(one) for one in tried]
        chosen = int(np.argmax(values))
        if values[chosen] <= best:
            break
        counts, best = tried[chosen], values[chosen]
    return counts / counts.sum()


def _with_query_index(rows: Rows) -> Rows:
    """The rows with queries on the index of the labels, where rankers of skrank find them."""
    if index_level(rows.y) is not None:
        return rows
    assert rows.groups is not None
    return replace(rows, y=with_groups(rows.y, rows.groups))


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Add a note with the name of a ranker to errors."""
    try:
        yield
    except Exception as error:
        error.add_note(f"This is an error of the ranker {name!r} of RankerMean.")
        raise


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


def _fitted(name: str, estimator: Estimator, train: Rows, valid: Rows | None) -> Estimator:
    """A fitted clone; validation rows are passed to rankers that use them for early stopping."""
    with _naming(name):
        member = cloned(estimator)
        arguments: Options = {}
        if train.sample_weight is not None:
            arguments[weight_argument(member)] = train.sample_weight
        if valid is not None and _uses_validation_rows(member):
            arguments |= {"X_val": valid.X, "y_val": valid.y}
        return member.fit(train.X, train.y, **arguments)


def _uses_validation_rows(ranker: Estimator) -> bool:
    """True if `fit` has `X_val` for early stopping, and the ranker holds out no queries itself."""
    if "X_val" not in signature(ranker.fit).parameters:
        return False
    if isinstance(ranker, GroupedRanker) and kind_of(ranker.estimator).rounds_parameter is None:
        return False
    return ranker.validation_fraction is None


def _finite_scores(name: str, ranker: Estimator, X: Table) -> np.ndarray:
    """Scores of rows; raises for inf and NaN, which would make the mean inf or NaN."""
    with _naming(name):
        scores = np.asarray(predicted_scores(ranker, X), dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            raise ValueError(
                f"the ranker {name!r} scores row {bad[0]} as {scores[bad[0]]}, and a mean needs "
                "finite scores: remove the ranker, or correct the row."
            )
        return scores
