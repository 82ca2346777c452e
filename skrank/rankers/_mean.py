"""RankerMean: the weighted mean of the scores of several rankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import Bunch, Tags, get_tags
from sklearn.utils.validation import check_consistent_length, validate_data

from skrank import _validation as check
from skrank._engine.groups import collection_grade, require_groups
from skrank._fitted import restored_on_failure
from skrank._typing import Estimator, Options, RandomState, Table
from skrank.metrics import Metric, metric
from skrank.model_selection import query_train_test_split
from skrank.rankers._base import Ranker
from skrank.rankers._members import (
    CarriedRows,
    Named,
    best_weights,
    carried,
    check_member,
    finite_scores,
    fitted,
    is_list_of_rankers,
    naming,
)
from skrank.rankers._rows import features
from skrank.rankers._start import spread_inside_queries


class RankerMean(MetaEstimatorMixin, Ranker):
    """The mean of the scores of several rankers.

    Rankers that err on different documents correct each other: a mean of two is often ahead of
    both, and takes the time of both. Each ranker is trained by itself, on the same queries.

    Scores of different rankers have different scales. The scores of each ranker are divided by
    their standard deviation inside the training queries. The score of a row hence depends on this
    row only, and `predict` needs no groups.

    Parameters
    ----------
    estimators : sequence of rankers, or of (str, ranker)
        A `skrank.GroupedRanker`, a `skrank.LinearRanker`, a Pipeline or a search that ends with one
        of these, any regressor, or a classifier of grades. A ranker without a name is named as
        `sklearn.pipeline.make_union` names it: by its class in lower case, and a number if there
        are several. Names begin the names of parameters, as in ``grouped__init_scale``.
    weights : sequence of float, "validation" or None, default=None
        Weights of the rankers. "validation": chosen for the best `scoring` on the validation rows.
        None: equal.
    validation_fraction : float, optional
        Share of the training queries to hold out, stratified by their numbers of relevant
        documents. Rankers that stop early and hold out no queries themselves stop on these; weights
        are chosen on these. Default: none, unless `fit` gets `X_val`.
    scoring : str or Metric, default="ndcg@10"
        Metric of `score`, and of weights that are chosen.
    random_state : int, RandomState instance or None, default=None
        Seed of the queries held out. The rankers have seeds of their own.

    Attributes
    ----------
    estimators_ : list of fitted rankers
    named_estimators_ : Bunch
        The fitted rankers by name.
    weights_ : ndarray of shape (n_rankers,)
        Weights, which sum to 1.
    factors_ : ndarray of shape (n_rankers,)
        Weights divided by the standard deviations: predictions are the sum of the scores of the
        rankers times these. 0 for scores that are constant inside queries.
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

    def fit(
        self,
        X: Table,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: Table | None = None,
        y_val: ArrayLike | None = None,
        groups_val: ArrayLike | None = None,
    ) -> RankerMean:
        """Train each ranker.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Array, DataFrame or sparse matrix, as the rankers take them.
        y : array-like of shape (n_rows,)
            Labels, at least 0.
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `y`, or of `X`.
        qid : array-like of shape (n_rows,), optional
            Another name for `groups`.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row's query, constant inside a query; passed on to each ranker.
        X_val, y_val, groups_val : optional
            Rows to validate on, instead of `validation_fraction`.

        Returns
        -------
        RankerMean
            Itself, fitted.

        Raises
        ------
        ValueError
            If groups are missing, of the wrong length, or disagree; if there are no validation rows
            to choose weights on; if a ranker cannot be trained. A note of the error has the name of
            the ranker.
        """
        given = self._given_groups(y, groups, qid)
        if hasattr(X, "__dask_graph__"):
            raise ValueError(
                "X is a Dask collection, and RankerMean trains on one machine: give it rows that "
                "fit into memory, or train each ranker on Dask and add up their scores."
            )
        check.check_same_index(X=X, y=y, groups=groups, qid=qid, sample_weight=sample_weight)
        check.check_same_index(X_val=X_val, y_val=y_val, groups_val=groups_val)
        self._check_parameters(X_val, y_val)
        ids = require_groups(given, y, X, who="RankerMean.fit")
        with restored_on_failure(self):
            table = self._table(X, reset=True)
            check_consistent_length(table, y)
            labels = check.as_vector("y", y)
            weights = None
            if sample_weight is not None:
                weights = check.as_vector("sample_weight", sample_weight, len(ids))
            train, valid = CarriedRows(table, carried(y, ids), weights), None
            if X_val is not None and y_val is not None:
                check_consistent_length(X_val, y_val)
                ids = require_groups(groups_val, y_val, X_val, who="validation (groups_val)")
                valid = CarriedRows(self._table(X_val, reset=False), carried(y_val, ids))
            elif self.validation_fraction is not None:
                train, valid = self._split(train, self.validation_fraction)
            if valid is not None:
                labels = np.append(labels, check.as_vector("y_val", valid.y))
            self.max_grade_ = collection_grade(y, labels)
            named = self._named()
            members = [fitted(name, one, train, valid) for name, one in named]
            part = train.part()
            check.query_weights(part.weights, part.queries)  # raises if they vary inside a query
            spreads = np.array(
                [
                    spread_inside_queries(finite_scores(name, one, part.X), part)
                    for (name, _), one in zip(named, members, strict=True)
                ]
            )
            factors = np.divide(1.0, spreads, out=np.zeros_like(spreads), where=spreads > 0)
            self.weights_ = self._weights(members, factors, valid)
            self.factors_ = self.weights_ * factors
            self.estimators_ = members
            self.named_estimators_ = Bunch(
                **{name: one for (name, _), one in zip(named, members, strict=True)}
            )
        return self

    def predict(self, X: Table) -> np.ndarray:
        """Score rows: within a query, higher ranks first.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
            Weighted mean of the scores of the rankers, each divided by its standard deviation.
        """
        X = self._checked(X)
        total = np.zeros(X.shape[0])
        for (name, one), factor in zip(self.named_estimators_.items(), self.factors_, strict=True):
            if factor:
                total += factor * finite_scores(name, one, X)
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
        if deep and is_list_of_rankers(self.estimators):
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
            Such as ``{"groupedranker-1__estimator__num_leaves": 7}``. A ranker that is replaced
            makes all of `estimators` pairs of name and ranker.

        Returns
        -------
        RankerMean
            Itself.
        """
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        named = dict(self._named()) if is_list_of_rankers(self.estimators) else {}
        replaced = {name: params.pop(name) for name in list(params) if name in named}
        if replaced:
            self.estimators = list((named | replaced).items())
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        try:
            inputs = [get_tags(one).input_tags for _, one in self._named()]
        except (AttributeError, TypeError, ValueError):  # not yet checked by `fit`
            return tags
        tags.input_tags.allow_nan = all(one.allow_nan for one in inputs)
        tags.input_tags.sparse = all(one.sparse for one in inputs)
        return tags

    # parts of fit ---------------------------------------------------------------------------------

    def _table(self, X: Table, *, reset: bool) -> Table:
        X = features(X, polars=False)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _named(self) -> list[Named]:
        """The rankers with names of their own."""
        pairs = [one if isinstance(one, tuple) else (None, one) for one in self.estimators]
        classes = [type(one).__name__.lower() for _, one in pairs]
        named = []
        for place, (name, one) in enumerate(pairs):
            found = classes[place]
            if classes.count(found) > 1:
                found = f"{found}-{classes[: place + 1].count(found)}"
            named.append((found if name is None else name, one))
        return named

    def _check_parameters(self, X_val: Table | None, y_val: ArrayLike | None) -> None:
        metric(self.scoring)  # raises if unknown
        if not is_list_of_rankers(self.estimators):
            raise ValueError(
                f"estimators={self.estimators!r} must be a list of rankers, or of pairs "
                '("name", ranker): at least one.'
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
            with naming(name):
                check_member(one)
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: give both, or none.")
        if self.validation_fraction is not None:
            because = ": it leaves nothing to train on"
            check.check_share("validation_fraction", self.validation_fraction, because)
            if X_val is not None:
                raise ValueError("there are X_val and validation_fraction: set one of the two.")
        if isinstance(self.weights, str):
            check.check_choice("weights", self.weights, ("validation",))
            if X_val is None and self.validation_fraction is None:
                raise ValueError(
                    'weights="validation" needs queries that no ranker was trained on: set '
                    "validation_fraction, or give X_val, y_val and groups_val to fit."
                )
        elif self.weights is not None:
            self._given_weights()

    def _split(self, train: CarriedRows, share: float) -> tuple[CarriedRows, CarriedRows]:
        """Training rows, and those of the queries to hold out."""
        arrays = [train.X, train.y, *([] if train.weights is None else [train.weights])]
        parts = query_train_test_split(
            *arrays, test_size=share, stratify="n_relevant",
            random_state=self.random_state,
        )  # fmt: skip
        return CarriedRows(*parts[::2]), CarriedRows(*parts[1::2])

    def _given_weights(self) -> np.ndarray:
        weights = np.array(check.check_numbers("weights", self.weights))
        if len(weights) != len(self.estimators) or weights.min() < 0 or not weights.sum() > 0:
            raise ValueError(
                f"weights={self.weights!r} must have a number of at least 0 for each of the "
                f"{len(self.estimators)} rankers, and one above 0."
            )
        return weights / weights.sum()

    def _weights(
        self, members: list[Estimator], factors: np.ndarray, valid: CarriedRows | None
    ) -> np.ndarray:
        """Weights of the rankers, whose scores are standardised by factors."""
        if self.weights is None:
            return np.full(len(members), 1 / len(members))
        if not isinstance(self.weights, str):
            return self._given_weights()
        assert valid is not None
        part = valid.part()
        scores = np.array(
            [
                factor * finite_scores(name, one, part.X)
                for (name, _), one, factor in zip(self._named(), members, factors, strict=True)
            ]
        )
        return best_weights(scores, part, metric(self.scoring).on_scale(self.max_grade_))
