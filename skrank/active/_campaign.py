"""A campaign: requests labels of drawn queries, records the labels, and estimates."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._typing import Options, RandomState
from skrank._warnings import warn
from skrank.active._design import Design, Request
from skrank.active._estimate import Estimate, caution_of, typical_number
from skrank.active._intervals import bootstrap_interval, certainty
from skrank.active._means import ESTIMATORS, Mean, mean_of
from skrank.active._moments import LabelModel, Moments, random_labels
from skrank.active._pool import cost_per_query, frequency_per_query, item_ids, known_labels
from skrank.active._sampling import drawing_order, fits, sampling_distribution
from skrank.extending import Judgments, Queries
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

Rankers = ArrayLike | Mapping[str, ArrayLike] | Sequence[ArrayLike]


class Campaign(ABC):
    """Base class of `ActiveEvaluator` and `ActiveComparator`."""

    # `_pool` has the documents whose labels can change a value, and `_graded` the metric with the
    # grades that labels may have. By document of the pool: `_known`, the label if it was known
    # before the campaign, else NaN; `_items`, the id, or None if row numbers are the ids. By query:
    # `_is_known`, whether all labels were known, so that the query is never drawn; `_p`, `_q` and
    # `_costs`, its frequency, the probability of its draw, and the cost of its labels. By ranker
    # and query: `_values`, NaN until the query is labelled, or if it does not count. `_labels` are
    # those told, by number of the query; `_order` are the numbers in the order of the draws.

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
        self._names, vectors = self._named_rankers(scores)
        if not all(map(np.ndim, vectors)):  # a run, as a dict, file or `trec.Run`
            raise ValueError(
                "scores of a ranker must be an array, one per row (document): join runs in one "
                "table, with -inf for documents that a run did not retrieve."
            )
        check.check_kind("design (what skrank.active.Design returns)", design, Design)
        named: Options = {f"scores of {n}": s for n, s in zip(self._names, vectors, strict=True)}
        named |= {"groups": groups, "label_model": label_model, "labels": design.labels}
        check.check_same_index(**named, items=design.items, costs=design.costs)
        self._n_rows = len(check.as_vector("scores", vectors[0]))
        seed = check.check_random_state(random_state) % 2**32
        who = type(self).__name__
        documents = random_labels(metric, vectors, groups, label_model, design, seed, who=who)
        self._graded, self._pool, queries = documents.graded, documents.pool, documents.pool.queries
        self._items = item_ids(design.items, self._pool, self._n_rows)
        known = known_labels(design.labels, self._graded.grades, self._n_rows)[self._pool.rows]
        is_open = np.isnan(known)
        documents.proba[~is_open] = known[~is_open, None] == self._graded.grades  # 1 or 0
        self._known, self._is_known = known, self._pool.count(is_open) == 0
        self._p = frequency_per_query(design.frequencies, queries)
        p_open = np.where(self._is_known, 0.0, self._p)
        if not p_open.any():
            raise ValueError(
                "all documents of the pool are labelled already: measure the rankers with "
                "skrank.evaluate, which needs no campaign."
            )
        self._costs = cost_per_query(design.costs, self._pool, is_open, self._n_rows)
        n_draws, center = design.n_label_draws, design.center
        check.check_repeats("n_label_draws", n_draws, "random label vectors per query")
        if center is not None:  # its square is finite
            center = check.check_number("center", center, -1e100, 1e100)
        self._moments = documents.moments(n_draws, seed, self._p, center)
        if center is None or len(self._names) > 2:  # moments of more rankers have used the center
            center = self._moments.center(self._p)
        costs = np.where(self._is_known, 1.0, self._costs)  # known queries are not drawn
        shares = check.check_frequencies("frequencies", p_open, len(p_open))
        self._q = sampling_distribution(
            self._moments, costs, shares, mixing=design.mixing, center=center
        )
        self._order = drawing_order(self._q, seed)
        self._draw_cost = float(self._q @ self._costs)  # on average
        self.budget, self.n_queries = budget, n_queries
        self._number = {query: i for i, query in enumerate(queries.ids.tolist())}
        self._n_asked = 0  # the first queries of the order of drawing were asked
        self._labels: dict[int, np.ndarray] = {}
        self._values = np.full((len(self._names), len(queries)), np.nan)
        for query in np.flatnonzero(self._is_known).tolist():
            self._values[:, query] = self._measured(query, np.empty(0))
        # of simulated campaigns, 2.6 % end without a label at five draws (docs/evidence, budgets)
        if budget is not None and budget < 5 * self._draw_cost:
            warn(
                f"budget={budget:g} is small: a draw costs {self._draw_cost:.3g} on average, so "
                "the campaign may end without an estimate. Raise the budget."
            )

    @staticmethod
    @abstractmethod
    def _named_rankers(scores: Rankers) -> tuple[tuple[str, ...], list[ArrayLike]]:
        """Names and scores of the rankers."""

    def __repr__(self) -> str:
        """What is labelled, of what is asked, of what can be asked."""
        most = min(len(self._order), self.n_queries or len(self._order))
        limit = "" if self.budget is None else f" of {self.budget:g}"
        return (
            f"{type(self).__name__}({', '.join(self.names)}): {self.metric}, "
            f"{len(self._labels)} of {check.counted(most, 'query', 'queries')} labelled, "
            f"{len(self.waiting)} more asked, cost of all asked {self.cost:g}{limit}"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rankers."""
        return self._names

    @property
    def metric(self) -> Metric:
        """The metric, with ``empty=0`` if its moments are exact: then every query counts."""
        return self._graded.metric

    @property
    def budget(self) -> float | None:
        """Largest total cost of labels; None for no limit. It can be raised at any time."""
        return self._budget

    @budget.setter
    def budget(self, budget: float | None) -> None:
        if budget is not None:
            budget = check.check_number("budget", budget, 0, np.inf, open_low=True)
            cheapest = float(self._costs[self._order].min())
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
        return float(self._costs[self._asked].sum())

    @property
    def labels(self) -> np.ndarray:
        """Label of each row, from `tell` or from `Design.labels`; NaN if unknown."""
        out = np.full(self._n_rows, np.nan)
        out[self._pool.rows] = self._known
        for query, labels in self._labels.items():
            out[self._request(query).rows] = labels
        return out

    @property
    def _asked(self) -> np.ndarray:
        """The queries asked so far, in the order of asking."""
        return self._order[: self._n_asked]

    @property
    def waiting(self) -> list[Request]:
        """Queries that were asked and are not labelled yet, in the order of asking."""
        unlabelled = (query for query in self._asked.tolist() if query not in self._labels)
        return [self._request(query) for query in unlabelled]

    def _request(self, query: int) -> Request:
        """The request for the labels of a query that are not known."""
        rows = np.arange(*self._pool.queries.indptr[query : query + 2])
        rows = rows[np.isnan(self._known[rows])]
        caller_rows = self._pool.rows[rows]
        items = caller_rows if self._items is None else self._items[rows]
        name = self._pool.queries.ids[query : query + 1].tolist()[0]  # a number of Python
        return Request(name, items, caller_rows, float(self._costs[query]))

    def _measured(self, query: int, labels: np.ndarray) -> np.ndarray:
        """Value of each ranker from new and known labels; NaN if the query does not count."""
        rows = slice(*self._pool.queries.indptr[query : query + 2])
        merged = self._known[rows].copy()
        merged[np.isnan(merged)] = labels
        judgments = Judgments(merged, Queries.single(len(merged)))
        return self._graded.values(judgments, self._pool.scores[:, rows])[:, 0]

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
            spent = np.cumsum(self._costs[self._order])
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
            text, asked = str(query_id).lstrip("0"), self._pool.queries.ids[self._asked].tolist()
            meant = [f", but {other!r} was" for other in asked if str(other).lstrip("0") == text]
            hint = f"{meant[0]} (pandas.read_csv with dtype=str reads texts)" if meant else ""
            raise ValueError(
                f"query {query_id!r} was not asked{hint}: labels of other "
                "queries would bias the estimate. Take ids from ask() or next_query()."
            )
        new = self._request(number).checked(labels, self._graded.grades)
        old = self._labels.get(number)
        if old is not None and not replace and (old != new).any():
            raise ValueError(
                f"query {query_id!r} already has the labels {check.brief(old.tolist())}: keep "
                "them, or replace them with tell(..., replace=True)."
            )
        self._values[:, number] = self._measured(number, new)
        self._labels[number] = new

    @property
    def moments(self) -> Moments:
        """Moments of the value of each query under the label model, for `simulate`."""
        return self._moments

    @property
    def sampling(self) -> pd.DataFrame:
        """Per query: probability of a draw, frequency, cost, number of items, two moments.

        These are the expected value, and the expected square of the value.
        """
        import pandas as pd

        columns = {
            "probability": self._q, "frequency": self._p, "cost": self._costs,
            "items": self._pool.queries.sizes, "expected": self._moments.first,
            "second_moment": self._moments.second,
        }  # fmt: skip
        return pd.DataFrame(columns, index=pd.Index(self._pool.queries.ids, name="qid"))

    def _n_usable(self, estimator: str) -> int:
        """Number of draws before the first unlabelled draw."""
        check.check_choice("estimator", estimator, ESTIMATORS)
        is_labelled = np.isin(self._order, list(self._labels))
        if is_labelled[0]:
            return len(is_labelled) if is_labelled.all() else int(np.argmin(is_labelled))
        first = int(self._order[0])
        limit = "" if self._budget is None else f" of the budget of {self._budget:g}"
        raise ValueError(
            f"no labels to estimate from yet: label query {self._pool.queries.name(first)} first, "
            f"which costs {float(self._costs[first]):g}{limit} (labelled queries that wait for it: "
            f"{len(self._labels)})."
        )

    def _estimate(
        self, rankers: Sequence[int], confidence: float, estimator: str, n_draws: int | None = None
    ) -> tuple[Estimate, float]:
        """The estimate from the first draws, and the highest confidence that excludes 0.

        Parameters
        ----------
        rankers : sequence of one or two int
            A ranker, or two for the difference of their means.
        confidence, estimator
        n_draws : int, optional
            All these draws are labelled. If these are all queries, the mean is exact. Default: the
            draws before the first unlabelled draw.
        """
        confidence = check.check_share("confidence", confidence)
        n_draws = self._n_usable(estimator) if n_draws is None else n_draws
        values = np.subtract.reduce(self._values[list(rankers)])  # of one ranker: its values
        p, draws, deviation = self._p, self._order[:n_draws], self._moments.deviation(self._p)
        mean = mean_of(
            values, draws, p, self._q, deviation=deviation if estimator == "assisted" else None,
            known=self._is_known,
            all_count=self.metric.empty != "skip" or not self.metric.needs_relevant,
        )  # fmt: skip
        complete = n_draws == len(self._order)
        n_typical = float(mean.n_counted)  # in numbers of queries of average cost: see `Estimate`
        if self._budget is not None and not complete:
            cost = float(self._costs[draws].sum())
            n_typical = float(typical_number(mean.n_counted, n_draws, cost, self._draw_cost))
        if complete:
            counts = ~np.isnan(values)
            mass = float(p @ counts)
            value = float(p[counts] @ values[counts] / mass) if mass > 0 else math.nan
            error, interval, sure, passive = 0.0, (value, value), float(value != 0), None
        else:
            value, error, passive = mean.value, mean.standard_error, self._passive_cost(mean)
            interval, sure = bootstrap_interval(mean, confidence), certainty(mean)
        caution = caution_of(mean, n_typical, confidence)
        estimate = Estimate(
            value=value, standard_error=error, interval=interval, confidence=confidence,
            n_queries=n_draws, n_counted=mean.n_counted, n_typical=n_typical,
            n_waiting=len(self._labels) - n_draws,
            cost=float(self._costs[list(self._labels)].sum()), passive_cost=passive,
            complete=complete, names=tuple(self._names[ranker] for ranker in rankers),
            caution=None if complete and not math.isnan(value) else caution,
        )  # fmt: skip
        return estimate, sure

    def _passive_cost(self, mean: Mean) -> float | None:
        """Expected cost of as many passive draws as give the standard error of `mean`.

        Passive draws are without replacement, with the frequencies p as probabilities. Returns None
        if the error is unknown.
        """
        error, variance = mean.standard_error, mean.variance
        if not (error > 0 and variance > 0):
            return None
        p = np.where(self._q > 0, self._p, 0.0)
        p /= p.sum()
        # n draws without replacement from N equally frequent queries have error^2 =
        # variance (1 / n - 1 / N). If frequencies differ, the sum of p^2 replaces 1 / N.
        return float(p @ self._costs) / (error**2 / variance + float(p @ p))

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

        draws, rankers = self._order[: self._n_usable(estimator)], range(len(self._names))[:2]
        rows = []
        for n_draws in range(1, len(draws) + 1):
            estimate, _ = self._estimate(rankers, confidence, estimator, n_draws)
            cost = float(self._costs[draws[:n_draws]].sum())
            rows.append((cost, estimate.value, *estimate.interval))
        table = pd.DataFrame(rows, columns=["cost", "value", "low", "high"])
        table.insert(0, "qid", self._pool.queries.ids[draws])
        return table
