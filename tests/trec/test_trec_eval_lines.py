"""The layout of trec_eval, byte for byte: files beside this one were printed by its version 10.

The measures that skrank refuses are left out of them.
"""

from pathlib import Path

import pytest

from skrank import trec
from skrank.cli import main

FOLDER = Path(__file__).with_name("trec_eval10")
CALLS = {
    "official_q.txt": ["-q"],
    "all_q_c_M12.txt": ["-m", "all_trec", "-q", "-c", "-M", "12"],
    "all_l2.txt": ["-m", "all_trec", "-l", "2"],
    "all_J.txt": ["-m", "all_trec", "-J"],
    "parameters_q.txt": [
        *["-q", "-m", "iprec_at_recall..10,.35", "-m", "P.7,3", "-m", "Rprec_mult.5.0,0.35"],
        *["-m", "utility.2,-1,0,0", "-m", "11pt_avg..25,.5"],
    ],
}


@pytest.mark.parametrize("name", CALLS)
def test_the_command_prints_what_trec_eval_prints(capsys, name):
    run = "run_without_30" if "-c" in CALLS[name] else "run"  # version 10 stops there without -c
    files = [str(FOLDER / "qrels"), str(FOLDER / run)]
    options = [*CALLS[name], "--names", "trec_eval10", "--format", "trec_eval"]
    assert main(["evaluate", *files, *options]) == 0
    assert capsys.readouterr().out == (FOLDER / name).read_text()


def test_several_runs_and_metrics_of_our_own():
    qrels, runs = {"1": {"a": 1}}, {"x": {"1": {"a": 1}}, "y": {"1": {"b": 2, "a": 1}}}
    lines = trec.trec_eval_lines(trec.evaluate(qrels, runs, ["gap@10", "recip_rank"])).splitlines()
    assert [line.split() for line in lines] == [
        ["runid", "all", "x"],
        ["recip_rank", "all", "1.0000"],
        ["gap@10", "all", "1.0000"],
        ["runid", "all", "y"],
        ["recip_rank", "all", "0.5000"],
        ["gap@10", "all", "0.5000"],
    ]


QRELS = {"1": {"a": 2, "b": 1, "c": -1, "d": 0}, "2": {"a": 1}}
RUN = {"1": {"c": 4, "x": 3, "b": 2, "a": 1}, "2": {"a": 1}}


def value(metric, **options):
    return trec.evaluate(QRELS, RUN, metric, **options).per_query.iloc[0, 0]


def test_options_of_trec_eval():
    assert value("rr") == 1 / 3
    assert value("rr", rel=2) == 1 / 4
    assert value("rr(rel=1)", rel=2) == 1 / 4
    assert value("ndcg", rel=2) == value("ndcg")
    assert value("rbp(max_grade=2)", rel=2) == value("rbp(max_grade=2)")
    assert value("num_ret", depth=2) == 2
    assert value("num_rel", depth=2) == 2
    assert value("recall", depth=3) == 1 / 2
    assert value("rr", judged_only=True) == 1
    assert value("num_ret", judged_only=True) == 2
    assert value("judged") == 2 / 4
    assert value("judged", pool_judged=True) == 3 / 4
    assert value("rr", judged_only=True, pool_judged=True) == 1 / 2
    assert value("P_2", rel=2, depth=3, empty=1) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 0}, "depth=0 must be at least 1"),
        ({"rel": 0}, "rel=0 must be a number"),
        ({"judged_only": "yes"}, "judged_only='yes' must be True or False"),
        ({"precision": "half"}, "precision='half' is not a choice"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        value("rr", **options)
