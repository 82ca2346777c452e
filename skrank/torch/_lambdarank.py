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
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from skrank.objectives import LambdaRank
from skrank.torch._lists import DocumentLists
from skrank.torch._pairs import (
    PairBlock,
    Stripe,
    pair_blocks,
    stripes_by_level,
    stripes_in_order,
)
from skrank.torch._tables import Place, TensorTables, refusal, tables_of, weigh
from skrank.torch._tensors import can_look

_STEP = 0x2545F491  # between the draws of two rounds
_NOWHERE = -3e38  # score of the padding, which pulls at no document
_WIDEST = 250.0  # range of scores whose halves have powers of two in single precision


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
    scores, unit = lists.scores, sigma * math.log2(math.e)  # chances are of powers of two
    score_norm, sum_norm = (
        objective.norm if switch is None else switch
        for switch in (objective.score_norm, objective.sum_norm)
    )
    high, low = lists.fill(scores, -math.inf).amax(1), lists.fill(scores, math.inf).amin(1)
    base = 0.01 + 0.99 * (high == low).to(scores.dtype) if score_norm else None
    powers = []  # of two: factors of each document
    if can_look(scores.device) and unit * float((high - low).amax()) < _WIDEST:
        centred = lists.fill(unit * (scores - (0.5 * high + 0.5 * low)[:, None]), 0.0)
        powers = [torch.exp2(centred), lists.fill(torch.exp2(-centred), math.inf)]
    reached = None
    if objective.truncation_level is not None:
        reached = (ranks - objective.truncation_level).to(scores.dtype)
    changes = _changes(objective, lists, ranks, ranked, tables)
    pull, total = _pull(lists.fill(scores, _NOWHERE), unit, powers, base, changes, reached)
    pull, total = sigma * pull, 2.0 * sigma * total
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


class _Product(NamedTuple):
    """A product of two matrices for each query.

    Attributes
    ----------
    left : Tensor (2 n_levels, n_queries, n_documents)
        Of the first documents of pairs; where they reach n levels, all lines behind 2 n are 0.
    right : Tensor of that shape
        Of the second documents.
    most : list of int, or None
        How many documents of a query reach each level, at most, where that can be read.
    """

    left: torch.Tensor
    right: torch.Tensor
    most: list[int] | None

    def factors(self, block: PairBlock) -> tuple[torch.Tensor, torch.Tensor]:
        """The matrices (n_queries, n_first, n) and (n_queries, n, n_second) of a block."""
        n = len(self.left)
        if self.most is not None:
            n = 2 * max(1, sum(reaching > block.first.start for reaching in self.most))
        left = self.left[:n, block.queries, block.first].permute(1, 2, 0)
        return left, self.right[:n, block.queries, block.second].transpose(0, 1)


class _Changes(NamedTuple):
    """Changes of a metric by swaps, as sums over what follows.

    Attributes
    ----------
    steps : list of Tensor (n_queries, n_documents)
        Weights of ranks and gains in turn, whose differences are multiplied.
    rises : list of bool
        Of each weight, whether only its rises from the first document to the second count.
    products : list of _Product
    stripes : list of Stripe or None
        Who meets whom, where that can be read.
    """

    steps: list[torch.Tensor]
    rises: list[bool]
    products: list[_Product]
    stripes: list[Stripe] | None

    def sizes(
        self, block: PairBlock, firsts: Sequence[torch.Tensor], seconds: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        """Absolute values of the changes of a block of swaps, from the `steps` at its documents."""
        change: Any = None
        for at, rises in enumerate(self.rises):
            (weight, gain), (other, less) = (one[2 * at : 2 * at + 2] for one in (firsts, seconds))
            step = torch.sub(other, weight, out=block.rooms[0 if change is None else 2])
            if rises:
                step.clamp_(min=0.0)
            step *= torch.sub(gain, less, out=block.rooms[1])
            change = step if change is None else change.add_(step)
        for product in self.products:
            change.baddbmm_(*product.factors(block))
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
    sizes, look = lists.sizes(), can_look(ranks.device)
    for (weight, _), form in zip(objective.metric.terms, tables, strict=True):
        reached = lists.reach(form.floors)
        counts.append(reached.sum(2).to(torch.int64))
        inverse = weight * form.inverse(counts[-1], sizes)[:, None]
        weights = form.u if form.w is None else -form.w
        steps.append(weights.index_select(0, ranks.reshape(-1)).view(ranks.shape))
        steps.append(inverse * weigh(form.steps, reached))
        rises.append(form.w is not None)
        if form.w is not None:
            table = _worth_at_ranks(ranked, form)
            table = table.gather(2, ranks.expand(table.shape)).mul_(inverse)
            most = counts[-1].amax(1).tolist() if look else None
            products.append(_product(reached, table, most))
    stripes = None
    if look:
        levels = np.concatenate([one.numpy() for one in counts])
        stripes = stripes_by_level(-np.sort(-levels, axis=0), ranks.shape[1])  # of a mixture
    elif not torch.compiler.is_compiling():
        stripes = stripes_in_order(*ranks.shape)
    return _Changes(steps, rises, products, stripes)


def _product(reached: torch.Tensor, table: torch.Tensor, most: list[int] | None) -> _Product:
    """T_z(a) - T_x(a) + T_x(b) - T_z(b), from T of all levels at the ranks of the documents."""
    left, right = reached.new_empty((2, 2 * len(reached), *reached.shape[1:]))
    members = left[1::2]  # 1 where a level is the highest that a document reaches
    members.copy_(reached)
    members[:-1].sub_(reached[1:])
    own = (table * members).sum(0)
    left[0], right[0] = -own, 1.0 - reached[0]
    right[1::2] = table - own
    left[2::2] = right[1:-1:2]
    right[2::2] = members[:-1]
    return _Product(left, right, most)


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
    unit: float,
    powers: list[torch.Tensor],
    base: torch.Tensor | None,
    changes: _Changes,
    reached: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sum over the pairs of each document, and sum of the sizes of all.

    The chance of the wrong order is one over one plus a power of two: of the gap of the scores in
    the `unit`, or a product of two `powers`. Changes are divided by `base` and the size of the gap.
    Pairs count of which one document is below 0 in `reached`.
    """
    lost, won = torch.zeros_like(scores), torch.zeros_like(scores)
    cut = [] if reached is None else [reached]
    known = torch.stack([*changes.steps, scores, *powers, *cut])
    n_steps = len(changes.steps)
    for blocks in pair_blocks(scores, changes.stripes, 3):
        for block in blocks:
            rooms = block.rooms
            firsts, seconds = block.column(known).unbind(), block.line(known).unbind()
            change = changes.sizes(block, firsts, seconds)
            # each pair once, by its better document: behind it in the line
            ahead = 1 + block.first.start - block.second.start
            change[..., : max(0, block.first.stop - block.second.start)].triu_(ahead)
            if cut:
                least = torch.minimum(firsts[-1], seconds[-1], out=rooms[1])
                change.masked_fill_(least >= 0, 0.0)
            gap = torch.sub(firsts[n_steps], seconds[n_steps], out=rooms[1])
            # over the chance that the order is wrong, less 1
            if powers:
                right = torch.mul(firsts[n_steps + 1], seconds[n_steps + 2], out=rooms[2])
            else:
                right = torch.mul(gap, unit, out=rooms[2]).exp2_()
            if base is None:
                right += 1.0
            else:
                gap.abs_().add_(base[block.queries, None, None])
                right = torch.addcmul(gap, gap, right, out=rooms[2])
            change /= right
            lost[block.queries, block.first].add_(change.sum(2))
            won[block.queries, block.second].add_(change.sum(1))
    return won - lost, lost.sum(1)
