"""A campaign: requests labels of drawn queries, records the labels, and estimates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._typing import RandomState
from skrank._warnings import warn
from skrank.active._estimate import Estimate
from skrank.active._means import ESTIMATORS
from skrank.active._moments import LabelModel, Moments, random_labels
from skrank.active._pool import cost_per_query, frequency_per_query, given_labels, item_ids
from skrank.active._sampling import fits, sampling_distribution
from skrank.active._setup import Design, Request, Setup
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

Rankers = ArrayLike | Mapping[str, ArrayLike] | Sequence[ArrayLike]


class Campaign(ABC):
    """Base class of `ActiveEvaluator` and `ActiveComparator`."""

    def __init__(
        self,
        scores: Rankers,
        groups: ArrayLike | None = None,
        *,
        metric: str | Metric,
        label_model: LabelModel = "uniform",
        n_queries: int | None = None,
        budget: float | None = None,
        design: Design = Design(),  # noqa: B008 (immutable)
        random_state: RandomState = 0,
    ) -> None:
        names, vectors = self._named_rankers(scores)
        if not all(map(np.ndim, vectors)):  # a run, as a dict, file or `trec.Run`
            raise ValueError(
                "scores of a ranker must be an array, one per row (document): join runs in one "
                "table, with -inf for documents that a run did not retrieve."
            )
        check.check_result("design", design, Design, "skrank.active.Design")
        n_rows = len(check.as_vector("scores", vectors[0]))
        seed = check.check_random_state(random_state) % 2**32
        documents = random_labels(
            metric, vectors, groups, label_model, design.grades, seed, who=type(self).__name__,
            labels=design.labels,
        )  # fmt: skip
        graded, pool, proba = documents.graded, documents.pool, documents.proba
        items = item_ids(design.items, pool, n_rows)
        given = given_labels(design.labels, graded.grades, n_rows)[pool.rows]
        is_open = np.isnan(given)
        proba[~is_open] = given[~is_open, None] == graded.grades
        p = frequency_per_query(design.frequencies, pool.queries)
        p_open = np.where(pool.count(is_open) > 0, p, 0.0)
        if not p_open.any():
            raise ValueError(
                "all documents of the pool are labelled already: measure the rankers with "
                "skrank.evaluate, which needs no campaign."
            )
        costs, center = cost_per_query(design.costs, pool, is_open, n_rows), design.center
        moments = documents.moments(design.n_label_draws, seed, p, center)
        q = sampling_distribution(
            moments,
            np.where(p_open > 0, costs, 1.0),  # others are not drawn
            check.check_frequencies("frequencies", p_open, len(p_open)),
            mixing=design.mixing,
            # for more than two rankers, `moments` has used the center
            center=moments.center(p) if center is None or len(names) > 2 else center,
        )
        setup = Setup(names, graded, pool, items, given, n_rows, p, q, costs, moments)
        self._setup = setup
        self.budget, self.n_queries = budget, n_queries
        self._number = {query: i for i, query in enumerate(setup.queries.ids.tolist())}
        self._n_asked = 0  # the first queries of the order of drawing were asked
        self._labels: dict[int, np.ndarray] = {}
        self._values = np.full((len(setup.names), len(setup.queries)), np.nan)
        for query in np.flatnonzero(setup.is_known).tolist():
            self._values[:, query] = setup.evaluate(query, np.empty(0))
        # with fewer than five draws of average cost, at least 3 % of campaigns end without a label
        if budget is not None and budget < 5 * setup.draw_cost:
            warn(
                f"budget={budget:g} is small: a draw costs {setup.draw_cost:.3g} on average, so "
                "the campaign may end without an estimate. Raise the budget.",
            )

    @staticmethod
    @abstractmethod
    def _named_rankers(scores: Rankers) -> tuple[tuple[str, ...], list[ArrayLike]]:
        """Names and scores of the rankers."""

    def __repr__(self) -> str:
        """What is labelled, of what is asked, of what can be asked."""
        setup = self._setup
        most = int(np.count_nonzero(setup.q)) if self.n_queries is None else self.n_queries
        limit = "" if self.budget is None else f" of {self.budget:g}"
        return (
            f"{type(self).__name__}({', '.join(self.names)}): {self.metric}, "
            f"{len(self._labels)} of {check.counted(most, 'query', 'queries')} labelled, "
            f"{len(self.waiting)} more asked, cost of all asked {self.cost:g}{limit}"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rankers."""
        return self._setup.names

    @property
    def metric(self) -> Metric:
        """The metric, with ``empty=0`` if it is not normalised: then every query counts."""
        return self._setup.graded.metric

    @property
    def budget(self) -> float | None:
        """Largest total cost of labels; None for no limit. It can be raised at any time."""
        return self._budget

    @budget.setter
    def budget(self, budget: float | None) -> None:
        if budget is not None:
            budget = check.check_number("budget", budget, 0, np.inf, open_low=True)
            cheapest = float(self._setup.costs[self._setup.q > 0].min())
            if not fits(cheapest, budget):
                raise ValueError(
                    f"budget={budget:g} does not pay for any query: the cheapest costs "
                    f"{cheapest:g}."
                )
        self._budget = budget

    @property
    def n_queries(self) -> int | None:
        """Largest number of queries to ask; None for no limit. It can be raised at any time."""
        return self._n_queries

    @n_queries.setter
    def n_queries(self, n_queries: int | None) -> None:
        if n_queries is not None:
            n_queries = check.check_count("n_queries", n_queries, "the number of queries to ask")
        self._n_queries = n_queries

    @property
    def cost(self) -> float:
        """Cost of all queries asked so far, including those that wait for labels."""
        return float(self._setup.costs[self._asked].sum())

    @property
    def labels(self) -> np.ndarray:
        """Label of each row, from `tell` or from `Design.labels`; NaN if unknown."""
        setup = self._setup
        out = np.full(setup.n_caller_rows, np.nan)
        out[setup.pool.rows] = setup.given
        for query, labels in self._labels.items():
            out[setup.request(query).rows] = labels
        return out

    @property
    def _asked(self) -> np.ndarray:
        """The queries asked so far, in the order of asking."""
        return self._setup.order[: self._n_asked]

    @property
    def waiting(self) -> list[Request]:
        """Queries that were asked and are not labelled yet, in the order of asking."""
        unlabelled = (query for query in self._asked.tolist() if query not in self._labels)
        return [self._setup.request(query) for query in unlabelled]

    def ask(self, n: int = 1) -> list[Request]:
        """The next queries to label.

        Queries that wait for labels come first, so that a repeated call returns the same queries,
        also in another process. New queries are drawn if fewer than `n` wait. A draw that exceeds
        the budget ends the campaign: to skip it in favour of cheaper queries would bias the
        estimate.

        Parameters
        ----------
        n : int
            Number of queries.

        Returns
        -------
        list of Request
            Fewer than `n` if the budget or `n_queries` is reached, or all queries were asked.
        """
        missing = check.check_count("n", n, "the number of queries to label") - len(self.waiting)
        if missing > 0:
            spent = np.cumsum(self._setup.costs[self._setup.order])
            affordable = len(spent[: self._n_queries])
            if self._budget is not None:
                affordable = min(affordable, int(np.count_nonzero(fits(spent, self._budget))))
            self._n_asked = max(self._n_asked, min(self._n_asked + missing, affordable))
        return self.waiting[:n]

    def next_query(self) -> Request | None:
        """The next query to label; None when a limit is reached or the pool is labelled."""
        return next(iter(self.ask()), None)

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
            One grade per item, in the order of ``Request.items``. A Series with the items as index
            is read as a mapping.
        replace : bool
            Replace labels recorded before.

        Raises
        ------
        ValueError
            If the query was not asked or is not in the pool, an item is unknown or has no label, a
            label is not a grade, or the query already has other labels. The campaign is unchanged.
        """
        query_id = query.query if isinstance(query, Request) else query
        number = self._number.get(query_id)
        if number is None or number not in self._asked:
            text, asked = str(query_id).lstrip("0"), self._setup.queries.ids[self._asked].tolist()
            meant = [f", but {other!r} was" for other in asked if str(other).lstrip("0") == text]
            hint = f"{meant[0]} (pandas.read_csv with dtype=str reads texts)" if meant else ""
            raise ValueError(
                f"query {query_id!r} was not asked{hint}: labels of other "
                "queries would bias the estimate. Take ids from ask() or next_query()."
            )
        request = self._setup.request(number)
        new = request.checked(labels, self._setup.graded.grades)
        old = self._labels.get(number)
        if old is not None and not replace and (old != new).any():
            raise ValueError(
                f"query {query_id!r} already has the labels {check.brief(old.tolist())}: keep "
                "them, or replace them with tell(..., replace=True)."
            )
        self._values[:, number] = self._setup.evaluate(number, new)
        self._labels[number] = new

    @property
    def moments(self) -> Moments:
        """Moments of the value of each query under the label model, for `simulate`."""
        return self._setup.moments

    @property
    def sampling(self) -> pd.DataFrame:
        """Per query: probability of a draw, frequency, cost, number of items, two moments.

        These are the expected value, and the expected square of the value.
        """
        import pandas as pd

        setup = self._setup
        columns = {
            "probability": setup.q, "frequency": setup.p, "cost": setup.costs,
            "items": setup.queries.sizes, "expected": setup.moments.first,
            "second_moment": setup.moments.second,
        }  # fmt: skip
        return pd.DataFrame(columns, index=pd.Index(setup.queries.ids, name="qid"))

    def _n_usable(self, estimator: str) -> int:
        """Number of draws before the first unlabelled draw."""
        check.check_choice("estimator", estimator, ESTIMATORS)
        setup = self._setup
        is_labelled = np.isin(setup.order, list(self._labels))
        if is_labelled[0]:
            return len(is_labelled) if is_labelled.all() else int(np.argmin(is_labelled))
        first = int(setup.order[0])
        limit = "" if self._budget is None else f" of the budget of {self._budget:g}"
        raise ValueError(
            f"no labels to estimate from yet: label query {setup.queries.name(first)} first, which "
            f"costs {float(setup.costs[first]):g}{limit} (labelled queries that wait for it: "
            f"{len(self._labels)})."
        )

    def _values_of(self, first: int, second: int | None) -> np.ndarray:
        """Value of a ranker, or difference of two; NaN if not labelled, or if it does not count."""
        return self._values[first] - (0.0 if second is None else self._values[second])

    def _estimate(
        self, first: int, second: int | None, confidence: float, estimator: str
    ) -> tuple[Estimate, float]:
        """The estimate of a mean or difference, and the highest confidence that excludes 0."""
        confidence = check.check_share("confidence", confidence)
        n_usable, values = self._n_usable(estimator), self._values_of(first, second)
        limited = self._budget is not None
        estimate, sure = self._setup.estimate(
            values, n_usable, confidence, estimator, has_budget=limited
        )
        spent = float(self._setup.costs[list(self._labels)].sum())
        names = tuple(self.names[ranker] for ranker in (first, second) if ranker is not None)
        n_waiting = len(self._labels) - n_usable
        return replace(estimate, cost=spent, n_waiting=n_waiting, names=names), sure

    def progress(self, confidence: float = 0.95, *, estimator: str = "assisted") -> pd.DataFrame:
        """The estimate after each labelled query, in the order of the draws.

        Parameters
        ----------
        confidence : float
            Coverage of the intervals.
        estimator
            As of `ActiveEvaluator.estimate`.

        Returns
        -------
        DataFrame
            Columns "qid", "cost" (cumulative cost of labels), "value", "low" and "high"; one row
            per query that the estimate uses. With two or more rankers, the value is the difference
            of the first two.
        """
        import pandas as pd

        confidence = check.check_share("confidence", confidence)
        setup, n_usable = self._setup, self._n_usable(estimator)
        values = self._values_of(0, 1 if len(self.names) > 1 else None)
        steps = [setup.estimate(values, n + 1, confidence, estimator)[0] for n in range(n_usable)]
        table = pd.DataFrame([(step.cost, step.value, *step.interval) for step in steps])
        table.columns = pd.Index(["cost", "value", "low", "high"])
        table.insert(0, "qid", setup.queries.ids[setup.order[:n_usable]])
        return table
