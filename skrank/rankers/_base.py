"""What all rankers are to scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import RegressorTags, Tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skrank._engine.groups import require_groups
from skrank._typing import Table
from skrank.metrics import Metric
from skrank.rankers._rows import Part, Rows
from skrank.scoring import scorer


class Ranker(BaseEstimator, ABC):
    """An estimator that takes groups, and is measured by the one metric of its `scoring`."""

    # said once: scikit-learn 1.6 refuses to take `qid` away again in a subclass
    __metadata_request__fit: ClassVar[dict[str, object]] = {"groups": True, "qid": UNUSED}
    __metadata_request__score: ClassVar[dict[str, object]] = {"groups": True}

    scoring: str | Metric
    unjudged: str
    _fitted_by: ClassVar[str]  # the attribute that a fitted ranker has

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
        return scorer(self.scoring)(self, X, y, groups=groups, sample_weight=sample_weight)  # type: ignore[return-value]

    @abstractmethod
    def _table(self, X: Table, *, reset: bool) -> Table:
        """Features in the form that is trained on; `reset`: take note of what they are."""

    def _external(
        self, X_val: Table, y_val: ArrayLike, groups_val: ArrayLike | None, *, grouped: bool = True
    ) -> Part:
        """Rows to validate on, with their queries if these matter."""
        check_consistent_length(X_val, y_val)
        ids = None
        if grouped:
            ids = require_groups(groups_val, y_val, X_val, who="validation (groups_val)")
        table = self._table(X_val, reset=False)
        return Rows(table, y_val, groups=ids, unjudged=self.unjudged).part()

    def _checked(self, X: Table) -> Table:
        """Rows to score, once the ranker is fitted, with the features that it was trained on."""
        check_is_fitted(self, self._fitted_by)
        return self._table(X, reset=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # ensembles take it for what it is to them: one number per row, the higher the better
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags(poor_score=True)
        tags.target_tags.required = True
        return tags
