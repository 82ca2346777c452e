"""Every metric at odd parameter points, each beside its literal definition.

A point is the text that users type; the parameters of the definition are read from it without
skrank. test_names.py fails for a registered metric that has no point here.
"""

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
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


def judged(ranked, *, unretrieved=(), k=None):
    return ref.judged(ranked, k=k) or 0.0


def rbp_residual(ranked, *, unretrieved=(), k=None, p=0.8):
    """Moffat, Zobel 2008: the weight of the unjudged ranks and of all ranks that are not shown."""
    shown = ref.top(ranked, k)
    unjudged = sum((1 - p) * p**r for r, label in enumerate(shown) if label is None)
    return unjudged + p ** len(shown)


LITERALS = vars(ref) | {"f1": ref.f_beta, "judged": judged, "rbp_residual": rbp_residual}
# the sum that a normalised metric divides by its value for the best list
NUMERATORS = {
    ref.ap: ref.ap_numerator,
    ref.gap: ref.gap_numerator,
    letor: letor_sum,
    ref.ndcg: ref.dcg_sum,
    ref.nerr: ref.err_sum,
    ref.q: ref.q_numerator,
}
SCALE = ("thresholds", "max_grade", "fractional")  # of GAP


def read(value: str) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError:  # a word
        return value


def parsed(text: str) -> tuple[Callable[..., float | None], dict[str, Any]]:
    """The literal definition and its parameters of a text such as "gap(normalize=ideal)@3"."""
    name, inside, k = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:@(\d+))?", text).groups()
    pairs = re.findall(r"(\w+)=(\[.*?\]|{.*?}|[^,]+)", inside or "")
    given = {parameter: read(value) for parameter, value in pairs}
    if k is None:
        return LITERALS[name], given
    if given.get("discount") == "letor":
        return letor, {"k": int(k)}
    return LITERALS[name], given | {"k": int(k)}


@cache
def accepts(function: Callable, parameter: str) -> bool:
    return parameter in inspect.signature(function).parameters


class Point:
    """A metric and its literal definition."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.literal, self.parameters = parsed(text)
        # orders of tied documents, and swaps, mostly repeat a list of labels
        self._value = lru_cache(1000)(self._compute)

    @cached_property
    def metric(self) -> skrank.Metric:
        return skrank.metric(self.text)

    def _complete(self, function: Callable, max_grade: int) -> dict[str, Any]:
        """The parameters that `function` takes, the scale of grades among them."""
        given = {key: value for key, value in self.parameters.items() if key != "condensed"}
        if given.get("thresholds") is None and accepts(self.literal, "max_grade"):
            given.setdefault("max_grade", max_grade)
        if function is self.literal:
            return given
        scale = SCALE if function is ref.gap_numerator else ()
        return {
            key: value for key, value in given.items() if accepts(function, key) or key in scale
        }

    def value(self, ranked, unretrieved=(), max_grade: int = 3) -> float | None:
        return self._value(tuple(ranked), tuple(unretrieved), max_grade)

    def _compute(self, ranked, unretrieved, max_grade: int) -> float | None:
        if self.parameters.get("condensed"):
            ranked, unretrieved = ref.condense(ranked), ref.condense(unretrieved)
        how = self._complete(self.literal, max_grade)
        return self.literal(list(ranked), unretrieved=list(unretrieved), **how)

    def on_scale(self, max_grade: int) -> Callable[..., float | None]:
        """``literal(ranked, unretrieved=...)`` with the scale of a data set."""
        return partial(self.value, max_grade=max_grade)

    def change_by_swap(self, labels, truncation_level: int | None = None, max_grade: int = 3):
        """Literal change by a swap of two ranks, as LambdaRank takes it."""
        numerator = NUMERATORS.get(self.literal)
        if numerator is None:  # not normalised by an ideal list
            return partial(ref.swap_delta, self.on_scale(max_grade))
        how = self._complete(numerator, max_grade)
        return ref.change_by_swap(numerator, labels, truncation_level=truncation_level, **how)

    @property
    def name(self) -> str:
        return self.metric.names[0]

    @property
    def settled(self) -> skrank.Metric:
        """The metric, for scores with ties: in row order where no closed form averages them."""
        return replace(self.metric, ties="stable") if self.name in STRICT else self.metric

    def expected(self, data: Lists) -> np.ndarray:
        how = ref.stable if self.name in STRICT else ref.tie_expectation
        metric = self.on_scale(data.max_grade)
        values = [how(metric, scores, labels) for scores, labels in data.queries()]
        return np.array([np.nan if value is None else value for value in values])

    def __repr__(self) -> str:
        return self.text


# no closed form for the mean over the orders of ties; the last two enumerate some orders
STRICT = ("iprec", "iap", "infap", "inst", "bpm", "nearly_err", "compat")

_POINTS = """
    gap gap@1 gap@3 gap(normalize=ideal)@3 gap(normalize=ideal)@100 gap(max_grade=5)
        gap(thresholds=[0.2,0.5,0.3]) gap(thresholds=[0,1,0])@2
        gap(thresholds=[0.5,0,0.5],fractional=interp) gap(condensed=True)@2
    ap ap@2 ap(normalize=ideal)@2 ap(normalize=retrieved)@2 ap(normalize=retrieved,rel=2)@5
        ap(rel=2) ap(rel=2.5,condensed=True)
    ndcg ndcg@1 ndcg@3 ndcg@100 ndcg(gain=linear)@3 ndcg(gain=[0,1,3,10])
        ndcg(gain={0:0,1:0.5,2:0.5,3:4})@2 ndcg(condensed=True)@2 ndcg(discount=jk,base=2)
        ndcg(discount=jk,base=3)@3 ndcg(discount=letor) ndcg(discount=letor)@4
        ndcg(discount=romip) ndcg(discount=[1,0.5,0.5,0.1])
    dcg dcg(gain=linear)@2 dcg(discount=letor)
    cg cg(gain=linear)@2
    precision precision@1 precision@3 precision(rel=2)@4 precision(normalize=shown)@3
        precision(condensed=True)@3
    recall recall@3 recall(rel=2)@2 f1 f1@3 f1(beta=2)@2
    success success@2 success(rel=2)@1
    r_precision r_precision(rel=2) r_precision(multiple=0.35) r_precision(multiple=1.6,rel=2)
    set_ap set_ap(rel=2)@3
    relative_precision relative_precision@2 relative_precision(rel=2)@4
    utility utility(weights=[2,-1,-0.5,0.25])@3 utility(weights=[1,0,0,1],n_documents=9)
    accuracy accuracy@3 error@3 error(rel=2)@1
    rr rr@2 rr(rel=2) rr(ruler=trec) rr(ruler=romip)@3 rr(ruler=[1,0.25,0.25]) rr(condensed=True)
    err err@2 err(max_grade=4)@3 err(condensed=True) err(gain=linear)@4
    nerr nerr(gain=linear)@4 nerr@2 nerr(max_grade=4)@3
    pfound pfound@3 pfound(p_rel=yandex,p_break=0.3)
        pfound(p_rel={0:0,1:0.2,2:0.4,3:1},p_break=0.5)
    rbp rbp(p=0.5)@3 rbp(p=0.95,gain=exp2,max_grade=4) rbp(p=0) rbp(rel=2) rbp(p=0.5,rel=1)@3
        rbp_residual rbp_residual(p=0.5)@2
    q q(beta=0) q(beta=10)@3 q(gain=exp2,normalize=ideal)@2
    bpref bpref(variant=romip) bpref(variant='10') bpref(variant=n) bpref(variant=relative,rel=2)
        bpref(variant=old)
    rpref rpref(variant=n) rpref(variant=relative,gain=exp2)
    iprec(recall=0.5) iprec(recall=0,rel=2) iprec(recall=0.7)
        iprec(recall=0.3,rounding=trec_eval9) iprec(recall=0.3,rounding=trec_eval10)
    iap iap(levels=[0.25,0.75],rel=2) iap(levels=[0.3],rounding=trec_eval9)
        iap(levels=[0.3,1],rounding=trec_eval10)
    infap infap(rel=2) num_q num_ret num_ret@2
    num_rel num_rel(rel=2) num_rel_ret num_rel_ret(rel=2)@2
    num_nonrel_judged_ret num_nonrel_judged_ret(rel=2)@3
    sdcg sdcg@3 sdcg(gain=exp2,max_grade=4)@5 sdcg(condensed=True)@2
    insq insq(T=2.5)@3 insq(gain={0:0,1:0.5,2:0.5,3:4})
    inst inst(T=0.5)@4 inst(T=3,gain=exp2,max_grade=4)
    bpm bpm@3 bpm(T=2.5)@20
    nearly_err nearly_err(patience=all,max_grade=4)@5 nearly_err(patience=rank)@3
        nearly_err(p=0.5) nearly_err(patience=insq,T=2)
    compat compat(p=0.5) compat(normalize=False) compat(p=0,condensed=True)
    judged judged@3
"""
CATALOGUE = [Point(text) for text in _POINTS.split()]


def trainable(point: Point) -> bool:
    try:
        skrank.LambdaRank(point.metric)
    except ValueError:
        return False
    return True


every_objective = pytest.mark.parametrize("point", [*filter(trainable, CATALOGUE)], ids=repr)
