"""Small files are read by plain Python: the same bits and messages as by compiled code."""

import io
import warnings

import numpy as np
import pytest

from skrank import trec
from skrank._kernels import trec as kernels
from tests.helpers.trec_cases import collection, contents, run_of


@pytest.fixture
def both_forms(plain_python):
    """The outcomes of a call with compiled kernels, and with kernels in plain Python."""

    def run(call):
        compiled = outcome(call)
        with plain_python():
            return compiled, outcome(call)

    return run


def outcome(call):
    """The result or the error of a call, and its warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = call()
        except ValueError as error:
            result = f"{type(error).__name__}: {error}"
    return result, [str(one.message) for one in warned]


def bits(array):
    return array.dtype.str, array.shape, array.tobytes()


def table(one, numbers):
    """All arrays of judgments or of a run."""
    queries, documents = one.queries, one.documents
    arrays = (queries.indptr, numbers, *documents)
    return queries.ids.tolist(), documents.names(), *map(bits, arrays)


def judgments(data):
    qrels = trec.read_qrels(io.BytesIO(data))
    return table(qrels, qrels.labels)


def ranking(data):
    run = trec.read_run(io.BytesIO(data))
    return run.name, table(run, run.scores), bits(run.slots.first), bits(run.slots.rows)


def test_files_are_read_alike(both_forms):
    read = set()
    for data in contents():
        for kind in (judgments, ranking):
            compiled, plain = both_forms(lambda: kind(data))  # noqa: B023
            assert plain == compiled, data
            read.add((kind, isinstance(plain[0], str)))
    assert len(read) == 4  # of both kinds, some files are read and some are refused


@pytest.mark.parametrize("alphabet", [b"  \n\tAB\xc8", b"  \n\t\r\x0b\x00\x1fAB\x7f\xc8"])
def test_columns_are_found_alike(alphabet):
    rng = np.random.default_rng(0)
    for _ in range(300):
        text = rng.choice(np.frombuffer(alphabet, np.uint8), 8 * rng.integers(1, 12))
        places = np.full((2, rng.integers(8, len(text) + 20)), -1, np.int32)  # may be too small
        compiled, plain = (
            form(text.view(np.uint64), out)
            for form, out in zip((kernels.edges, kernels.edges.plain), places, strict=True)
        )
        assert plain == compiled
        assert np.array_equal(*places[:, : compiled[0]])


def test_short_names_have_different_slots():
    names = [f"d{i}" for i in range(100)]
    slots = run_of("".join(f"1 Q0 {one} 1 1 t\n" for one in names)).slots
    runs = np.diff(np.flatnonzero(np.append(slots.rows, -1) < 0), prepend=-1) - 1  # of used slots
    assert runs.max() < 30


def test_runs_are_measured_alike(both_forms):
    qrels, runs = collection()
    metrics = ["gap", "ndcg@10", "bpref", "judged@5", "num_ret"]

    def measure():
        report = trec.evaluate(qrels, {**runs, "ideal": qrels}, metrics)
        return [bits(getattr(report, name)) for name in ("values", "weights", "averages")]

    compiled, plain = both_forms(measure)
    assert plain == compiled
    assert isinstance(plain[0], list)


@pytest.mark.parametrize("above", ["b", "x" * 9, "\u00e9t\u00e9"])
def test_documents_without_a_name_are_found(above, both_forms):
    qrels, run = {"q": {"": 1, "a": 0}}, {"q": {above: 2.0, "": 1.0}}
    for value, _ in both_forms(lambda: trec.evaluate(qrels, run, "rr").mean.iloc[0, 0]):
        assert value == 0.5


@pytest.mark.parametrize("n_labels", [253, 254, 255, 256])
def test_codes_have_room_for_documents_outside_the_pool(n_labels, both_forms):
    qrels = {"q": {f"d{i}": i / 2 for i in range(n_labels)}}
    run = {"q": {"d1": 3.0, "other": 2.0, "d9": 1.0}}
    for value, _ in both_forms(lambda: trec.evaluate(qrels, run, "judged@3").mean.iloc[0, 0]):
        assert value == 2 / 3
