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

from typing import Any, NamedTuple

import torch

from skrank.objectives import LambdaRank
from skrank.torch._lists import DocumentLists, count_lines
from skrank.torch._pairs import PairBlock, pair_blocks
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
        there = torch.where(lists.valid, scores, scores[:, :1])
        tied = there.amax(1) == there.amin(1)
        base = sigma * (0.01 + 0.99 * tied.to(scores.dtype))
    reached = None
    if objective.truncation_level is not None:
        reached = (ranks - objective.truncation_level).to(scores.dtype)
    changes = _changes(objective, lists, ranks, ranked, tables)
    pull, total = _pull(scores, base, changes, lists.labels, reached)
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
    shuffled = torch.argsort(_hash(places, objective, round_)).expand(lists.scores.shape)
    return shuffled.gather(1, lists.sort(shuffled).by_score())


def _hash(places: torch.Tensor, objective: LambdaRank, round_: torch.Tensor) -> torch.Tensor:
    """Numbers below 2**31 that look random, without a state of a generator."""
    seed = objective.random_state % 2**31
    mixed = (places + (round_.to(places.device) * _STEP + seed) % 2**31) % 2**31
    for factor in (0x45D9F3B, 0x119DE1F3, 0x45D9F3B):
        mixed = ((mixed ^ (mixed >> 16)) * factor) % 2**31
    return mixed


class _Changes(NamedTuple):
    """Changes of a metric by swaps.

    Attributes
    ----------
    products : list of pairs of Tensor (n_queries, n_documents, n), (n_queries, n, n_documents)
        Of the first and the second document of a swap: products of matrices add up.
    lesser : list of pairs of Tensor (n_queries, n_documents)
        Weights of ranks and gains: the smaller weight of the two documents times the difference of
        their gains goes off.
    """

    products: list[tuple[torch.Tensor, torch.Tensor]]
    lesser: list[tuple[torch.Tensor, torch.Tensor]]

    def add(self, first: torch.Tensor, second: torch.Tensor) -> None:
        """Add a product of what comes as (n, n_queries, n_documents)."""
        self.products.append((first.permute(1, 2, 0), second.transpose(0, 1)))

    def sizes(self, block: PairBlock) -> torch.Tensor:
        """Absolute values of the changes of a block of swaps."""
        change: Any = block.rooms[0]
        for number, (left, right) in enumerate(self.products):
            lines = left[block.queries, block.first], right[block.queries, :, block.second]
            change = change.baddbmm_(*lines) if number else torch.bmm(*lines, out=change)
        for w, gain in self.lesser:
            change.addcmul_(block.least(w, 1), block.gaps(gain, 2), value=-1)
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
    there = lists.valid.to(lists.scores.dtype)

    def at_ranks(weights: torch.Tensor) -> torch.Tensor:
        return weights.index_select(0, ranks.reshape(-1)).view(ranks.shape) * there

    for (weight, _), form in zip(objective.metric.terms, tables, strict=True):
        members = lists.look(form.members)
        inverse = weight * form.inverse(members.sum(2).T)[:, None]
        gain = lists.look((form.members @ form.gain)[:, None])[0]
        if form.w is None:  # (u_a - u_b) (g_z - g_x)
            u = at_ranks(form.u)
            left = inverse * torch.stack((u, -u * gain, -there, gain))
            found.add(left, torch.stack((gain, there, u * gain, u)))
            continue
        w = at_ranks(form.w)
        table = _worth_at_ranks(ranked, form)
        table = table.gather(2, ranks.expand(table.shape))
        table = inverse * (table - (table * members).sum(0))
        gain = inverse * gain
        upper = torch.addcmul(table + w * gain, inverse * form.gain[:, None, None], w, value=-1)
        found.add(upper, members)
        found.add(members, table.mul_(there))
        found.lesser.append((w, gain))
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
    pull, total = torch.zeros_like(scores), scores.new_zeros(len(scores))
    n_first = count_lines(labels > 0)
    once = scores.new_ones(2 * scores.shape[1:]).triu_(1)
    for block in pair_blocks(scores, n_first, 3, labels):
        queries, first, second, rooms = block
        change = changes.sizes(block)
        if first.stop > second.start:
            inside = slice(second.start, first.stop)
            change[:, :, : first.stop - second.start].mul_(once[first, inside])
        if reached is not None:
            change.masked_fill_(block.least(reached, 1) >= 0, 0.0)
        gap = torch.sub(block.line(scores), block.column(scores), out=rooms[1])
        change *= torch.sigmoid(gap, out=rooms[2])
        if base is not None:
            change /= gap.abs_().add_(base[queries, None, None])
        of_first = change.sum(2)
        pull[queries, first].sub_(of_first)
        pull[queries, second].add_(change.sum(1))
        total[queries].add_(of_first.sum(1))
    return pull, total
