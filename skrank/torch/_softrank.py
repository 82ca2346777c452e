"""SoftRank by moments in operations of torch, on the device of the scores.

The model is that of `skrank._kernels.softrank`, in its notation. Sums over the pairs of a document
are products of matrices: the chance that i stands above j is (1 + erf(y_i - y_j)) / 2, y being the
scores over 2 sigma, and min(u_i, u_j) is the sum of the steps between gains that both reach.
"""

from __future__ import annotations

import math

import torch

from skrank.objectives import SoftRank
from skrank.torch._pairs import PaddedDocuments, blocks, per_class
from skrank.torch._tables import Place, TensorTables, tables_of

_LEAST_SPREAD = 0.01  # of the scores of a query, where sigma is relative to it
_WIDEST = 1e15  # largest scaled score: differences of any two are numbers


def refuse(objective: SoftRank) -> str | None:
    """Why there is no native form; else None."""
    if objective.form == "distribution":
        return 'form="distribution" takes the kernels\' recursion'
    return None


def tables(objective: SoftRank, place: Place) -> TensorTables:
    """Those of the metric."""
    return tables_of(objective.metric, objective.metric.ideal_cutoff, place)


def softrank(
    objective: SoftRank, documents: PaddedDocuments, tables: TensorTables, round_: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """One less the smooth value of each query, and gradient of each document."""
    scores, valid = documents.scores, documents.valid
    classes = documents.classes(tables)
    members = documents.members(classes, len(tables.gain))
    inverse = tables.inverse(members.sum(2).T)
    gain = per_class(tables.gain[None], members)[0]
    centred, sigma = _centred(objective, scores, valid)
    y = (centred / (2.0 * sigma)).clamp(-_WIDEST, _WIDEST)
    smooth = objective.metric.smooth
    assert smooth is not None
    there = valid.to(scores.dtype)
    if smooth.pairs:
        worth, slope = _average_precision(y, there, gain, _steps(tables, members))
    else:
        worth, slope = _discounted_gain(y, there, gain, smooth.shift or 0.0)
    scale = -inverse[:, None] / (2.0 * math.sqrt(math.pi) * sigma)
    loss = torch.where(inverse > 0, 1.0 - inverse * worth.sum(1), torch.zeros_like(inverse))
    return loss, scale * slope * there


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


def _steps(tables: TensorTables, members: torch.Tensor) -> torch.Tensor:
    """Roots of the steps between gains that each document reaches: products are min(u_i, u_j)."""
    steps = torch.diff(tables.gain, prepend=tables.gain.new_zeros(1))
    reached = torch.ones_like(tables.kernel).triu()  # by step and class
    return per_class(steps.sqrt()[:, None] * reached, members).transpose(0, 1).contiguous()


def _average_precision(
    y: torch.Tensor, there: torch.Tensor, gain: torch.Tensor, steps: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Worth and slope of each document: sum of A / B."""
    mass = torch.cat((there[:, None], steps), 1)
    above = 0.5 * (mass.sum(2, keepdim=True) + _erf_sums(y, mass)[0])  # of the documents above each
    b = torch.where(gain > 0, 1.0 / (0.5 + above[:, 0]), torch.zeros_like(gain))
    a = 0.5 * gain + (steps * above[:, 1:]).sum(1)
    worth, p = a * b, -a * b * b
    near, _ = _density_sums(y, torch.cat((mass, steps * b[:, None], p[:, None]), 1))
    alone, common, common_b, others = near.split((1, steps.shape[1], steps.shape[1], 1), 1)
    slope = (steps * (common_b - b[:, None] * common)).sum(1)
    return worth, slope + others[:, 0] - p * alone[:, 0]


def _discounted_gain(
    y: torch.Tensor, there: torch.Tensor, gain: torch.Tensor, shift: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Worth and slope of each document: sum of u (d(B) + d''(B) v / 2), d = 1 / log2(shift + B)."""
    sums, squares = _erf_sums(y, there[:, None], squares=True)
    n = there.sum(1, keepdim=True)
    x = shift + 0.5 + 0.5 * (n + sums[:, 0])
    variance = 0.25 * (n - squares[:, 0]) - 0.25
    log = torch.log(x)
    unit = gain * math.log(2.0)
    q = 0.5 * unit * (2 + log) / (x**2 * log**3)
    p = -unit / (x * log**2) - unit * variance * (log**2 + 3 * log + 3) / (x**3 * log**4)
    near, odds = _density_sums(y, torch.stack((there, p, q), 1), odds=True)
    slope = near[:, 1] - p * near[:, 0] - q * odds[:, 0] - odds[:, 2]
    return unit / log + variance * q, slope


def _erf_sums(
    y: torch.Tensor, mass: torch.Tensor, *, squares: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums over i of erf(y_i - y_j) mass_i for each j, and with `squares` of erf**2.

    `mass` is (n_queries, n, n_documents).
    """
    sums, spread = torch.zeros_like(mass), torch.zeros_like(mass)
    for queries, first, second in blocks(y.shape, y.shape[1], y.device):
        odds = (y[queries, first, None] - y[queries, None, second]).erf_()
        _add(sums, mass, odds, queries, first, second, -1)
        if squares:
            _add(spread, mass, odds.square_(), queries, first, second, 1)
    return sums, spread


def _density_sums(
    y: torch.Tensor, mass: torch.Tensor, *, odds: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums over j of f_ij mass_j, f = exp(-(y_i - y_j)**2), and with `odds` of f erf(y_i - y_j)."""
    sums, tilted = torch.zeros_like(mass), torch.zeros_like(mass)
    for queries, first, second in blocks(y.shape, y.shape[1], y.device):
        gap = y[queries, first, None] - y[queries, None, second]
        density = gap.square().neg_().exp_()
        _add(sums, mass, density, queries, first, second, 1)
        if odds:
            _add(tilted, mass, density.mul_(gap.erf_()), queries, first, second, -1)
    return sums, -tilted


def _add(
    sums: torch.Tensor,
    mass: torch.Tensor,
    block: torch.Tensor,
    queries: slice,
    first: slice,
    second: slice,
    sign: int,
) -> None:
    """Add sums over i of m_ij mass_i for each j; `block` is m[first, second], m_ji = sign m_ij."""
    behind = slice(first.stop, second.stop)
    apart = block[:, :, first.stop - first.start :]
    sums[queries, :, second] += mass[queries, :, first] @ block
    sums[queries, :, first].add_(mass[queries, :, behind] @ apart.transpose(1, 2), alpha=sign)
