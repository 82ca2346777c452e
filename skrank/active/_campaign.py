"""Label queries one after the other, and estimate as labels come in."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from dataclasses import replace
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import show
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank.active import _state
from skrank.active._budget import checked_budget
from skrank.active._draws import Draws, first_draws, fits
from skrank.active._estimate import Estimate
from skrank.active._judging import Contest, Way, exact, judge, steps
from skrank.active._moments import Moments, evaluate
from skrank.active._requests import Request, labels_of
from skrank.active._sampling import budget_ratio
from skrank.active._setup import Setup
from skrank.active._weighing import ESTIMATORS
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

_saving = threading.Lock()  # of two saves at once, the later state must be the one that stays


class Campaign:
    """What evaluation and comparison have in common."""

    _setup: Setup
    _budget: float | None

    def _begin(self, setup: Setup, budget: float | None) -> None:
        """Start from a setup, with nothing asked."""
        queries = setup.queries
        self._setup = setup
        self.budget = budget
        self._number = {query: i for i, query in enumerate(queries.ids.tolist())}
        self._draws = Draws(setup.design.q, setup.seed)
        self._asked: list[int] = []
        self._is_asked = np.zeros(len(queries), np.bool_)
        self._waiting: dict[int, None] = {}  # in the order of asking
        self._spent = 0.0
        self._place = 0  # of the first draw that was not looked at
        self._labels: dict[int, np.ndarray] = {}
        self._values = np.full((len(setup.names), len(queries)), np.nan)
        for query in np.flatnonzero(setup.is_known).tolist():
            self._values[:, query] = self._evaluate(query, np.empty(0))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rankers."""
        return self._setup.names

    @property
    def metric(self) -> Metric:
        """The metric, with ``empty=0`` if it is not normalised: then every query counts."""
        return self._setup.form.metric

    @property
    def budget(self) -> float | None:
        """Most that all labels may cost; None without limit. It may be raised at any time."""
        return self._budget

    @budget.setter
    def budget(self, budget: float | None) -> None:
        self._budget = checked_budget(self._setup, budget)

    @property
    def method(self) -> str:
        """How moments were computed: "exact", "delta" or "monte-carlo"."""
        return self.moments.method

    @property
    def moments(self) -> Moments:
        """What the label model expects of each query, for `simulate`."""
        return self._setup.design.moments

    @property
    def predicted_cost_ratio(self) -> float:
        """Predicted cost of an estimate over that of an equally accurate one by uniform draws.

        As far as the label model can be believed, and without regard to repeated draws.
        """
        d = self._setup.design
        return budget_ratio(d.moments, d.q, d.costs, d.p, self._setup.center)

    @property
    def sampling(self) -> pd.DataFrame:
        """Per query: probability of a draw, frequency, cost, number of items, expected value."""
        import pandas as pd

        return pd.DataFrame(self._setup.table, index=pd.Index(self._setup.queries.ids, name="qid"))

    # the protocol

    @property
    def cost(self) -> float:
        """Cost of the queries that were asked so far, labelled or waiting."""
        return self._spent

    @property
    def labels(self) -> np.ndarray:
        """Label of each row, told or there before; NaN where there is none."""
        setup = self._setup
        out = np.full(setup.n_rows, np.nan)
        out[setup.pool.rows] = setup.given
        for query, labels in self._labels.items():
            out[self._request(query).rows] = labels
        return out

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
        return next(iter(self.ask()), None)

    def _draw(self) -> bool:
        """Ask one new query; False when there is none, or it does not fit the budget.

        The draw that does not fit ends the campaign: to go on with cheaper queries would bias it.
        """
        design = self._setup.design
        if self._is_asked[design.q > 0].all():
            return False
        self._place = self._draws.next_outside(self._is_asked, self._place)
        query = int(self._draws.first(self._place + 1)[-1])
        spent = self._spent + float(design.costs[query])
        if self._budget is not None and not fits(spent, self._budget):
            return False
        self._ask(query)
        return True

    def _ask(self, query: int) -> None:
        self._asked.append(query)
        self._is_asked[query] = True
        self._waiting[query] = None
        self._spent += float(self._setup.design.costs[query])

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
            Replace labels that were told before.

        Raises
        ------
        ValueError
            If the query was not asked or is not in the pool, an item is unknown or has no label, a
            label is no grade, or the query has other labels already. Nothing is changed then.
        """
        number = self._find(query)
        request, name = self._request(number), self._setup.queries.name(number)
        new = labels_of(request, labels, self._setup.form.grades, name)
        old = self._labels.get(number)
        if old is not None and not replace and (old != new).any():
            item = int(np.argmax(old != new))
            raise ValueError(
                f"query {name} was told with label {old[item]:g} for item "
                f"{show(request.items[item])}, now {new[item]:g}: keep one of them; "
                "tell(..., replace=True) takes the new labels."
            )
        self._record(number, new)

    def items_of(self, query: Hashable) -> list[Hashable]:
        """The items to label of a query that was asked."""
        return self._request(self._find(query)).items.tolist()

    def _record(self, query: int, labels: np.ndarray) -> None:
        self._values[:, query] = self._evaluate(query, labels)
        self._labels[query] = labels
        self._waiting.pop(query, None)

    def _find(self, query: Hashable | Request) -> int:
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
        setup = self._setup
        where = setup.pool.rows_of(query)
        places = np.arange(where.start, where.stop)[setup.is_open(where)]
        rows = setup.pool.rows[places]
        items = rows if setup.items is None else setup.items[places]
        return Request(
            setup.queries.ids[query].item(), items, rows, float(setup.design.costs[query])
        )

    def _evaluate(self, query: int, labels: np.ndarray) -> np.ndarray:
        """Value of each ranker by new labels and those that were there; NaN: it does not count."""
        setup = self._setup
        where = setup.pool.rows_of(query)
        merged = setup.given[where].copy()
        merged[setup.is_open(where)] = labels
        judgments = Judgments(merged, Queries.single(len(merged)))
        return evaluate(setup.form, judgments, setup.pool.scores[:, where])[:, 0]

    # the estimate

    @property
    def _is_labelled(self) -> np.ndarray:
        """Queries that are labelled, or never drawn."""
        labelled = self._setup.design.q <= 0
        labelled[list(self._labels)] = True
        return labelled

    def _counted(self, estimator: str) -> tuple[np.ndarray, bool]:
        """The draws that count: those before the first draw without labels; and are they all?"""
        check.check_choice("estimator", estimator, ESTIMATORS)
        labelled = self._is_labelled
        if labelled.all():
            return np.flatnonzero(self._setup.design.q > 0), True
        draws = self._draws.first(self._draws.next_outside(labelled, 0))
        if len(draws) == 0:
            raise ValueError(f"nothing to estimate from yet: {self._first_step()}.")
        return first_draws(draws) if estimator == "lure" else draws, False

    def _first_step(self) -> str:
        """What must be done before anything can be estimated."""
        setup, first = self._setup, int(self._draws.first(1)[0])
        name, cost = setup.queries.name(first), float(setup.design.costs[first])
        if self._budget is not None and not fits(cost, self._budget):
            return (
                f"the budget of {self._budget:g} does not pay for query {name}, which was drawn "
                f"first and costs {cost:g}. Raise campaign.budget"
            )
        return f"label query {name} first"

    def _judge(
        self, first: int, second: int | None, confidence: float, estimator: str, anytime: bool
    ) -> tuple[Estimate, float]:
        """The estimate of a ranker or of a difference, and how sure it is that it is not 0."""
        way = Way(check.check_share("confidence", confidence), estimator, anytime)
        draws, complete = self._counted(estimator)
        of = Contest(self._setup, self._values, first, second)
        spent = float(self._setup.design.costs[list(self._labels)].sum())
        if complete:
            return replace(exact(of, draws, confidence), cost=spent), 1.0
        found, sure = judge(of, draws, way)
        return replace(found, cost=spent, n_waiting=len(self._labels) - found.n_queries), sure

    def progress(
        self, confidence: float = 0.95, *, estimator: str = "importance", anytime: bool = False
    ) -> pd.DataFrame:
        """What the estimate was after each labelled query, in the order of the draws.

        Parameters
        ----------
        confidence : float
            Coverage of the intervals.
        estimator, anytime
            As of `ActiveEvaluator.estimate`.

        Returns
        -------
        DataFrame
            Columns "query", "cost" (of the labels up to here), "value", "low" and "high", one row
            per query that counts for the estimate. Of two or more rankers, the difference of the
            first two.
        """
        import pandas as pd

        way = Way(check.check_share("confidence", confidence), estimator, anytime)
        _, complete = self._counted(estimator)
        of = Contest(self._setup, self._values, 0, 1 if len(self._values) > 1 else None)
        if complete:  # down to the draw that brought the last query
            drawn = self._draws.first(self._draws.last_of(self._labels) + 1)
        else:
            drawn = self._draws.first(self._draws.next_outside(self._is_labelled, 0))
        return pd.DataFrame(steps(of, drawn, way, complete))

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
            is there twice: label it once, and pass the Series and `sampling` to
            `skrank.active.estimate`.
        """
        import pandas as pd

        d = self._setup.design
        if n is None:
            if self._budget is None:
                raise ValueError("say how many draws, for there is no budget: draws(n).")
            n = self._draws.affordable(d.costs, self._budget)
        drawn = self._draws.first(check.check_count("n", n, "the number of draws", 0))
        index = pd.Index(self._setup.queries.ids[drawn], name="qid")
        return pd.Series(d.p[drawn] / d.q[drawn], index=index, name="weight")

    # keeping

    def save(self, path: str | PathLike[str]) -> None:
        """Write the whole campaign to a file, which replaces an older one in one step.

        Parameters
        ----------
        path : str or path
            The file; by custom its name ends in ``.npz``. It holds plain arrays, and nothing
            pickled. A symbolic link is followed, and permissions of an older file are kept.
        """
        with _saving:
            labels = dict(self._labels)  # first: other threads may ask and tell meanwhile
            kind, asked = type(self).__name__, list(self._asked)
            _state.save(path, _state.State(kind, self._setup, self._budget, asked, labels))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a campaign from a file: it continues as if it had never been interrupted.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        campaign
            Of the class whose `load` is called; ``Campaign.load`` takes any.

        Raises
        ------
        ValueError
            If the file is damaged, was changed, or holds something else; the message names it.
        """
        return _state.load(path, cls._resume)

    @classmethod
    def _resume(cls, state: _state.State) -> Self:
        """The campaign of a state: what was asked and told is asked and told again."""
        kinds = {kind.__name__: kind for kind in (cls, *cls.__subclasses__())}
        if state.kind not in kinds:
            raise ValueError(f"it holds an {state.kind}: use {state.kind}.load.")
        campaign = cls.__new__(kinds[state.kind])
        campaign._begin(state.setup, state.budget)
        for query in state.asked:
            campaign._ask(query)
        for query, labels in state.labels.items():
            campaign._record(query, labels)
        return campaign
