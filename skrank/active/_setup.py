"""What is fixed before the first label: the pool, what is drawn from it, what a query costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank._engine.cached import cached_property
from skrank._engine.queries import Queries
from skrank.active._forms import MetricForm
from skrank.active._labels import LabelModel, given_labels
from skrank.active._moments import Moments, contest_moments, prepare
from skrank.active._pool import (
    Costs,
    Pool,
    cost_per_query,
    frequency_per_query,
    items_of,
)
from skrank.active._sampling import sampling_distribution
from skrank.active._weighing import Known
from skrank.metrics import Metric


@dataclass(frozen=True, eq=False)
class Design:
    """Distribution of the draws q, frequency p and cost of each query, and what q was made from."""

    q: np.ndarray
    p: np.ndarray
    costs: np.ndarray
    moments: Moments

    @property
    def draw_cost(self) -> float:
        """What a draw costs on average."""
        return float(self.q @ self.costs)


@dataclass(frozen=True, eq=False)
class Setup:
    """A campaign before its first label.

    Attributes
    ----------
    names : tuple of str
        Of the rankers.
    form : MetricForm
        The metric on the grades of the campaign.
    pool : Pool
        Documents whose labels matter.
    items : ndarray of shape (n_rows,) or None
        Their ids, if they are not called by their rows.
    given : ndarray of shape (n_rows,)
        Their labels that exist already; NaN where there is none.
    n_rows : int
        Rows of the arrays that the pool was made of.
    design : Design
    center : float or None
        Value around which queries are judged; None for the one that the label model expects.
    seed : int
        Of the draws, and of the order of ties.
    """

    names: tuple[str, ...]
    form: MetricForm
    pool: Pool
    items: np.ndarray | None
    given: np.ndarray
    n_rows: int
    design: Design
    center: float | None
    seed: int

    @property
    def queries(self) -> Queries:
        """The queries of the pool."""
        return self.pool.queries

    @property
    def table(self) -> dict[str, np.ndarray]:
        """What is known of each query before any label."""
        moments = self.design.moments
        return {
            "probability": self.design.q,
            "frequency": self.design.p,
            "cost": self.design.costs,
            "items": self.queries.sizes,
            "expected": moments.first,
            "second_moment": moments.second,
        }

    def is_open(self, where: slice) -> np.ndarray:
        """Which of some rows wait for a label."""
        return np.isnan(self.given[where])

    @cached_property
    def is_known(self) -> np.ndarray:
        """Queries all of whose labels exist already: they count, and are never drawn."""
        return open_rows(self.pool, self.given) == 0

    @cached_property
    def bounds(self) -> dict[tuple[int, int | None], tuple[np.ndarray, np.ndarray]]:
        """Bounds of the values of rankers and pairs, as far as they were asked for."""
        return {}

    def known_of(self, values: np.ndarray) -> Known:
        """What is known of the mean of some values before any draw."""
        p, known = self.design.p, self.is_known
        counted = known & ~np.isnan(values)
        return Known(
            share=float(p[known].sum()),
            mass=float(p[counted].sum()),
            total=float(p[counted] @ values[counted]),
            deviation=float(p[known] @ self.deviation[known]),
        )

    @cached_property
    def deviation(self) -> np.ndarray:
        """How far each query is expected to deviate from the mean."""
        return self.design.moments.deviation(self.design.p)


def open_rows(pool: Pool, given: np.ndarray) -> np.ndarray:
    """Number of documents of each query that have no label yet."""
    return np.add.reduceat(np.isnan(given), pool.queries.indptr[:-1], dtype=np.int64)


def set_up(
    names: tuple[str, ...],
    scores: list[ArrayLike],
    groups: ArrayLike | None,
    *,
    metric: str | Metric,
    label_model: LabelModel,
    X: ArrayLike | None,
    grades: ArrayLike | None,
    labels: ArrayLike | None,
    items: ArrayLike | None,
    costs: Costs,
    cost_aware: bool,
    frequencies: Mapping[object, float] | None,
    mixing: float,
    center: float | None,
    moments: str,
    n_label_draws: int,
    random_state: int | None,
    who: str,
) -> tuple[Setup, np.ndarray]:
    """The setup of a campaign, and the label probabilities of its documents."""
    seed = seed_of(random_state)
    form, pool, probabilities = prepare(
        metric, scores, groups, label_model, X, grades, seed, who=who
    )
    n_rows = len(np.asarray(scores[0]))
    names_of_items = None if items is None else items_of(items, pool, n_rows)
    given = given_labels(labels, form.grades, n_rows)[pool.rows]
    sure = ~np.isnan(given)
    probabilities[sure] = given[sure, None] == form.grades
    p = frequency_per_query(frequencies, pool.queries)
    unknown = np.where(open_rows(pool, given) > 0, p, 0.0)
    if not unknown.any():
        raise ValueError(
            "all queries of the pool have their labels already, so there is nothing to ask: "
            "skrank.evaluate measures rankers on labels."
        )
    cost = cost_per_query(costs, pool, given, n_rows)
    found = contest_moments(
        form, pool, probabilities, moments, n_label_draws, seed, p=p, center=center
    )
    q = sampling_distribution(
        found,
        costs=np.where(unknown > 0, cost, 1.0) if cost_aware else None,
        frequencies=unknown,
        mixing=mixing,
        center=found.center(p) if center is None or len(names) > 2 else center,
    )
    design = Design(q, p, cost, found)
    return Setup(
        names, form, pool, names_of_items, given, n_rows, design, center, seed
    ), probabilities


def seed_of(random_state: int | None) -> int:
    """A seed that can be saved."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)):
        raise ValueError(
            f"random_state={random_state!r} must be an integer or None: it is saved with the "
            "campaign."
        )
    if not 0 <= random_state < 2**32:
        raise ValueError(f"random_state={random_state} must be from 0 to 2**32 - 1.")
    return int(random_state)
