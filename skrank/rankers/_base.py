"""Base class of the rankers: input, score and tags by the conventions of scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import RegressorTags, Tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skrank import _validation as check
from skrank._engine.groups import groups_of_features, require_groups
from skrank._fitted import predicted_scores
from skrank._ranked_lists import rank
from skrank._typing import Table
from skrank.metrics import Metric
from skrank.rankers._rows import Part, Rows
from skrank.scoring import scorer

if TYPE_CHECKING:
    import pandas as pd


class Ranker(BaseEstimator, ABC):
    """An estimator whose `fit` takes groups, and whose `score` is the metric `scoring`."""

    # only here: in scikit-learn 1.6 a subclass cannot remove `qid` again
    __metadata_request__fit: ClassVar[dict[str, object]] = {"groups": True, "qid": UNUSED}
    __metadata_request__score: ClassVar[dict[str, object]] = {"groups": True}

    scoring: str | Metric
    unjudged: str
    _fitted_by: ClassVar[str]  # an attribute of every fitted ranker

    def score(
        self,
        X: Table,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
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
            Mean over queries of `scoring`; negated if lower is better.
        """
        self._checked(X)
        value = scorer(self.scoring)(self, X, y, groups=groups, sample_weight=sample_weight)
        assert not isinstance(value, dict)  # a scorer of one metric
        return value

    def rank(
        self,
        X: Table,
        groups: ArrayLike | None = None,
        *,
        ids: ArrayLike | None = None,
        k: int | None = None,
        ties: str = "stable",
    ) -> pd.DataFrame:
        """List the documents of each query, highest score first.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `X`.
        ids : array-like of shape (n_rows,), optional
            Document of each row, at most once per query. Default: the number of the row.
        k : int, optional
            Largest number of documents per query. Default: all.
        ties : {"stable", "average", "best", "worst"}, default="stable"
            Rank of documents with equal scores, see `skrank.rank`.

        Returns
        -------
        pandas.DataFrame
            A row per listed document, with the columns query, rank (from 1), document and score.

        Raises
        ------
        ValueError
            If groups are missing, of the wrong length, or disagree; if a document occurs twice in a
            query.

        See Also
        --------
        skrank.rank : the same for any scores.

        Examples
        --------
        >>> from skrank import LinearRanker
        >>> from skrank.datasets import make_ranking
        >>> data = make_ranking(n_queries=60, random_state=0)
        >>> ranker = LinearRanker("gap").fit(data.X, data.relevance, data.qid)
        >>> top = ranker.rank(data.X, data.qid, k=3)
        >>> top.columns.to_list(), len(top)
        (['query', 'rank', 'document', 'score'], 180)
        """
        if hasattr(X, "__dask_graph__"):
            raise ValueError(
                "X is a Dask collection: rank each partition of whole queries, such as with "
                'frame.map_partitions(ranker.rank, k=10) where its index has the name "qid".'
            )
        check.check_same_index(X=X, groups=groups, ids=ids)
        found = groups_of_features(groups, X, who=f"{type(self).__name__}.rank")
        scores = predicted_scores(self, X)
        return rank(scores, found, ids=ids, k=k, ties=ties)

    @abstractmethod
    def _table(self, X: Table, *, reset: bool) -> Table:
        """Features in the form to train on; with `reset`, sets their number and names."""

    def _given_groups(
        self, y: ArrayLike | None, groups: ArrayLike | None, qid: ArrayLike | None
    ) -> ArrayLike | None:
        """The groups that `fit` got under one of their two names."""
        if groups is not None and qid is not None:
            raise ValueError("groups and qid are two names for the query of each row: give one.")
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        return groups if qid is None else qid

    def _external(
        self, X_val: Table, y_val: ArrayLike, groups_val: ArrayLike | None, *, grouped: bool = True
    ) -> Part:
        """Validation rows that the caller gives, with their queries if `grouped`."""
        check_consistent_length(X_val, y_val)
        ids = None
        if grouped:
            ids = require_groups(groups_val, y_val, X_val, who="validation (groups_val)")
        table = self._table(X_val, reset=False)
        return Rows(table, y_val, groups=ids, unjudged=self.unjudged).part()

    def _checked(self, X: Table) -> Table:
        """Features to score, if the ranker is fitted and they are those of the training rows."""
        check_is_fitted(self, self._fitted_by)
        return self._table(X, reset=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # for ensembles it is a regressor: one number per row
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags(poor_score=True)
        tags.target_tags.required = True
        return tags
