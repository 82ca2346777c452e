"""Evaluation on Dask: the report of arrays, bit for bit."""

import numpy as np
import pandas as pd
import pytest

import skrank
from tests.helpers.catalogue import CATALOGUE, lists

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

import skrank.dask  # noqa: E402

METRICS = ["gap", "ndcg@10", "err@20", "error"]


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def partitioned(seed, n_parts=4, **how):
    """Lists, in partitions of whole queries in which rows are mixed, and the sizes; one is 0."""
    data, rng = lists(seed, **how), np.random.default_rng(seed)
    place = dict(zip(data.ids, rng.permutation(len(data.ids)).tolist(), strict=True))
    rows = np.argsort([place[one] for one in data.groups], kind="stable")
    queries = data.groups[rows]
    ends = np.flatnonzero(queries[1:] != queries[:-1]) + 1
    cuts = np.sort(rng.choice(ends, n_parts - 1, replace=False))
    parts = [rng.permutation(part) for part in np.split(rows, [*cuts, cuts[-1]])]
    return data.reordered(np.concatenate(parts)), (tuple(map(len, parts)),)


def assert_same(found, expected):
    for name in ("per_query", "mean"):
        one, other = getattr(found, name), getattr(expected, name)
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert (found.empty, found.counts) == (expected.empty, expected.counts)


def both(data, chunks, metrics, **how):
    """The report of Dask and that of arrays; of a second system, too, if there are weights."""
    arrays = {"relevance": data.relevance, "scores": data.scores, "groups": data.groups}
    arrays |= {name: how.pop(name) for name in list(how) if isinstance(how[name], np.ndarray)}
    on_dask = {name: da.from_array(one, chunks=chunks) for name, one in arrays.items()}
    if "sample_weight" in arrays:
        for given in (arrays, on_dask):
            given["scores"] = {"a": given["scores"], 2: -given["scores"]}
    found = skrank.dask.evaluate(**on_dask, metrics=metrics, **how)
    return found, skrank.evaluate(**arrays, metrics=metrics, **how)


def test_all_metrics_are_the_same_bits():
    data, chunks = partitioned(0, n_queries=24, longest=9, levels=6)
    metrics = {str(point.settled): point.settled for point in CATALOGUE}
    assert_same(*both(data, chunks, list(metrics.values())))


@pytest.mark.parametrize("levels", [5, 200])
def test_labels_that_other_partitions_do_not_have(levels):
    """Codes of labels differ by partition, and so may the sums that are made of them."""
    data, chunks = partitioned(1, n_queries=60, longest=30, special=False)
    rng = np.random.default_rng(levels)
    data.relevance[:] = rng.choice(rng.random(levels) * 3, len(data.relevance))
    data.relevance[:60] = 0
    metrics = ["ndcg(gain=linear)", "dcg(gain=linear)@7", "rpref", "rbp(gain=linear)", "p@3"]
    metrics += ["gap(fractional=interp,max_grade=3)"] * (levels < 50)
    assert_same(*both(data, chunks, metrics))


@pytest.mark.parametrize("chunked_weights", ["random", "one partition without"])
def test_weights(chunked_weights):
    data, chunks = partitioned(2, n_queries=30, missing=0, special=False)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(data.ids))
    of_rows = weights[pd.factorize(data.groups)[0]]
    if chunked_weights != "random":
        of_rows[: chunks[0][0]] = 0
    reports = both(data, chunks, METRICS, sample_weight=of_rows)
    assert_same(*reports)
    pd.testing.assert_frame_equal(*(one.compare(n_resamples=99).to_frame() for one in reports))
    with pytest.raises(ValueError, match="sample_weight of each query"):
        both(data, chunks, METRICS, sample_weight=np.zeros(len(data.groups)))


def test_the_scale_is_that_of_all_partitions_or_given():
    relevance, scores = np.array([4.0, 0, 1, 0]), np.array([1.0, 2, 2, 1])
    groups = np.repeat(["a", "b"], 2)
    data = type(lists(0))(relevance, scores, groups)
    found, expected = both(data, 2, ["err", "gap"])
    assert_same(found, expected)
    assert found.per_query.loc[("scores", "b"), "err"] == (2**1 - 1) / 2**4
    found, expected = both(data, 2, ["err"], max_grade=5)
    assert_same(found, expected)
    assert found.per_query.loc[("scores", "b"), "err"] == (2**1 - 1) / 2**5
    with pytest.raises(ValueError, match=r"label 4.*max_grade=3"):
        both(data, 2, ["gap"], max_grade=3)


def test_the_scale_of_a_collection_is_that_of_arrays():
    """Labels that were changed have a scale of their own, also if those of a partition were not."""
    whole = skrank.with_groups([1.0, 0, 3, 0, 4, 0], np.repeat(["a", "b", "c"], 2))
    for y in (whole, whole[:4], (whole > 0).astype(float)):
        scores = pd.Series(np.arange(len(y)), y.index)
        columns = (dd.from_pandas(column, npartitions=2) for column in (y, scores))
        found = skrank.dask.evaluate(*columns, metrics=["err"])
        expected = skrank.evaluate(y, scores, metrics=["err"])
        assert_same(found, expected)
        assert found.max_grade == expected.max_grade


def frame_of(data):
    return pd.DataFrame({"y": data.relevance, "s": data.scores, "qid": data.groups})


def test_series_and_frames_with_groups_on_the_index():
    data, _ = partitioned(3, n_queries=30)
    expected = skrank.evaluate(data.relevance, data.scores, groups=data.groups, metrics=METRICS)
    frame = frame_of(data)
    parts = [part for _, part in frame.groupby(pd.factorize(frame.qid)[0] // 10)]
    pieces = [dask.delayed(one.set_index("qid")) for one in parts]
    indexed = dd.from_delayed(pieces, meta=frame.set_index("qid").iloc[:0])
    assert_same(skrank.dask.evaluate(indexed["y"], indexed["s"], metrics=METRICS), expected)
    assert_same(skrank.dask.evaluate(indexed[["y"]], indexed[["s"]], metrics=METRICS), expected)
    plain = dd.from_delayed([dask.delayed(one) for one in parts], meta=frame.iloc[:0])
    columns = plain["y"], plain["s"], plain["qid"]
    assert_same(skrank.dask.evaluate(*columns, METRICS), expected)
    # scores of another kind than labels, and queries that the index and groups both say
    unknown = plain["s"].to_dask_array()
    assert_same(skrank.dask.evaluate(indexed["y"], unknown, plain["qid"], METRICS), expected)


def chunked(values, chunks=2):
    return da.from_array(np.asarray(values), chunks=chunks)


def test_what_is_refused():
    y, s, q = np.array([1.0, 0, 0, 2]), np.array([4.0, 3, 2, 1]), np.array([7, 7, 8, 8])
    evaluate, no_empty = skrank.dask.evaluate, skrank.metric("gap", empty="raise")
    labels, queries = chunked(y), chunked(q)
    ranker, two = skrank.LinearRanker("ap").fit(y[:, None], y, q), {"a": labels, "b": labels}
    memory = "is a Dask collection: use .*skrank.dask.evaluate"

    def call(relevance=y, scores=s, groups=q, metrics="gap"):
        return evaluate(chunked(relevance), chunked(scores), chunked(groups), metrics)

    cases = [
        (lambda: call(groups=[7, 8, 8, 8]), "query 8 lies in partitions 0 and 1"),
        (lambda: call(relevance=[1, 0, -1, 2]), "partition 1: .* row 0 is -1"),
        (lambda: call(scores=[1, 0, 2, np.nan]), "partition 1: .* row 1 is nan"),
        (lambda: call([1, 0, 0, 0], metrics=no_empty), "partition 1: query 8"),
        (lambda: evaluate(labels, s, queries), "scores"),
        (lambda: evaluate(labels, {2: s}, queries), "system 2 must be a Dask"),
        (lambda: skrank.compare(labels, two, groups=queries), memory),
        (lambda: skrank.metric("ap")(dd.from_dask_array(labels), s, groups=q), memory),
        (lambda: skrank.with_groups(labels, queries), memory),
        (lambda: ranker.score(labels[:, None], labels, queries), memory),
        (lambda: ranker.rank(labels[:, None], queries), memory),
        (lambda: evaluate(labels, chunked(s)), "query of each row"),
        (lambda: evaluate(labels, chunked(s, 4), queries), "'scores': 1, 'groups': 2"),
        (lambda: evaluate(labels, chunked(s, ((1, 3),)), queries), "partition [01]: "),
        (lambda: evaluate(*[chunked([])] * 3), "relevance is empty"),
    ]
    for act, message in cases:
        with pytest.raises(ValueError, match=message):
            act()
    with pytest.warns(UserWarning, match="each of the 4 queries"):
        call(groups=[1, 2, 3, 4])
