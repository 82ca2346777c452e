"""Judgments are reduced as the papers say, and systems measured anew as from files."""

import numpy as np
import pandas as pd
import pytest

from skrank import stats, trec
from skrank.incompleteness import reduce_judgments, robustness
from tests.helpers.informativeness_cases import made

PERCENTS = (100, 90, 70, 50, 29, 10, 1)


def qrels_of(labels):
    rows = [(q, f"d{i}", x) for q, some in labels.items() for i, x in enumerate(some)]
    return trec.Qrels.from_arrays(*zip(*rows, strict=True))


def judged(qrels):
    frame = qrels.to_frame().dropna()
    return {(row.qid, row.docid): row.label for row in frame.itertuples()}


@pytest.fixture
def qrels():
    """Queries of many sizes, with unjudged documents in the pool."""
    random = np.random.default_rng(0)
    sizes = {f"q{i}": size for i, size in enumerate([1, 9, 10, 11, 12, 40, 99, 100, 101, 313])}
    labels = {q: random.choice([0, 0, 0, 1, 1, 2, 3, np.nan], size) for q, size in sizes.items()}
    return qrels_of(labels | {"none": [0] * 100, "all": [2] * 30, "unjudged": [np.nan] * 3})


@pytest.mark.parametrize("percent", PERCENTS)
def test_counts_of_every_stratum(qrels, percent):
    def counts(judgments):
        frame = judgments.to_frame().dropna()
        return frame.groupby(["qid", frame["label"] > 0]).size()

    kept = counts(reduce_judgments(qrels, percent))
    for (qid, kind), n in counts(qrels).items():
        assert kept[qid, kind] == min(n, max(1 if kind > 0 else 10, n * percent // 100))


@pytest.mark.parametrize("seed", [0, 1, 2**70])
def test_nested(qrels, seed):
    larger = judged(qrels)
    for percent in PERCENTS:
        smaller = judged(reduce_judgments(qrels, percent, seed))
        assert smaller.items() <= larger.items()
        larger = smaller


def test_documents_that_are_not_kept_stay_in_the_pool(qrels):
    whole = qrels.to_frame()
    pd.testing.assert_frame_equal(reduce_judgments(qrels, 100, 3).to_frame(), whole)
    reduced = reduce_judgments(qrels, 10).to_frame()
    expected = whole.assign(label=whole["label"].where(reduced["label"].notna()))
    pd.testing.assert_frame_equal(reduced, expected)
    pd.testing.assert_frame_equal(qrels.to_frame(), whole)  # the given judgments do not change


def test_every_document_has_the_same_chance_and_is_drawn_anew_in_each_query():
    labels = [1] * 20 + [0] * 100
    qrels = qrels_of({"a": labels, "b": labels})
    kept = [~np.isnan(reduce_judgments(qrels, 20, seed).labels) for seed in range(500)]
    # 500 draws of chance 0.2: mean 100, standard deviation 8.9
    assert abs(sum(kept) - 100).max() < 4 * 8.95
    assert np.std(sum(kept)) > 5
    assert (kept[0][:120] != kept[0][120:]).any()


# the study


def collection(n_runs=6, n_queries=8):
    """Judgments of 70 % of the documents, and runs of different noise."""
    noises = [0.8 + 0.2 * r for r in range(n_runs)]
    return made(n_queries, 60, noises=noises, unjudged=0.3)[:2]


def test_is_what_files_of_fewer_judgments_give():
    """AP correlation weighs the systems at the better end, also if lower values are better."""
    qrels, runs = collection()
    bootstrap = {"n_resamples": 100, "confidence": 0.9, "random_state": 3}
    metrics = ["gap", "ap(condensed=True)", "infap", "error@10"]
    found = robustness(qrels, runs, metrics, [100, 10], n_repeats=2, **bootstrap)
    truth = trec.evaluate(qrels, runs, metrics, max_grade=2).mean
    assert len(found.table) == len(metrics) * 3
    means = found.means.set_index(["metric", "percent", "repeat"])
    counts = found.judgments.set_index(["percent", "repeat"])
    reports = {}
    for percent, repeat in set(zip(found.table["percent"], found.table["repeat"], strict=True)):
        reduced = reduce_judgments(qrels, percent, 3 + repeat)
        reports[percent, repeat] = trec.evaluate(reduced, runs, metrics, max_grade=2)
        labels = reduced.labels[~np.isnan(reduced.labels)]
        assert counts.loc[(percent, repeat)].tolist() == [(labels > 0).sum(), (labels == 0).sum()]
    for row in found.table.itertuples():
        report = reports[row.percent, row.repeat]
        mean, sign = report.mean[row.metric], -1 if row.metric == "error@10" else 1
        values = report.per_query[row.metric].unstack("system", sort=False).to_numpy()
        power = stats.discriminative_power(values, **bootstrap)
        assert (row.power, row.required_difference) == (power.power, power.required_difference)
        assert row.mean == pytest.approx(mean.mean(), rel=1e-12)
        assert row.tau_b == stats.tau_b(truth[row.metric], mean)
        assert row.tau_ap == stats.tau_ap(sign * truth[row.metric], sign * mean, ties="b")
        assert row.queries == 8
        here = means.loc[(row.metric, row.percent, row.repeat)]
        assert here["run"].tolist() == [run.name for run in runs]
        np.testing.assert_allclose(here["mean"], mean, rtol=1e-12)


def test_wrong_options(qrels):
    for options in ({"percent": 0}, {"percent": 50.0}):
        with pytest.raises(ValueError, match=f"{[*options][-1]}="):
            reduce_judgments(qrels, **options)
    pool, runs = collection(2, 3)
    for options, message in [
        ({"runs": runs[:1]}, "needs at least 2"),
        ({"percents": [50, 0]}, "percents=0"),
        ({"percents": [50, 50]}, "percents"),
        ({"qrels": {"0": {"0": 1, "1": 0}}, "confidence": 2}, "confidence=2"),
    ]:
        with pytest.raises(ValueError, match=message):
            robustness(**{"qrels": pool, "runs": runs} | options)
