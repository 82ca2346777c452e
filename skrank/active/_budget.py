"""Is a budget enough to say anything?"""

from __future__ import annotations

import warnings

import numpy as np

from skrank import _validation as check
from skrank.active._draws import fits
from skrank.active._setup import Setup

_FEW_DRAWS = 5.0  # of average cost; below, one campaign in thirty or more ends with nothing
_TOO_DEAR = 0.05  # share of draws that alone exceed the budget


class BudgetWarning(UserWarning):
    """The budget is small against what a typical query costs."""


def checked_budget(setup: Setup, budget: float | None) -> float | None:
    """A budget that pays for the cheapest query at least; None is no limit."""
    if budget is None:
        return None
    budget = check.check_number("budget", budget, 0, np.inf, open_low=True)
    cheapest = float(setup.design.costs[setup.design.q > 0].min())
    if not fits(cheapest, budget):
        raise ValueError(f"budget={budget:g} pays for no query: the cheapest costs {cheapest:g}.")
    return budget


def warn_of_small_budget(setup: Setup, budget: float | None) -> None:
    """Warn, before labels are bought, of a budget that does not pay for a few typical draws."""
    if budget is None:
        return
    q, costs = setup.design.q, setup.design.costs
    typical = setup.design.draw_cost
    too_dear = float(q[costs > budget].sum())
    if budget >= _FEW_DRAWS * typical and too_dear <= _TOO_DEAR:
        return
    warnings.warn(
        f"budget={budget:g} is small: a draw costs {typical:.3g} on average, and {too_dear:.0%} of "
        "them cost more than all of it. Such a campaign may end before anything can be said, and "
        "what it says favours cheap queries. Raise the budget, or give cheaper queries.",
        BudgetWarning,
        stacklevel=3,
    )
