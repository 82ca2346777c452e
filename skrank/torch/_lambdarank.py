"""LambdaRank on quadratic metrics in operations of torch, on the device of the scores.

A metric here is a sum of u_r g(y_r) over ranks and, where pairs count, of w_r min(g(y_s), g(y_r))
over ranks s < r. With T_z(r) what a document of class z would be worth at rank r among those above,
less what it would take away from those above, a swap of documents i and j of the classes x >= z at
the ranks a and b changes the sum by

    T_z(a) - T_x(a) + T_x(b) - T_z(b) + max(w_a - w_b, 0) (g_x - g_z),

as in `skrank._kernels.quadratic`: products of a line for i and a column for j. Class 0 reaches no
level of the metric, and each other class one more. Documents come by falling label, so that i is
the better one, and those of class 0 do not meet.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from skrank.objectives import LambdaRank
from skrank.torch._batch import can_look
from skrank.torch._lists import DocumentLists
from skrank.torch._pairs import (
    PairBlock,
    Stripe,
    pair_blocks,
    stripes_by_level,
    stripes_in_order,
)
from skrank.torch._tables import Place, TensorTables, refusal, tables_of, weigh

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
    unit = sigma * math.log2(math.e)  # of scores whose powers of two are taken
    scores = unit * lists.scores
    score_norm, sum_norm = (
        objective.norm if switch is None else switch
        for switch in (objective.score_norm, objective.sum_norm)
    )
    base = None
    if score_norm:
        tied = lists.fill(scores, -math.inf).amax(1) == lists.fill(scores, math.inf).amin(1)
        base = unit * (0.01 + 0.99 * tied.to(scores.dtype))
    reached = None
    if objective.truncation_level is not None:
        reached = (ranks - objective.truncation_level).to(scores.dtype)
    changes = _changes(objective, lists, ranks, ranked, tables)
    pull, total = _pull(lists.fill(scores, _NOWHERE), base, changes, reached)
    scale = sigma * (unit if score_norm else 1.0)
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
    steps : Tensor (n, 2, n_queries, n_documents)
        Weights of ranks and gains, whose differences are multiplied.
    rises : list of bool
        Of each of the n, whether only rises of weight from the first document to the second count.
    products : list of (Tensor (m, n_queries, n_documents), another)
        Of the first and the second document of a swap: products of matrices add up.
    stripes : list of Stripe or None
        Who meets whom, where that can be read.
    """

    steps: torch.Tensor
    rises: list[bool]
    products: list[tuple[torch.Tensor, torch.Tensor]]
    stripes: list[Stripe] | None

    def sizes(self, block: PairBlock) -> torch.Tensor:
        """Absolute values of the changes of a block of swaps."""
        firsts, seconds = block.column(self.steps).unbind(), block.line(self.steps).unbind()
        change: Any = None
        for rises, one, other in zip(self.rises, firsts, seconds, strict=True):
            room = block.rooms[0 if change is None else 2]
            step = torch.sub(other[0], one[0], out=room)
            if rises:
                step.clamp_(min=0.0)
            step *= torch.sub(one[1], other[1], out=block.rooms[1])
            change = step if change is None else change.add_(step)
        for left, right in self.products:
            of_first = left[:, block.queries, block.first].permute(1, 2, 0)
            change.baddbmm_(of_first, right[:, block.queries, block.second].transpose(0, 1))
        return change.abs_()


def _changes(
    objective: LambdaRank,
    lists: DocumentLists,
    ranks: torch.Tensor,
    ranked: DocumentLists,
    tables: list[TensorTables],
) -> _Changes:
    """Changes by swaps of documents that have these ranks, from 0; `ranked` are those by rank."""
    steps, rises, products, counts = [], [], [], []
    sizes = lists.sizes()

    def at_ranks(weights: torch.Tensor) -> torch.Tensor:
        return weights.index_select(0, ranks.reshape(-1)).view(ranks.shape)

    for (weight, _), form in zip(objective.metric.terms, tables, strict=True):
        reached = lists.reach(form.floors)
        counts.append(reached.sum(2).to(torch.int64))
        inverse = weight * form.inverse(counts[-1], sizes)[:, None]
        gain = inverse * weigh(form.steps, reached)
        steps.append(torch.stack((at_ranks(form.u if form.w is None else -form.w), gain)))
        rises.append(form.w is not None)
        if form.w is None:
            continue
        table = _worth_at_ranks(ranked, form)
        table = table.gather(2, ranks.expand(table.shape))
        members = reached.clone()
        members[:-1] -= reached[1:]
        table = inverse * table
        own = (table * members).sum(0)
        table -= own
        products.append(
            (
                torch.cat((-own[None], table[:-1], members)),
                torch.cat((1.0 - reached[:1], members[:-1], table)),
            )
        )
    stripes = None
    if can_look(ranks.device):
        levels = np.concatenate([one.numpy() for one in counts])
        stripes = stripes_by_level(-np.sort(-levels, axis=0), ranks.shape[1])  # of a mixture
    elif not torch.compiler.is_compiling():
        stripes = stripes_in_order(*ranks.shape)
    return _Changes(torch.stack(steps), rises, products, stripes)


def _worth_at_ranks(ranked: DocumentLists, tables: TensorTables) -> torch.Tensor:
    """T of all classes but 0, whose is 0: (n_levels, n_queries, n_documents)."""
    n, n_levels = ranked.labels.shape[1], len(tables.floors)
    assert tables.w is not None
    u, w = tables.u[:n], tables.w[:n]
    reached = ranked.reach(tables.floors)
    table = torch.addcmul(u, w, reached.cumsum(2)).sub_((w * reached).cumsum(2))
    parts = torch.ones_like(table[:, 0, 0]).expand(n_levels, n_levels).tril() * tables.steps
    return (parts @ table.view(n_levels, -1)).view(table.shape)


def _pull(
    scores: torch.Tensor,
    base: torch.Tensor | None,
    changes: _Changes,
    reached: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sum over the pairs of each document, and sum of the sizes of all.

    The chance of the wrong order is one over one plus a power of two. Changes are divided by `base`
    and the distance of the scores. Pairs count of which one document is below 0 in `reached`.
    """
    lost, won = torch.zeros_like(scores), torch.zeros_like(scores)
    for blocks in pair_blocks(scores, changes.stripes, 3):
        for block in blocks:
            rooms, ahead = block.rooms, 1 + block.first.start - block.second.start
            change = changes.sizes(block).triu_(ahead)  # each pair once, by its better document
            if reached is not None:
                least = torch.minimum(block.column(reached), block.line(reached), out=rooms[1])
                change.masked_fill_(least >= 0, 0.0)
            gap = torch.sub(block.column(scores), block.line(scores), out=rooms[1])
            right = torch.exp2(gap, out=rooms[2])  # over the chance that the order is wrong
            if base is None:
                right += 1.0
            else:
                gap.abs_().add_(base[block.queries, None, None])
                right = torch.addcmul(gap, gap, right, out=rooms[2])
            change /= right
            lost[block.queries, block.first].add_(change.sum(2))
            won[block.queries, block.second].add_(change.sum(1))
    return won - lost, lost.sum(1)
