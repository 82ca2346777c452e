"""Native losses: dense tensors (n_queries, n, n) of pairs of documents, in blocks of queries.

Losses are functions of padded queries, and of the sums of metrics over their documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from skrank.extending import Judgments, QuadraticTables, Queries
from skrank.metrics import Metric
from skrank.objectives import LambdaRank, Objective, Softmax, SoftRank, SquaredError
from skrank.objectives.softrank import shift_of
from skrank.torch._batch import Batch

Terms = tuple[tuple[float, Objective], ...]  # of a mixture; other objectives have one
Losses = tuple[torch.Tensor, torch.Tensor]  # loss of each query, gradient of each document

# Pairs of documents in a block, which bounds the memory. A GPU needs larger blocks to be busy.
_PAIRS_ON_HOST = 2**22
_PAIRS_ON_DEVICE = 2**25
_LEAST_SPREAD = 0.01  # of the scores of a query, if sigma is relative to it
_WIDEST = 1e15  # bound of scaled scores: single precision can square their differences


def why_no_native_path(objective: Objective, max_grade: int | None) -> str | None:
    """Why an objective has no native path; None if it has one."""
    # the family of tables depends on no label; label 0 needs no gain in a mapping
    two = Judgments(np.zeros(2), Queries.single(2))
    for _, term in objective.terms:
        if type(term) not in _LOSSES:
            return f"{type(term).__name__} has kernels only"
        if getattr(term, "random_gains", False):
            return "random_gains=True has kernels only"
        if isinstance(term, LambdaRank):
            tables = term.metric.bind(two, max_grade=max_grade).tables
            if type(tables) is not QuadraticTables or tables.offset is not None:
                sums = "a sum over documents and pairs with one weight per rank"
                return f"{term.metric} is not {sums}"
    return None


def native_losses(terms: Terms, batch: Batch, max_grade: int | None) -> Losses:
    """Loss of each query with documents, and gradient of each document."""
    judgments, losses, gradients = batch.judgments, [], []
    indptr = judgments.indptr
    pairs = _PAIRS_ON_HOST if batch.device.type == "cpu" else _PAIRS_ON_DEVICE
    step = max(1, pairs // judgments.queries.longest**2)
    for first in range(0, len(judgments.queries), step):
        part = judgments.block(slice(first, first + step))
        rows = slice(indptr[first], indptr[first] + part.queries.n_rows)
        block = Dense.of(batch, batch.scores[rows], part, max_grade)
        loss, gradient = torch.zeros_like(block.scores[:, 0]), torch.zeros_like(block.scores)
        for weight, term in terms:
            value, slope = _LOSSES[type(term)](term, block)
            loss, gradient = loss + weight * value, gradient + weight * slope
        losses.append(loss)
        gradients.append(gradient.view(-1)[block.places])
    return torch.cat(losses), torch.cat(gradients)


def lambdarank(objective: LambdaRank, queries: Dense) -> Losses:
    """The loss is S / (2 sigmoid), see Notes of `RankingLoss`; for options see `LambdaRank`."""
    order, sigma = _ranked(objective, queries), objective.sigmoid
    parts = queries.scores, queries.codes, queries.valid
    scores, codes, valid = (tensor.gather(1, order) for tensor in parts)
    queries = replace(queries, scores=scores, codes=codes, valid=valid)
    bound = queries.bind(objective.metric, objective.ideal_cutoff)
    delta = bound.inverse[:, None, None] * _deltas(bound)
    counted = valid[:, :, None] & valid[:, None]
    if objective.truncation_level is not None:
        top = torch.arange(scores.shape[1], device=scores.device) < objective.truncation_level
        counted = counted & (top[:, None] | top)
    gap = scores[:, :, None] - scores[:, None]
    pull = torch.where(counted, delta * torch.sigmoid(-sigma * gap), 0.0)
    if objective.norm in (True, "score"):
        high, low = _extremes(queries)
        pull = torch.where((high > low)[:, :, None], pull / (0.01 + gap.abs()), pull)
    gradient = sigma * (pull.sum(1) - pull.sum(2))
    total = 2.0 * sigma * pull.sum((1, 2))
    if objective.norm in (True, "sum"):
        scale = torch.where(total > 0, torch.log2(1.0 + total) / total, 1.0)
        gradient, total = scale[:, None] * gradient, scale * total
    return total / (2.0 * sigma), torch.zeros_like(gradient).scatter(1, order, gradient)


def _deltas(metric: QuadraticSum) -> torch.Tensor:
    """Change of the sum if documents a and b swap ranks; 0 unless a has a higher gain than b.

    A change is positive if the sum is higher with a above b, and is else replaced by 0. Documents
    are numbered by rank. t[r, x] is the sum of the pairs of document x if x stands at rank r and
    all others stay. The swap changes the pairs by t[a, b] - t[a, a] + t[b, a] - t[b, b] -
    w (k[a, a] - k[a, b] + k[b, b] - k[b, a]), where w is the weight of the rank further down, as t
    pairs each document with itself at its old rank.
    """
    gain, u, w, k = metric.gain, metric.u, metric.w, metric.k
    rank = torch.arange(len(u), device=u.device)
    change = (u[:, None] - u) * (gain[:, None] - gain[:, :, None])
    if w is not None and k is not None:
        below = w * k
        t = w[:, None] * (k.cumsum(1) - k) + (below.sum(2, keepdim=True) - below.cumsum(2)).mT
        t_own, k_own = (tensor.diagonal(dim1=1, dim2=2)[:, :, None] for tensor in (t, k))
        half = t - t_own - w[torch.maximum(rank[:, None], rank)] * (k_own - k)
        change = change + half + half.mT
    change = torch.where(rank[:, None] > rank, change, -change).clamp(min=0.0)
    return torch.where(gain[:, :, None] > gain[:, None], change, 0.0)


def _ranked(objective: LambdaRank, queries: Dense) -> torch.Tensor:
    """Index that sorts the documents of each query by rank, with the padding at the end."""
    keys = queries.fill(-queries.scores, math.inf)
    if objective.tie_order != "random":
        return torch.argsort(keys, dim=1, stable=True)
    places = torch.argsort(_drawn(objective.random_state, queries), dim=1)
    return places.gather(1, torch.argsort(keys.gather(1, places), dim=1, stable=True))


def _drawn(seed: int, queries: Dense) -> torch.Tensor:
    """A random number of 31 bits for each document, which depends on its score and place.

    Unlike in the kernels, not on the number of the query: lists of equal scores are shuffled alike.
    """
    scores = queries.scores + 0.0  # -0.0 becomes 0.0
    bits = scores.view(torch.int32 if scores.dtype == torch.float32 else torch.int64).long()
    places = torch.arange(scores.shape[1], device=scores.device)
    return _hashed(_hashed(_hashed(bits) + seed % 2**31) + places)


def _hashed(numbers: torch.Tensor) -> torch.Tensor:
    """31 random bits of each integer, by the factor of T. Mueller's hash and its inverse."""
    bits = (numbers ^ (numbers >> 31)) % 2**31
    for factor in (0x45D9F3B, 0x119DE1F3, 0x45D9F3B):
        bits = ((bits ^ (bits >> 16)) * factor) % 2**31
    return bits


def softrank(objective: SoftRank, queries: Dense) -> Losses:
    """The loss is one minus the smooth value; see `skrank.SoftRank`.

    With theta = sqrt(2) sigma, document i stands above j with probability P_ij = Phi((s_i - s_j) /
    theta). The rank of j has the mean 1/2 + sum_i P_ij and the variance sum_i P_ij P_ji - 1/4,
    where the sums include i = j, with P_jj = 1/2.
    """
    inverse, gain, _, _, k = queries.bind(objective.metric, objective.metric.ideal_cutoff)
    x, theta = _scaled(objective, queries)
    gap = x[:, :, None] - x[:, None]
    pairs = queries.valid[:, :, None] & queries.valid[:, None]
    above = torch.where(pairs, 0.5 + 0.5 * torch.erf(gap / math.sqrt(2.0)), 0.0)
    rank = 0.5 + above.sum(1)
    if k is not None:  # sum_j A_j / rank_j, A_j = gain_j / 2 + sum_i P_ij k_ij
        value = (0.5 * gain + (above * k).sum(1)) / rank
        along = (k - value[:, None]) / rank[:, None]  # derivative by P_ij
    else:  # sum_j gain_j (d + d'' variance_j / 2), d = ln 2 / ln(shift + rank_j)
        rank = rank + (shift_of(objective.metric) or 0.0)  # never None: DCG or nDCG
        variance, log = (above * (1.0 - above)).sum(1) - 0.25, torch.log(rank)
        d, unit = gain * math.log(2.0) / log, 1.0 / (rank * log)
        second, third = d * (log + 2) * unit**2, -d * (2 * log**2 + 6 * log + 6) * unit**3
        value = d + 0.5 * variance * second
        mean = 0.5 * variance * third - d * unit  # derivative by the mean of the rank
        along = mean[:, None] + second[:, None] * (0.5 - above)
    pull = torch.where(pairs, along * torch.exp(-0.5 * gap**2), 0.0) / math.sqrt(2.0 * math.pi)
    loss = torch.where(inverse > 0, 1.0 - inverse * value.sum(1), 0.0)
    return loss, inverse[:, None] * (pull.sum(1) - pull.sum(2)) / theta


def _scaled(objective: SoftRank, queries: Dense) -> tuple[torch.Tensor, torch.Tensor]:
    """(Scores - midrange of the query) / theta, and theta of each query, (n_queries, 1)."""
    high, low = _extremes(queries)
    centred = queries.fill(queries.scores - (0.5 * high + 0.5 * low), 0.0)
    theta = torch.full_like(high, math.sqrt(2.0) * objective.sigma)
    if objective.relative:
        n = queries.valid.sum(1, keepdim=True)
        unit = (0.5 * high - 0.5 * low).clamp(min=_LEAST_SPREAD)
        scaled = centred / unit  # within 1, so that squares do not overflow
        rest = queries.fill(scaled - scaled.sum(1, keepdim=True) / n, 0.0)
        spread = ((rest**2).sum(1, keepdim=True) / n).sqrt() * unit
        theta = theta * spread.clamp(min=_LEAST_SPREAD)
    return (centred / theta).clamp(-_WIDEST, _WIDEST), theta


def _extremes(queries: Dense) -> tuple[torch.Tensor, torch.Tensor]:
    """Highest and lowest score of each query, (n_queries, 1)."""
    scores, limits = queries.scores, torch.finfo(queries.scores.dtype)
    high, low = queries.fill(scores, limits.min), queries.fill(scores, limits.max)
    return high.amax(1, keepdim=True), low.amin(1, keepdim=True)


def softmax(objective: Softmax, queries: Dense) -> Losses:
    """The loss is the cross-entropy of softmax and the shares of gain; see `skrank.Softmax`."""
    gain = queries.look_up(objective.gains(queries.judgments))
    total = gain.sum(1, keepdim=True)
    share = torch.where(total > 0, gain / total, 0.0)
    logarithm = torch.log_softmax(queries.fill(queries.scores, torch.finfo(gain.dtype).min), 1)
    loss = -torch.where(share > 0, share * logarithm, 0.0).sum(1)
    return loss, torch.where((total > 0) & queries.valid, logarithm.exp() - share, 0.0)


def squared_error(objective: SquaredError, queries: Dense) -> Losses:
    """The loss is half the sum of (score - target)**2; see `skrank.SquaredError`."""
    top = objective.max_grade or queries.max_grade or queries.judgments.max_grade
    targets = objective.targets(queries.judgments, top)
    rest = queries.scores - queries.look_up(targets)
    if objective.centered:
        n = queries.valid.sum(1, keepdim=True)
        rest = queries.fill(rest - rest.sum(1, keepdim=True) / n, 0.0)
    return 0.5 * (rest**2).sum(1), rest


_LOSSES: dict[type[Objective], Callable[..., Losses]] = {
    LambdaRank: lambdarank, SoftRank: softrank, Softmax: softmax, SquaredError: squared_error,
}  # fmt: skip


# queries and metrics as tensors


@dataclass(frozen=True, eq=False)
class Dense:
    """Queries as tensors (n_queries, n_documents), padded to the length of the longest.

    In the padding, scores are 0 and `valid` is False. `codes` are those of `judgments`, and in the
    padding the number of codes. `places` are those of the documents in the flattened tensors.
    """

    batch: Batch
    judgments: Judgments
    max_grade: int | None
    scores: torch.Tensor
    codes: torch.Tensor
    valid: torch.Tensor
    places: torch.Tensor

    @classmethod
    def of(
        cls, batch: Batch, scores: torch.Tensor, judgments: Judgments, max_grade: int | None
    ) -> Dense:
        """The queries of a batch that `judgments` has, of which `scores` are flat."""
        queries = judgments.queries
        inside = np.arange(queries.longest) < queries.sizes[:, None]
        codes = np.full(inside.shape, len(judgments.labels))
        codes[inside] = judgments.codes
        valid, places = batch.put(inside), batch.put(np.flatnonzero(inside))
        padded = scores.new_zeros(inside.size)
        padded[places] = scores
        return cls(
            batch, judgments, max_grade, padded.view(inside.shape), batch.put(codes), valid, places
        )

    def fill(self, values: torch.Tensor, padding: float) -> torch.Tensor:
        """The values, replaced by one value in the padding."""
        return values.masked_fill(~self.valid, padding)

    def look_up(self, table: np.ndarray) -> torch.Tensor:
        """Entries of a table of the codes, and 0 in the padding."""
        return self.batch.put(np.append(table, 0.0))[self.codes]

    def bind(self, metric: Metric, cutoff: int | None) -> QuadraticSum:
        """The sum of a metric for these queries; their best lists are cut at `cutoff`."""
        plan, n = metric.bind(self.judgments, max_grade=self.max_grade), self.codes.shape[1]
        inverse = self.batch.put(plan.inverse_ideal(cutoff) * plan.slope())
        tables, w, k = plan.tables, None, None
        assert isinstance(tables, QuadraticTables)
        if tables.pairs is not None:
            upper, lower = self.look_up(tables.pairs.upper), self.look_up(tables.pairs.lower)
            join = torch.minimum if tables.pairs.join is np.minimum else torch.mul
            w = self.batch.put(tables.pairs.weights[:n])
            k = join(upper[:, :, None], lower[:, None])
        return QuadraticSum(inverse, self.look_up(tables.gain), self.batch.put(tables.u[:n]), w, k)


class QuadraticSum(NamedTuple):
    """``inverse (sum_r u_r gain_r + sum_{s<r} w_r k_sr)`` over the documents r of each query.

    `inverse` has the shape (n_queries,), `gain` (n_queries, n), `u` and `w` (n,) and `k`
    (n_queries, n, n); `w` and `k` are None for a metric without pairs.
    """

    inverse: torch.Tensor
    gain: torch.Tensor
    u: torch.Tensor
    w: torch.Tensor | None
    k: torch.Tensor | None
