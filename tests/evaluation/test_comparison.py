"""Comparisons of systems: what is reported is what `skrank.stats` finds on values per query."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from skrank import stats
from skrank.datasets import make_ranking
from skrank.evaluation import Comparison, compare

METRICS = ["gap", "ndcg@10"]
COLUMNS = [
    "metric", "system", "other", "difference", "low", "high", "p_t", "p_randomisation", "p_holm",
    "significant", "effect_size", "wins", "ties", "losses", "queries",
]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    made = make_ranking(n_queries=40, random_state=1)
    random = np.random.default_rng(0)
    noise = random.normal(size=(3, len(made.qid)))
    made.systems = {"good": made.relevance + noise[0], "bad": noise[1], "fair": noise[2]}
    made.systems["fair"] += 0.5 * made.relevance
    return made


def compared(data, systems=None, **how):
    how = {"metrics": METRICS, "n_resamples": 500} | how
    return compare(systems or data.systems, data.relevance, groups=data.qid, **how)


def test_values_are_those_of_evaluate(data):
    found = compared(data)
    assert isinstance(found, Comparison)
    for name, scores in data.systems.items():
        report = skrank.evaluate(data.relevance, scores, groups=data.qid, metrics=METRICS)
        pd.testing.assert_series_equal(found.means.loc[name], report.mean, check_names=False)
        per_query = found.per_query.xs(name, axis=1, level="system")
        pd.testing.assert_frame_equal(per_query, report.per_query, check_names=False)


def test_statistics_are_those_of_stats(data):
    found = compared(data, test="t")
    table = found.to_frame()
    assert list(table.columns) == COLUMNS
    assert list(table["metric"]) == ["gap"] * 3 + ["ndcg@10"] * 3
    assert list(zip(table["system"], table["other"], strict=True)) == [
        ("good", "bad"), ("good", "fair"), ("bad", "fair"),
    ] * 2  # fmt: skip
    for name, rows in table.groupby("metric"):
        values = found.per_query[name]
        effects = stats.paired_effects(values, confidence=1 - 0.05 / 6)  # of six comparisons
        flips = stats.randomisation_test(values, n_resamples=500)
        assert_array_equal(rows["difference"], effects.difference)
        assert_array_equal(rows["low"], effects.low)
        assert_array_equal(rows["high"], effects.high)
        assert_array_equal(rows["effect_size"], effects.cohen_d)
        assert_array_equal(rows[["wins", "ties", "losses"]].sum(axis=1), rows["queries"])
        assert_array_equal(rows["queries"], effects.n_queries)
        assert_array_equal(rows["p_t"], stats.paired_t(values).p_value)
        assert_allclose(rows["p_randomisation"], flips.p_value, atol=1e-12)
    assert_array_equal(table["p_holm"], stats.holm(table["p_t"]))
    assert_array_equal(table["significant"], table["p_holm"] < 0.05)
    assert table["significant"].any()


def test_queries_without_relevant_documents_do_not_count(data):
    empty = int(skrank.evaluate(data.relevance, data.systems["bad"], groups=data.qid).empty["gap"])
    assert empty > 0
    assert (compared(data).to_frame()["queries"] == 40 - empty).all()
    found = compared(data, metrics=["gap(empty=0)"]).to_frame()
    assert (found["queries"] == 40).all()
    assert (found["ties"] >= empty).all()


def test_baseline(data):
    found = compared(data, baseline="fair", test="t")
    table, everything = found.to_frame(), compared(data).to_frame()
    assert found.baseline == "fair"
    assert list(table["system"]) == ["good", "bad"] * 2
    assert set(table["other"]) == {"fair"}
    chosen = everything[everything["other"] == "fair"]
    assert_array_equal(table["p_t"], chosen["p_t"])
    assert_array_equal(table["p_holm"], stats.holm(table["p_t"]))  # over fewer comparisons


def test_choice_of_the_test(data):
    table = compared(data, test="randomisation").to_frame()
    assert_array_equal(table["p_holm"], stats.holm(table["p_randomisation"]))
    assert table["p_randomisation"].min() >= 1 / 501


def test_alpha(data):
    strict, loose = (compared(data, alpha=alpha, test="t").to_frame() for alpha in (0.001, 0.2))
    assert ((strict["high"] - strict["low"]) > (loose["high"] - loose["low"])).all()
    assert strict["significant"].sum() <= loose["significant"].sum()
    assert_array_equal(strict["p_holm"], loose["p_holm"])


def test_a_system_against_itself(data):
    same = {"a": data.systems["good"], "b": data.systems["good"].copy()}
    row = compared(data, same, metrics="gap").to_frame().iloc[0]
    assert (row["difference"], row["p_t"], row["p_randomisation"], row["effect_size"]) == (
        0,
        1,
        1,
        0,
    )
    assert row["ties"] == row["queries"]


def test_groups_on_the_index_and_rows_in_any_order(data):
    order = np.random.default_rng(0).permutation(len(data.qid))
    y = skrank.with_groups(data.relevance[order], data.qid[order])
    found = compare(
        {name: scores[order] for name, scores in data.systems.items()}, y, metrics=METRICS
    )
    pd.testing.assert_frame_equal(
        found.per_query.sort_index(), compared(data).per_query.sort_index()
    )


def test_seed(data):
    near = {"a": data.systems["bad"], "b": data.X[:, 0]}
    first, again, other = (
        compared(data, near, random_state=seed).to_frame()["p_randomisation"] for seed in (0, 0, 1)
    )
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_table_is_a_copy(data):
    found = compared(data)
    table = found.to_frame()
    table["p_t"] = -1
    assert (found.to_frame()["p_t"] >= 0).all()


def test_repr(data):
    found = compared(data, test="t", sample_weight=1 + data.qid % 2, random_state=7)
    text, html = repr(found), found._repr_html_()
    n_significant = found.to_frame()["significant"].sum()
    n_counted = 40 - skrank.evaluate(data.relevance, data.X[:, 0], groups=data.qid).empty["gap"]
    assert n_counted < 40
    for part in (
        f"3 systems on {n_counted} of 40 queries, weighted: 6 comparison(s) by paired t-test",
        "random_state=7",
        f"{n_significant} significant at 0.05, corrected by Holm's method; intervals hold together",
        "p_holm",
        "ndcg@10",
    ):
        assert part in text
        assert part in html
    assert f"{found.means.loc['good', 'gap']:.4f}" in text
    assert html.count("<table") == 2


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"systems": {"good": [1.0]}}, "at least two names"),
        ({"systems": [[1.0], [2.0]]}, "must be a mapping"),
        ({"baseline": "god"}, "unknown baseline 'god': did you mean 'good'"),
        ({"test": "z"}, "test='z' is not a choice"),
        ({"alpha": 5}, "alpha=5 must be"),
        ({"n_resamples": 0}, "n_resamples=0 must be at least 1"),
        ({"metrics": []}, "metrics is empty"),
        ({"metrics": ["gap", "gap"]}, "given twice"),
        ({"groups": None}, "compare needs the query of each row"),
    ],
)
def test_errors(data, how, message):
    how = {"systems": data.systems, "groups": data.qid, "metrics": METRICS} | how
    with pytest.raises(ValueError, match=message):
        compare(relevance=data.relevance, **how)


def test_errors_name_the_system(data):
    systems = data.systems | {"fair": np.where(np.arange(len(data.qid)) == 5, np.nan, 0.0)}
    with pytest.raises(ValueError, match="system 'fair': score of row 5 is nan"):
        compared(data, systems)
    with pytest.raises(ValueError, match="system 'fair': scores has 3 rows"):
        compared(data, data.systems | {"fair": np.zeros(3)})


def test_a_metric_without_queries():
    with pytest.raises(ValueError, match=r"gap is defined on 1 of 2 queries for system 'a'"):
        compare({"a": [1, 2, 3], "b": [2, 1, 3]}, [1, 0, 0], groups=["p", "q", "q"], metrics="gap")


def test_wins_follow_the_direction_of_the_metric():
    relevance = skrank.with_groups([1, 0] * 4, np.repeat(range(4), 2))
    good, bad = [2, 1] * 4, [1, 2] * 4
    found = skrank.compare({"good": good, "bad": bad}, relevance, metrics=["p@1", "error@1"])
    table = found.to_frame().set_index("metric")
    assert table["wins"].tolist() == [4, 4]
    assert table["losses"].tolist() == [0, 0]
    assert np.sign(table["difference"]).tolist() == [1, -1]


def test_numbers_of_queries_that_differ_are_shown_as_a_range(data):
    report = repr(compared(data, metrics=["gap", "gap(empty=0)"]))
    n_counted = 40 - skrank.evaluate(data.relevance, data.X[:, 0], groups=data.qid).empty["gap"]
    assert f"3 systems on {n_counted} to 40 of 40 queries: 6 comparison(s)" in report
    assert "weighted" not in report


def test_the_default_is_the_test_by_resampling(data):
    found = compared(data)
    assert (found.test, found.correction) == ("resampled-t", "max-t")
    expected = stats.max_t(found.per_query["gap"], n_resamples=500)
    alone = compared(data, metrics="gap").to_frame()
    assert_array_equal(alone["p_max_t"], expected.p_value)
    assert_array_equal(alone[["low", "high"]].T, [expected.low, expected.high])
    assert compared(data, test="t").correction == "holm"


@pytest.mark.parametrize("correction", ["holm", "none"])
def test_resampling_without_max_t(data, correction):
    found = compared(data, metrics="gap", correction=correction)
    table, alpha = found.to_frame(), 0.05 / 3 if correction == "holm" else 0.05
    expected = stats.max_t(found.per_query, adjust=False, alpha=alpha, n_resamples=500)
    assert_array_equal(table["p_resampled_t"], expected.p_value)
    assert_array_equal(table[["low", "high"]].T, [expected.low, expected.high])
    if correction == "holm":
        assert_array_equal(table["p_holm"], stats.holm(expected.p_value))


class TestAnytime:
    def test_covers_at_every_look(self):
        """20 pairs without a difference, looked at after each tenth query."""
        random, wrong = np.random.default_rng(0), 0
        relevance = (random.random((60, 8)) < 0.4).astype(float)
        relevance[:, 0] = 1
        qid = np.repeat(np.arange(60), 8)
        for _ in range(20):
            systems = dict(zip("ab", random.normal(size=(2, 60, 8)), strict=True))
            looks = [
                compare(
                    {name: scores[:n].ravel() for name, scores in systems.items()},
                    relevance[:n].ravel(), groups=qid[: 8 * n], metrics="ap", test="anytime",
                    n_resamples=10,
                ).to_frame().iloc[0]
                for n in range(10, 61, 10)
            ]  # fmt: skip
            wrong += any(look["p_anytime"] < 0.05 for look in looks)
            widths = [look["high"] - look["low"] for look in looks]
            assert (np.diff(widths) <= 1e-9).all()
        assert wrong <= 2

    def test_finds_a_clear_difference(self, data):
        found = compared(data, test="anytime", metrics="ndcg@10")
        table = found.to_frame().set_index(["system", "other"])
        row = table.loc[("good", "bad")]
        assert row["p_anytime"] < 0.05
        assert row["significant"]
        assert row["low"] > 0
        assert found.correction == "holm"

    def test_errors(self, data):
        with pytest.raises(ValueError, match="needs values between 0 and 1, and those of dcg"):
            compared(data, metrics="dcg", test="anytime")
        with pytest.raises(ValueError, match="takes no sample_weight"):
            compared(data, test="anytime", sample_weight=1 + data.qid % 2)
