"""To and from ranx, ir_measures, PyTerrier and pytrec_eval."""

import numpy as np
import pytest

import skrank
from skrank import trec

QRELS = {
    "1": {"a": 2, "b": 1, "c": 0, "d": -1},
    "2": {"a": 1, "e": 2},
    "3": {"a": 0},
    "4": {"b": 1},
}
RUN = {"1": {"b": 3.0, "a": 2.0, "x": 1.0}, "2": {"e": 1.0}, "3": {"a": 1.0}}


def as_objects():
    rows = [(q, d, label) for q, docs in QRELS.items() for d, label in docs.items()]
    scores = [(q, d, score) for q, docs in RUN.items() for d, score in docs.items()]
    return (
        trec.Qrels.from_arrays(*zip(*rows, strict=True)),
        trec.Run.from_arrays(*zip(*scores, strict=True)),
    )


def test_dicts_there_and_back():
    qrels, run = as_objects()
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


@pytest.mark.parametrize(
    ("name", "message"), [("err", "give max_grade"), ("num_ret", 'choose average="macro"')]
)
def test_metrics_that_look_beyond_a_query(name, message):
    pytest.importorskip("ir_measures")
    with pytest.raises(ValueError, match=message):
        trec.ir_measure(name)


def test_ranx_has_dicts():
    """Stand-ins for Qrels and Run of ranx, which convert to nested dicts."""

    class Peer:
        def __init__(self, content):
            self.content = content

        def to_dict(self):
            return self.content

    Peer.__module__ = "ranx.data_structures.qrels"
    found = trec.evaluate(Peer(QRELS), Peer(RUN), "ap", missing="skip").per_query
    expected = trec.evaluate(QRELS, RUN, "ap", missing="skip").per_query
    np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())
