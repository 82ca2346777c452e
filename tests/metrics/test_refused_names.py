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
    "2*3", "True*gap", "'2'*gap", "2j*gap", "0.7*gap@@3", "0.7*gap@3@5", "2*3*gap", "gap+10",
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
    "0": "k=0 must be at least 1",
    "-3": "k=-3 must be at least 1",
    "2.5": "k=2.5 must be an integer",
    "ten": "k='ten' must be an integer",
    "'10'": "k='10' must be an integer",
    "True": "k=True must be an integer",
}
TWO_MEANINGS = {
    "nDCG@10": r"'ndcg@10'.*of ir_measures, 'ndcg\(gain=linear\)@10'",
    "nDCG": r"'ndcg'.*'ndcg\(gain=linear\)'",
    "0.5*nDCG+0.5*gap": r"'ndcg'.*'ndcg\(gain=linear\)'",
    "NDCG@5": r"'ndcg@5' of skrank.*of ir_measures, 'ndcg\(gain=linear\)@5'",
    "ERR@20": r"'err@20'.*of ir_measures, 'err\(max_grade=4\)@20'",
    "Accuracy": "'accuracy'.*of ir_measures, which is not read: it is the share",
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, GRAMMAR) for text in MALFORMED),
        *((f"{name}@10", f"'{name}': did you mean '{near}'") for name, near in NEAREST.items()),
        ("xyzzy", r"unknown metric 'xyzzy': Known: .*ap, .*gap.*ndcg"),
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
        *(
            (thing, "is not a metric: pass a name such as")
            for thing in (None, 10, ["gap"], GAP, b"gap", np.float64(1))
        ),
        ("gap(k=5)@10", "k twice"),
        ("gap(empty=0,empty=1)", r"twice|unknown metric"),
        ("rbp(rel=1,gain=exp2)", "leave out rel, or gain and max_grade"),
        ("rbp(rel=1,max_grade=3)", "leave out rel, or gain and max_grade"),
        ("utility(weights=[1,-1])", "has 2 numbers instead of four"),
        # sums
        ("0*gap", r"weight=0 must be a number in \(0"),
        ("-0.3*gap+ap", "weight=-0.3 must be"),
        ("1e400*gap", "weight=inf must be"),
        ("0.5*gpa+ap", "unknown metric 'gpa': did you mean 'gap'"),
        ("0.5*gap+ap(rel=0)", "rel=0 must be"),
        ("(gap@5+ap)@10", "gives k twice"),
        ("(gap+bpref)@10", "bpref has no cut-off"),
        ("gap(empty=0)+ap", r"gap\(empty=0\) has empty=0 and ap has empty='skip'.*must agree"),
        ("gap+ap(ties=worst)", "has ties='average' and ap.*must agree"),
        ("gap(condensed=True)+ap", "condensed=True and ap has condensed=False"),
        ("accuracy@3+error@3", "accuracy@3 is better when higher and error@3 when lower"),
        ("error@3+accuracy@3", "accuracy@3 is better when higher and error@3 when lower"),
        ("gap+ap(average=geometric)", r"ap\(average=geometric\) has average='geometric': a mix"),
        ("p(average=micro)@3+r(average=micro)@3", "average='micro': a mixture needs"),
        # names of other tools
        ("trec_eval:mapp", "'mapp' is not a name of trec_eval: did you mean 'map'"),
        ("foo:map", "'foo' is neither an objective nor a tool whose names are read: write one of"),
        ("trec_eval:P", "'P' of trec_eval stands for 9 metrics, such as P_5: name one of them, or"),
        ("P_5.5", "unknown metric 'P_5.5'"),
        ("trec_eval:ndcg_cut_x", "not a name of trec_eval"),
        ("ir_measures:RBP", "only with rel="),
        ("ir_measures:INST", r"only with max_rel= above min_rel=.*nearest is 'INST\(max_rel=4\)'"),
        ("ir_measures:BPM(max_rel=3)", r"with a cut-off\. The nearest is 'BPM\(max_rel=4\)@10'"),
        ("ir_measures:INSQ(min_rel=3,max_rel=3)", "above min_rel="),
        ("ir_measures:INSQ(max_rel=x)", "above min_rel="),
        ("ranx:ndcg@10-l2", "lower grades lose their gain"),
        ("ir_measures:nDCGG", "did you mean 'nDCG'"),
        ("trec_eval:official", "'official' of trec_eval stands for 29 metrics, such as num_q: nam"),
        ("official", "which compute all"),
        ("trec_eval10:set", "'set' of trec_eval stands for 10 metrics"),
        ("trec_eval:P_\uff15", "not a name of trec_eval"),
        ("ir_measures:P@\uff15", "not a name of ir_measures"),
        ("ir_measures:IPrec(cutoff=0.5)", "unknown parameter of iprec 'cutoff'"),
        ("P(cutoff=5)", "unknown parameter of precision 'cutoff': did you mean 'k'"),
        ("catboost:NDCG:tpo=5", "not a name of catboost: did you mean 'NDCG'"),
        ("catboost:NDCG:type=exp", "not a name of catboost"),
        ("catboost:MAP:border=x", "not a name of catboost"),
        ("NDCG:denominator=Position", "'NDCG:denominator=Position' of catboost is not read: its"),
        ("lightgbm:ndcg", "one value for each k of its eval_at.*nearest is 'lightgbm:ndcg@5'"),
        ("sklearn:dcg_score(log_base=10)", "k and ignore_ties are read, not log_base"),
        ("ntcireval:GAP@10", r"needs the number of grades.*'GAP\(g=1:2:3\)'"),
        ("ntcireval:Q(gamma=0.5)", "g, beta, rbp and logb are read, not gamma"),
        ("xgboost:ndcg@5+", "not a name of xgboost"),
        ("hit", "unknown metric 'hit'"),
        *((text, f"{both}.*Write one of these") for text, both in TWO_MEANINGS.items()),
    ],
)
def test_texts(text, message):
    with pytest.raises(ValueError, match=message):
        skrank.metric(text)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("gap", {"ties": "averge"}, r"ties='averge' .*'average', 'stable', 'worst', 'best'"),
        ("gap", {"empty": "ignore"}, r"empty='ignore' .*'skip', 0, 1, 'nan', 'raise'"),
        ("gap", {"empty": 2}, "empty=2 is not a choice"),
        ("gap", {"empty": True}, "empty=True is not a choice"),
        ("gap", {"normalize": "max"}, r"normalize='max' .*'all', 'ideal'"),
        ("gap", {"average": "micro"}, r"average='micro' .*'macro', 'geometric'"),
        ("gap", {"labels": "linear"}, r"labels='linear' .*'step', 'interp'"),
        ("gap", {"condensed": "no"}, "condensed='no'"),
        ("gap", {"max_grade": 0}, "max_grade=0 must be at least 1"),
        ("gap", {"max_grade": 2.5}, "max_grade=2.5 must be an integer"),
        ("gap", {"max_grade": 10**6}, "max_grade=1000000 .*bin the labels"),
        ("gap", {"treshold": [1]}, "unknown parameter of gap 'treshold': did you mean 'thresholds"),
        ("gap@10", {"k": 5}, "k is given twice"),
        *(
            (name, {"rel": rel}, r"rel=.* must be a number in \(0")
            for name in ("ap", "p@3", "rr")
            for rel in (0, -1, "1", None, True, float("nan"))
        ),
        ("ndcg", {"gain": "log"}, "gain='log' is not a choice"),
        ("ndcg", {"gain": []}, "gain=.* at least one number"),
        ("ndcg", {"gain": [0, -1]}, "must be at least 0"),
        ("ndcg", {"gain": [0, 3, 1]}, "must not fall as labels rise"),
        ("ndcg", {"gain": {0: 1, 2: 0}}, "must not fall as labels rise"),
        ("ndcg", {"gain": [0, np.inf]}, "all finite"),
        ("ndcg", {"gain": [0, "x"]}, "sequence of numbers"),
        ("ndcg", {"gain": {"a": 1}}, "sequence of numbers"),
        ("rr", {"ruler": "bbc"}, r"ruler='bbc' .*'trec', 'romip'"),
        ("rr", {"ruler": [1, 2]}, "must not increase"),
        ("rr", {"ruler": [1, -1]}, "at least 0"),
        ("rr", {"ruler": [2, 1]}, "the first value of ruler=2.0 must be"),
        ("rr", {"ruler": []}, "at least one"),
        ("rr", {"ruler": 5}, "sequence of numbers"),
        ("0.7*gap+0.3*ndcg@10", {"gain": "linear"}, "unknown parameter of gap 'gain'"),
        ("0.7*gap+0.3*ndcg@10", {"k": 3}, "gives k twice"),
        ("0.7*gap+0.3*ndcg@10", {"average": "geometric"}, "average='geometric': a mixture"),
        (skrank.metric("gap+ndcg"), {"gain": "linear"}, "unknown parameter of mixture 'gain'"),
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
