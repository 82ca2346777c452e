"""Comparisons of trained rankers: several seeds per system, and folds of a cross-validation."""

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_validate

import skrank
from skrank import compare
from skrank.datasets import make_ranking


@pytest.fixture(scope="module")
def data():
    made = make_ranking(n_queries=40, random_state=1)
    noise = np.random.default_rng(0).normal(size=(8, len(made.qid)))
    made.systems = {
        "new": (0.6 * made.relevance + noise[:4]).T,
        "old": (0.3 * made.relevance + noise[4:7]).T,
        "fixed": noise[7],
    }
    return made


def compared(data, **how):
    return compare(data.systems, data.relevance, groups=data.qid, metrics="ap", **how)


class TestSeeds:
    def test_values_are_means_over_seeds(self, data):
        found = compared(data)
        for name, scores in data.systems.items():
            reports = [
                skrank.evaluate(data.relevance, one, groups=data.qid, metrics="ap")
                for one in np.atleast_2d(scores.T)
            ]
            values = np.mean([report.per_query["ap"] for report in reports], axis=0)
            assert_allclose(found.per_query["ap", name], values)
            assert found.means.loc[name, "ap"] == pytest.approx(
                np.mean([report.mean["ap"] for report in reports])
            )
        assert "by t-test over queries and seeds" in repr(found)
        assert (found.test, found.correction) == ("t", "holm")
        assert "p_randomisation" not in found.to_frame()

    def test_the_test_literally(self, data):
        y, systems = data.relevance, data.systems
        by_seed = [
            np.column_stack([
                skrank.evaluate(y, one, groups=data.qid, metrics="ap").per_query["ap"].dropna()
                for one in np.atleast_2d(systems[name].T)
            ])
            for name in ("new", "old")
        ]  # fmt: skip
        z = by_seed[0].mean(axis=1) - by_seed[1].mean(axis=1)
        n = len(z)
        variance = z.var(ddof=1) / n
        squares = variance**2 / (n - 1)
        for values in by_seed:
            r = values.shape[1]
            total = values.mean(axis=0).var(ddof=1) / r
            rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
            variance += max(0, total - (rest**2).sum() / ((n - 1) * (r - 1)) / n / r)
            squares += total**2 / (r - 1)
        freedom = variance**2 / squares
        table = compared(data, correction="none").to_frame().set_index(["system", "other"])
        row = table.loc[("new", "old")]
        assert row["difference"] == pytest.approx(z.mean())
        t = z.mean() / np.sqrt(variance)
        assert row["p_t"] == pytest.approx(2 * scipy.stats.t.sf(abs(t), freedom))
        half = scipy.stats.t.isf(0.025, freedom) * np.sqrt(variance)
        assert row["high"] - row["low"] == pytest.approx(2 * half)

    def test_one_seed_each_is_the_paired_t_test(self, data):
        single = {name: scores[:, :1] for name, scores in data.systems.items() if name != "fixed"}
        expected = compare(single, data.relevance, groups=data.qid, metrics="ap", test="t")
        twice = {name: np.repeat(scores, 2, axis=1) for name, scores in single.items()}
        found = compare(twice, data.relevance, groups=data.qid, metrics="ap")
        assert_allclose(found.to_frame()["p_t"], expected.to_frame()["p_t"])

    def test_equal_weights_change_nothing(self, data):
        weighted = compared(data, sample_weight=np.full(len(data.qid), 3.0)).to_frame()
        assert_allclose(weighted["p_t"], compared(data).to_frame()["p_t"])
        assert_allclose(weighted["low"], compared(data).to_frame()["low"])

    def test_seeds_that_differ_are_not_taken_for_a_difference(self):
        """Two systems alike whose seeds vary: queries alone find a difference in most samples."""
        random, found = np.random.default_rng(0), np.zeros(2)
        relevance = np.tile([1.0, 0.0, 0.0, 0.0], 60)
        qid = np.repeat(np.arange(60), 4)
        for _ in range(60):
            quality = np.abs(random.normal(1.0, 0.7, size=(2, 4, 1)))
            scores = quality * relevance + random.normal(size=(2, 4, 240))
            systems = {name: one.T for name, one in zip("ab", scores, strict=True)}
            both = compare(systems, relevance, groups=qid, metrics="ap", correction="none")
            found[0] += both.to_frame()["significant"].item()
            means = both.per_query["ap"].to_numpy()
            found[1] += skrank.stats.paired_t(means).p_value.item() < 0.05
        assert found[0] <= 8
        assert found[1] >= 20

    @pytest.mark.parametrize(
        ("how", "message"),
        [
            ({"test": "randomisation"}, "test='randomisation' does not count seeds"),
            ({"correction": "max-t"}, "is a t-test by resampling, not test='t'"),
        ],
    )
    def test_errors(self, data, how, message):
        with pytest.raises(ValueError, match=message):
            compared(data, **how)


@pytest.fixture(scope="module")
def regression():
    random = np.random.default_rng(0)
    x = random.normal(size=(120, 6))
    return x, x[:, 0] + random.normal(size=120)


class TestFolds:
    def test_cross_validate_literally(self, regression):
        scoring = ["r2", "neg_mean_absolute_error"]
        results = {
            str(alpha): cross_validate(Ridge(alpha), *regression, cv=8, scoring=scoring)
            for alpha in (1, 500)
        }
        found = compare(results, correction="none")
        table = found.to_frame().set_index("metric")
        for name in scoring:
            z = results["1"][f"test_{name}"] - results["500"][f"test_{name}"]
            error = np.sqrt(z.var(ddof=1) * (1 / 8 + 1 / 7))
            p = 2 * scipy.stats.t.sf(abs(z.mean() / error), 7)
            assert table.loc[name, "p_t"] == pytest.approx(p)
            assert table.loc[name, "wins"] == (z > 0).sum()
            half = scipy.stats.t.isf(0.025, 7) * error
            assert table.loc[name, "low"] == pytest.approx(z.mean() - half)
        assert "2 systems on 8 of 8 folds: 2 comparison(s) by corrected resampled t" in repr(found)
        assert_allclose(found.means.loc["1", "r2"], results["1"]["test_r2"].mean())

    def test_a_search_is_its_candidates(self, regression):
        search = GridSearchCV(Ridge(), {"alpha": [1, 500, 5000]}, cv=5).fit(*regression)
        found = compare(search, baseline="alpha=1")
        assert list(found.means.index) == ["alpha=1", "alpha=500", "alpha=5000"]
        assert_allclose(found.means["score"], search.cv_results_["mean_test_score"])
        assert_array_equal(found.to_frame()["other"], ["alpha=1"] * 2)
        scores = {
            f"alpha={alpha}": [search.cv_results_[f"split{k}_test_score"][i] for k in range(5)]
            for i, alpha in enumerate([1, 500, 5000])
        }
        again = compare(scores, baseline="alpha=1")
        assert_allclose(again.to_frame()["p_holm"], found.to_frame()["p_holm"])

    def test_share_of_the_test_part(self, regression):
        results = {a: cross_validate(Ridge(a), *regression, cv=10) for a in (1.0, 500.0)}
        usual, small = (
            compare(results, test_share=share).to_frame()["p_t"].item() for share in (None, 0.5)
        )
        assert usual < small

    @pytest.mark.parametrize(
        ("systems", "how", "message"),
        [
            ({"a": [0.1, 0.2], "b": [0.1, 0.2, 0.3]}, {}, "different numbers of folds"),
            ({"a": {"test_ap": [0.1]}, "b": {"test_r2": [0.1]}}, {}, "the first system"),
            ({"a": [[0.1, 0.2]], "b": [[0.1, 0.3]]}, {}, "Scores of documents need relevance"),
            ([[0.1, 0.2]], {}, "without relevance, pass a fitted search"),
            ({"a": [0.1, 0.2], "b": [0.1, 0.3]}, {"groups": [1, 2]}, "need relevance"),
            ({"a": [0.1, 0.2], "b": [0.1, 0.3]}, {"test_share": 1}, "test_share=1 must be below"),
            ({"a": [0.1, 0.2]}, {}, "at least two names"),
        ],
    )
    def test_errors(self, systems, how, message):
        with pytest.raises(ValueError, match=message):
            compare(systems, **how)
