"""SoftRank by moments in operations of torch, on the device of the scores.

The model is that of `skrank._kernels.softrank`, in its notation: i stands above j with the chance
Phi(x_i - x_j), x being the scores over sqrt(2) sigma. Documents come by falling gain, so that of a
pair the second one has the lesser; two without a gain do not meet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from skrank.objectives import SoftRank
from skrank.torch._lists import DocumentLists
from skrank.torch._pairs import PairBlock, Stripe, pair_blocks, stripe_of_first
from skrank.torch._tables import Place, TensorTables, tables_of, weigh
from skrank.torch._tensors import can_look

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
    reached = lists.reach(tables.floors)
    counts = reached.sum(2).to(torch.int64)
    inverse = tables.inverse(counts, lists.sizes())
    stripes = stripe_of_first(counts[0].numpy()) if can_look(counts.device) else None
    centred, sigma = _centred(objective, lists)
    x = (centred / (math.sqrt(2.0) * sigma)).clamp(-_WIDEST, _WIDEST)
    x = torch.nn.functional.hardshrink(lists.fill(x, _UNREACHED), _LEAST)
    if smooth.pairs:
        worth, slope = _average_precision(x, reached, tables.steps, stripes)
    else:
        worth, slope = _discounted_gain(
            x, weigh(tables.steps, reached), stripes, smooth.shift or 0.0
        )
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


def _average_precision(
    x: torch.Tensor,
    reached: torch.Tensor,
    steps: torch.Tensor,
    stripes: Sequence[Stripe] | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Worth A / B of each document, and slope downwards.

    The lesser gain of two documents is the sum of the `steps` (n_levels,) that both have `reached`
    (n_levels, n_queries, n_documents): sums of it are products of matrices.
    """
    gain, n_levels = weigh(steps, reached), len(steps)
    reached = reached.transpose(0, 1)
    share = reached * steps[:, None]
    own, sign = 0.5 * gain, torch.sign(gain)
    worth, slope = torch.zeros_like(x), torch.zeros_like(x)
    for blocks in pair_blocks(x, stripes, 1):
        queries, some = blocks[0].queries, slice(0, blocks[-1].first.stop)
        levels, parts = reached[queries, :, some], share[queries, :, some]
        found = []
        for block in blocks:
            gaps = _gaps(block, x)
            chance = _chances(gaps)
            sums = _sums(levels, chance).mul_(parts[..., block.first])
            found.append((chance.sum(2), sums.sum(1)))
        below, better = _joined(found)
        b = sign[queries, some] / below.add_(0.5)  # a document is above itself with chance 1 / 2
        a = better.add_(own[queries, some]).mul_(b)
        worth[queries, some] = a
        p = -a * b
        seen = torch.cat((levels, b[:, None] * levels), 1)
        for block in blocks:
            first = block.first
            density = _density(gaps if len(blocks) == 1 else _gaps(block, x))
            near, nearer = _sums(seen, density).split(n_levels, 1)
            near = near.mul_(b[:, None, first]).sub_(nearer).mul_(parts[..., first])
            pull = near.sum(1).addcmul_(p[:, first], density.sum(2))
            slope[queries, first].add_(pull)
            slope[queries, None].baddbmm_(p[:, None, first], density, alpha=-1)
    return worth, slope


def _discounted_gain(
    x: torch.Tensor, gain: torch.Tensor, stripes: Sequence[Stripe] | None, shift: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Worth u (d(B) + d''(B) v / 2), d = 1 / log2(shift + B), and slope downwards."""
    worth, slope = torch.zeros_like(x), torch.zeros_like(x)
    for blocks in pair_blocks(x, stripes, 2):
        queries, some = blocks[0].queries, slice(0, blocks[-1].first.stop)
        found = []
        for block in blocks:
            gaps = _gaps(block, x)
            chance = _chances(gaps)
            squares = torch.mul(chance, chance, out=block.rooms[1])
            found.append((chance.sum(2), squares.sum(2)))
        below, spread = _joined(found)
        b, variance = shift + 0.5 + below, below - spread - 0.25  # a document itself has 1 / 4
        unit, log = math.log(2.0) * gain[queries, some], torch.log(b)
        inverse = 1.0 / (b * log)
        q = unit * (2 + log) / log * inverse**2
        p = -unit / log * inverse * (1.0 + variance * (log * (log + 3) + 3) * inverse**2)
        worth[queries, some] = unit / log + 0.5 * variance * q
        upper, lower = p + 0.5 * q, p - 0.5 * q
        for block in blocks:
            first = block.first
            if len(blocks) > 1:
                gaps = _gaps(block, x)
                chance = _chances(gaps)
            density = _density(gaps)
            chance *= density
            pull = upper[:, first] * density.sum(2) - q[:, first] * chance.sum(2)
            pull -= _sums(q[:, None], chance)[:, 0]
            pull -= _sums(lower[:, None], density)[:, 0]
            slope[queries, first].add_(pull)
            others = slope[queries, None, some.stop :]
            others.baddbmm_(q[:, None, first], chance[..., some.stop :])
            others.baddbmm_(upper[:, None, first], density[..., some.stop :], alpha=-1)
    return worth, slope


def _joined(parts: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, ...]:
    """Tensors of all blocks (n_queries, n_first) from those of each."""
    return (
        parts[0]
        if len(parts) == 1
        else tuple(torch.cat(one, 1) for one in zip(*parts, strict=True))
    )


def _sums(values: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
    """Sums over the second documents, as many as there are values, times these.

    Parameters
    ----------
    values : Tensor (n_queries, n, n_some)
    pairs : Tensor (n_queries, n_first, n_second)

    Returns
    -------
    Tensor (n_queries, n, n_first)
    """
    return torch.bmm(values, pairs[..., : values.shape[2]].transpose(1, 2))


def _gaps(block: PairBlock, x: torch.Tensor) -> torch.Tensor:
    """Scaled scores of the second documents less those of the first, but never 0."""
    gaps = torch.sub(block.line(x), block.column(x), out=block.rooms[0])
    return gaps.add_(_LEAST * torch.finfo(x.dtype).eps ** 2)


def _chances(gaps: torch.Tensor) -> torch.Tensor:
    """Phi of gaps: gelu(x) = x Phi(x) is quicker than erf."""
    return torch.nn.functional.gelu(gaps).div_(gaps)


def _density(gaps: torch.Tensor) -> torch.Tensor:
    """exp(-x**2 / 2) of gaps x, in their place; a power of two is quicker."""
    return gaps.square_().mul_(-0.5 * math.log2(math.e)).exp2_()
