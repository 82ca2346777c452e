"""A triangle of three shares that add up to 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skrank._typing import Axes

# Of shares (1, 0, 0), (0, 1, 0), (0, 0, 1): left below, right below, on top.
_CORNERS = np.array([[0.0, 1.0, 0.5], [0.0, 0.0, np.sqrt(0.75)]])
_LEVELS = (0.25, 0.5, 0.75)


def draw_triangle(ax: Axes, names: Sequence[str]) -> np.ndarray:
    """Draw an empty triangle, its corners named, lines of equal shares at quarters.

    Returns
    -------
    ndarray of shape (2, 3)
        What shares are multiplied by for their place.
    """
    ax.set(aspect="equal", xlim=(-0.15, 1.15), ylim=(-0.12, 1.0))
    ax.axis("off")
    around = _CORNERS[:, [0, 1, 2, 0]]
    ax.plot(*around, color="black", linewidth=1)
    for share, name, (ha, va), (dx, dy) in zip(
        np.eye(3),
        names,
        (("right", "top"), ("left", "top"), ("center", "bottom")),
        ((-0.01, -0.02), (0.01, -0.02), (0, 0.02)),
        strict=True,
    ):
        x, y = _CORNERS @ share
        ax.text(x + dx, y + dy, f"{name} = 1", ha=ha, va=va)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for level in _LEVELS:
            ends = np.zeros((3, 2))
            ends[i] = level
            ends[j, 0] = ends[k, 1] = 1 - level
            ax.plot(*(_CORNERS @ ends), color="gray", linewidth=0.5, alpha=0.5, zorder=0)
    return _CORNERS
