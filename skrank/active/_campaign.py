"""A campaign: requests labels of drawn queries, records the labels, estimates, saves and loads."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import show
from skrank.active import _files
from skrank.active._design import Design, Request, as_seed, open_rows, told_labels
from skrank.active._estimate import Estimate
from skrank.active._label_model import LabelModel, warn_of_contestant
from skrank.active._means import ESTIMATORS
from skrank.active._moments import Moments, random_labels
from skrank.active._pool import Costs, cost_per_query, frequency_per_query, given_labels, item_ids
from skrank.active._sampling import Draws, fits, sampling_distribution
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

Rankers = ArrayLike | Mapping[str, ArrayLike] | Sequence[ArrayLike]
_saving = threading.Lock()  # of two concurrent saves, the later state must end up in the file


class Campaign(ABC):
    """Base class of `ActiveEvaluator` and `ActiveComparator`."""

    def __init__(
        self,
        scores: Rankers,
        groups: ArrayLike | None = None,
        *,
        metric: str | Metric,
        label_model: LabelModel = "uniform",
        X: ArrayLike | None = None,
        grades: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        items: ArrayLike | None = None,
        costs: Costs = "items",
        cost_aware: bool = True,
        frequencies: Mapping[object, float] | None = None,
        budget: float | None = None,
        mixing: float | None = None,
        center: float | None = None,
        moments: str = "auto",
        n_label_draws: int = 200,
        random_state: int | None = None,
    ) -> None:
        names, vectors = self._named_rankers(scores)
        cost_aware = check.check_flag("cost_aware", cost_aware)
        n_rows, seed = len(check.as_vector("scores", vectors[0])), as_seed(random_state)
        documents = random_labels(
            metric, vectors, groups, label_model, X, grades, seed, who=type(self).__name__
        )
        graded, pool, proba = documents.graded, documents.pool, documents.proba
        if len(names) > 1 and center is None:
            warn_of_contestant(pool, proba, graded.grades, names)
        item_names = item_ids(items, pool, n_rows)
        given = given_labels(labels, graded.grades, n_rows)[pool.rows]
        is_given = ~np.isnan(given)
        proba[is_given] = given[is_given, None] == graded.grades
        p = frequency_per_query(frequencies, pool.queries)
        p_open = np.where(open_rows(pool, given) > 0, p, 0.0)
        if not p_open.any():
            raise ValueError(
                "all documents of the pool are labelled already: measure the rankers with "
                "skrank.evaluate, which needs no campaign."
            )
        cost = cost_per_query(costs, pool, ~is_given, n_rows)
        expected = documents.mean_moments(moments, n_label_draws, seed, p, center)
        q = sampling_distribution(
            expected,
            costs=np.where(p_open > 0, cost, 1.0) if cost_aware else None,  # others are not drawn
            frequencies=p_open,
            mixing=mixing,
            # for more than two rankers, `mean_moments` has used the center
            center=expected.center(p) if center is None or len(names) > 2 else center,
        )
        design = Design(
            names, graded, pool, item_names, given, n_rows, p, q, cost, expected, center, seed
        )
        self._begin(design, budget)
        design.warn_of_small_budget(budget)

    @staticmethod
    @abstractmethod
    def _named_rankers(scores: Rankers) -> tuple[tuple[str, ...], list[ArrayLike]]:
        """Names and scores of the rankers."""

    def __repr__(self) -> str:
        limit = "" if self._budget is None else f" of {self._budget:g}"
        return (
            f"{type(self).__name__}({', '.join(self.names)}): {self.metric}; queries: "
            f"{len(self._labels)} of {len(self._design.queries)} labelled, "
            f"{len(self._waiting)} waiting; cost {self._spent:g}{limit}"
        )

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
            self._values[:, query] = self._design.evaluate(query, np.empty(0))

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
        if budget is not None:
            budget = check.check_number("budget", budget, 0, np.inf, open_low=True)
            cheapest = float(self._design.costs[self._design.q > 0].min())
            if not fits(cheapest, budget):
                raise ValueError(
                    f"budget={budget:g} does not pay for any query: the cheapest costs "
                    f"{cheapest:g}."
                )
        self._budget = budget

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
            out[self._design.request(query).rows] = labels
        return out

    @property
    def waiting(self) -> list[Request]:
        """Queries that were asked and are not labelled yet, in the order of asking."""
        return [self._design.request(query) for query in self._waiting]

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
        return [self._design.request(query) for query in islice(self._waiting, n)]

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
        request, name = self._design.request(number), self._design.queries.name(number)
        new = told_labels(request, labels, self._design.graded.grades, name)
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
        return self._design.request(self._number_of_asked(query)).items.tolist()

    def _record(self, query: int, labels: np.ndarray) -> None:
        self._values[:, query] = self._design.evaluate(query, labels)
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

    @property
    def method(self) -> str:
        """How moments were computed: "exact", "delta" or "monte-carlo"."""
        return self.moments.method

    @property
    def moments(self) -> Moments:
        """Moments of the value of each query under the label model, for `simulate`."""
        return self._design.moments

    @property
    def predicted_cost_ratio(self) -> float:
        """Predicted cost of the draws, relative to equally accurate uniform draws.

        The prediction assumes that the label model is right. It ignores that labels of repeated
        draws are free, and that the estimator "assisted" reduces the error.
        """
        d = self._design
        center = d.moments.center(d.p) if d.center is None else d.center
        a = d.p**2 * d.moments.squared_error(center)
        drawn = d.q > 0
        uniform = np.where(drawn, d.p, 0.0) / d.p[drawn].sum()
        asked = uniform > 0
        active = (a[drawn] / d.q[drawn]).sum() * (d.costs @ d.q)
        passive = (a[asked] / uniform[asked]).sum() * (d.costs @ uniform)
        return float(active / passive) if passive > 0 else 1.0

    @property
    def sampling(self) -> pd.DataFrame:
        """Per query: probability of a draw, frequency, cost, number of items, two moments.

        These are the expected value, and the expected square of the value.
        """
        import pandas as pd

        d = self._design
        columns = {
            "probability": d.q,
            "frequency": d.p,
            "cost": d.costs,
            "items": d.queries.sizes,
            "expected": d.moments.first,
            "second_moment": d.moments.second,
        }
        return pd.DataFrame(columns, index=pd.Index(d.queries.ids, name="qid"))

    def draws(self, n: int | None = None) -> pd.Series:
        """Queries, drawn with replacement, to label in one batch.

        The campaign does not change: the queries are not asked, and not counted as cost.

        Parameters
        ----------
        n : int, optional
            Number of draws. Default: as many as the budget pays for.

        Returns
        -------
        weights : Series
            Importance weight p / q of each draw, indexed by query. A query that is drawn twice has
            two entries: label the query once, and pass the Series and `sampling` to
            `skrank.active.estimate`.
        """
        import pandas as pd

        d = self._design
        if n is None:
            if self._budget is None:
                raise ValueError("the campaign has no budget: pass the number of draws, draws(n).")
            n = self._draws.affordable(d.costs, self._budget)
        drawn = self._draws.first(check.check_count("n", n, "the number of draws", 0))
        index = pd.Index(d.queries.ids[drawn], name="qid")
        return pd.Series(d.p[drawn] / d.q[drawn], index=index, name="weight")

    def _usable_draws(self, estimator: str) -> tuple[np.ndarray, bool]:
        """The draws before the first unlabelled draw, and False; or all queries once, and True.

        True: all queries that can be drawn are labelled, so that the value is known exactly.
        """
        check.check_choice("estimator", estimator, ESTIMATORS)
        design = self._design
        labelled = design.q <= 0
        labelled[list(self._labels)] = True
        if labelled.all():
            return np.flatnonzero(design.q > 0), True
        draws = self._draws.first(self._draws.next_outside(labelled, 0))
        if len(draws):
            return draws, False
        first = int(self._draws.first(1)[0])
        name, cost = design.queries.name(first), float(design.costs[first])
        remedy = f"label query {name} first"
        if self._budget is not None and not fits(cost, self._budget):
            remedy = (
                f"the budget of {self._budget:g} does not pay for query {name}, which was drawn "
                f"first and costs {cost:g}. Raise campaign.budget"
            )
        raise ValueError(f"no labels to estimate from yet: {remedy}.")

    def _values_of(self, first: int, second: int | None) -> np.ndarray:
        """Value of a ranker, or difference of two; NaN if not labelled, or if it does not count."""
        values = self._values[first]
        return values if second is None else values - self._values[second]

    def _estimate(
        self, first: int, second: int | None, confidence: float, estimator: str, anytime: bool
    ) -> tuple[Estimate, float]:
        """The estimate of a mean or difference, and the highest confidence that excludes 0."""
        confidence = check.check_share("confidence", confidence)
        anytime = check.check_flag("anytime", anytime)
        draws, complete = self._usable_draws(estimator)
        spent = float(self._design.costs[list(self._labels)].sum())
        values = self._values_of(first, second)
        if complete:
            return replace(self._design.exact(values, draws, confidence), cost=spent), 1.0
        bounds = self._design.bounds(first, second) if anytime else None
        found, sure = self._design.estimate(values, draws, confidence, estimator, bounds)
        return replace(found, cost=spent, n_waiting=len(self._labels) - found.n_queries), sure

    def progress(
        self, confidence: float = 0.95, *, estimator: str = "assisted", anytime: bool = False
    ) -> pd.DataFrame:
        """The estimate after each labelled query, in the order of the draws.

        Parameters
        ----------
        confidence : float
            Coverage of the intervals.
        estimator, anytime
            As of `ActiveEvaluator.estimate`.

        Returns
        -------
        DataFrame
            Columns "query", "cost" (cumulative cost of labels), "value", "low" and "high"; one row
            per query that the estimate uses. With two or more rankers, the value is the difference
            of the first two.
        """
        import pandas as pd

        confidence = check.check_share("confidence", confidence)
        anytime = check.check_flag("anytime", anytime)
        draws, complete = self._usable_draws(estimator)
        if complete:  # up to the first draw of the query that was asked last
            others = np.arange(len(self._is_asked)) != self._asked[-1]
            draws = self._draws.first(self._draws.next_outside(others, 0) + 1)
        new = np.sort(np.unique(draws, return_index=True)[1])  # draws of queries not drawn before
        queries, ends = draws[new], np.append(new[1:], len(draws))
        pair = 0, 1 if len(self.names) > 1 else None
        design, values = self._design, self._values_of(*pair)
        bounds = design.bounds(*pair) if anytime else None
        found = [
            design.estimate(values, draws[:end], confidence, estimator, bounds)[0] for end in ends
        ]
        if complete:
            found[-1] = design.exact(values, queries, confidence)
        low, high = np.transpose([estimate.interval for estimate in found])
        columns = {
            "query": design.queries.ids[queries],
            "cost": np.cumsum(design.costs[queries]),
            "value": [estimate.value for estimate in found],
            "low": low,
            "high": high,
        }
        return pd.DataFrame(columns)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the whole campaign to a file, which replaces an older file in one step.

        Parameters
        ----------
        path : str or path
            Name of the file, by convention with the ending ``.npz``. The file contains plain
            arrays, no pickles. Symbolic links are followed; permissions of an older file stay.
        """
        with _saving:
            labels = dict(self._labels)  # copied before `_asked`: labelled queries must be asked
            kind, asked = type(self).__name__, list(self._asked)
            _files.write(path, kind, self._design, self._budget, asked, labels)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a campaign from a file, to continue it.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        campaign
            An instance of the class whose `load` is called; ``Campaign.load`` reads both classes.

        Raises
        ------
        ValueError
            If the file is damaged or modified, or is not a campaign of this class.
        """
        kind, design, budget, asked, labels = _files.read(path)
        kinds = {one.__name__: one for one in (cls, *cls.__subclasses__())}
        if kind not in kinds:
            raise ValueError(f"{path} holds an {kind}: use {kind}.load.")
        campaign = cls.__new__(kinds[kind])
        campaign._begin(design, budget)
        for query in asked:
            campaign._ask(query)
        for query, values in labels.items():
            campaign._record(query, values)
        return campaign
