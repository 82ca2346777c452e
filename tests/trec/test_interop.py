"""To and from trec_eval, ir_measures, pytrec_eval, arrays and collections of Dask.

The files in the folder beside were printed by version 10 of trec_eval; the measures that skrank
refuses are left out of them.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import skrank
from skrank import trec
from skrank.cli import main
from skrank.metrics import registered
from tests.helpers.trec_cases import qrels_text, rows, run_text

QRELS = {"1": {"a": 2, "b": 1, "d": -1}, "2": {"a": 1, "e": 2}, "3": {"a": 0}, "4": {"b": 1}}
RUN = {"1": {"b": 3.0, "a": 2.0, "x": 1.0}, "2": {"e": 1.0}, "3": {"a": 1.0}, "9": {"a": 1.0}}


def test_dicts_there_and_back():
    qrels = trec.Qrels.from_arrays(*zip(*rows(QRELS), strict=True))
    run = trec.Run.from_arrays(*zip(*rows(RUN), strict=True))
    assert qrels.to_dict() == QRELS
    assert run.to_dict() == RUN
    assert all(type(label) is int for docs in qrels.to_dict().values() for label in docs.values())
    pytrec_eval = pytest.importorskip("pytrec_eval")
    found = pytrec_eval.RelevanceEvaluator(qrels.to_dict(), {"map"}).evaluate(run.to_dict())
    assert found["1"]["map"] == 1
    with pytest.raises(ValueError, match="not whole numbers"):
        trec.Qrels.from_arrays(["1"], ["a"], [0.5]).to_dict()


@pytest.mark.parametrize("name", ["gap@2", "rr", "ndcg@10", "err(max_grade=4)@5"])
def test_a_metric_is_a_measure_of_ir_measures(name):
    ir_measures = pytest.importorskip("ir_measures")
    measure = trec.ir_measure(name)
    assert str(measure).startswith(str(skrank.metric(name)))
    with pytest.warns(UserWarning, match="no documents"):
        ours = trec.evaluate(QRELS, RUN, name, empty=0)
    found = ir_measures.iter_calc([measure, ir_measures.AP], QRELS, RUN)
    theirs = {one.query_id: one.value for one in found if one.measure == measure}
    assert theirs == ours.per_query.loc["run"].iloc[:, 0].to_dict()
    mean = ir_measures.calc_aggregate([measure], QRELS, RUN)[measure]
    assert mean == pytest.approx(ours.mean.iloc[0, 0], abs=1e-15)


@pytest.mark.parametrize(("name", "named"), [("err", "max_grade"), ("num_ret", "average=")])
def test_metrics_that_look_beyond_a_query(name, named):
    pytest.importorskip("ir_measures")
    with pytest.raises(ValueError, match=named):
        trec.ir_measure(name)


def test_arrays_and_collections_of_dask():
    """Of 50 documents of a query, 10 are judged only, and 20 retrieved only; scores differ."""
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    adapter = pytest.importorskip("skrank.dask")
    metrics = [
        "ndcg@10", "ndcg(gain=linear)", "err@20", "recall@5", "judged@5",
        "gap(condensed=True)", "trec_eval:11pt_avg",
        # infap asks whether a document was in the pool, which a missing label does not say
        *(name for name in registered() if name != "infap"),
    ]  # fmt: skip
    rng = np.random.default_rng(0)
    relevance = rng.integers(0, 4, (25, 50)).astype(float)
    scores = rng.permuted(np.tile(np.arange(50.0), (25, 1)), axis=1)
    qrels = {
        f"q{q}": {f"d{i}": int(label) for i, label in enumerate(labels[:30])}
        for q, labels in enumerate(relevance)
    }
    run = {
        f"q{q}": {f"d{i}": score for i, score in enumerate(row[10:].tolist(), start=10)}
        for q, row in enumerate(scores)
    }
    expected = trec.evaluate(qrels, run, metrics)
    relevance[:, 30:], scores[:, :10] = np.nan, -np.inf
    arrays = relevance.ravel(), scores.ravel(), np.repeat(np.array(list(qrels), object), 50)
    report = skrank.evaluate(*arrays[:2], groups=arrays[2], metrics=metrics)
    collections = [da.from_array(one, chunks=((200, 0, 550, 500),)) for one in arrays]
    with dask.config.set(scheduler="synchronous"):
        on_dask = adapter.evaluate(*collections, metrics)
    first = expected.per_query.loc["run"]
    for found in (report, on_dask):
        np.testing.assert_array_equal(found.per_query.to_numpy(), first.to_numpy())
        np.testing.assert_array_equal(found.averages, expected.averages)
        assert list(found.queries) == first.index.tolist()


# trec_eval ---------------------------------------------------------------------------------------

FOLDER = Path(__file__).with_name("trec_eval10")
CALLS = {
    "official_q.txt": ["-q"],
    "all_q_c_M12.txt": ["-m", "all_trec", "-q", "-c", "-M", "12"],
    "all_l2.txt": ["-m", "all_trec", "-l", "2"],
    "all_J.txt": ["-m", "all_trec", "-J"],
    "parameters_q.txt": [
        *["-q", "-m", "iprec_at_recall..10,.35", "-m", "P.3,7", "-m", "Rprec_mult.0.35,5.0"],
        *["-m", "utility.2,-1,0,0", "-m", "11pt_avg..25,.5"],
    ],
}


@pytest.mark.parametrize("name", CALLS)
def test_the_command_prints_what_trec_eval_prints(capsys, name):
    run = "run_without_30" if "-c" in CALLS[name] else "run"  # version 10 stops there without -c
    files = [str(FOLDER / "qrels"), str(FOLDER / run)]
    options = [*CALLS[name], "--names", "trec_eval", "--format", "trec_eval"]
    assert main(["evaluate", *files, *options]) == 0
    found, expected = capsys.readouterr().out, (FOLDER / name).read_text()
    of_version_10 = re.compile(r"^(iprec_at_recall|11pt_avg).*\n", re.MULTILINE)
    assert of_version_10.sub("", found) == of_version_10.sub("", expected)


SMALL = {"1": {"a": 2, "b": 1, "c": -1, "d": 0}, "2": {"a": 1}}
SMALL_RUN = {"1": {"c": 4, "x": 3, "b": 2, "a": 1}, "2": {"a": 1}}


def value(metric, **options):
    return trec.evaluate(SMALL, SMALL_RUN, metric, **options).per_query.iloc[0, 0]


def test_options_of_trec_eval():
    assert value("rr") == 1 / 3
    assert value("num_rel", k=2) == 2
    assert value("recall", k=3) == 1 / 2
    assert value("num_ret", judged_only=True) == 2
    assert value("judged", pool_judged=True) == 3 / 4
    assert value("rr", judged_only=True, pool_judged=True) == 1 / 2
    assert value("trec_eval:P_2", rel=2, k=3, empty=1) == 0
    below = {"1": {"x": 2, "a": 1}}  # no warning of ids, as "a" is judged
    assert trec.evaluate(SMALL, below, "rr", k=1, missing="skip").averages[0, 0] == 0


def test_a_threshold_of_relevance_reaches_every_metric_that_has_one_and_no_other(tmp_path, capsys):
    """A metric whose threshold is None by default is graded, and remains so."""
    metrics = [skrank.metric(name) for name in registered()]
    binary = [getattr(metric, "rel", None) is not None for metric in metrics]
    changed = [replace(one, rel=2) if of else one for one, of in zip(metrics, binary, strict=True)]
    labels = [[0, 1, 3, 0, 2, 1, 2], [0, 1, 0, 1, 0, 0, 1]]
    qrels = {f"q{q}": {f"d{i}": grade for i, grade in enumerate(of)} for q, of in enumerate(labels)}
    run = {qid: {document: -float(document[1:]) for document in of} for qid, of in qrels.items()}
    found, expected, plain = (
        trec.evaluate(qrels, run, of, **how).values[0]
        for of, how in ((metrics, {"rel": 2}), (changed, {}), (metrics, {}))
    )
    np.testing.assert_array_equal(found, expected)
    differs = [not np.array_equal(*of, equal_nan=True) for of in zip(found.T, plain.T, strict=True)]
    assert differs == binary
    (tmp_path / "qrels").write_text(qrels_text(rows(qrels)))
    (tmp_path / "run").write_text(run_text(rows(run)))
    options = [f"-m{metric}" for metric in metrics] + ["-l2", "--per-query", "--format", "json"]
    assert main(["evaluate", str(tmp_path / "qrels"), str(tmp_path / "run"), *options]) == 0
    printed = [list(row.values())[2:] for row in json.loads(capsys.readouterr().out)]
    np.testing.assert_array_equal(np.array(printed, float), found)
