"""Texts that name no metric and parameters that metrics refuse, with what the error says."""

import numpy as np
import pytest

import skrank
from skrank.metrics import GAP

MALFORMED = [
    "", "@10", "gap@", "gap@10@5", "gap(", "gap(10)", "10", "gap[10]", "(gap, ap)",
    "gap(k=__import__('os'))",
    "(" * 80 + "gap" + ")" * 80, "-gap", "\0gap",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "named"),
    [
        *((text, "name@k") for text in MALFORMED),
        ("gpa@10", "'gap'"),
        ("xyzzy", "'xyzzy'"),
        ("gap(treshold=[1])", "thresholds"),
        *((f"gap@{k}", "k=") for k in ("0", "-3", "2.5", "ten", "True")),
        *((f"{name}@5", "k=5") for name in ("r_precision", "bpref", "iprec", "infap")),
        *((thing, "metric") for thing in (None, 10, ["gap"], GAP, b"gap")),
        ("gap(k=5)@10", "k twice"),
        ("rbp(rel=1,gain=exp2)", "max_grade"),
        ("utility(weights=[1,-1])", "weights="),
        *((f"gap{sign}trec_eval:map", r"0\.7 \* LambdaRank") for sign in "+*"),
        # names of other tools
        ("foo:map", "'foo'"),
        ("MAP:top=5", "'catboost:MAP:top=5'"),
        ("ndcg_cut_10", "'trec_eval:ndcg_cut_10'"),
        *((f"{tool}:map", "conventions") for tool in ("ranx", "sklearn", "ntcireval")),
        ("ir_measures:RBP", "rel="),
        ("ir_measures:INST", r"max_rel=.*min_rel=.*'INST\(max_rel=4\)'"),
        ("trec_eval:P_\uff15", "trec_eval"),
        ("trec_eval:ndcg@10", "'trec_eval:ndcg_cut_10'"),
        ("catboost:NDCG:type=exp", "catboost"),
        ("ir_measures:nDCG(gains={0:1,1:4})", "label 0"),
        ("ir_measures:nDCG(gains=1)", "gains=1"),
        ("ir_measures:nDCG(dcg='log')@10", "log"),
        ("ir_measures:P(relative=yes)@5", "relative"),
        ("ir_measures:AP(relative=True)", "relative"),
        *((f"ir_measures:{name}", "AP") for name in ("AP(5)", "AP(rel:2)")),
        *(
            (f"catboost:{name}", name)
            for name in ("NDCG:border=2", "MAP:type=Base", "MRR:decay=.5")
        ),
        ("relstring", "relstring"),
        ("ndgc", "'ndcg'"),
        *((text, "'ndcg@10'") for text in ("NDCG_10", "ndcg10")),
    ],
)
def test_texts(text, named):
    with pytest.raises(ValueError, match=named):
        skrank.metric(text)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("gap", {"ties": "averge"}, "ties='averge'.*'average'"),
        ("gap", {"empty": "ignore"}, "empty='ignore'.*'skip'"),
        ("gap", {"empty": True}, "empty=True"),
        ("gap", {"average": "micro"}, "average='micro'.*'macro'"),
        ("gap", {"condensed": "no"}, "condensed='no'"),
        ("gap", {"max_grade": 2.5}, "max_grade=2.5"),
        ("gap", {"max_grade": 10**6}, "max_grade=1000000"),
        ("gap", {"treshold": [1]}, "'treshold'"),
        ("gap@10", {"k": 5}, r"^k\b"),
        *(("ap", {"rel": rel}, "rel=") for rel in (0, "1", None, True, float("nan"))),
        ("ndcg", {"gain": "log"}, "gain='log'"),
        ("ndcg", {"gain": [0, -1]}, "gain"),
        ("ndcg", {"gain": {0: 1, 2: 0}}, "gain"),
        ("ndcg", {"gain": [0, np.inf]}, "gain"),
        ("rr", {"ruler": [1, 2]}, "ruler"),
        ("rr", {"ruler": [2, 1]}, "ruler=2.0"),
        ("rr", {"ruler": 5}, "ruler"),
        ("ndcg", {"base": 3}, "base=3.*'jk'"),
        ("nearly_err", {"T": 2}, "'insq'"),
        ("nearly_err(patience=all)", {"p": 0.5}, "'rbp'"),
        ("gap", {"single_precision": "no"}, "single_precision="),
    ],
)
def test_parameters(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        skrank.metric(name, **parameters)
