"""SoftRank by moments in operations of torch, on the device of the scores.

The model is that of `skrank._kernels.softrank`, in its notation: i stands above j with the chance
Phi(x_i - x_j), x being the scores over sqrt(2) sigma. Documents come by falling gain, so that of a
pair the second one has the lesser; two without a gain do not meet.
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
_LEAST = 1e-20  # scaled scores that are smaller are 0, so that gaps of any two are 0 or far from it


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
    centred, sigma = _centred(objective, lists)
    x = (centred / (math.sqrt(2.0) * sigma)).clamp(-_WIDEST, _WIDEST)
    x = torch.nn.functional.hardshrink(lists.fill(x, _UNREACHED), _LEAST)
    if smooth.pairs:
        worth, slope = _average_precision(x, gain)
    else:
        worth, slope = _discounted_gain(x, gain, smooth.shift or 0.0)
    loss = torch.where(inverse > 0, 1.0 - inverse * worth.sum(1), torch.zeros_like(inverse))
    slope *= inverse[:, None] / (2.0 * math.sqrt(math.pi) * sigma)
    return loss, torch.zeros_like(slope).scatter_(1, order, slope)


def _centred(objective: SoftRank, lists: DocumentLists) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores less the midrange of their query, 0 for padding, and standard deviations."""
    scores = lists.scores
    high = lists.fill(scores, -math.inf).amax(1, keepdim=True)
    low = lists.fill(scores, math.inf).amin(1, keepdim=True)
    centred = lists.fill(scores - (0.5 * high + 0.5 * low), 0.0)
    sigma = torch.full_like(centred[:, :1], objective.sigma)
    if objective.relative:
        n = lists.fill(torch.ones_like(scores), 0.0).sum(1, keepdim=True).clamp(min=1)
        mean = centred.sum(1, keepdim=True) / n
        variance = (centred**2).sum(1, keepdim=True) / n - mean**2
        sigma = sigma * variance.clamp(min=0).sqrt().clamp(min=_LEAST_SPREAD)
    return centred, sigma


def _average_precision(x: torch.Tensor, gain: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Worth A / B of each document, and slope downwards."""
    n_first = count_lines(gain > 0)
    below, above, better = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x)
    for block in pair_blocks(x, n_first, 1):
        chance = _chances(block.gaps(x, 0))
        if block.apart:
            block.of_first(below).add_(chance.sum(2))
            continue
        block.add(block.once(chance), below, above)
        block.of_first(better).add_(chance.mul_(block.line(gain)).sum(2))
    above = _in_order(x) - above  # of which come first, and itself
    b = torch.sign(gain) / (above + below)
    a = better.addcmul_(gain, above)
    p = -a * b * b
    up, down, near = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x)
    one = torch.ones_like(x)
    left = torch.stack((b, p, one)).permute(1, 2, 0)
    right = torch.stack((gain, one, -gain * b - p)).transpose(0, 1)
    for block in pair_blocks(x, n_first, 2):
        queries, first, second = block[:3]
        density = _density(block.gaps(x, 0))
        if block.apart:
            block.of_first(near).add_(density.sum(2))
            up[queries, second].add_(density.mul_(block.column(p)).sum(1))
            continue
        pull = torch.bmm(left[queries, first], right[queries, :, second], out=block.rooms[1])
        pull *= density
        block.add(block.once(pull), down, up)
    return a * b, down.addcmul_(p, near).sub_(up)


def _discounted_gain(
    x: torch.Tensor, gain: torch.Tensor, shift: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Worth u (d(B) + d''(B) v / 2), d = 1 / log2(shift + B), and slope downwards."""
    n_first = count_lines(gain > 0)
    below, above, spread = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x)
    for block in pair_blocks(x, n_first, 1):
        chance = _chances(block.gaps(x, 0))
        if block.apart:
            block.of_first(below).add_(chance.sum(2))
            block.of_first(spread).add_(chance.square_().sum(2))
            continue
        block.add(block.once(chance), below, above)
        block.add(chance.square_(), spread, spread)
    b = shift + _in_order(x) + below - above
    variance = below + above - spread
    log = torch.log(b)
    unit = gain * math.log(2.0)
    q = unit * (2 + log) / (b**2 * log**3)
    p = -unit / (b * log**2) - unit * variance * (log**2 + 3 * log + 3) / (b**3 * log**4)
    up, down, upper, lower = torch.zeros_like(x), torch.zeros_like(x), p + 0.5 * q, p - 0.5 * q
    for block in pair_blocks(x, n_first, 2):
        gaps = block.gaps(x, 0)
        pull = _chances(gaps)
        if block.apart:
            pull.mul_(block.column(q)).sub_(block.column(upper))
        else:
            pull *= torch.add(block.column(q), block.line(q), out=block.rooms[1])
            pull -= torch.sub(block.column(upper), block.line(lower), out=block.rooms[1])
        pull *= _density(gaps)
        block.add(block.once(pull), up, down)
    return unit / log + 0.5 * variance * q, down - up


def _in_order(x: torch.Tensor) -> torch.Tensor:
    """Ranks 1, 2, ... of documents."""
    return torch.arange(1, x.shape[1] + 1, device=x.device, dtype=x.dtype)


def _chances(gaps: torch.Tensor) -> torch.Tensor:
    """Phi of gaps, to which next to nothing is added: gelu(x) = x Phi(x) is quicker than erf."""
    gaps += _LEAST * torch.finfo(gaps.dtype).eps ** 2
    return torch.nn.functional.gelu(gaps).div_(gaps)


def _density(gaps: torch.Tensor) -> torch.Tensor:
    """exp(-x**2 / 2) of gaps x, in their place; a power of two is quicker."""
    return gaps.square_().mul_(-0.5 * math.log2(math.e)).exp2_()
