"""Corrections for many comparisons, and the intervals that go with them; weights of queries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from skrank import stats
from skrank.datasets import make_ranking


@pytest.fixture(scope="module")
def data():
    made = make_ranking(n_queries=40, random_state=1)
    noise = np.random.default_rng(0).normal(size=(5, len(made.qid)))
    made.systems = {str(i): 0.1 * i * made.relevance + noise[i] for i in range(5)}
    return made


def compared(data, metrics=("gap", "ndcg@10"), **how):
    return skrank.compare(
        data.systems, data.relevance, groups=data.qid, metrics=metrics, n_resamples=500, **how
    )


def excludes_zero(table):
    return ((table["low"] > 0) | (table["high"] < 0)).to_numpy()


def test_intervals_of_holm_are_simultaneous(data):
    table = compared(data, test="t").to_frame()
    values = compared(data).per_query["gap"]
    effects = stats.paired_effects(values, confidence=1 - 0.05 / len(table))
    assert len(table) == 20
    assert_allclose(table["low"][:10], effects.low)
    # what Bonferroni finds, Holm finds
    assert not (excludes_zero(table) & ~table["significant"]).any()


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_intervals_of_max_t_agree_with_its_p_values(data, alpha):
    found = compared(data, correction="max-t", alpha=alpha)
    table = found.to_frame()
    assert "p_holm" not in table
    significant = table["significant"].to_numpy()
    assert 0 < significant.sum() < len(table)
    assert_array_equal(significant, table["p_max_t"] < alpha)
    assert_array_equal(excludes_zero(table), significant)
    assert f"intervals hold together at {100 * (1 - alpha):g} %" in repr(found)


def test_without_correction_each_comparison_stands_alone(data):
    for test in ("t", "randomisation"):
        found = compared(data, correction="none", test=test)
        table = found.to_frame()
        assert_array_equal(table["significant"], table[f"p_{test}"] < 0.05)
        assert "each interval holds by itself at 95 %" in repr(found)
    assert_array_equal(excludes_zero(table), table["p_t"] < 0.05)
    assert set(table.columns).isdisjoint({"p_holm", "p_max_t"})


def test_choices(data):
    with pytest.raises(ValueError, match="correction='fdr' is not a choice"):
        compared(data, correction="fdr")
    with pytest.raises(ValueError, match='"max-t" is a t-test'):
        compared(data, correction="max-t", test="randomisation")


def test_weights_of_queries(data):
    weight = np.random.default_rng(0).integers(0, 4, 40).astype(float)
    found = compared(data, sample_weight=weight[data.qid])
    for name, scores in data.systems.items():
        report = skrank.evaluate(
            data.relevance, scores, groups=data.qid, metrics=["gap"], sample_weight=weight[data.qid]
        )
        assert found.means.loc[name, "gap"] == pytest.approx(report.mean["gap"])
    table = found.to_frame()
    expected = stats.paired_t(found.per_query["gap"], weights=weight)
    assert_allclose(table["p_t"][:10], expected.p_value)
    assert_allclose(table["difference"][:10], expected.difference)
    means = found.means["gap"]
    assert_allclose(table["difference"][0], means.iloc[0] - means.iloc[1])


class TestOneDocumentPerQuery:
    """Ids of documents given for ids of queries would make every ranker perfect."""

    LABELS, SCORES, IDS = [1, 1, 2], [3.0, 2.0, 1.0], ["a", "b", "c"]

    def test_evaluate_warns(self):
        with pytest.warns(UserWarning, match="each of the 3 queries has one document") as caught:
            report = skrank.evaluate(self.LABELS, self.SCORES, groups=self.IDS, metrics="ndcg")
        assert report.mean["ndcg"] == 1
        assert caught[0].filename == __file__

    def test_compare_warns(self):
        systems = {"x": self.SCORES, "y": self.SCORES[::-1]}
        with pytest.warns(UserWarning, match="each of the 3 queries has one document") as caught:
            skrank.compare(systems, self.LABELS, groups=self.IDS, metrics="ndcg")
        assert caught[0].filename == __file__

    def test_one_row_is_no_reason(self):
        assert skrank.evaluate([1], [1.0], groups=["a"], metrics="ndcg").mean["ndcg"] == 1
