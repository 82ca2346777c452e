"""LambdaRank on quadratic metrics in operations of torch, on the device of the scores.

A metric here is a sum of u_r g(y_r) over ranks and, where pairs count, of w_r min(g(y_s), g(y_r))
over ranks s < r. With T_z(r) what a document of class z would be worth at rank r among those above,
less what it would take away from those above, a swap of documents i and j of the classes x >= z at
the ranks a and b changes the sum by

    T_z(a) - T_x(a) + T_x(b) - T_z(b) + max(w_a - w_b, 0) (g_x - g_z),

as in `skrank._kernels.quadratic`: products of a line for i and a column for j. Documents come by
falling label, so that i is the better one, and those of the lowest label do not meet.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from skrank.objectives import LambdaRank
from skrank.torch._lists import DocumentLists, count_lines
from skrank.torch._pairs import PairBlock, pair_blocks
from skrank.torch._tables import Place, TensorTables, refusal, tables_of

_STEP = 0x2545F491  # between the draws of two rounds
_NOWHERE = -3e38  # score of the padding, which pulls at no document


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
    lists: DocumentLists,
    tables: list[TensorTables],
    round_: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Half the sum of pulls of each query, and gradient of each document."""
    order = _order(objective, lists, round_)
    ranked = lists.sort(order)
    ranks = ranked.by_label()
    order, lists = order.gather(1, ranks), ranked.sort(ranks)
    sigma = objective.sigmoid
    scores = sigma * lists.scores
    score_norm, sum_norm = (
        objective.norm if switch is None else switch
        for switch in (objective.score_norm, objective.sum_norm)
    )
    base = None
    if score_norm:  # the distance of scores in units of 1 / sigma, as are the scores
        tied = lists.fill(scores, -math.inf).amax(1) == lists.fill(scores, math.inf).amin(1)
        base = sigma * (0.01 + 0.99 * tied.to(scores.dtype))
    reached = None
    if objective.truncation_level is not None:
        reached = (ranks - objective.truncation_level).to(scores.dtype)
    changes = _changes(objective, lists, ranks, ranked, tables)
    pull, total = _pull(lists.fill(scores, _NOWHERE), base, changes, lists.labels, reached)
    scale = sigma * (sigma if score_norm else 1.0)
    pull, total = scale * pull, 2.0 * scale * total
    if sum_norm:
        pulls = torch.log2(1.0 + total)
        some = total > 0
        pull = pull * torch.where(some, pulls / torch.where(some, total, 1.0), 1.0)[:, None]
        total = pulls
    gradient = torch.zeros_like(pull).scatter_(1, order, pull)
    return total / (2.0 * sigma), gradient


def _order(objective: LambdaRank, lists: DocumentLists, round_: torch.Tensor) -> torch.Tensor:
    """Places of the documents of each query by rank, padding last."""
    if objective.tie_order == "stable":
        return lists.by_score()
    # one random order of places for all queries, from the seed and the round alone
    places = torch.arange(lists.scores.shape[1], device=lists.scores.device)
    return lists.by_score(lambda: torch.argsort(_hash(places, objective, round_)))


def _hash(places: torch.Tensor, objective: LambdaRank, round_: torch.Tensor) -> torch.Tensor:
    """Numbers below 2**31 that look random, without a state of a generator."""
    seed = objective.random_state % 2**31
    mixed = (places + (round_.to(places.device) * _STEP + seed) % 2**31) % 2**31
    for factor in (0x45D9F3B, 0x119DE1F3, 0x45D9F3B):
        mixed = ((mixed ^ (mixed >> 16)) * factor) % 2**31
    return mixed


class _Changes(NamedTuple):
    """Changes of a metric by swaps, as sums over what follows.

    Attributes
    ----------
    products : list of (Tensor (n, n_queries, n_documents), another, int)
        Of the first and the second document of a swap: products of matrices add up. From which of
        the n on they count where the second document has label 0.
    steps : list of (Tensor (n_queries, n_documents), Tensor (n_queries, n_documents), bool)
        Weights of ranks and gains, whose differences are multiplied; whether only smaller weights
        of the second document count.
    """

    products: list[tuple[torch.Tensor, torch.Tensor, int]]
    steps: list[tuple[torch.Tensor, torch.Tensor, bool]]

    def sizes(self, block: PairBlock) -> torch.Tensor:
        """Absolute values of the changes of a block of swaps."""
        change: Any = 0.0
        for number, (weights, gain, falls) in enumerate(self.steps):
            step = block.gaps(weights, 2 if number else 0)
            if falls:
                step.clamp_(max=0.0)
            step *= block.column(-gain) if block.apart else block.gaps(gain, 1)
            change = change.add_(step) if number else step
        for left, right, start in self.products:
            some = slice(start if block.apart else 0, None)
            of_first = left[some, block.queries, block.first].permute(1, 2, 0)
            change.baddbmm_(of_first, right[some, block.queries, block.second].transpose(0, 1))
        return change.abs_()


def _changes(
    objective: LambdaRank,
    lists: DocumentLists,
    ranks: torch.Tensor,
    ranked: DocumentLists,
    tables: list[TensorTables],
) -> _Changes:
    """Changes by swaps of documents that have these ranks, from 0; `ranked` are those by rank."""
    found = _Changes([], [])

    def at_ranks(weights: torch.Tensor) -> torch.Tensor:
        return weights.index_select(0, ranks.reshape(-1)).view(ranks.shape)

    for (weight, _), form in zip(objective.metric.terms, tables, strict=True):
        members = lists.look(form.members)
        inverse = weight * form.inverse(members.sum(2).T)[:, None]
        gain = form.gain - form.members[0] @ form.gain  # of label 0
        gain = inverse * (gain @ members.view(len(gain), -1)).view(ranks.shape)
        if form.w is None:
            found.steps.append((at_ranks(form.u), -gain, False))
            continue
        found.steps.append((at_ranks(form.w), gain, True))
        table = _worth_at_ranks(ranked, form)
        table = table.gather(2, ranks.expand(table.shape))
        more = inverse * (table - (table * members).sum(0))
        left = torch.cat((more[:-1].flip(0), members[1:]))
        right = torch.cat((members[:-1].flip(0), more[1:]))
        found.products.append((left, right, len(more) - 2))
    return found


def _worth_at_ranks(ranked: DocumentLists, tables: TensorTables) -> torch.Tensor:
    """T: (n_classes, n_queries, n_documents)."""
    n, gain = ranked.labels.shape[1], tables.gain
    assert tables.w is not None
    u, w = tables.u[:n], tables.w[:n]
    lesser = ranked.look(tables.members @ torch.minimum(gain[:, None], gain))
    table = (u * gain[:, None, None]).addcmul(w, lesser.cumsum(2))
    return table.sub_((w * lesser).cumsum(2))


def _pull(
    scores: torch.Tensor,
    base: torch.Tensor | None,
    changes: _Changes,
    labels: torch.Tensor,
    reached: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sum over the pairs of each document, and sum of the sizes of all.

    Changes are divided by `base` and the distance of the scores. Pairs count of which one document
    is below 0 in `reached`.
    """
    lost, won = torch.zeros_like(scores), torch.zeros_like(scores)
    n_first = count_lines(labels > 0)
    for block in pair_blocks(scores, n_first, 3, labels):
        rooms = block.rooms
        change = block.once(changes.sizes(block))
        if reached is not None:
            least = torch.minimum(block.column(reached), block.line(reached), out=rooms[1])
            change.masked_fill_(least >= 0, 0.0)
        gap = block.gaps(scores, 1)
        change *= torch.sigmoid(gap, out=rooms[2])
        if base is not None:
            change /= gap.abs_().add_(base[block.queries, None, None])
        block.add(change, lost, won)
    return won - lost, lost.sum(1)
