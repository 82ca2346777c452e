"""Requests for the labels of drawn queries, and the labels received."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import show
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank.active._design import Design
from skrank.active._sampling import Draws, fits
from skrank.metrics import Metric


@dataclass(frozen=True, eq=False)
class Request:
    """A query to label.

    Attributes
    ----------
    query : int or str
        Id of the query.
    items : ndarray of shape (n_items,)
        Documents to label: ids if the campaign has `items`, otherwise row numbers.
    rows : ndarray of shape (n_items,)
        Rows of these documents in the arrays passed to the campaign.
    cost : float
        Cost of labelling the query.
    """

    query: Hashable
    items: np.ndarray
    rows: np.ndarray
    cost: float

    def __len__(self) -> int:
        return len(self.items)


class Asking:
    """Base class of `Campaign`: requests labels in the order of the draws, and records labels."""

    def _begin(self, design: Design, budget: float | None) -> None:
        """Set up a campaign that has not requested any label."""
        n_queries = len(design.queries)
        self._design = design
        self.budget = budget
        self._number = {query: i for i, query in enumerate(design.queries.ids.tolist())}
        self._draws = Draws(design.q, design.seed)
        self._asked: list[int] = []
        self._is_asked = np.zeros(n_queries, np.bool_)
        self._waiting: dict[int, None] = {}  # ordered set of queries, in the order of asking
        self._spent = 0.0
        self._next_draw = 0  # index of the first draw not yet considered
        self._labels: dict[int, np.ndarray] = {}
        self._values = np.full((len(design.names), n_queries), np.nan)
        for query in np.flatnonzero(design.is_known).tolist():
            self._values[:, query] = self._evaluate(query, np.empty(0))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rankers."""
        return self._design.names

    @property
    def metric(self) -> Metric:
        """The metric, with ``empty=0`` if it is not normalised: then every query counts."""
        return self._design.graded.metric

    @property
    def budget(self) -> float | None:
        """Largest total cost of labels; None for no limit. It can be raised at any time."""
        return self._budget

    @budget.setter
    def budget(self, budget: float | None) -> None:
        self._budget = self._design.check_budget(budget)

    @property
    def cost(self) -> float:
        """Cost of all queries asked so far, including those that wait for labels."""
        return self._spent

    @property
    def labels(self) -> np.ndarray:
        """Label of each row, from `tell` or from the parameter `labels`; NaN if unknown."""
        design = self._design
        out = np.full(design.n_caller_rows, np.nan)
        out[design.pool.rows] = design.given
        for query, labels in self._labels.items():
            out[self._request(query).rows] = labels
        return out

    @property
    def waiting(self) -> list[Request]:
        """Queries that were asked and are not labelled yet, in the order of asking."""
        return [self._request(query) for query in self._waiting]

    def ask(self, n: int = 1) -> list[Request]:
        """The next queries to label.

        Queries that wait for labels come first, so that a repeated call returns the same queries,
        also in another process. New queries are drawn if fewer than `n` wait.

        Parameters
        ----------
        n : int
            Number of queries.

        Returns
        -------
        list of Request
            Fewer than `n` if the budget does not pay for more, or all queries were asked.
        """
        check.check_count("n", n, "the number of queries to label")
        missing = n - len(self._waiting)
        while missing > 0 and self._ask_new():
            missing -= 1
        return [self._request(query) for query in islice(self._waiting, n)]

    def next_query(self) -> Request | None:
        """The next query to label; None when the budget is exhausted or the pool is labelled."""
        return next(iter(self.ask()), None)

    def _ask_new(self) -> bool:
        """Ask a new query; False if all were asked, or the next draw exceeds the budget.

        A draw that exceeds the budget ends the campaign: skipping it in favour of cheaper queries
        would bias the estimate.
        """
        design = self._design
        if self._is_asked[design.q > 0].all():
            return False
        self._next_draw = self._draws.next_outside(self._is_asked, self._next_draw)
        query = int(self._draws.first(self._next_draw + 1)[-1])
        spent = self._spent + float(design.costs[query])
        if self._budget is not None and not fits(spent, self._budget):
            return False
        self._ask(query)
        return True

    def _ask(self, query: int) -> None:
        self._asked.append(query)
        self._is_asked[query] = True
        self._waiting[query] = None
        self._spent += float(self._design.costs[query])

    def tell(
        self,
        query: Hashable | Request,
        labels: ArrayLike | Mapping[Hashable, float],
        *,
        replace: bool = False,
    ) -> None:
        """Record the labels of a query that was asked.

        Parameters
        ----------
        query : query id or Request
        labels : array-like of shape (n_items,), or mapping from item to label
            One grade per item, in the order of ``Request.items``.
        replace : bool
            Replace labels recorded before.

        Raises
        ------
        ValueError
            If the query was not asked or is not in the pool, an item is unknown or has no label, a
            label is not a grade, or the query already has other labels. The campaign is unchanged.
        """
        number = self._number_of_asked(query)
        request, name = self._request(number), self._design.queries.name(number)
        new = _labels_of(request, labels, self._design.graded.grades, name)
        old = self._labels.get(number)
        if old is not None and not replace and (old != new).any():
            item = int(np.argmax(old != new))
            raise ValueError(
                f"query {name} already has label {old[item]:g} for item "
                f"{show(request.items[item])}, which differs from {new[item]:g}: keep the old "
                "labels, or replace them with tell(..., replace=True)."
            )
        self._record(number, new)

    def items_of(self, query: Hashable) -> list[Hashable]:
        """The items to label of a query that was asked."""
        return self._request(self._number_of_asked(query)).items.tolist()

    def _record(self, query: int, labels: np.ndarray) -> None:
        self._values[:, query] = self._evaluate(query, labels)
        self._labels[query] = labels
        self._waiting.pop(query, None)

    def _number_of_asked(self, query: Hashable | Request) -> int:
        """Index of a query in the pool, which must have been asked."""
        query_id = query.query if isinstance(query, Request) else query
        try:
            number = self._number[query_id]
        except (KeyError, TypeError):
            raise ValueError(f"query {show(query_id)} is not in the pool.") from None
        if not self._is_asked[number]:
            raise ValueError(
                f"query {show(query_id)} was not asked: labels of queries that were not drawn "
                "would bias the estimate. Take queries from ask() or next_query()."
            )
        return number

    def _request(self, query: int) -> Request:
        design = self._design
        rows = design.pool.rows_of(query)
        unlabelled = np.arange(rows.start, rows.stop)[np.isnan(design.given[rows])]
        caller_rows = design.pool.rows[unlabelled]
        items = caller_rows if design.items is None else design.items[unlabelled]
        return Request(
            design.queries.ids[query].item(), items, caller_rows, float(design.costs[query])
        )

    def _evaluate(self, query: int, labels: np.ndarray) -> np.ndarray:
        """Value of each ranker from new and known labels; NaN if the query does not count."""
        design = self._design
        rows = design.pool.rows_of(query)
        merged = design.given[rows].copy()
        merged[np.isnan(merged)] = labels
        judgments = Judgments(merged, Queries.single(len(merged)))
        return design.graded.values(judgments, design.pool.scores[:, rows])[:, 0]

    @property
    def _is_labelled(self) -> np.ndarray:
        """True for queries that are labelled, or never drawn."""
        labelled = self._design.q <= 0
        labelled[list(self._labels)] = True
        return labelled


def _labels_of(
    request: Request,
    labels: ArrayLike | Mapping[Hashable, float],
    grades: np.ndarray,
    query: str,
) -> np.ndarray:
    """Labels in the order of the items; raises an error, which names `query`, if not grades."""
    if isinstance(labels, Mapping):
        items: dict[Hashable, None] = dict.fromkeys(request.items.tolist())
        for item in labels:
            if item not in items:
                raise ValueError(
                    f"item {show(item)} is not one of the items asked of query {query}."
                )
        for item in items:
            if item not in labels:
                raise ValueError(f"item {show(item)} of query {query} has no label: give one.")
        labels = [labels[item] for item in items]
    try:
        values = np.array(labels, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"labels of query {query} must be grades, one per item.") from None
    if values.shape != request.items.shape:
        raise ValueError(
            f"{values.size} labels for the {len(request)} items of query {query}: give one label "
            "per item, in the order of Request.items."
        )
    wrong = np.flatnonzero(~np.isin(values, grades))
    if len(wrong):
        raise ValueError(
            f"label {values[wrong[0]]:g} of item {show(request.items[wrong[0]])} of query {query} "
            f"is not one of the grades {grades.tolist()}: correct the label, or pass all grades= "
            "when the campaign starts."
        )
    return values
