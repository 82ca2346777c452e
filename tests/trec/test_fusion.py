"""Fusion of runs: literal definitions, trained weights, and errors."""

import io

import numpy as np
import pandas as pd
import pytest

from skrank import LinearRanker, trec
from skrank.model_selection import QueryKFold
from tests.helpers.informativeness_cases import made

METHODS = ("rrf", "combsum", "combmnz")
NORMS = ("min_max", "zscore", "reciprocal_rank")

SMALL = {
    "a": {"1": {"x": 3.0, "y": 2.0, "z": 1.0}, "2": {"x": 0.5}},
    "b": {"1": {"y": 9.0, "w": 8.5, "x": 1.0}, "2": {"v": 2.0, "x": 1.0}},
    "c": {"1": {"z": 0.3, "w": 0.2}, "3": {"x": 1.0, "y": 0.0}},
}


def random_runs(n_runs=3, n_queries=6, seed=0):
    """Runs without ties over overlapping documents."""
    rng = np.random.default_rng(seed)

    def documents():
        chosen = rng.choice(20, rng.integers(2, 15), replace=False)
        return {f"d{one}": rng.gamma(2) for one in chosen}

    return {f"run{r}": {str(q): documents() for q in range(n_queries)} for r in range(n_runs)}


def normalised(table, norm):
    """A column of scores for each run, as in the definitions of norms."""
    low, equal = table.min(), table.max() == table.min()
    return {
        None: table,
        "min_max": (table - low) / (table.max() - low).replace(0, 1) + equal,
        "zscore": (table - table.mean()) / table.std(ddof=0).replace(0, 1),
        "reciprocal_rank": 1 / (60 + table.rank(ascending=False)),
    }[norm]


def expected(runs, method, norm=None):
    """Fused scores by query and document, as in the definitions of methods."""
    found = {}
    for query in {query for run in runs.values() for query in run}:
        scores = pd.DataFrame({name: run.get(query, {}) for name, run in runs.items()}, dtype=float)
        table = normalised(scores, "reciprocal_rank" if method == "rrf" else norm)
        total = table.sum(axis=1) * (table.count(axis=1) if method == "combmnz" else 1)
        found[query] = total.to_dict()
    return found


def assert_same(found, wanted):
    found = found.to_dict()
    assert set(found) == set(wanted)
    for query, documents in wanted.items():
        assert found[query] == pytest.approx(documents, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("norm", [*NORMS, None])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("runs", [SMALL, random_runs(4)], ids=["small", "random"])
def test_methods_are_their_definitions(runs, method, norm):
    """Of the scores that `norm` returns, or of the ranks in each run."""
    assert_same(trec.fuse(runs, method, norm=norm), expected(runs, method, norm))


def test_weighted_rrf():
    weights = {"a": 2, "b": 1, "c": 0}
    found = trec.fuse(SMALL, "rrf", weights=weights)
    same = trec.fuse(SMALL, "weighted_sum", norm="reciprocal_rank", weights=[2, 1, 0])
    assert found.to_dict() == same.to_dict()
    assert found.weights == weights


def test_ranks_may_come_from_the_files(tmp_path):
    """Such as those of a reranker whose scores are on another scale."""
    runs = {"a": [("x", 1, 0.1), ("y", 2, 0.9)], "b": [("y", 1, 5.0), ("z", 2, 6.0)]}
    for name, documents in runs.items():
        lines = (f"1 Q0 {d} {rank} {score} {name}\n" for d, rank, score in documents)
        (tmp_path / name).write_text("".join(lines))
    expected = {"1": {"x": 1 / 61, "y": 1 / 62 + 1 / 61, "z": 1 / 62}}
    frames = {
        name: pd.DataFrame(documents, columns=["docid", "rank", "score"]).assign(qid="1")
        for name, documents in runs.items()
    }
    for given in ([tmp_path / name for name in runs], frames):
        columns = ["qid", "_", "docid", "rank", "_", "_"]
        columns = {"rank": "rank"} if given is frames else columns
        assert_same(trec.fuse(trec.read_runs(given, columns=columns)), expected)
        with pytest.raises(ValueError, match="distance"):
            trec.fuse(given)


# input and output ---------------------------------------------------------------------------------


def test_a_written_run_is_read_back_as_it_was():
    rng = np.random.default_rng(0)
    ids = [f"d\u00e9{one}" for one in range(200)]
    run = trec.Run.from_arrays(
        np.arange(200) % 7, ids, rng.normal(size=200) * 10.0 ** rng.integers(-30, 30, 200)
    )
    back = trec.read_run(io.BytesIO(trec.run_lines(run).encode()))
    assert back.to_dict() == run.to_dict()
    assert back.documents.to_list() == run.documents.to_list()


@pytest.mark.parametrize("ids", [("1 2", "a", "r"), ("1", "", "r"), ("1", "a", "my run")])
def test_ids_that_a_file_cannot_hold_are_refused(ids):
    run = trec.Run.from_arrays([ids[0]], [ids[1]], [1.0], name=ids[2])
    with pytest.raises(ValueError, match="white space"):
        trec.run_lines(run)


# trained weights ----------------------------------------------------------------------------------


RANKER = LinearRanker("ndcg@10", positive=True)


def test_linear_is_a_linear_ranker_on_a_table_of_scores():
    qrels, runs, *_ = made(12, 15, noises=(0.5, 1.5, 1e3), unjudged=0)
    runs = {run.name: run for run in runs}
    ranker = LinearRanker("gap", positive=True)
    options = {"weights": ranker, "qrels": qrels, "norm": "zscore", "n_splits": 4}
    fused = trec.fuse(runs, "weighted_sum", **options)
    frame = qrels.to_frame()
    for name, run in runs.items():
        scores = run.to_frame()
        part = scores.groupby("qid")["score"]
        scores[name] = (scores.score - part.transform("mean")) / part.transform("std", ddof=0)
        frame = frame.merge(scores[["qid", "docid", name]])
    frame = frame.sort_values(["qid", "docid"], kind="stable", ignore_index=True)
    X, y, groups = frame[list(runs)].to_numpy(), frame["label"].to_numpy(), frame["qid"]
    ranker.fit(X, y, groups=groups)
    share = ranker.coef_ / ranker.coef_.sum()
    assert list(fused.weights.values()) == pytest.approx(share, rel=1e-3)
    for train, test in QueryKFold(4).split(X, groups=groups):
        weights = ranker.fit(X[train], y[train], groups=groups.iloc[train]).coef_
        values = X[test] @ weights / weights.sum()
        ids = zip(groups.iloc[test], frame["docid"].iloc[test], strict=True)
        found = [fused.to_dict()[query][document] for query, document in ids]
        np.testing.assert_allclose(found, values, rtol=1e-3, atol=1e-3)


# errors -------------------------------------------------------------------------------------------

OTHER = {"1": {"x": 1.0, "y": 5.0}}
HUGE = {"a": {"1": {"x": 1e308}}, "b": {"1": {"x": 1.1e308}}}
LEARNED = {"method": "weighted_sum", "weights": RANKER}


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        (SMALL, {"method": "rff"}, "method='rff'"),
        (SMALL, {"method": "combsum", "weights": [1, 2, 3]}, "weights"),
        (SMALL, {"method": "weighted_sum", "weights": [1, 2]}, "3 runs"),
        (SMALL, {"method": "weighted_sum", "weights": {"1": 1, "2": 1, "3": 1}}, "weights"),
        (SMALL, LEARNED, "needs qrels"),
        (SMALL, LEARNED | {"qrels": {"9": {"x": 1}}}, "qrels"),
        (SMALL, {"rrf_k": -1}, "rrf_k=-1"),
        (SMALL, {"name": "b"}, "name='b'"),
        ({"a": OTHER}, {}, "two runs"),
        ({"a": OTHER, "b": {"2": {"x": 1.0}}}, {}, "'a'"),
        ({"a": OTHER, "b": {"1": {"x": float("nan")}}}, {}, "'b': score nan"),
        (HUGE, {"method": "combsum", "norm": None}, "the fused run: .*inf"),
    ],
)
def test_wrong_input_is_refused(runs, options, message):
    with pytest.raises(ValueError, match=message):
        trec.fuse(runs, **options)
