"""Runs and judgments of TREC: order and evaluation."""

import io

import numpy as np
import pytest

from skrank import trec
from tests.helpers.trec_cases import run_of, run_text


def test_ties_are_ordered_by_name_descending_in_bytes():
    names = [f"d{i * 7919 % 5003}" for i in range(5003)]
    run = trec.Run.from_arrays(["1"] * 5003, names, [0.0, -0.0] * 2501 + [0.0])
    assert run.documents.to_list() == sorted(names, reverse=True)
    run = run_of("1 Q0 a 1 2 t\n1 Q0 é 2 2.0 t\n1 Q0 B 3 2 t\n1 Q0 aa 4 2 t\n1 Q0 z 5 3 t\n")
    assert run.documents.to_list() == ["z", "é", "aa", "a", "B"]


CLOSE = {"1": {"a": 1, "b": 0}}
CLOSER = "1 Q0 a 1 1.000000001 t\n1 Q0 b 2 1 t\n"  # equal as float32
SINGLE = ("trec_eval:recip_rank", "trec_eval:P_1")
DOUBLE = ("rr", "precision@1", "ir_measures:RR", "rr@1")


@pytest.mark.parametrize("from_file", [True, False])
@pytest.mark.parametrize("metrics", [SINGLE, DOUBLE, SINGLE + DOUBLE, DOUBLE + SINGLE])
def test_only_names_of_trec_eval_compare_scores_in_single_precision(from_file, metrics):
    run = run_of(CLOSER)
    assert run.documents.to_list() == ["a", "b"]
    given = io.StringIO(CLOSER) if from_file else run.to_dict()
    mean = trec.evaluate(CLOSE, given, list(metrics), empty=0).mean
    for name in mean:
        assert mean[name].item() == (0 if name == SINGLE[1] else 0.5 if name == SINGLE[0] else 1)


def test_scores_beyond_single_precision_are_equal_there():
    beyond = {"1": {"a": 1e300, "b": 1e200}}
    mean = trec.evaluate(CLOSE, beyond, ["rr", "trec_eval:recip_rank"]).mean
    assert mean.iloc[0].tolist() == [1, 0.5]


QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1, "b": -1}, "3": {"a": 0}, "4": {"a": 1}}
RUN = trec.Run.from_arrays(list("112239"), list("cxbaaa"), [2, 1, 2, 1, 1, 1], name="bm25")


def test_what_a_run_has():
    report = trec.evaluate(QRELS, RUN, "ap", missing="skip")
    facts = {"queries": 3, "missing": 1, "ignored": 1, "documents": 5, "judged": 3 / 5}
    assert report.counts == {name: [value] for name, value in facts.items()}
    assert report.empty == {"ap": 1}
    assert "bm25: 4 queries, 1 missing, 1 ignored, 5 documents, 60.0% judged" in repr(report)


def test_missing_queries():
    lacks = r"run 'bm25' .* 1 queries of the qrels, \['4'\]"
    with pytest.warns(UserWarning, match=lacks):
        zero = trec.evaluate(QRELS, RUN, "ap")
    assert zero.per_query["ap"].to_list() == pytest.approx([0.5, 0.5, np.nan, 0], nan_ok=True)
    assert zero.mean.loc["bm25", "ap"] == pytest.approx(1 / 3)
    skip = trec.evaluate(QRELS, RUN, "ap", missing="skip")
    assert skip.mean.loc["bm25", "ap"] == pytest.approx(1 / 2)
    with pytest.raises(ValueError, match=lacks):
        trec.evaluate(QRELS, RUN, "ap", missing="raise")


def test_empty_queries():
    def mean(empty):
        report = trec.evaluate(QRELS, RUN, ["ap", "ndcg@10"], missing="skip", empty=empty)
        for table in (report.mean.T, report.to_frame().droplevel("system")):
            assert list(table.index) == ["ap", "ndcg@10"]  # as the caller named them
        return report.mean.iloc[0, 0]

    assert mean(None) == mean("skip") == pytest.approx(1 / 2)
    assert mean(0) == pytest.approx(1 / 3)
    assert mean(1) == pytest.approx(2 / 3)
    assert np.isnan(mean("nan"))
    with pytest.raises(ValueError, match="query '3'"):
        mean("raise")


def test_a_run_without_any_query_of_the_qrels():
    run = trec.Run.from_arrays(["MB01"], ["a"], [1], name="odd")
    with pytest.raises(ValueError, match=r"'odd'.*'MB01'.*'1'"):
        trec.evaluate(QRELS, run, "ap")


def test_names_of_runs(tmp_path):
    for name, tag in (("a", "same"), ("b", "same"), ("c", "other")):
        (tmp_path / name).write_text(run_text([(q, "a", 1.0) for q in "1234"], tag))
    one, two, other = (tmp_path / name for name in "abc")
    report = trec.evaluate(QRELS, [one, other, two], "ap")
    assert report.mean.index.tolist() == [str(one), "other", str(two)]
    assert report.per_query.index.names == ["system", "qid"]
    report = trec.evaluate(QRELS, {"x": one, "y": two}, "ap")
    assert report.mean.index.tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="'bm25'"):
        trec.evaluate(QRELS, [RUN, RUN], "ap", missing="skip")


def test_a_run_that_retrieved_only_the_query_itself():
    qrels = {"1": {"1": 1, "a": 1}, "2": {"b": 1}}
    runs = {"all": {"1": {"1": 1.0}}, "some": {"1": {"1": 1.0}, "2": {"b": 1.0}}}
    with pytest.warns(UserWarning, match=r"run 'all' .* 2 queries"):
        report = trec.evaluate(qrels, runs, ["ap", "ap"], exclude_self=True)
    assert report.mean["ap"].tolist() == [0, 0.5]
    assert report.counts["judged"] == [0, 1]
