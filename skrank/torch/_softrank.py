"""SoftRank by moments in operations of torch, on the device of the scores.

The model is that of `skrank._kernels.softrank`, in its notation: i stands above j with the chance
(1 + erf(y_i - y_j)) / 2, y being the scores over 2 sigma. Documents with a gain come first, for two
without one do not meet.
"""

from __future__ import annotations

import math

import torch

from skrank.objectives import SoftRank
from skrank.torch._lists import DocumentLists, count_lines
from skrank.torch._pairs import pair_blocks
from skrank.torch._tables import Place, TensorTables, tables_of

_LEAST_SPREAD = 0.01  # of the scores of a query, where sigma is relative to it
_WIDEST = 1e15  # largest scaled score: squares of differences of any two are numbers
_UNREACHED = -1e17  # scaled score of the padding: below everything
_ROOT = math.sqrt(math.log2(math.e))  # exp(-x**2) = 2**-(_ROOT * x)**2, which is quicker


def refuse(objective: SoftRank) -> str | None:
    """Why there is no native form; else None."""
    if objective.form == "distribution":
        return 'form="distribution" takes the kernels\' recursion'
    return None


def tables(objective: SoftRank, place: Place) -> TensorTables:
    """Those of the metric."""
    return tables_of(objective.metric, objective.metric.ideal_cutoff, place)


def softrank(
    objective: SoftRank, lists: DocumentLists, tables: TensorTables, round_: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """One less the smooth value of each query, and gradient of each document."""
    smooth = objective.metric.smooth
    assert smooth is not None
    order = lists.by_label()
    lists = lists.sort(order)
    members = lists.look(tables.members)
    counts = members.sum(2).T
    inverse = tables.inverse(counts)
    gain = lists.look((tables.members @ tables.gain)[:, None])[0]
    centred, sigma = _centred(objective, lists.scores, lists.valid)
    y = (centred / (2.0 * sigma)).clamp(-_WIDEST, _WIDEST).masked_fill(~lists.valid, _UNREACHED)
    if smooth.pairs:
        lesser = torch.minimum(tables.gain[:, None], tables.gain) @ counts.T  # by class
        worth, slope = _average_precision(y, gain, (members * lesser[:, :, None]).sum(0))
    else:
        worth, slope = _discounted_gain(y, gain, smooth.shift or 0.0)
    loss = torch.where(inverse > 0, 1.0 - inverse * worth.sum(1), torch.zeros_like(inverse))
    slope *= inverse[:, None] / (2.0 * math.sqrt(math.pi) * sigma)
    return loss, torch.zeros_like(slope).scatter_(1, order, slope)


def _centred(
    objective: SoftRank, scores: torch.Tensor, valid: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores less the midrange of their query, 0 for padding, and standard deviations."""
    high = torch.where(valid, scores, -math.inf).amax(1, keepdim=True)
    low = torch.where(valid, scores, math.inf).amin(1, keepdim=True)
    centred = torch.where(valid, scores - (0.5 * high + 0.5 * low), torch.zeros_like(scores))
    sigma = torch.full_like(centred[:, :1], objective.sigma)
    if objective.relative:
        n = valid.sum(1, keepdim=True).clamp(min=1)
        mean = centred.sum(1, keepdim=True) / n
        variance = (centred**2).sum(1, keepdim=True) / n - mean**2
        sigma = sigma * variance.clamp(min=0).sqrt().clamp(min=_LEAST_SPREAD)
    return centred, sigma


def _average_precision(
    y: torch.Tensor, gain: torch.Tensor, lesser: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Worth A / B of each document, and slope downwards; `lesser` sums min(u_i, u_j) over all i."""
    n_first = count_lines(gain > 0)
    above, better = torch.zeros_like(y), torch.zeros_like(y)
    for block in pair_blocks(y, n_first, 2):
        odds = block.gaps(y, 0).erf_()
        block.add(above, odds, -1)
        block.add(better, odds.mul_(block.least(gain, 1)), -1)
    b = torch.where(gain > 0, 1.0 / (0.5 + 0.5 * (y.shape[1] - above)), torch.zeros_like(gain))
    a = 0.5 * (gain + lesser - better)
    p = -a * b * b
    slope, near = torch.zeros_like(y), _ROOT * y
    for block in pair_blocks(y, n_first, 3):
        pull = block.gaps(b, 1).mul_(block.least(gain, 2))
        pull += block.column(p)
        pull -= block.line(p)
        block.add(slope, pull.mul_(_density(block.gaps(near, 0))), -1)
    return a * b, slope


def _discounted_gain(
    y: torch.Tensor, gain: torch.Tensor, shift: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Worth u (d(B) + d''(B) v / 2), d = 1 / log2(shift + B), and slope downwards."""
    n_first = count_lines(gain > 0)
    above, spread = torch.zeros_like(y), torch.zeros_like(y)
    for block in pair_blocks(y, n_first, 1):
        odds = block.gaps(y, 0).erf_()
        block.add(above, odds, -1)
        block.add(spread, odds.square_(), 1)
    x = shift + 0.5 + 0.5 * (y.shape[1] - above)
    variance = 0.25 * (y.shape[1] - spread) - 0.25
    log = torch.log(x)
    unit = gain * math.log(2.0)
    q = 0.5 * unit * (2 + log) / (x**2 * log**3)
    p = -unit / (x * log**2) - unit * variance * (log**2 + 3 * log + 3) / (x**3 * log**4)
    slope, near = torch.zeros_like(y), _ROOT * y
    for block in pair_blocks(y, n_first, 3):
        pull = torch.add(block.column(q), block.line(q), out=block.rooms[1])
        pull *= block.gaps(y, 0).erf_()
        pull += block.column(p)
        pull -= block.line(p)
        block.add(slope, pull.mul_(_density(block.gaps(near, 0))), -1)
    return unit / log + variance * q, slope


def _density(gaps: torch.Tensor) -> torch.Tensor:
    """exp(-x**2) of x = gaps / _ROOT, in their place."""
    return gaps.square_().neg_().exp2_()
