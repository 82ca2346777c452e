"""Every metric at odd parameter points, each beside its literal definition.

A point is one line: the name that users type, the definition in reference.py, and the parameters of
the definition. test_completeness.py fails for a registered metric that has no point here.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import skrank
from skrank.testing import ScoredLists, make_lists
from tests.helpers import reference as ref

Lists, lists = ScoredLists, make_lists

# definitions that reference.py leaves to its caller
# ------------------------------------------------------------------------------------------------


def letor_sum(ranked, *, unretrieved=(), k):
    """DCG of the official script of LETOR: 0 for a query with fewer than k documents."""
    if len(ranked) + len(unretrieved) < k:
        return 0.0
    return ref.dcg_sum(ranked, k=k, discount="letor")


def letor(ranked, *, unretrieved=(), k):
    value = ref.ndcg(ranked, unretrieved=unretrieved, k=k, discount="letor")
    return 0.0 if value is not None and len(ranked) + len(unretrieved) < k else value


def romip_discount(rank):
    return 1 / math.log2(2 + rank)


def short_discount(rank):
    return (1, 0.5, 0.5, 0.1)[rank - 1] if rank <= 4 else 0


def judged(ranked, *, unretrieved=(), k=None):
    """The share of nothing is 0."""
    return ref.judged(ranked, k=k) or 0.0


def rbp_residual(ranked, *, unretrieved=(), k=None, p=0.8):
    """Moffat, Zobel 2008: the weight of the unjudged ranks and of all ranks that are not shown."""
    shown = ref.top(ranked, k)
    unjudged = sum((1 - p) * p**r for r, label in enumerate(shown) if label is None)
    return unjudged + p ** len(shown)


# the sum that a normalised metric divides by its value for the best list
NUMERATORS = {
    ref.ap: ref.ap_numerator,
    ref.gap: ref.gap_numerator,
    letor: letor_sum,
    ref.ndcg: ref.dcg_sum,
    ref.nerr: ref.err_sum,
    ref.q: ref.q_numerator,
}


def accepts(function: Callable, parameter: str) -> bool:
    return parameter in inspect.signature(function).parameters


@dataclass(frozen=True, eq=False)
class Point:
    """A metric and its literal definition."""

    text: str
    literal: Callable[..., float | None]
    parameters: dict[str, Any]

    @property
    def metric(self) -> skrank.Metric:
        return skrank.metric(self.text)

    def _complete(self, function: Callable, max_grade: int) -> dict[str, Any]:
        """The parameters that `function` takes, the scale of grades among them."""
        given = {key: value for key, value in self.parameters.items() if key != "condensed"}
        if given.get("thresholds") is None and accepts(self.literal, "max_grade"):
            given.setdefault("max_grade", max_grade)
        if function is self.literal:
            return given
        allowed = set(inspect.signature(function).parameters) | {"thresholds", "max_grade"}
        allowed |= {"labels"} if function is ref.gap_numerator else set()
        return {key: value for key, value in given.items() if key in allowed}

    def value(self, ranked, unretrieved=(), max_grade: int = 3) -> float | None:
        """The literal value of one ranked list."""
        if self.parameters.get("condensed"):
            ranked, unretrieved = ref.condense(ranked), ref.condense(unretrieved)
        how = self._complete(self.literal, max_grade)
        return self.literal(ranked, unretrieved=unretrieved, **how)

    def on_scale(self, max_grade: int) -> Callable[..., float | None]:
        """``literal(ranked, unretrieved=...)`` with the scale of a data set."""
        return partial(self.value, max_grade=max_grade)

    def objective(self, labels, truncation_level: int | None, max_grade: int = 3):
        """Literal worth of a list and its normaliser, as LambdaRank takes them."""
        numerator = NUMERATORS.get(self.literal)
        if numerator is None:  # not normalised by an ideal list
            return self.on_scale(max_grade), 1.0
        how = self._complete(numerator, max_grade)
        return ref.objective(numerator, labels, truncation_level=truncation_level, **how)

    @property
    def name(self) -> str:
        return self.metric.names[0]

    @property
    def settled(self) -> skrank.Metric:
        """The metric, for scores with ties: in row order where no closed form averages them."""
        return replace(self.metric, ties="stable") if self.name in STRICT else self.metric

    def expected(self, data: Lists) -> np.ndarray:
        """Literal value of `settled` for each query, NaN where it is not defined."""
        how = ref.stable if self.name in STRICT else ref.tie_expectation
        return literal_values(how, self, data)

    def __repr__(self) -> str:
        return self.text


def at(text: str, literal: Callable, **parameters: Any) -> Point:
    return Point(text, literal, parameters)


@dataclass(frozen=True, eq=False, repr=False)
class MixturePoint(Point):
    """A weighted sum of points."""

    parts: tuple[tuple[float, Point], ...]

    def value(self, ranked, unretrieved=(), max_grade: int = 3) -> float | None:
        values = [part.value(ranked, unretrieved, max_grade) for _, part in self.parts]
        if None in values:
            return None
        return sum(weight * value for (weight, _), value in zip(self.parts, values, strict=True))

    def objective(self, labels, truncation_level: int | None, max_grade: int = 3):
        """Each part over its own normaliser."""
        parts = [
            (weight, *part.objective(labels, truncation_level, max_grade))
            for weight, part in self.parts
        ]

        def worth(ranked):
            return sum(weight * literal(ranked) / best for weight, literal, best in parts if best)

        return worth, 1.0

    @property
    def name(self) -> str:
        return "mixture"


def mix(*parts: tuple[float, Point]) -> MixturePoint:
    text = "+".join(f"{weight}*{point}" for weight, point in parts)
    condensed = {"condensed": parts[0][1].parameters.get("condensed", False)}
    return MixturePoint(text, ref.gap, condensed, parts)


# no closed form for the mean over the orders of ties
READERS = ("inst", "bpm", "nearly_err")
STRICT = ("iprec", "iap", "infap", *READERS, *(f"{name}_residual" for name in READERS))

USERS = (0.2, 0.5, 0.3)
NINE, TEN = {"rounding": "trec_eval9"}, {"rounding": "trec_eval10"}
GAINS = [0, 1, 3, 10]
MAPPING = {0: 0, 1: 0.5, 2: 0.5, 3: 4}
WEIGHTS = (1, 0, 0, 1)
CHANCES = {0: 0, 1: 0.2, 2: 0.4, 3: 1}

CATALOGUE = [
    at("gap", ref.gap),
    at("gap@1", ref.gap, k=1),
    at("gap@3", ref.gap, k=3),
    at("gap(normalize=ideal)@3", ref.gap, k=3, normalize="ideal"),
    at("gap(normalize=ideal)@100", ref.gap, k=100, normalize="ideal"),
    at("gap(max_grade=5)", ref.gap, max_grade=5),
    at("gap(thresholds=[0.2,0.5,0.3])", ref.gap, thresholds=USERS),
    at("gap(thresholds=[0,1,0])@2", ref.gap, thresholds=(0, 1, 0), k=2),
    at(
        "gap(thresholds=[0.5,0,0.5],labels=interp)",
        ref.gap,
        thresholds=(0.5, 0, 0.5),
        labels="interp",
    ),
    at("gap(condensed=True)@2", ref.gap, k=2, condensed=True),
    at("ap", ref.ap),
    at("ap@2", ref.ap, k=2),
    at("ap(normalize=ideal)@2", ref.ap, k=2, normalize="ideal"),
    at("ap(rel=2)", ref.ap, rel=2),
    at("ap(rel=2.5,condensed=True)", ref.ap, rel=2.5, condensed=True),
    at("ndcg", ref.ndcg),
    at("ndcg@1", ref.ndcg, k=1),
    at("ndcg@3", ref.ndcg, k=3),
    at("ndcg@100", ref.ndcg, k=100),
    at("ndcg(gain=linear)@3", ref.ndcg, gain="linear", k=3),
    at("ndcg(gain=[0,1,3,10])", ref.ndcg, gain=GAINS),
    at("ndcg(gain={0:0,1:0.5,2:0.5,3:4})@2", ref.ndcg, gain=MAPPING, k=2),
    at("ndcg(condensed=True)@2", ref.ndcg, k=2, condensed=True),
    at("ndcg(discount=jk,base=2)", ref.ndcg, discount="jk", base=2),
    at("ndcg(discount=jk,base=3)@3", ref.ndcg, discount="jk", base=3, k=3),
    at("ndcg(discount=letor)", ref.ndcg, discount="letor"),
    at("ndcg(discount=letor)@4", letor, k=4),
    at("ndcg(discount=romip)", ref.ndcg, discount=romip_discount),
    at("ndcg(discount=[1,0.5,0.5,0.1])", ref.ndcg, discount=short_discount),
    at("dcg", ref.dcg),
    at("dcg(gain=linear)@2", ref.dcg, gain="linear", k=2),
    at("dcg(discount=letor)", ref.dcg, discount="letor"),
    at("cg", ref.cg),
    at("cg(gain=linear)@2", ref.cg, gain="linear", k=2),
    at("precision", ref.precision),
    at("precision@1", ref.precision, k=1),
    at("precision@3", ref.precision, k=3),
    at("precision(rel=2)@4", ref.precision, rel=2, k=4),
    at("precision(normalize=shown)@3", ref.precision, k=3, normalize="shown"),
    at("precision(condensed=True)@3", ref.precision, k=3, condensed=True),
    at("recall", ref.recall),
    at("recall@3", ref.recall, k=3),
    at("recall(rel=2)@2", ref.recall, rel=2, k=2),
    at("f1", ref.f_beta),
    at("f1@3", ref.f_beta, k=3),
    at("f1(beta=2)@2", ref.f_beta, beta=2, k=2),
    at("success", ref.success),
    at("success@2", ref.success, k=2),
    at("success(rel=2)@1", ref.success, rel=2, k=1),
    at("r_precision", ref.r_precision),
    at("r_precision(rel=2)", ref.r_precision, rel=2),
    at("r_precision(multiple=0.35)", ref.r_precision_multiple, multiple=0.35),
    at("r_precision(multiple=1.6,rel=2)", ref.r_precision_multiple, multiple=1.6, rel=2),
    at("set_ap", ref.set_ap),
    at("set_ap(rel=2)@3", ref.set_ap, rel=2, k=3),
    at("relative_precision", ref.relative_precision),
    at("relative_precision@2", ref.relative_precision, k=2),
    at("relative_precision(rel=2)@4", ref.relative_precision, rel=2, k=4),
    at("utility", ref.utility),
    at("utility(weights=[2,-1,-0.5,0.25])@3", ref.utility, weights=(2, -1, -0.5, 0.25), k=3),
    at("utility(weights=[1,0,0,1],n_documents=9)", ref.utility, weights=WEIGHTS, n_documents=9),
    at("accuracy", ref.accuracy),
    at("accuracy@3", ref.accuracy, k=3),
    at("error@3", ref.error, k=3),
    at("error(rel=2)@1", ref.error, rel=2, k=1),
    at("rr", ref.rr),
    at("rr@2", ref.rr, k=2),
    at("rr(rel=2)", ref.rr, rel=2),
    at("rr(ruler=trec)", ref.rr, ruler="trec"),
    at("rr(ruler=romip)@3", ref.rr, ruler="romip", k=3),
    at("rr(ruler=[1,0.25,0.25])", ref.rr, ruler=(1, 0.25, 0.25)),
    at("rr(condensed=True)", ref.rr, condensed=True),
    at("err", ref.err),
    at("err@2", ref.err, k=2),
    at("err(max_grade=4)@3", ref.err, max_grade=4, k=3),
    at("err(condensed=True)", ref.err, condensed=True),
    at("err(gain=linear)@4", ref.err, gain="linear", k=4),
    at("nerr", ref.nerr),
    at("nerr(gain=linear)@4", ref.nerr, gain="linear", k=4),
    at("nerr@2", ref.nerr, k=2),
    at("nerr(max_grade=4)@3", ref.nerr, max_grade=4, k=3),
    at("pfound", ref.pfound),
    at("pfound@3", ref.pfound, k=3),
    at("pfound(p_rel=yandex,p_break=0.3)", ref.pfound, p_rel="yandex", p_break=0.3),
    at("pfound(p_rel={0:0,1:0.2,2:0.4,3:1},p_break=0.5)", ref.pfound, p_rel=CHANCES, p_break=0.5),
    at("rbp", ref.rbp),
    at("rbp(p=0.5)@3", ref.rbp, p=0.5, k=3),
    at("rbp(p=0.95,gain=exp2,max_grade=4)", ref.rbp, p=0.95, gain="exp2", max_grade=4),
    at("rbp(p=0)", ref.rbp, p=0),
    at("rbp(rel=2)", ref.rbp_binary, rel=2),
    at("rbp(p=0.5,rel=1)@3", ref.rbp_binary, p=0.5, k=3, rel=1),
    at("rbp_residual", rbp_residual),
    at("rbp_residual(p=0.5)@2", rbp_residual, p=0.5, k=2),
    at("q", ref.q),
    at("q(beta=0)", ref.q, beta=0),
    at("q(beta=10)@3", ref.q, beta=10, k=3),
    at("q(gain=exp2,normalize=ideal)@2", ref.q, gain="exp2", normalize="ideal", k=2),
    at("bpref", ref.bpref),
    at("bpref(variant=romip)", ref.bpref, variant="romip"),
    at("bpref(variant='10')", ref.bpref, variant="10"),
    at("bpref(variant=n)", ref.bpref, variant="n"),
    at("bpref(variant=relative,rel=2)", ref.bpref, variant="relative", rel=2),
    at("bpref(variant=old)", ref.bpref, variant="old"),
    at("rpref", ref.rpref),
    at("rpref(variant=n)", ref.rpref, variant="n"),
    at("rpref(variant=relative,gain=exp2)", ref.rpref, variant="relative", gain="exp2"),
    at("iprec(recall=0.5)", ref.iprec, recall_level=0.5),
    at("iprec(recall=0,rel=2)", ref.iprec, recall_level=0, rel=2),
    at("iprec(recall=0.7)", ref.iprec, recall_level=0.7),
    at("iprec(recall=0.3,rounding=trec_eval9)", ref.iprec_rounded, recall_level=0.3, **NINE),
    at("iprec(recall=0.3,rounding=trec_eval10)", ref.iprec_rounded, recall_level=0.3, **TEN),
    at("iap", ref.iap),
    at("iap(levels=[0.25,0.75],rel=2)", ref.iap, levels=(0.25, 0.75), rel=2),
    at("iap(levels=[0.3],rounding=trec_eval9)", ref.iap_rounded, levels=[0.3], **NINE),
    at("iap(levels=[0.3,1],rounding=trec_eval10)", ref.iap_rounded, levels=[0.3, 1], **TEN),
    at("infap", ref.infap),
    at("infap(rel=2)", ref.infap, rel=2),
    at("num_q", ref.num_q),
    at("num_ret", ref.num_ret),
    at("num_ret@2", ref.num_ret, k=2),
    at("num_rel", ref.num_rel),
    at("num_rel(rel=2)", ref.num_rel, rel=2),
    at("num_rel_ret", ref.num_rel_ret),
    at("num_rel_ret(rel=2)@2", ref.num_rel_ret, rel=2, k=2),
    at("num_nonrel_judged_ret", ref.num_nonrel_judged_ret),
    at("num_nonrel_judged_ret(rel=2)@3", ref.num_nonrel_judged_ret, rel=2, k=3),
    at("sdcg", ref.sdcg),
    at("sdcg@3", ref.sdcg, k=3),
    at("sdcg(gain=exp2,max_grade=4)@5", ref.sdcg, gain="exp2", max_grade=4, k=5),
    at("sdcg(condensed=True)@2", ref.sdcg, k=2, condensed=True),
    at("sdcg_residual", ref.sdcg_residual),
    at("sdcg_residual@3", ref.sdcg_residual, k=3),
    at("insq", ref.insq),
    at("insq(T=2.5)@3", ref.insq, T=2.5, k=3),
    at("insq(gain={0:0,1:0.5,2:0.5,3:4})", ref.insq, gain=MAPPING),
    at("insq_residual", ref.insq_residual),
    at("insq_residual(T=0.5)@2", ref.insq_residual, T=0.5, k=2),
    at("inst", ref.inst),
    at("inst(T=0.5)@4", ref.inst, T=0.5, k=4),
    at("inst(T=3,gain=exp2,max_grade=4)", ref.inst, T=3, gain="exp2", max_grade=4),
    at("inst_residual", ref.inst_residual),
    at("inst_residual(T=2)@8", ref.inst_residual, T=2, k=8),
    at("bpm", ref.bpm),
    at("bpm@3", ref.bpm, k=3),
    at("bpm(T=2.5)@20", ref.bpm, T=2.5, k=20),
    at("bpm_residual", ref.bpm_residual),
    at("bpm_residual(T=2)@5", ref.bpm_residual, T=2, k=5),
    at("nearly_err", ref.nearly_err),
    at("nearly_err(patience=all,max_grade=4)@5", ref.nearly_err, patience="all", max_grade=4, k=5),
    at("nearly_err(patience=rank)@3", ref.nearly_err, patience="rank", k=3),
    at("nearly_err(p=0.5)", ref.nearly_err, p=0.5),
    at("nearly_err(patience=insq,T=2)", ref.nearly_err, patience="insq", T=2),
    at("nearly_err_residual", ref.nearly_err_residual),
    at("nearly_err_residual(patience=all)@6", ref.nearly_err_residual, patience="all", k=6),
    at("compat", ref.compat),
    at("compat(p=0.5)", ref.compat, p=0.5),
    at("compat(normalize=False)", ref.compat, normalize=False),
    at("compat(p=0,condensed=True)", ref.compat, p=0, condensed=True),
    at("judged", judged),
    at("judged@3", judged, k=3),
]
MIXTURES = [
    mix((1.0, at("gap(max_grade=3)", ref.gap, max_grade=3))),
    mix((0.7, at("gap(max_grade=3)", ref.gap, max_grade=3)), (0.3, at("ndcg@3", ref.ndcg, k=3))),
    mix((0.25, at("ap(rel=2)", ref.ap, rel=2)), (0.75, at("rr@3", ref.rr, k=3))),
    mix(
        (0.5, at("err(max_grade=4)@3", ref.err, max_grade=4, k=3)),
        (0.3, at("precision@2", ref.precision, k=2)),
        (0.2, at("recall(rel=2)@2", ref.recall, rel=2, k=2)),
    ),
    mix((0.6, at("error@3", ref.error, k=3)), (0.4, at("error(rel=2)@1", ref.error, rel=2, k=1))),
    mix(
        (0.5, at("ap(rel=2.5,condensed=True)", ref.ap, rel=2.5, condensed=True)),
        (0.5, at("ndcg(condensed=True)@2", ref.ndcg, k=2, condensed=True)),
    ),
]
every_single_point = pytest.mark.parametrize("point", CATALOGUE, ids=repr)
every_point = pytest.mark.parametrize("point", [*CATALOGUE, *MIXTURES], ids=repr)


def trainable(point: Point) -> bool:
    try:
        skrank.LambdaRank(point.metric)
    except ValueError:
        return False
    return True


every_objective = pytest.mark.parametrize("point", [*filter(trainable, CATALOGUE)], ids=repr)


def literal_values(how: Callable, point: Point, data: Lists, *more: Any) -> np.ndarray:
    """``how(metric, scores, labels, *more)`` of each query, NaN where it is not defined."""
    metric = point.on_scale(data.max_grade)
    values = [how(metric, scores, labels, *more) for scores, labels in data.queries()]
    return np.array([np.nan if value is None else value for value in values])
