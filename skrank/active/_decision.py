"""Which ranker is best, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skrank.active._estimate import Estimate


@dataclass(frozen=True)
class Decision:
    """Which ranker is best.

    Attributes
    ----------
    better : str or None
        The best ranker, or None while that is not known with the confidence that was asked for.
    leader : str or None
        The ranker with the highest estimate; None if the first two are equal.
    confidence : float
        How sure it is that the leader is best: one less the two-sided p-value against its nearest
        rival, times half the number of rankers. With two rankers, the highest confidence whose
        interval of the difference leaves out 0.
    difference : Estimate
        Of two rankers, the first less the second; of more, the leader less its nearest rival.
    candidates : tuple of str
        Rankers that may still be the best one, with the confidence that was asked for.
    """

    better: str | None
    leader: str | None
    confidence: float
    difference: Estimate
    candidates: tuple[str, ...]

    def __str__(self) -> str:
        who = "nobody" if self.leader is None else repr(self.leader)
        state = "decided" if self.better is not None else "not decided yet"
        return f"{who} leads, confidence {self.confidence:.1%} ({state}); {self.difference}"


Compared = Callable[[int, int], tuple[Estimate, float]]


def decide(
    names: tuple[str, ...], values: list[float], compare: Compared, confidence: float
) -> Decision:
    """The conclusion from the estimates of rankers and of their differences.

    Of m rankers, one beats another if a one-sided test of level (1 - confidence) / m says so, and
    is best if it beats all others. Whichever is the best in truth, the m - 1 others must each not
    beat it; if it ties with another one, it must not beat that. So the chance of a wrong winner is
    at most 1 - confidence, ties included.
    """
    level = 2 * (1 - confidence) / len(names)  # of both sides, of which one tells the winner
    everyone = range(len(names))
    found = {(a, b): compare(a, b) for a in everyone for b in everyone if a < b}

    def beats(a: int, b: int) -> bool:
        difference, sure = found[min(a, b), max(a, b)]
        ahead = difference.value if a < b else -difference.value
        return ahead > 0 and 1 - sure <= level

    first = int(np.argsort(-np.array(values), kind="stable")[0])  # NaN comes last
    rivals = [b for b in everyone if b != first]
    rival = min(rivals, key=lambda b: found[min(first, b), max(first, b)][1])
    difference, sure = found[min(first, rival), max(first, rival)]
    if len(names) > 2 and rival < first:
        difference, _ = compare(first, rival)
    leads = abs(difference.value) > 0  # a NaN does not
    beaten = {b for a in everyone for b in everyone if a != b and beats(a, b)}
    return Decision(
        names[first] if all(beats(first, b) for b in rivals) else None,
        names[first] if leads else None,
        max(0.0, 1 - (1 - sure) * len(names) / 2) if leads else 0.0,
        difference,
        tuple(names[b] for b in everyone if b not in beaten),
    )
