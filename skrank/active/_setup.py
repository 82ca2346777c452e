"""What is fixed before the first label: the pool, what is drawn from it, what a query costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank._engine.queries import Queries
from skrank.active._forms import Form
from skrank.active._labels import LabelModel
from skrank.active._moments import Moments, moments_of, prepare
from skrank.active._pool import (
    Costs,
    Pool,
    cost_per_query,
    frequency_per_query,
    items_of,
)
from skrank.active._sampling import sampling_distribution
from skrank.metrics import Metric


@dataclass(frozen=True, eq=False)
class Design:
    """Distribution of the draws q, frequency p and cost of each query, and what q was made from."""

    q: np.ndarray
    p: np.ndarray
    costs: np.ndarray
    moments: Moments


@dataclass(frozen=True, eq=False)
class Setup:
    """A campaign before its first label.

    Attributes
    ----------
    names : tuple of str
        Of the rankers.
    form : Form
        The metric on the grades of the campaign.
    pool : Pool
        Documents that would be labelled.
    items : ndarray of shape (n_rows,) or None
        Their ids, if they are not called by their rows.
    design : Design
    center : float or None
        Value around which queries are judged; None for the one that the label model expects.
    seed : int
        Of the draws, and of the order of ties.
    """

    names: tuple[str, ...]
    form: Form
    pool: Pool
    items: np.ndarray | None
    design: Design
    center: float | None
    seed: int

    @property
    def queries(self) -> Queries:
        """The queries of the pool."""
        return self.pool.queries


def set_up(
    names: tuple[str, ...],
    scores: list[ArrayLike],
    groups: ArrayLike | None,
    *,
    metric: str | Metric,
    label_model: LabelModel,
    X: ArrayLike | None,
    grades: ArrayLike | None,
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
    cost = cost_per_query(costs, pool, n_rows)
    p = frequency_per_query(frequencies, pool.queries)
    found = moments_of(form, pool, probabilities, moments, n_label_draws, seed)
    q = sampling_distribution(
        found, costs=cost if cost_aware else None, frequencies=p, mixing=mixing, center=center
    )
    setup = Setup(names, form, pool, names_of_items, Design(q, p, cost, found), center, seed)
    return setup, probabilities


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
