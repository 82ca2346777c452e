"""Texts that name no metric and parameters that metrics refuse, with what the error names."""

import numpy as np
import pytest

import skrank
from skrank.metrics import GAP

MALFORMED = [
    "", "@10", "gap@", "gap@@10", "gap@10@5", "gap(", "gap)", "gap(10)", "gap(k=)", "10", "gap-10",
    "gap[10]", "(gap, ap)", "gap; ap", "gap(**{})", "gap(k=__import__('os'))", "lambda: gap",
    "gap(thresholds=[x for x in y])", "gap\x00", "gap@1 0", "0.7*gap+", "*gap", "gap*ap", "0.5*",
    "0.5+gap", "gap/2", "gap**2", "-gap", "2*3", "True*gap", "'2'*gap", "2j*gap", "0.7*gap@3@5",
    "(" * 80 + "gap" + ")" * 80 + "+", "sum(gap, ap)", "gap+ap@",
]  # fmt: skip
NEAREST = {"gpa": "gap", "ngcd": "ndcg", "er": "err", "precison": "precision"}
PARAMETERS = {"gap(treshold=[1])": "thresholds", "ndcg(gian=linear)": "gain",
              "ap(relevance=2)": "rel", "err(maxgrade=4)": "max_grade"}  # fmt: skip
CUT_OFFS = ["0", "-3", "2.5", "'ten'", "'10'", "True"]
TEXTS = {
    "xyzzy": "'xyzzy'",
    "gap(k=5)@10": r"\bk\b",
    "rbp(rel=1,gain=exp2)": "max_grade",
    "rbp(rel=1,max_grade=3)": "max_grade",
    "utility(weights=[1,-1])": "2 numbers",
    # sums
    "0*gap": "weight=0.0",
    "-0.3*gap+ap": "weight=-0.3",
    "1e400*gap": "weight=inf",
    "0.5*gpa+ap": "'gpa'.*'gap'",
    "0.5*gap+ap(rel=0)": "rel=0",
    "(gap@5+ap)@10": r"\bk\b",
    "(gap+bpref)@10": "bpref",
    "gap(empty=0)+ap": r"empty=0\) has empty=0.*empty='skip'",
    "gap+ap(ties=worst)": "ties='average'",
    "gap(condensed=True)+ap": "condensed=True.*condensed=False",
    "accuracy@3+error@3": "accuracy@3 .*error@3",
    "gap+ap(average=geometric)": "average='geometric'",
    # names of other tools
    "trec_eval:mapp": "trec_eval 'mapp'.*'map'",
    "foo:map": "'foo'",
    "trec_eval:P": "'trec_eval:P'",
    "P_5.5": "'P_5.5'",
    "trec_eval:ndcg_cut_x": "trec_eval",
    "ir_measures:RBP": "rel=",
    "ir_measures:INST": r"max_rel= above min_rel=.*'INST\(max_rel=4\)'",
    "ir_measures:BPM(max_rel=3)": r"'BPM\(max_rel=4\)@10'",
    "ir_measures:INSQ(min_rel=3,max_rel=3)": "above min_rel=",
    "ranx:ndcg@10-l2": "highest grade",
    "ir_measures:nDCGG": "'nDCG'",
    "trec_eval:official": "'trec_eval:official'.*num_q",
    "official": "'trec_eval:official'",
    "P_5,10": "'trec_eval:P_5,10'",
    "trec_eval:P_\uff15": "trec_eval",
    "ir_measures:SetF(beta=x)": "ir_measures",
    "ir_measures:IPrec@0.1.2": "ir_measures",
    "ir_measures:IPrec(cutoff=0.5)": "'cutoff'",
    "catboost:NDCG:type=exp": "catboost",
    "catboost:MAP:border=x": "catboost",
    "NDCG:denominator=Position": "'NDCG:denominator=Position'",
    "lightgbm:ndcg": "eval_at.*'lightgbm:ndcg@5'",
    "sklearn:dcg_score(log_base=10)": "log_base",
    "ntcireval:GAP@10": r"'GAP\(g=1:2:3\)@10'",
    "ntcireval:Q(gamma=0.5)": "gamma",
    "xgboost:ndcg@5+": "unknown metric",
    "relstring": "is not read",
    "HitRate@10": "success",
    "R_cap@100": "relative_precision",
    "hole@10": "1 - judged",
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, r"name@k or name\(parameter=value\)@k") for text in MALFORMED),
        *((f"{name}@10", f"'{name}'.*'{near}'") for name, near in NEAREST.items()),
        *((text, f"did you mean '{near}'") for text, near in PARAMETERS.items()),
        *((text.format(k), f"k={k}") for k in CUT_OFFS for text in ("gap@{}", "err(k={})")),
        *((f"{name}@5", f"{name} .*k=5") for name in ("r_precision", "bpref", "iprec", "infap")),
        *((thing, "is not a metric") for thing in (None, 10, ["gap"], GAP, b"gap", np.float64(1))),
        *TEXTS.items(),
    ],
)
def test_texts(text, message):
    with pytest.raises(ValueError, match=message):
        skrank.metric(text)


# names of tools without their prefix: the error names the metric of the tool and that of skrank
OF_A_TOOL = {
    "P_5": ("trec_eval:P_5", "precision(empty=0)@5", "precision@5", "has empty='skip'"),
    "P.5": ("trec_eval:P.5", "precision(empty=0)@5", "precision@5", "has empty='skip'"),
    "ndcg_cut_10": ("trec_eval:ndcg_cut_10", "ndcg(empty=0,gain=linear)@10", "ndcg@10",
                    "has empty='skip', gain='exp2'"),
    "11pt_avg": ("trec_eval:11pt_avg", "iap(", "iap", "has "),
    "NumRet": ("ir_measures:NumRet", "num_ret", "num_ret", "is the same"),
    "IPrec@0.1": ("ir_measures:IPrec@0.1", "iprec(", "iprec", "has "),
    "hit_rate@5": ("ranx:hit_rate@5", "success(empty=0)@5", "success@5", "has empty='skip'"),
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
    ("name", "parameters", "message"),
    [
        ("gap", {"ties": "averge"}, "ties='averge' .*'average', 'stable', 'worst', 'best'"),
        ("gap", {"empty": "ignore"}, "empty='ignore' .*'skip'.*'nan', 'raise'"),
        ("gap", {"empty": 2}, "empty=2"),
        ("gap", {"empty": True}, "empty=True"),
        ("gap", {"normalize": "max"}, "normalize='max' .*'all', 'ideal'"),
        ("gap", {"average": "micro"}, "average='micro' .*'macro', 'geometric'"),
        ("gap", {"labels": "linear"}, "labels='linear' .*'step', 'interp'"),
        ("gap", {"condensed": "no"}, "condensed='no'"),
        *(("gap", {"max_grade": top}, f"max_grade={top}") for top in (0, 2.5, 10**6)),
        ("gap", {"treshold": [1]}, "'treshold'"),
        ("gap@10", {"k": 5}, r"^k\b"),
        *(("ap", {"rel": rel}, "rel=") for rel in (0, -1, "1", None, True, float("nan"))),
        *(
            ("ndcg", {"gain": gain}, "gain")
            for gain in (
                "log", [], [0, -1], [0, 3, 1], {0: 1, 2: 0}, [0, np.inf], [0, "x"], {"a": 1}
            )
        ),
        *(("rr", {"ruler": r}, "ruler") for r in ("bbc", [1, 2], [1, -1], [2, 1], [], 5)),
        ("0.7*gap+0.3*ndcg@10", {"gain": "linear"}, "'gain'"),
        ("0.7*gap+0.3*ndcg@10", {"k": 3}, r"^k\b"),
        (skrank.metric("gap+ndcg"), {"gain": "linear"}, "'gain'"),
    ],
)  # fmt: skip
def test_parameters(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        skrank.metric(name, **parameters)


@pytest.mark.parametrize(("gain", "label"), [([0, 1], 2), ({0: 0, 2: 1}, 1)])
def test_gains_that_do_not_cover_the_labels(gain, label):
    with pytest.raises(ValueError, match=f"gain .* label {label}"):
        skrank.metric("ndcg", gain=gain)([0, 1, 2], [1, 2, 3])
