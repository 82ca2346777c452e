"""Label queries one after the other, and estimate as labels come in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from skrank import _validation as check
from skrank._engine.groups import show
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank.active import _state
from skrank.active._design import Design, Request, seed_of
from skrank.active._estimate import Estimate, passive_variance, weigh
from skrank.active._forms import Form
from skrank.active._moments import evaluate, moments_of, prepare
from skrank.active._pool import Pool, cost_per_query, frequency_per_query, storable
from skrank.active._sampling import Draws, budget_ratio, fits, sampling_distribution
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

_C = TypeVar("_C", bound="Campaign")


class Campaign:
    """What evaluation and comparison have in common."""

    _names: tuple[str, ...]
    _form: Form
    _pool: Pool
    _design: Design
    _items: np.ndarray | None
    _seed: int
    _center: float | None
    _budget: float | None

    def _start(
        self,
        scores: list[Any],
        groups: Any,
        *,
        metric: str | Metric,
        label_model: Any,
        X: Any,
        grades: Any,
        items: Any,
        costs: Any,
        cost_aware: bool,
        frequencies: Mapping | None,
        budget: float | None,
        mixing: float,
        center: float | None,
        moments: str,
        n_label_draws: int,
        random_state: int | None,
    ) -> tuple[Pool, np.ndarray]:
        """Set everything up; returns the pool and its label probabilities."""
        self._seed = seed_of(random_state)
        self._form, self._pool, proba = prepare(
            metric, scores, groups, label_model, X, grades, self._seed, who=type(self).__name__
        )
        n_rows = len(scores[0])
        if items is not None and len(items) != n_rows:
            raise ValueError(f"items has {len(items)} entries for {n_rows} rows.")
        self._items = None if items is None else storable("items", items)[self._pool.rows]
        queries = self._pool.queries
        cost = cost_per_query(costs, self._pool, n_rows)
        p = frequency_per_query(frequencies, queries)
        found = moments_of(self._form, self._pool, proba, moments, n_label_draws, self._seed)
        q = sampling_distribution(
            found,
            costs=cost if cost_aware else None,
            frequencies=p,
            mixing=mixing,
            center=center,
        )
        self._design = Design(q, p, cost, found)
        self._center = center
        self.budget = budget
        self._reset()
        return self._pool, proba

    def _reset(self) -> None:
        n = len(self._pool.queries)
        self._number = {query: i for i, query in enumerate(self._pool.queries.ids.tolist())}
        self._draws = Draws(self._design.q, self._seed)
        self._asked: list[int] = []
        self._is_asked = np.zeros(n, np.bool_)
        self._waiting: dict[int, None] = {}  # in the order of asking
        self._spent = 0.0
        self._place = 0  # of the first draw that was not looked at
        self._labels: dict[int, np.ndarray] = {}
        self._values = np.full((len(self._names), n), np.nan)

    # what a campaign is

    @property
    def metric(self) -> Metric:
        """The metric, with ``empty=0`` if it is not normalised: then every query counts."""
        return self._form.metric

    @property
    def budget(self) -> float | None:
        """Most that all labels may cost; None without limit. It may be raised at any time."""
        return self._budget

    @budget.setter
    def budget(self, budget: float | None) -> None:
        if budget is not None:
            budget = check.check_number("budget", budget, 0, np.inf, open_low=True)
            cheapest = float(self._design.costs.min())
            if not fits(cheapest, budget):
                raise ValueError(
                    f"budget={budget:g} pays for no query: the cheapest costs {cheapest:g}."
                )
        self._budget = budget

    @property
    def method(self) -> str:
        """How moments were computed: "exact", "delta" or "monte-carlo"."""
        return self._design.moments.method

    @property
    def predicted_cost_ratio(self) -> float:
        """Predicted cost of an estimate over that of an equally accurate one by uniform draws.

        As far as the label model can be believed, and without regard to repeated draws.
        """
        d = self._design
        return budget_ratio(d.moments, d.q, d.costs, d.p, self._center)

    @property
    def sampling(self) -> pd.DataFrame:
        """Per query: probability of a draw, frequency, cost, number of items, expected value."""
        import pandas as pd

        d, queries = self._design, self._pool.queries
        return pd.DataFrame(
            {
                "probability": d.q,
                "frequency": d.p,
                "cost": d.costs,
                "items": queries.sizes,
                "expected": d.moments.first,
                "second_moment": d.moments.second,
            },
            index=pd.Index(queries.ids, name="qid"),
        )

    # the protocol

    @property
    def cost(self) -> float:
        """Cost of the queries that were asked so far, labelled or waiting."""
        return self._spent

    @property
    def waiting(self) -> list[Request]:
        """Queries that were asked and are not labelled yet, in the order of asking."""
        return [self._request(query) for query in self._waiting]

    def ask(self, n: int = 1) -> list[Request]:
        """The next queries to label.

        Queries that wait for labels come first, so that asking again, or in another process, gives
        the same ones; new queries are drawn when fewer than `n` wait.

        Parameters
        ----------
        n : int
            Number of queries.

        Returns
        -------
        list of Request
            Fewer than `n` when the budget does not pay for more, or the whole pool was asked.
        """
        check.check_count("n", n, "the number of queries to label")
        missing = n - len(self._waiting)
        while missing > 0 and self._draw():
            missing -= 1
        return [self._request(query) for query in islice(self._waiting, n)]

    def next_query(self) -> Request | None:
        """The next query to label; None when the budget is exhausted or the pool is labelled."""
        return next(iter(self.ask(1)), None)

    def _draw(self) -> bool:
        """Ask one new query; False when there is none, or it does not fit the budget.

        The draw that does not fit ends the campaign: to go on with cheaper queries would bias it.
        """
        if self._is_asked[self._design.q > 0].all():
            return False
        self._place = self._draws.next_outside(self._is_asked, self._place)
        query = int(self._draws.first(self._place + 1)[-1])
        if self._budget is not None:
            more = float(self._design.costs[query])
            if not fits(self._spent + more, self._budget):
                return False
        self._ask(query)
        return True

    def _ask(self, query: int) -> None:
        self._asked.append(query)
        self._is_asked[query] = True
        self._waiting[query] = None
        self._spent += float(self._design.costs[query])

    def tell(self, query: Any, labels: Any, *, replace: bool = False) -> None:
        """Record the labels of a query that was asked.

        Parameters
        ----------
        query : query id or Request
        labels : array-like of shape (n_items,), or mapping from item to label
            One grade per item, in the order of ``Request.items``.
        replace : bool
            Replace labels that were told before.

        Raises
        ------
        ValueError
            If the query was not asked or is not in the pool, an item is unknown or has no label, a
            label is no grade, or the query has other labels already. Nothing is changed then.
        """
        number = self._find(query)
        new = self._check_labels(number, labels)
        old = self._labels.get(number)
        if old is not None and not replace and (old != new).any():
            item = int(np.argmax(old != new))
            raise ValueError(
                f"query {self._pool.queries.name(number)} was told with label {old[item]:g} for "
                f"item {show(self._request(number).items[item])}, now {new[item]:g}: keep one of "
                "them; tell(..., replace=True) takes the new labels."
            )
        self._record(number, new)

    def _record(self, query: int, labels: np.ndarray) -> None:
        self._values[:, query] = self._evaluate(query, labels)
        self._labels[query] = labels
        self._waiting.pop(query, None)

    def _find(self, query: Any) -> int:
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

    def _check_labels(self, number: int, labels: Any) -> np.ndarray:
        """Labels in the order of the items, all of them grades."""
        items = self._request(number).items
        name = self._pool.queries.name(number)
        if isinstance(labels, Mapping):
            known = set(items.tolist())
            for item in labels:
                if item not in known:
                    raise ValueError(f"item {show(item)} is not among those asked of query {name}.")
            for item in items.tolist():
                if item not in labels:
                    raise ValueError(f"item {show(item)} of query {name} has no label: give one.")
            labels = [labels[item] for item in items.tolist()]
        values = np.array(labels, dtype=np.float64)
        if values.shape != items.shape:
            raise ValueError(
                f"{values.size} labels for the {len(items)} items of query {name}: give one label "
                "per item, in the order of Request.items."
            )
        wrong = np.flatnonzero(~np.isin(values, self._form.grades))
        if len(wrong):
            raise ValueError(
                f"label {values[wrong[0]]:g} of item {show(items[wrong[0]])} of query {name} is "
                f"none of the grades {self._form.grades.tolist()}: correct it, or give all grades= "
                "when the campaign starts."
            )
        return values

    def _request(self, query: int) -> Request:
        where = self._pool.rows_of(query)
        rows = self._pool.rows[where]
        items = rows if self._items is None else self._items[where]
        ids = self._pool.queries.ids
        return Request(ids[query].item(), items, rows, float(self._design.costs[query]))

    def _evaluate(self, query: int, labels: np.ndarray) -> np.ndarray:
        """Value of each ranker; NaN if the query does not count."""
        judgments = Judgments(labels, Queries.single(len(labels)))
        scores = self._pool.scores[:, self._pool.rows_of(query)]
        return evaluate(self._form, judgments, scores)[:, 0]

    # the estimate

    def _counted(self) -> tuple[np.ndarray, bool]:
        """The draws that count: those before the first draw without labels; and are they all?"""
        labelled = np.zeros(len(self._pool.queries), np.bool_)
        labelled[list(self._labels)] = True
        support = np.flatnonzero(self._design.q > 0)
        if labelled[support].all():
            return support, True
        draws = self._draws.first(self._draws.next_outside(labelled, 0))
        if len(draws) == 0:
            first = self._pool.queries.name(int(self._draws.first(1)[0]))
            raise ValueError(f"nothing to estimate from yet: label query {first} first.")
        return draws, False

    def _estimate(self, values: np.ndarray, confidence: float) -> Estimate:
        draws, complete = self._counted()
        d = self._design
        weights = d.p[draws] if complete else d.p[draws] / d.q[draws]
        n_queries = len(np.unique(draws))
        found = weigh(values[draws], weights, n_queries, confidence)
        cost = float(d.costs[list(self._labels)].sum())
        if complete:
            exact = (found.value, found.value)
            return replace(found, standard_error=0.0, interval=exact, cost=cost, complete=True)
        waiting = len(self._labels) - n_queries
        passive = None
        if found.standard_error > 0:
            variance = passive_variance(values[draws], weights, found.value)
            n = variance / found.standard_error**2
            passive = float(d.costs @ (1 - (1 - d.p) ** n))  # repeated draws are free
        return replace(found, cost=cost, n_waiting=waiting, passive_cost=passive)

    def draws(self, n: int | None = None) -> pd.Series:
        """Queries as they are drawn, for labelling in one batch; nothing is asked or paid.

        Parameters
        ----------
        n : int, optional
            Number of draws. Default: as many as the budget pays for.

        Returns
        -------
        weights : Series
            Importance weight p / q of each draw, with the query on the index. A query drawn twice
            is there twice: label it once, and pass the Series to `skrank.active.estimate`.
        """
        import pandas as pd

        if n is None:
            if self._budget is None:
                raise ValueError("say how many draws, for there is no budget: draws(n).")
            n = self._draws.affordable(self._design.costs, self._budget)
        drawn = self._draws.first(n)
        weights = self._design.p[drawn] / self._design.q[drawn]
        index = pd.Index(self._pool.queries.ids[drawn], name="qid")
        return pd.Series(weights, index=index, name="weight")

    # keeping

    def save(self, path: str | PathLike[str]) -> None:
        """Write the whole campaign to a file, which replaces an older one in one step.

        Parameters
        ----------
        path : str or path
            The file; by custom its name ends in ``.npz``. It holds all that is needed to go on, in
            plain arrays, without pickled objects.
        """
        _state.write(path, _state.pack(self))

    @classmethod
    def load(cls: type[_C], path: str | PathLike[str]) -> _C:
        """Read a campaign from a file: it continues as if it had never been interrupted.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        campaign
            Of the class whose `load` is called.

        Raises
        ------
        ValueError
            If the file holds something else.
        """
        return _state.unpack(cls, path)
