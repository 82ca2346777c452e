"""Comparisons of systems: what is reported is what `skrank.stats` finds on values per query."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_validate

import skrank
from skrank import compare, compare_cv, stats
from skrank.datasets import make_ranking
from skrank.evaluation import Comparison

METRICS = ["gap", "ndcg@10"]
COLUMNS = [
    "metric", "system", "other", "difference", "low", "high", "p_corrected",
    "p_uncorrected", "significant", "effect_size", "wins", "ties", "losses", "queries",
]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    made = make_ranking(n_queries=40, random_state=1)
    noise = np.random.default_rng(0).normal(size=(8, len(made.qid)))
    y = made.relevance
    made.noise = noise
    made.systems = {"good": y + noise[0], "bad": noise[1], "fair": 0.5 * y + noise[2]}
    trained = np.outer([0.2, 0.4, 0.8, 1.0], y)  # seeds of different quality
    made.seeds = {"new": (trained + noise[:4]).T, "old": (0.3 * y + noise[4:7]).T, "one": noise[7]}
    made.n_counted = 40 - skrank.evaluate(y, noise[1], groups=made.qid).empty["gap"]
    assert made.n_counted < 40
    return made


def compared(data, systems=None, **how):
    how = {"groups": data.qid, "metrics": METRICS, "n_resamples": 500} | how
    return compare(data.relevance, data.systems if systems is None else systems, **how)


@pytest.mark.parametrize("weight", [None, np.random.default_rng(0).integers(0, 4, 40) * 1.0])
def test_values_are_those_of_evaluate_and_statistics_those_of_stats(data, weight):
    of_rows = None if weight is None else weight[data.qid]
    found = compared(data, test="t", sample_weight=of_rows)
    assert isinstance(found, Comparison)
    how = {"groups": data.qid, "metrics": METRICS, "sample_weight": of_rows}
    for name, scores in data.systems.items():
        report = skrank.evaluate(data.relevance, scores, **how)
        assert_array_equal(found.means.loc[name], report.averages[0])
        per_query = found.per_query.xs(name, axis=1, level="system")
        assert_array_equal(per_query, report.values[0])
    table = found.to_frame()
    swapped = compared(data, test="randomisation", sample_weight=of_rows).to_frame()
    assert list(table.columns) == COLUMNS
    assert list(table["metric"]) == ["gap"] * 3 + ["ndcg@10"] * 3
    pairs = [("good", "bad"), ("good", "fair"), ("bad", "fair")]
    assert list(zip(table["system"], table["other"], strict=True)) == pairs * 2
    for name, rows in table.groupby("metric"):
        values = found.per_query[name]
        how = {"weights": weight}
        paired = stats.paired_t(values, confidence=1 - 0.05 / 6, **how)  # six comparisons
        flips = stats.randomisation_test(values, n_resamples=500, **how)
        for column in ("difference", "low", "high"):
            assert_allclose(rows[column], getattr(paired, column), rtol=1e-12)
            assert_allclose(swapped.loc[rows.index, column], rows[column], rtol=1e-12)
        z = np.transpose([values[a] - values[b] for a, b in pairs])
        z = z[~np.isnan(z[:, 0])]
        for column, sign in (("wins", 1), ("ties", 0), ("losses", -1)):
            counted = z if weight is None else z[weight[~values["good"].isna()] > 0]
            assert_array_equal(rows[column], (np.sign(counted) == sign).sum(axis=0))
        if weight is None:
            assert_allclose(rows["effect_size"], z.mean(axis=0) / z.std(axis=0, ddof=1))
        assert_array_equal(rows[["wins", "ties", "losses"]].sum(axis=1), rows["queries"])
        assert_array_equal(rows["queries"], paired.n_queries)
        assert_allclose(rows["p_uncorrected"], paired.p_value, rtol=1e-10)
        assert_allclose(swapped.loc[rows.index, "p_uncorrected"], flips.p_value, atol=1e-12)
    for each in (table, swapped):
        assert_array_equal(each["p_corrected"], stats.holm(each["p_uncorrected"]))
        assert_array_equal(each["significant"], each["p_corrected"] < 0.05)
    assert table["significant"].any()
    excludes_zero = (table["low"] > 0) | (table["high"] < 0)
    assert table["significant"][excludes_zero].all()  # what Bonferroni finds, Holm finds


def test_baseline(data):
    found = compared(data, baseline="fair", test="t")
    table, everything = found.to_frame(), compared(data).to_frame()
    assert list(table["system"]) == ["good", "bad"] * 2
    chosen = everything[everything["other"] == "fair"]
    assert_array_equal(table["p_uncorrected"], chosen["p_uncorrected"])
    assert_array_equal(table["p_corrected"], stats.holm(table["p_uncorrected"]))  # of fewer
    pairs = compared(data, baseline=["fair", "bad"]).to_frame()[["system", "other"]]
    assert pairs.to_numpy().tolist() == [["good", "fair"], ["good", "bad"]] * 2
    reports = skrank.evaluate(data.relevance, data.systems, groups=data.qid, metrics=METRICS)
    again = reports.compare(baseline="fair", test="t", n_resamples=500)
    pd.testing.assert_frame_equal(again.to_frame(), table)
    assert reports.compare(["gap"], n_resamples=500).means.columns.tolist() == ["gap"]


@pytest.mark.parametrize("confidence", [0.99, 0.8])
def test_the_default_is_the_max_t_test(data, confidence):
    graded = {i: 0.1 * i * data.relevance + one for i, one in enumerate(data.noise[:5])}
    found = compared(data, graded, metrics="gap", confidence=confidence)
    expected = stats.max_t(found.per_query, confidence=confidence, n_resamples=500)
    table = found.to_frame()
    assert found.test == "max-t"
    assert_array_equal(table["p_corrected"], expected.p_value)
    assert_array_equal(table["p_uncorrected"], stats.paired_t(found.per_query).p_value)
    assert_array_equal(table[["low", "high"]].T, [expected.low, expected.high])
    assert_array_equal(table["significant"], expected.p_value < round(1 - confidence, 9))
    assert 0 < table["significant"].sum() < len(table)


def test_wins_follow_the_direction_of_the_metric():
    relevance = skrank.with_groups([1, 0] * 4, np.repeat(range(4), 2))
    found = compare(relevance, {"good": [2, 1] * 4, "bad": [1, 2] * 4}, metrics=["p@1", "error@1"])
    table = found.to_frame().set_index("metric")
    assert table["wins"].tolist() == [4, 4]
    assert table["losses"].tolist() == [0, 0]
    assert np.sign(table["difference"]).tolist() == [1, -1]


class TestSeeds:
    def test_the_test_literally(self, data):
        found = compared(data, data.seeds, metrics="ap")
        ap, by_seed = skrank.metric("ap"), {}
        for name, scores in data.seeds.items():
            seeds = np.atleast_2d(scores.T)
            values = [ap.per_query(data.relevance, one, groups=data.qid) for one in seeds]
            by_seed[name] = np.column_stack(values)
            assert_allclose(found.per_query["ap", name], by_seed[name].mean(axis=1))
            assert found.means.loc[name, "ap"] == pytest.approx(np.nanmean(by_seed[name]))
        kept = ~np.isnan(by_seed["one"][:, 0])
        new, old = by_seed["new"][kept], by_seed["old"][kept]
        z = new.mean(axis=1) - old.mean(axis=1)
        n = len(z)
        variance = z.var(ddof=1) / n
        squares = variance**2 / (n - 1)
        for values in (new, old):
            r = values.shape[1]
            total = values.mean(axis=0).var(ddof=1) / r
            rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
            variance += max(0, total - (rest**2).sum() / ((n - 1) * (r - 1)) / n / r)
            squares += total**2 / (r - 1)
        assert variance > z.var(ddof=1) / n
        freedom = variance**2 / squares
        row = found.to_frame().set_index(["system", "other"]).loc[("new", "old")]
        assert row["difference"] == pytest.approx(z.mean())
        t = z.mean() / np.sqrt(variance)
        assert row["p_uncorrected"] == pytest.approx(2 * scipy.stats.t.sf(abs(t), freedom))
        half = scipy.stats.t.isf(0.025 / 3, freedom) * np.sqrt(variance)
        assert row["high"] - row["low"] == pytest.approx(2 * half)

    def test_one_seed_each_is_the_paired_t_test(self, data):
        single = {name: scores[:, :1] for name, scores in data.seeds.items() if name != "one"}
        expected = compared(data, single, test="t").to_frame()["p_uncorrected"]
        twice = {name: np.repeat(scores, 2, axis=1) for name, scores in single.items()}
        assert_allclose(compared(data, twice).to_frame()["p_uncorrected"], expected)
        named = {(name, 1): scores for name, scores in twice.items()}
        assert list(compared(data, named).means.index) == list(named)

        weighted = compared(data, data.seeds, sample_weight=np.full(len(data.qid), 3.0)).to_frame()
        columns = ["p_uncorrected", "low"]
        assert_allclose(weighted[columns], compared(data, data.seeds).to_frame()[columns])


@pytest.fixture(scope="module")
def regression():
    random = np.random.default_rng(0)
    x = random.normal(size=(120, 6))
    return x, x[:, 0] + random.normal(size=120)


class TestFolds:
    @pytest.mark.parametrize("test_share", [None, 0.5])
    def test_cross_validate_literally(self, regression, test_share):
        scoring = ["r2", "neg_mean_absolute_error"]
        results = {
            str(alpha): cross_validate(Ridge(alpha), *regression, cv=8, scoring=scoring)
            for alpha in (1, 500)
        }
        found = compare_cv(results, test_share=test_share)
        table = found.to_frame().set_index("metric")
        ratio = 1 / 7 if test_share is None else 1
        for name in scoring:
            z = results["1"][f"test_{name}"] - results["500"][f"test_{name}"]
            error = np.sqrt(z.var(ddof=1) * (1 / 8 + ratio))
            p = 2 * scipy.stats.t.sf(abs(z.mean() / error), 7)
            assert table.loc[name, "p_uncorrected"] == pytest.approx(p)
            assert table.loc[name, "wins"] == (z > 0).sum()
            half = scipy.stats.t.isf(0.025 / 2, 7) * error
            assert table.loc[name, "low"] == pytest.approx(z.mean() - half)
        assert_allclose(found.means.loc["1", "r2"], results["1"]["test_r2"].mean())

    def test_a_search_is_its_candidates(self, regression):
        search = GridSearchCV(Ridge(), {"alpha": [1, 500, 5000]}, cv=5).fit(*regression)
        found = compare_cv(search, baseline="alpha=1")
        assert list(found.means.index) == ["alpha=1", "alpha=500", "alpha=5000"]
        assert_allclose(found.means["score"], search.cv_results_["mean_test_score"])
        splits = [search.cv_results_[f"split{k}_test_score"] for k in range(5)]
        scores = dict(zip(found.means.index, np.transpose(splits), strict=True))
        again = compare_cv(scores, baseline="alpha=1")
        pd.testing.assert_frame_equal(again.to_frame(), found.to_frame())
        assert "random_state" not in repr(found)
        caption = compare_cv({("a", 1): [0.1, 0.2, np.nan], ("b", 1): [1, 2, 3]}).caption
        assert "over the folds of each system" in caption


TWO = {"good": [1, 2, 3], "bad": [2, 1, 3]}
SEEDS = {"good": [[1, 2], [2, 3], [3, 4]], "bad": [2, 1, 3]}
DOCS = {"relevance": [1, 0, 1], "groups": ["p", "q", "q"], "metrics": "gap"}


@pytest.mark.parametrize(
    ("systems", "how", "named"),
    [
        ({"good": [1.0]}, DOCS, "systems"),
        ([1, 0, 1], DOCS | {"relevance": TWO}, "labels first"),
        (TWO | {"more": [0, np.nan, 1]}, DOCS, "'more'.*row 1"),
        (TWO | {"more": [1, 2]}, DOCS, "system 'more'"),
        *((TWO, DOCS | {"baseline": one}, "baseline") for one in
          ("god", ["good", "god"], ["good", "bad"], [])),
        *((TWO, DOCS | {name: value}, f"{name}='?{value}") for name, value in
          {"test": "z", "confidence": 5, "n_resamples": 0}.items()),
        (SEEDS, DOCS | {"test": "randomisation"}, "test='randomisation'"),
        (SEEDS | {"bad": np.empty((3, 0))}, DOCS, "system 'bad'"),
        (TWO, DOCS | {"groups": None}, "compare"),
        (TWO, DOCS | {"relevance": [1, 0, 0]}, "system 'good'"),
    ],
)  # fmt: skip
def test_errors(systems, how, named):
    with pytest.raises(ValueError, match=named):
        compare(systems=systems, **how)


@pytest.mark.parametrize(
    ("results", "how", "named"),
    [
        ({"good": [0.1, 0.2]}, {}, "systems"),
        ([[1.0], [2.0]], {}, "results"),
        ({"fit_time": [1.0, 2.0], "test_score": [0.1, 0.2]}, {}, "results"),
        (TWO | {"more": [0.1, 0.2]}, {}, "folds"),
        ({"a": {"test_ap": [0.1]}, "b": {"test_r2": [0.1]}}, {}, "system 'b'"),
        ({"a": [[0.1, 0.2]], "b": [[0.1, 0.3]]}, {}, "system 'a'"),
        (TWO, {"test_share": 1}, "test_share=1"),
        ({"a": [0.1, np.nan], "b": [0.1, 0.2]}, {}, "1 of 2 folds for system 'a'"),
    ],
)
def test_errors_of_folds(results, how, named):
    with pytest.raises(ValueError, match=named):
        compare_cv(results, **how)


def test_means_of_comparisons_agree_with_their_differences():
    """A geometric mean, a sum and a mean of all queries together are no mean over queries."""
    values = np.random.default_rng(0).integers(0, 4, (9, 7))
    scores = {name: np.random.default_rng(name).normal(size=63) for name in (1, 2)}
    metrics = ["ap", "trec_eval:gm_map", "trec_eval:num_rel", "precision(average=micro)@3"]
    groups = np.repeat(np.arange(9), 7)
    found = skrank.compare(values.ravel(), scores, groups=groups, metrics=metrics)
    gap = found.means.loc[1] - found.means.loc[2]
    np.testing.assert_allclose(gap, found.to_frame()["difference"], atol=1e-15)
    assert f"{', '.join(metrics[1:])}: arithmetic means" in found.caption


def test_means_over_other_queries_than_differences_are_noted():
    qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(4)}
    run = {qid: {"a": 0.2, "b": 0.1 * i} for i, qid in enumerate(qrels)}
    part = dict(list(run.items())[1:])
    for second, noted in ((part, True), (run, False)):
        report = skrank.trec.evaluate(qrels, {"a": run, "b": second}, ["ap"], missing="skip")
        assert ("means are over the queries of each system" in report.compare().caption) == noted
