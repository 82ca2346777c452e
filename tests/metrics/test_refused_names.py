"""Texts that name no metric and parameters that metrics refuse, with what the error says."""

import numpy as np
import pytest

import skrank
from skrank.metrics import GAP

MALFORMED = [
    "", " ", "@10", "gap@", "gap@@10", "gap@10@5", "gap(", "gap)", "gap(10)", "gap(k=)",
    "gap(k=1", "10", "gap-10", "gap.k", "gap[10]", "gap+", "(gap, ap)", "gap; ap", "gap(**{})",
    "gap(k=__import__('os'))", "gap(thresholds=[x for x in y])", "lambda: gap", "gap\x00",
    "gap@1 0",
    "0.7*gap+", "*gap", "gap*ap", "0.5*", "0.5+gap", "gap-ap", "gap/2", "gap**2", "-gap",
    "2*3", "True*gap", "'2'*gap", "2j*gap", "0.7*gap@@3", "0.7*gap@3@5", "gap+10",
    "(" * 80 + "gap" + ")" * 80 + "+", "0.5*gap, 0.5*ap", "sum(gap, ap)", "gap+ap@",
]  # fmt: skip
GRAMMAR = r"write name, name@k or name\(parameter=value\)@k, .* or a sum such as '0.7\*gap\+0.3"
NEAREST = {"gpa": "gap", "ngcd": "ndcg", "ndgc": "ndcg", "er": "err", "precison": "precision"}
PARAMETERS = {
    "gap(treshold=[1])": "thresholds",
    "ndcg(gian=linear)": "gain",
    "ap(relevance=2)": "rel",
    "gap(tie=worst)": "ties",
    "err(maxgrade=4)": "max_grade",
}
CUT_OFFS = {
    "0": "k=0",
    "-3": "k=-3",
    "2.5": "k=2.5",
    "ten": "k='ten'",
    "'10'": "k='10'",
    "True": "k=True",
}
# names of tools without their prefix: the error names the metric of the tool and that of skrank
OF_A_TOOL = {
    "P_5": ("trec_eval:P_5", "precision(empty=0)@5", "precision@5", "has empty='skip'"),
    "P.5": ("trec_eval:P.5", "precision(empty=0)@5", "precision@5", "has empty='skip'"),
    "ndcg_cut_10": ("trec_eval:ndcg_cut_10", "ndcg(empty=0,gain=linear)@10", "ndcg@10",
                    "has empty='skip', gain='exp2'"),
    "recip_rank": ("trec_eval:recip_rank", "rr(empty=0)", "rr", "has empty='skip'"),
    "11pt_avg": ("trec_eval:11pt_avg", "iap(", "iap", "has "),
    "SetP": ("ir_measures:SetP", "precision(empty=0)", "precision", "has empty='skip'"),
    "NumRet": ("ir_measures:NumRet", "num_ret", "num_ret", "is the same"),
    "IPrec@0.1": ("ir_measures:IPrec@0.1", "iprec(", "iprec", "has "),
    "hit_rate@5": ("ranx:hit_rate@5", "success(empty=0)@5", "success@5", "has empty='skip'"),
    "ndcg_burges": ("ranx:ndcg_burges", "ndcg(empty=0)", "ndcg", "has empty='skip'"),
    "r-precision": ("ranx:r-precision", "r_precision(empty=0)", "r_precision", "has empty='skip'"),
    "MAP:top=5": ("catboost:MAP:top=5", "ap(", "ap@5", "has "),
    "ndcg@5-": ("xgboost:ndcg@5-", "ndcg(empty=0,ties=stable)@5", "ndcg@5", "has "),
    "rank_xendcg@3": ("lightgbm:rank_xendcg@3", "ndcg(", "ndcg@3", "has "),
    "ndcg_score(k=3)": ("sklearn:ndcg_score(k=3)", "ndcg(", "ndcg@3", "has "),
    "MSnDCG@10": ("ntcireval:MSnDCG@10", "ndcg(", "ndcg@10", "has "),
}  # fmt: skip


@pytest.mark.parametrize("text", OF_A_TOOL)
def test_a_name_of_a_tool_needs_its_prefix(text):
    named, theirs, ours, differs = OF_A_TOOL[text]
    with pytest.raises(ValueError, match="is a name of") as error:
        skrank.metric(text)
    start = f"{text!r} is a name of {named.partition(':')[0]}: write '{named}', which is '{theirs}"
    assert str(error.value).startswith(start)
    assert f", or '{ours}', which {differs}" in str(error.value)
    assert str(skrank.metric(named)).startswith(theirs)
    assert type(skrank.metric(ours)) is type(skrank.metric(named))
    with pytest.raises(ValueError, match="is a name of"):
        skrank.metric(f"0.5*gap+{text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, GRAMMAR) for text in MALFORMED),
        *((f"{name}@10", f"'{name}': did you mean '{near}'") for name, near in NEAREST.items()),
        ("xyzzy", "'xyzzy'"),
        *(
            (text, rf"unknown parameter of \w+ '\w+': did you mean '{near}'\? Known: .*k")
            for text, near in PARAMETERS.items()
        ),
        *(
            (text, message)
            for k, message in CUT_OFFS.items()
            for name in ("gap", "ndcg", "err", "p")
            for text in (f"{name}@{k}", f"{name}(k={k})")
        ),
        *(
            (f"{name}@5", rf"{name} has no cut-off: remove k=5, or use")
            for name in ("r_precision", "bpref", "rpref", "iprec", "infap")
        ),
        *((thing, "is not a metric") for thing in (None, 10, ["gap"], GAP, b"gap", np.float64(1))),
        ("gap(k=5)@10", "k twice"),
        ("gap(empty=0,empty=1)", r"twice|unknown metric"),
        ("rbp(rel=1,gain=exp2)", "max_grade"),
        ("rbp(rel=1,max_grade=3)", "max_grade"),
        ("utility(weights=[1,-1])", "has 2 numbers instead of four"),
        # sums
        ("0*gap", "weight=0.0"),
        ("-0.3*gap+ap", "weight=-0.3"),
        ("1e400*gap", "weight=inf"),
        ("0.5*gpa+ap", "'gpa'.*'gap'"),
        ("0.5*gap+ap(rel=0)", "rel=0"),
        ("(gap@5+ap)@10", r"\bk\b"),
        ("(gap+bpref)@10", "bpref"),
        ("gap(empty=0)+ap", r"empty=0\) has empty=0.*empty='skip'"),
        ("gap+ap(ties=worst)", "ties='average'"),
        ("gap(condensed=True)+ap", "condensed=True.*condensed=False"),
        ("accuracy@3+error@3", "accuracy@3 .*error@3"),
        ("error@3+accuracy@3", "accuracy@3 .*error@3"),
        ("gap+ap(average=geometric)", r"average=geometric\) has average='geometric'"),
        ("p(average=micro)@3+r(average=micro)@3", "average='micro'"),
        # names of other tools
        ("trec_eval:mapp", "trec_eval 'mapp'.*'map'"),
        ("foo:map", "'foo'"),
        ("trec_eval:P", "'trec_eval:P'"),
        ("P_5.5", "'P_5.5'"),
        ("trec_eval:ndcg_cut_x", "trec_eval"),
        ("ir_measures:RBP", "rel="),
        ("ir_measures:INST", r"max_rel= above min_rel=.*'INST\(max_rel=4\)'"),
        ("ir_measures:BPM(max_rel=3)", r"'BPM\(max_rel=4\)@10'"),
        ("ir_measures:INSQ(min_rel=3,max_rel=3)", "above min_rel="),
        ("ir_measures:INSQ(max_rel=x)", "above min_rel="),
        ("ranx:ndcg@10-l2", "highest grade"),
        ("ir_measures:nDCGG", "'nDCG'"),
        (
            "trec_eval:official",
            "'trec_eval:official'.*num_q",
        ),
        ("official", "'trec_eval:official'"),
        ("P_5,10", "'trec_eval:P_5,10'"),
        ("trec_eval10:set", "'trec_eval:set'"),
        ("trec_eval:P_\uff15", "trec_eval"),
        ("ir_measures:P@\uff15", "ir_measures"),
        ("ir_measures:SetF(beta=x)", "ir_measures"),
        ("ir_measures:IPrec@0.1.2", "ir_measures"),
        ("ir_measures:IPrec(cutoff=0.5)", "'cutoff'"),
        ("catboost:NDCG:tpo=5", "'NDCG'"),
        ("catboost:NDCG:type=exp", "catboost"),
        ("catboost:MAP:border=x", "catboost"),
        ("NDCG:denominator=Position", "'NDCG:denominator=Position'"),
        ("lightgbm:ndcg", "eval_at.*'lightgbm:ndcg@5'"),
        ("sklearn:dcg_score(log_base=10)", "ignore_ties.*log_base"),
        ("ntcireval:GAP@10", r"'GAP\(g=1:2:3\)@10'"),
        ("ntcireval:Q(gamma=0.5)", "gamma"),
        ("xgboost:ndcg@5+", "unknown metric"),
        ("relstring", "is not read: it is a text"),
        ("hits_at_5", "'hits_at_5'"),
        *(
            (text, f"unknown metric '.*': in skrank it is {ours}")
            for text, ours in {
                "HitRate@10": "success",
                "R_cap@100": "relative_precision",
                "hole@10": "1 - judged",
            }.items()
        ),
    ],
)
def test_texts(text, message):
    with pytest.raises(ValueError, match=message):
        skrank.metric(text)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("gap", {"ties": "averge"}, r"ties='averge' .*'average', 'stable', 'worst', 'best'"),
        ("gap", {"empty": "ignore"}, "empty='ignore' .*'skip'.*'nan', 'raise'"),
        ("gap", {"empty": 2}, "empty=2"),
        ("gap", {"empty": True}, "empty=True"),
        ("gap", {"normalize": "max"}, r"normalize='max' .*'all', 'ideal'"),
        ("gap", {"average": "micro"}, r"average='micro' .*'macro', 'geometric'"),
        ("gap", {"labels": "linear"}, r"labels='linear' .*'step', 'interp'"),
        ("gap", {"condensed": "no"}, "condensed='no'"),
        ("gap", {"max_grade": 0}, "max_grade=0"),
        ("gap", {"max_grade": 2.5}, "max_grade=2.5"),
        ("gap", {"max_grade": 10**6}, "max_grade=1000000"),
        ("gap", {"treshold": [1]}, "'treshold'"),
        ("gap@10", {"k": 5}, r"^k\b"),
        *(
            (name, {"rel": rel}, "rel=")
            for name in ("ap", "p@3", "rr")
            for rel in (0, -1, "1", None, True, float("nan"))
        ),
        ("ndcg", {"gain": "log"}, "gain='log'"),
        ("ndcg", {"gain": []}, "gain="),
        ("ndcg", {"gain": [0, -1]}, "must be at least 0"),
        ("ndcg", {"gain": [0, 3, 1]}, "must not fall as labels rise"),
        ("ndcg", {"gain": {0: 1, 2: 0}}, "must not fall as labels rise"),
        ("ndcg", {"gain": [0, np.inf]}, "all finite"),
        ("ndcg", {"gain": [0, "x"]}, "sequence of numbers"),
        ("ndcg", {"gain": {"a": 1}}, "sequence of numbers"),
        ("rr", {"ruler": "bbc"}, r"ruler='bbc' .*'trec', 'romip'"),
        ("rr", {"ruler": [1, 2]}, "must not increase"),
        ("rr", {"ruler": [1, -1]}, "at least 0"),
        ("rr", {"ruler": [2, 1]}, "ruler=2.0"),
        ("rr", {"ruler": []}, "at least one"),
        ("rr", {"ruler": 5}, "sequence of numbers"),
        ("0.7*gap+0.3*ndcg@10", {"gain": "linear"}, "'gain'"),
        ("0.7*gap+0.3*ndcg@10", {"k": 3}, r"^k\b"),
        ("0.7*gap+0.3*ndcg@10", {"average": "geometric"}, "average='geometric'"),
        (skrank.metric("gap+ndcg"), {"gain": "linear"}, "'gain'"),
    ],
)
def test_parameters(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        skrank.metric(name, **parameters)


@pytest.mark.parametrize(("gain", "label"), [([0, 1], 2), ({0: 0, 2: 1}, 1)])
def test_gains_that_do_not_cover_the_labels(gain, label):
    with pytest.raises(
        ValueError, match=f"gain has no value for label {label}: give one per label"
    ):
        skrank.metric("ndcg", gain=gain)([0, 1, 2], [1, 2, 3])
