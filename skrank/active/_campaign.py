"""Common part of `ActiveEvaluator` and `ActiveComparator`: set-up, estimates, saving."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.active import _files, _state
from skrank.active._asking import Asking
from skrank.active._design import Design, Target, as_seed, open_rows
from skrank.active._estimate import Estimate
from skrank.active._label_model import LabelModel, warn_of_contestant
from skrank.active._means import ESTIMATORS
from skrank.active._moments import Moments, random_labels
from skrank.active._pool import Costs, cost_per_query, frequency_per_query, given_labels, item_ids
from skrank.active._sampling import fits, sampling_distribution
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

Rankers = ArrayLike | Mapping[str, ArrayLike] | Sequence[ArrayLike]
_saving = threading.Lock()  # of two concurrent saves, the later state must end up in the file


class Campaign(Asking, ABC):
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
        aware = check.check_flag("cost_aware", cost_aware)
        n_rows, seed = len(check.as_vector("scores", vectors[0])), as_seed(random_state)
        expected = random_labels(
            metric, vectors, groups, label_model, X, grades, seed, who=type(self).__name__
        )
        graded, pool, proba = expected.graded, expected.pool, expected.proba
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
        found = expected.mean_moments(moments, n_label_draws, seed, p, center)
        q = sampling_distribution(
            found,
            costs=np.where(p_open > 0, cost, 1.0) if aware else None,
            frequencies=p_open,
            mixing=mixing,
            center=found.center(p) if center is None or len(names) > 2 else center,
        )
        design = Design(
            names, graded, pool, item_names, given, n_rows, p, q, cost, found, center, seed
        )
        self._begin(design, budget)
        design.warn_of_small_budget(budget)

    @staticmethod
    @abstractmethod
    def _named_rankers(scores: Rankers) -> tuple[tuple[str, ...], list[ArrayLike]]:
        """Names and scores of the rankers."""

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
        """Per query: probability of a draw, frequency, cost, number of items, expected value."""
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
        """The draws before the first unlabelled draw; and True if all queries are labelled."""
        check.check_choice("estimator", estimator, ESTIMATORS)
        labelled = self._is_labelled
        if labelled.all():
            return np.flatnonzero(self._design.q > 0), True
        draws = self._draws.first(self._draws.next_outside(labelled, 0))
        if len(draws) == 0:
            raise ValueError(f"no labels to estimate from yet: {self._first_step()}.")
        return draws, False

    def _first_step(self) -> str:
        """What the caller must do first, for the error message of an estimate without labels."""
        design, first = self._design, int(self._draws.first(1)[0])
        name, cost = design.queries.name(first), float(design.costs[first])
        if self._budget is not None and not fits(cost, self._budget):
            return (
                f"the budget of {self._budget:g} does not pay for query {name}, which was drawn "
                f"first and costs {cost:g}. Raise campaign.budget"
            )
        return f"label query {name} first"

    def _target(self, first: int, second: int | None) -> Target:
        values = self._values[first]
        if second is not None:
            values = values - self._values[second]
        return Target(self._design, values, first, second)

    def _estimate(
        self, first: int, second: int | None, confidence: float, estimator: str, anytime: bool
    ) -> tuple[Estimate, float]:
        """The estimate of a mean or difference, and the highest confidence that excludes 0."""
        confidence = check.check_share("confidence", confidence)
        anytime = check.check_flag("anytime", anytime)
        draws, complete = self._usable_draws(estimator)
        target = self._target(first, second)
        spent = float(self._design.costs[list(self._labels)].sum())
        if complete:
            return replace(target.exact(draws, confidence), cost=spent), 1.0
        found, sure = target.estimate(draws, confidence, estimator, anytime)
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
        target = self._target(0, 1 if len(self._values) > 1 else None)
        if complete:  # up to the draw of the last query
            draws = self._draws.first(int(self._draws.of_new_queries(len(self._labels))[-1]) + 1)
        columns = target.progress(draws, confidence, estimator, anytime, complete=complete)
        return pd.DataFrame(columns)

    # saving

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
            _files.write(path, _state.to_arrays(kind, self._design, self._budget, asked, labels))

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
        with _files.opened(path) as archive:
            _state.check_headers(archive)
            kind, design, budget, asked, labels = _state.from_arrays(archive.arrays())
            kinds = {one.__name__: one for one in (cls, *cls.__subclasses__())}
            if kind not in kinds:
                raise ValueError(f"it holds an {kind}: use {kind}.load.")
            campaign = cls.__new__(kinds[kind])
            campaign._begin(design, budget)
            for query in asked:
                campaign._ask(query)
            for query, values in labels.items():
                campaign._record(query, values)
        return campaign
