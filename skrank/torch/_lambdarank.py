"""LambdaRank on quadratic metrics in operations of torch, on the device of the scores.

With documents in rank order, a swap of those at ranks a < b of the classes x and y changes the sum
of a metric by D(a) - D(b) with D(r) = T_y(r) - T_x(r) - w_r (K(y, x) - K(x, x)), as in
`skrank._kernels.quadratic`. This is a product of a line for a and a column for b, so that all
changes are one product of matrices. Its sign tells which of the two is the better one.
"""

from __future__ import annotations

import math

import torch

from skrank.objectives import LambdaRank
from skrank.torch._pairs import PaddedDocuments, blocks, per_class
from skrank.torch._tables import Place, TensorTables, refusal, tables_of

_STEP = 0x2545F491  # between the draws of two rounds


def refuse(objective: LambdaRank) -> str | None:
    """Why there is no native form; else None."""
    if objective.perturbations:
        return "perturbed orders are drawn by the kernels"
    if objective.pairs != "all":
        return "pairs of neighbours are met by the kernels"
    return refusal(objective.metric)


def tables(objective: LambdaRank, place: Place) -> list[TensorTables]:
    """Those of each metric of a mixture, or of the one."""
    levels = [
        [level for level in (one.k, objective.truncation_level) if level is not None]
        for _, one in objective.metric.terms
    ]
    return [
        tables_of(one, min(level, default=None), place)
        for (_, one), level in zip(objective.metric.terms, levels, strict=True)
    ]


def lambdarank(
    objective: LambdaRank,
    documents: PaddedDocuments,
    tables: list[TensorTables],
    round_: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Half the sum of pulls of each query, and gradient of each document."""
    order = _order(objective, documents, round_)
    ranked = documents.sort(order)
    scores = _finite(ranked)
    left, right = _changes(objective, ranked, tables)
    sigma = objective.sigmoid
    score_norm, sum_norm = (
        objective.norm if switch is None else switch
        for switch in (objective.score_norm, objective.sum_norm)
    )
    base = None
    if score_norm:  # the distance of scores in units of 1 / sigma, as are the scores
        tied = scores[:, :1] == scores[:, -1:]
        base = sigma * (0.01 + 0.99 * tied.to(scores.dtype))
    reach = min(objective.truncation_level or scores.shape[1], scores.shape[1])
    pull, total = _pull(sigma * scores, left, right, base, reach)
    scale = sigma * (sigma if score_norm else 1.0)
    pull, total = scale * pull, 2.0 * scale * total
    if sum_norm:
        pulls = torch.log2(1.0 + total)
        some = total > 0
        pull = pull * torch.where(some, pulls / torch.where(some, total, 1.0), 1.0)[:, None]
        total = pulls
    gradient = torch.zeros_like(pull).scatter_(1, order, pull)
    return total / (2.0 * sigma), gradient


def _order(objective: LambdaRank, documents: PaddedDocuments, round_: torch.Tensor) -> torch.Tensor:
    """Places of the documents of each query by rank, padding last."""
    scores = torch.where(documents.valid, documents.scores, -math.inf)
    if objective.tie_order == "stable":
        return torch.argsort(scores, dim=1, descending=True, stable=True)
    # one random order of places for all queries, from the seed and the round alone
    n = scores.shape[1]
    shuffled = torch.argsort(_hash(torch.arange(n, device=scores.device), objective, round_))
    behind = torch.argsort(scores[:, shuffled], dim=1, descending=True, stable=True)
    return shuffled[behind]


def _hash(places: torch.Tensor, objective: LambdaRank, round_: torch.Tensor) -> torch.Tensor:
    """Numbers below 2**31 that look random, without a state of a generator."""
    seed = objective.random_state % 2**31
    mixed = (places + (round_.to(places.device) * _STEP + seed) % 2**31) % 2**31
    for factor in (0x45D9F3B, 0x119DE1F3, 0x45D9F3B):
        mixed = ((mixed ^ (mixed >> 16)) * factor) % 2**31
    return mixed


def _finite(ranked: PaddedDocuments) -> torch.Tensor:
    """Scores by rank, padding like the last document."""
    sizes = ranked.valid.sum(1, keepdim=True)
    last = torch.gather(ranked.scores, 1, (sizes - 1).clamp(min=0))
    return torch.where(ranked.valid, ranked.scores, last)


def _changes(
    objective: LambdaRank, ranked: PaddedDocuments, tables: list[TensorTables]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Columns (n_queries, n, n_documents) whose products are the changes by swaps."""
    there = ranked.valid[None].to(ranked.scores.dtype)
    lefts, rights = [], []
    for (weight, _), form in zip(objective.metric.terms, tables, strict=True):
        classes = ranked.classes(form)
        members = ranked.members(classes, len(form.gain))
        inverse = weight * form.inverse(members.sum(2).T)
        make = _with_pairs if form.pairs else _alone
        left, right = make(form, members, there)
        lefts.append(inverse[:, None] * left)
        rights.append(right)
    return _by_query(lefts), _by_query(rights)


def _by_query(parts: list[torch.Tensor]) -> torch.Tensor:
    """Parts (n, n_queries, n_documents) as (n_queries, n, n_documents)."""
    return (torch.cat(parts) if len(parts) > 1 else parts[0]).transpose(0, 1).contiguous()


def _alone(
    tables: TensorTables, members: torch.Tensor, there: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(u_a - u_b) (g_y - g_x)."""
    gain = per_class(tables.gain[None], members)
    rank = tables.u[: members.shape[2]] * there
    left = torch.cat((rank, -rank * gain, -there, gain))
    right = torch.cat((gain, there, rank * gain, rank))
    return left, right


def _with_pairs(
    tables: TensorTables, members: torch.Tensor, there: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """T_y(a) - T_x(a) - w_a J(x, y) - T_y(b) + T_x(b) + w_b J(x, y), J = K(y, x) - K(x, x)."""
    n, kernel = members.shape[2], tables.kernel
    u, w = tables.u[:n], tables.w[:n]
    jump = kernel.T - kernel.diagonal()[:, None]  # J by x and y
    # K(y_s, z), K(z, y_s), J(x, z), J(z, y)
    every = per_class(torch.cat((kernel.T, kernel, jump.T, jump)), members)
    above, below, jump_x, jump_y = every.split(len(kernel))
    below = w * below
    before, after = above.cumsum(2) - above, below.cumsum(2) - below
    table = (u * tables.gain[:, None, None] + w * before - after) * there
    own = (table * members).sum(0, keepdim=True)
    left = torch.cat((table - w * jump_x, members, own, there))
    right = torch.cat((members, table + w * jump_y, -there, -own))
    return left, right


def _pull(
    scores: torch.Tensor,
    left: torch.Tensor,
    right: torch.Tensor,
    base: torch.Tensor | None,
    reach: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sum over the pairs of each document, and sum of the sizes of all; scores times sigma."""
    pull, total = torch.zeros_like(scores), scores.new_zeros(len(scores))
    for queries, first, second in blocks(scores.shape, reach, scores.device):
        change = left[queries, :, first].transpose(1, 2) @ right[queries, :, second]
        behind = first.stop - first.start
        change[:, :, :behind] *= torch.ones_like(change[0, :, :behind]).triu(1)  # each pair once
        gap = scores[queries, first, None] - scores[queries, None, second]  # >= 0: ranks descend
        change *= torch.copysign(gap, change).sigmoid_()
        if base is not None:
            change /= gap.add_(base[queries, :, None])
        pull[queries, first] += change.sum(2)
        pull[queries, second] -= change.sum(1)
        total[queries] += change.abs_().sum((1, 2))
    return pull, total
