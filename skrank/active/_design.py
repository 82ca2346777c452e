"""What a campaign draws from, and what it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank.active._moments import Moments


@dataclass(frozen=True, eq=False)
class Request:
    """A query to label.

    Attributes
    ----------
    query : int or str
        Its id.
    items : ndarray of shape (n_items,)
        The documents to label: their ids if the pool has them, else their rows.
    rows : ndarray of shape (n_items,)
        Their rows in the arrays that the pool was made of.
    cost : float
        Cost of labelling them.
    """

    query: Any
    items: np.ndarray
    rows: np.ndarray
    cost: float

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, eq=False)
class Design:
    """Distribution of the draws q, frequency p, and cost of each query, fixed before any label."""

    q: np.ndarray
    p: np.ndarray
    costs: np.ndarray
    moments: Moments


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
