"""Files, collections in memory, studies of them, and splits of queries."""

import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

import skrank
from skrank import datasets, incompleteness, informativeness, model_selection, trec
from tests.helpers import odd
from tests.helpers.drive import Call, case, within

QUERIES, DOCUMENTS = ("q1", "q2", "7"), ("d1", "d2", "d3", "d4")
DEFAULT = ("ap", "gap", "ndcg@2", "rr")
# what files of people hold beside what they should
GARBAGE = st.text("q1d2 0.5-\t\n\r#{}[]:,\"'é\x00\ufeffnaif", max_size=60)
BYTES = GARBAGE.map(str.encode) | st.binary(max_size=40)
PACKED = st.sampled_from((b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00", b"(\xb5/\xfd", b"PAR1"))


def table(draw, numbers):
    """A number for some pairs of query and document."""
    pairs = [(query, document) for query in QUERIES for document in DOCUMENTS]
    kept = [pair for pair in pairs if draw.pick(True, True, False)] or pairs[:1]
    return {pair: draw.pick(*numbers) for pair in kept}


def nested(rows):
    found = {}
    for (query, document), value in rows.items():
        found.setdefault(query, {})[document] = value
    return found


def written(draw, rows, line):
    """A file object of lines, or of anything."""
    text = "".join(line(query, document, value) for (query, document), value in rows.items())
    good = st.sampled_from((text.encode(), ("\ufeff" + text.replace("\n", "\r\n")).encode()))
    worse = BYTES | st.tuples(PACKED, BYTES).map(b"".join) | st.just(text.encode()[:-4])
    content = draw(good, worse | odd.anything)
    return io.BytesIO(content) if isinstance(content, bytes) else content


def qrels_of(draw):
    rows = table(draw, (0, 1, 2))
    rows[next(iter(rows))] = 2
    return rows


def run_of(draw):
    return table(draw, (0.0, 1.0, 1.5, -2.0))


def judged_run_of(draw):
    """Qrels and a run that share a query."""
    qrels, run = qrels_of(draw), run_of(draw)
    run.setdefault(next(iter(qrels)), 1.0)
    return qrels, run


@case("trec.read_qrels")
def _(draw):
    rows = qrels_of(draw)
    source = written(draw, rows, "{} 0 {} {}\n".format)

    def verify(found):
        if not draw.is_odd:
            assert found.to_dict() == nested(rows)

    return Call(lambda: trec.read_qrels(source), verify)


@case("trec.read_run")
def _(draw):
    rows = run_of(draw)
    source = written(draw, rows, "{} Q0 {} 1 {} tag\n".format)
    options = draw.options(name=st.just("mine"), precision=st.sampled_from(("single", "double")))

    def verify(found):
        if not draw.is_odd:
            assert found.to_dict() == nested(rows)

    return Call(lambda: trec.read_run(source, **options), verify)


def columns(draw, rows):
    size = len(rows)
    for place in (0, 1):
        ids = [pair[place] for pair in rows]
        yield draw(st.just(ids), odd.arrays(odd.ids, size))
    yield draw(st.just(list(rows.values())), odd.arrays(odd.labels, size))


@case("trec.Qrels")
def _(draw):
    rows = qrels_of(draw)
    given = tuple(columns(draw, rows))

    def verify(found):
        if not draw.is_odd:
            assert found.to_dict() == nested(rows)
            assert found.with_pool_judged().to_frame()["label"].notna().all()

    return Call(lambda: trec.Qrels.from_arrays(*given), verify)


@case("trec.Run")
def _(draw):
    rows = run_of(draw)
    given, depth = tuple(columns(draw, rows)), draw(st.integers(1, 5))

    def verify(found):
        if not draw.is_odd:
            assert (found.to_frame().groupby("qid").size() <= depth).all()

    return Call(lambda: trec.Run.from_arrays(*given).top(depth), verify)


@case("trec.evaluate")
def _(draw):
    qrels, run = judged_run_of(draw)
    judged, runs = draw(st.just(nested(qrels))), draw(st.just({"run": nested(run)}))
    names = draw(st.sampled_from(DEFAULT).map(lambda name: [name]))
    options = draw.options(
        missing=st.just("zero"), empty=st.sampled_from((0, "skip")), depth=st.integers(1, 3),
        judged_only=st.booleans(), precision=st.sampled_from(("single", "double")),
    )  # fmt: skip

    def verify(found):
        if not draw.is_odd and not set(options) & {"depth", "judged_only", "empty"}:
            report = found.per_query.xs("run", level="run")
            for query in report.index.get_level_values(0).unique():
                assert_query(query, qrels, run, names[0], report.loc[query].iloc[0])

    return Call(lambda: trec.evaluate(judged, runs, names, max_grade=2, **options), verify)


def assert_query(query, qrels, run, name, value):
    """The value of a query is that of its documents as arrays, in the order of trec_eval."""
    documents = sorted(DOCUMENTS, reverse=True)
    labels = [qrels.get((query, document), np.nan) for document in documents]
    scores = [run.get((query, document), -odd.INF) for document in documents]
    kept = [row for row, (y, s) in enumerate(zip(labels, scores, strict=True)) if y == y or s > -9]
    metric = skrank.metric(name, ties="stable", empty="nan")
    if name == "gap":
        metric = skrank.metric(metric, max_grade=2)
    expected = metric.per_query(np.array(labels)[kept], np.array(scores)[kept]).iloc[0]
    assert value == pytest.approx(expected, nan_ok=True)


def pair_of_runs(draw):
    """Two runs that share a query and differ."""
    first, second = run_of(draw), run_of(draw)
    query, document = next(iter(first))
    second[query, document] = first[query, document] + 0.5
    return {"one": nested(first), "two": nested(second)}


@case("trec.fuse")
def _(draw):
    runs = pair_of_runs(draw)
    given = {name: draw(st.just(run)) for name, run in runs.items()}
    options = draw.options(
        method=st.sampled_from(("rrf", "combsum", "combmed", "condorcet", "log_isr")),
        norm=st.sampled_from(("min_max", "zscore", "borda", None)), k=st.integers(0, 99),
        name=st.just("both"),
    )  # fmt: skip

    def verify(found):
        if not draw.is_odd:
            retrieved = {
                (query, one) for run in runs.values() for query, of in run.items() for one in of
            }
            pairs = zip(found.to_frame()["qid"], found.to_frame()["docid"], strict=True)
            assert set(pairs) == retrieved

    return Call(lambda: trec.fuse(given, **options), verify)


@case("trec.fuse linear")
def _(draw):
    qrels, runs = collection(draw)
    options = draw.options(
        metric=st.sampled_from(("ndcg@3", "gap(max_grade=2)")), n_splits=st.integers(2, 4),
        norm=st.sampled_from(("zscore", "reciprocal_rank")),
    ) | {"n_splits": draw(st.integers(2, 4))}  # fmt: skip

    def call():
        return trec.fuse(runs, "linear", qrels=qrels, **options)

    return Call(call, lambda found: sum(found.weights.values()) == pytest.approx(1))


@case("trec.run_lines")
def _(draw):
    rows = run_of(draw)
    run = draw(st.just(odd.outcome(lambda: trec.Run.from_arrays(
        *zip(*rows, strict=True), list(rows.values())))))  # fmt: skip

    def verify(found):
        if not draw.is_odd:
            assert trec.read_run(io.StringIO(found)).to_dict() == nested(rows)

    return Call(lambda: trec.run_lines(run), verify)


@case("trec.trec_eval_lines")
def _(draw):
    judged, run = map(nested, judged_run_of(draw))
    report = odd.outcome(lambda: trec.evaluate(judged, run, ["ap", "num_rel"]))
    given, options = draw(st.just(report)), draw.options(per_query=st.booleans())
    return Call(lambda: trec.trec_eval_lines(given, **options), lambda found: found.index("all"))


@case("trec.ir_measure")
def _(draw):
    name = draw.of("ap", "ndcg@2", "gap(max_grade=2)", "rr")
    qrels, run = map(nested, judged_run_of(draw))

    def call():
        measure = trec.ir_measure(name)
        return list(measure.iter_calc(qrels, run))

    return Call(call, lambda found: within(0, 1)([one.value for one in found]))


# LETOR --------------------------------------------------------------------------------------------


@case("datasets.load_letor")
def _(draw):
    lines = "2 qid:1 1:0.5 3:1 # doc\n0 qid:1 2:1e-3\n1 qid:03 1:-1\n"
    texts = {
        part: draw(st.just(lines.replace("qid:", f"qid:{number}").encode()), BYTES)
        for number, part in enumerate(("train", "vali", "test"))
    }
    texts = {part: text if isinstance(text, bytes) else b"" for part, text in texts.items()}
    options = draw.options(fold=st.just(1), dtype=st.sampled_from(("f4", "f8", float)))

    def call():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "Fold1").mkdir()
            for part, text in texts.items():
                (Path(folder) / "Fold1" / f"{part}.txt").write_bytes(text)
            found = datasets.load_letor(folder, **options)
            return found if options.get("fold") is not None else found.fold(1)

    def verify(found):
        assert all(np.isfinite(part.X).all() for part in found)
        if not draw.is_odd:
            assert found.train.relevance.tolist() == [2, 0, 1]
            assert found.train.X.tolist() == [[0.5, 0, 1], [0, pytest.approx(1e-3), 0], [-1, 0, 0]]

    return Call(call, verify)


@case("datasets.make_ranking")
def _(draw):
    n_queries, top = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    options = draw.options(
        n_docs=st.sampled_from((3, (1, 5))), n_features=st.integers(8, 10), noise=st.floats(0, 2),
        n_informative=st.integers(3, 8), empty_fraction=st.floats(0, 1),
        random_state=st.integers(0, 9),
    )  # fmt: skip

    def verify(found):
        assert len(np.unique(found.qid)) == n_queries
        assert np.isin(found.relevance, np.arange(top + 1)).all()
        assert found.X.shape == (len(found.qid), options.get("n_features", 20))

    return Call(lambda: datasets.make_ranking(n_queries, max_grade=top, **options), verify)


# studies ------------------------------------------------------------------------------------------


@case("incompleteness.reduce_judgments")
def _(draw):
    rows = qrels_of(draw)
    given, percent = draw(st.just(nested(rows))), draw(st.integers(1, 100))
    options = draw.options(
        random_state=st.integers(0, 9), strata=st.sampled_from(("relevance", "grade"))
    )

    def verify(found):
        if not draw.is_odd:
            kept = {key: one for key, part in found.to_dict().items() for one in part.items()}
            assert all(label in (rows[query, one], -1) for query, (one, label) in kept.items())

    return Call(lambda: incompleteness.reduce_judgments(given, percent, **options), verify)


def collection(draw, longest=12):
    """A pool with two runs that retrieve all of it."""
    random = np.random.default_rng(draw.size(0, 99))
    qid, docid = np.repeat(np.arange(4), longest), np.tile(np.arange(longest), 4)
    label = random.integers(0, 3, len(qid))
    runs = [
        trec.Run.from_arrays(qid, docid, label + random.normal(size=len(qid)), name=name)
        for name in ("a", "b")
    ]
    qrels = trec.Qrels.from_arrays(qid, docid, label)
    return draw(st.just(qrels)), draw(st.just(runs))


@case("incompleteness.robustness")
def _(draw):
    qrels, runs = collection(draw)
    options = draw.options(
        percents=st.just((100, 50)), n_repeats=st.integers(1, 2), random_state=st.integers(0, 9),
        alpha=st.sampled_from((0.05, 0.5)),
    )  # fmt: skip
    metrics = draw(st.just(["ap", "bpref"]))
    return Call(
        lambda: incompleteness.robustness(qrels, runs, metrics, n_resamples=20, **options),
        lambda found: within(-1, 1)(found.table["tau_b"]),
    )


STUDY = {"min_retrieved": st.just(1), "depth": st.sampled_from((None, 8)),
         "rel": st.sampled_from((None, [1.0], [1, 2]))}  # fmt: skip


@case("informativeness.study")
def _(draw):
    qrels, runs = collection(draw)
    metrics = draw.of("ap", ["gap", "precision@5"], ["ndcg"])
    options = draw.options(**STUDY) | {"min_retrieved": draw(st.just(1))}
    return Call(
        lambda: informativeness.study(qrels, runs, metrics, **options),
        lambda found: within(0, 1)(found.mean),
    )


@case("informativeness.select_thresholds")
def _(draw):
    qrels, runs = collection(draw)
    options = draw.options(**STUDY) | {"min_retrieved": draw(st.just(1))}
    candidates = draw(st.sampled_from(([(0.5, 0.5), (1, 0)], [(0, 1), (0.25, 0.75), (1, 0)])))
    return Call(
        lambda: informativeness.select_thresholds(qrels, runs, candidates, **options),
        lambda found: draw.is_odd or candidates.index(found.thresholds),
    )


@case("informativeness.maximum_entropy")
def _(draw):
    name = draw.of("gap", "ap", "ndcg", "precision@3", "dcg(gain=linear)", "q")
    labels = np.array([draw.pick(0, 1, 2) for _ in range(6)])
    labels[draw.size(0, 5)] = 2
    try:
        value = skrank.metric(name)(labels, -np.arange(6.0))
    except (TypeError, ValueError):
        value = 0.5
    counts = [int((labels == 1).sum()), int((labels == 2).sum())]
    value, retrieved = draw(st.just(value)), draw(st.just(counts))

    def verify(found):
        np.testing.assert_allclose(found.probabilities.sum(axis=1), 1)
        if not draw.is_odd and found.converged:
            assert found.expected == pytest.approx(value, abs=1e-4)
            np.testing.assert_allclose(found.probabilities[:, 1:].sum(axis=0), counts, atol=1e-3)

    return Call(
        lambda: informativeness.maximum_entropy(name, value, retrieved, draw(st.just(6))), verify
    )


@case("informativeness.threshold_grid")
def _(draw):
    grades, steps = draw(st.integers(1, 4)), draw(st.integers(1, 10))

    def verify(found):
        np.testing.assert_allclose(np.sum(found, axis=1), 1)
        assert len(set(found)) == len(found)

    return Call(lambda: informativeness.threshold_grid(grades, steps), verify)


@case("informativeness.thresholds_from_clicks")
def _(draw):
    size = draw.size(2, 6)
    grades = draw.vector(st.integers(0, 2), size, odd.labels)
    clicks = draw.vector(st.integers(1, 3), size, odd.labels)
    if not draw.is_odd:
        grades = [2, *odd.as_floats(grades)[1:]]

    def verify(found):
        if not draw.is_odd:
            given, counts = odd.as_floats(grades), odd.as_floats(clicks)
            expected = np.array([counts[given == grade].sum() for grade in (1, 2)])
            np.testing.assert_allclose(found, expected / expected.sum())

    return Call(lambda: informativeness.thresholds_from_clicks(grades, clicks), verify)


# splits -------------------------------------------------------------------------------------------


def drive_splitter(name, **usual):
    @case(f"model_selection.{name}")
    def _(draw):
        size = draw.size(10, 40)
        groups = draw(st.just(np.arange(size) % 7), odd.arrays(odd.ids, size))
        labels = draw(st.just(np.arange(size) % 3), odd.arrays(odd.labels, size))
        options = draw.options(**usual)

        def verify(found):
            for train, test in found:
                assert not {*np.asarray(groups)[train]} & {*np.asarray(groups)[test]}

        def call():
            cv = getattr(model_selection, name)(**options)
            return [part[:2] for part in cv.split(np.zeros((size, 1)), labels, groups)]

        return Call(call, (lambda found: None) if draw.is_odd else verify)


STRATA = st.sampled_from((None, "n_relevant", "max_grade", "size"))
FOLDS = {"stratify": STRATA, "n_splits": st.integers(3, 5)}
drive_splitter("QueryKFold", **FOLDS, drop_unjudged_test=st.booleans(), shuffle=st.booleans())
drive_splitter("RepeatedQueryKFold", **FOLDS, n_repeats=st.integers(1, 2))
drive_splitter("LETORFolds", **FOLDS, shuffle=st.booleans())
drive_splitter(
    "QueryShuffleSplit", **FOLDS, test_size=st.sampled_from((0.2, 2)), random_state=st.just(0)
)
drive_splitter(
    "QueryTimeSeriesSplit", n_splits=st.integers(2, 3), gap=st.integers(0, 1),
    max_train_size=st.integers(2, 5),
)  # fmt: skip


@case("model_selection.query_train_test_split")
def _(draw):
    groups = draw(st.just(np.arange(12) % 5), odd.arrays(odd.ids, 12))
    X = draw(st.just(np.arange(12.0)[:, None]))
    options = draw.options(
        test_size=st.sampled_from((0.2, 2)), valid_size=st.just(1), random_state=st.integers(0, 9)
    )

    def verify(found):
        if not draw.is_odd:
            assert sorted(np.concatenate(found).ravel()) == X.ravel().tolist()

    return Call(lambda: model_selection.query_train_test_split(X, groups=groups, **options), verify)


@case("model_selection.search_space")
def _(draw):
    import lightgbm
    import xgboost

    boosters = (lightgbm.LGBMRanker(), xgboost.XGBRanker(), skrank.LinearRanker())
    model = draw(st.sampled_from((*boosters, skrank.GroupedRanker(boosters[0]))))
    return Call(lambda: model_selection.search_space(model), lambda found: found.distributions)
