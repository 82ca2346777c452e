"""make_ranking: documented properties, and equal results from equal seeds."""

import re

import numpy as np
import pytest
from scipy.stats import spearmanr

from skrank.datasets import make_ranking


def sizes_of(data):
    return np.bincount(data.qid)


def max_grades(data):
    return np.maximum.reduceat(data.relevance, np.flatnonzero(np.diff(data.qid, prepend=-1)))


def mean_ndcg(relevance, scores, qid, k=10):
    """Plain nDCG@k over the queries with a relevant document."""
    values = []
    for query in np.unique(qid):
        gains = 2.0 ** relevance[qid == query] - 1
        if gains.any():
            discounts = 1 / np.log2(np.arange(2, min(k, gains.size) + 2))
            ranked = gains[np.argsort(-scores[qid == query], kind="stable")][:k]
            values.append(ranked @ discounts / (np.sort(gains)[::-1][:k] @ discounts))
    return np.mean(values)


def test_shapes_and_types():
    data = make_ranking(30, n_features=11, random_state=0)
    n_rows = data.qid.size
    assert data.X.shape == (n_rows, 11)
    assert data.X.dtype == np.float64
    assert np.isfinite(data.X).all()
    assert data.relevance.shape == (n_rows,)
    assert data.relevance.dtype == data.qid.dtype == np.int64
    assert len(set(data.feature_names)) == 11
    np.testing.assert_array_equal(np.unique(data.qid), np.arange(30))
    assert (np.diff(data.qid) >= 0).all()


def test_data_depend_on_the_seed_only():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, same, other = (make_ranking(20, random_state=seed) for seed in (3, 3, 4))
    for again in (same, make_ranking(20, random_state=np.random.RandomState(3))):
        for name in ("X", "relevance", "qid"):
            assert first[name].tobytes() == again[name].tobytes()
        assert first.feature_names == again.feature_names
    assert first.X.tobytes() != other.X.tobytes()
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_sizes_are_ragged_skewed_and_within_bounds():
    sizes = sizes_of(
        make_ranking(2000, n_docs=(5, 60), n_features=3, n_informative=3, random_state=0)
    )
    assert sizes.min() >= 5
    assert sizes.max() <= 60
    assert len(set(sizes)) > 30
    assert np.median(sizes) < sizes.mean() < (5 + 60) / 2
    # The bounds are not more frequent than other sizes.
    assert np.mean(sizes == 5) < 0.05
    assert np.mean(sizes == 60) < 0.05


@pytest.mark.parametrize(("n_queries", "n_docs", "size"), [(1, 1, 1), (10, 7, 7), (10, (7, 7), 7)])
def test_constant_size(n_queries, n_docs, size):
    data = make_ranking(n_queries, n_docs=n_docs, random_state=0)
    assert sizes_of(data).tolist() == [size] * n_queries


def test_grades_are_distributed_as_in_mslr():
    grades = make_ranking(1000, random_state=0).relevance
    shares = np.bincount(grades, minlength=5) / grades.size
    np.testing.assert_allclose(shares, [0.52, 0.32, 0.13, 0.02, 0.01], rtol=0.1)


@pytest.mark.parametrize(
    ("max_grade", "expected"),
    [
        (1, [0.52, 0.48]),
        (2, [0.52, 0.32, 0.16]),
        (6, [0.52, 0.32, 0.13, 0.02, 0.005, 0.0025, 0.0025]),
    ],
)
def test_other_scales(max_grade, expected):
    grades = make_ranking(500, max_grade=max_grade, empty_fraction=0, random_state=0).relevance
    np.testing.assert_allclose(
        np.bincount(grades) / grades.size, expected, atol=2 / grades.size, rtol=0.01
    )


@pytest.mark.parametrize("empty_fraction", [0.0, 0.05, 0.5, 1.0])
def test_empty_queries(empty_fraction):
    data = make_ranking(100, n_docs=(30, 60), empty_fraction=empty_fraction, random_state=0)
    assert np.mean(max_grades(data) == 0) == empty_fraction
    assert 0.03 <= np.mean(max_grades(make_ranking(200, random_state=0)) == 0) <= 0.15


def test_the_order_of_rows_and_queries_does_not_correlate_with_relevance():
    data = make_ranking(500, random_state=0)
    rank = np.concatenate([np.arange(size) / size for size in sizes_of(data)])
    assert spearmanr(rank, data.relevance).pvalue > 0.01
    assert spearmanr(np.arange(500), max_grades(data)).pvalue > 0.01
    by_row = mean_ndcg(data.relevance, -rank, data.qid)
    at_random = [
        mean_ndcg(data.relevance, np.random.default_rng(seed).random(rank.size), data.qid)
        for seed in range(5)
    ]
    assert by_row == pytest.approx(np.mean(at_random), abs=0.03)


def test_kinds_of_features():
    data = make_ranking(60, n_features=20, n_informative=8, random_state=0)
    kinds = np.array([name.split("_")[0] for name in data.feature_names])
    counts = {kind: int(np.sum(kinds == kind)) for kind in sorted(set(kinds))}
    assert counts == {"informative": 8, "noise": 4, "noisy": 4, "query": 4}
    first = np.flatnonzero(np.diff(data.qid, prepend=-1))
    constant = (data.X[first][data.qid] == data.X).all(axis=0)
    np.testing.assert_array_equal(constant, kinds == "query")


def test_informative_features_correlate_more_than_noisy_features():
    data = make_ranking(300, random_state=0)
    tells = {
        name: abs(spearmanr(column, data.relevance).statistic)
        for name, column in zip(data.feature_names, data.X.T, strict=True)
    }
    assert tells["informative_0"] > tells["noisy_0"] > 0.1
    assert max(value for name, value in tells.items() if name.startswith("noise_")) < 0.03


@pytest.mark.parametrize("n_features", range(3, 8))
def test_few_features(n_features):
    data = make_ranking(5, n_features=n_features, n_informative=3, random_state=0)
    assert data.X.shape[1] == len(data.feature_names) == n_features


def test_a_booster_learns_it_but_not_perfectly():
    lgb = pytest.importorskip("lightgbm")
    data = make_ranking(150, random_state=0)
    train = data.qid < 100
    ranker = lgb.LGBMRanker(n_estimators=60, num_leaves=15, random_state=0, verbose=-1)
    ranker.fit(data.X[train], data.relevance[train], group=np.bincount(data.qid[train]))
    test = data.relevance[~train], data.qid[~train]
    learned = mean_ndcg(test[0], ranker.predict(data.X[~train]), test[1])
    at_random = mean_ndcg(test[0], np.random.default_rng(0).random(test[0].size), test[1])
    assert at_random < 0.45
    assert at_random + 0.3 < learned < 0.95


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_queries": 0}, "n_queries=0 must be at least 1"),
        ({"n_queries": 2.5}, "n_queries=2.5 must be an integer"),
        ({"n_docs": 0}, "n_docs=0"),
        ({"n_docs": (9, 3)}, "n_docs=3 must be at least 9: most documents per query"),
        ({"n_docs": (1, 2, 3)}, "n_docs=(1, 2, 3): give one size or two bounds"),
        ({"n_docs": "many"}, "n_docs='many' must be an integer"),
        ({"n_informative": 2}, "n_informative=2 must be at least 3"),
        ({"n_features": 7}, "n_features=7 must be at least 8"),
        ({"max_grade": 0}, "max_grade=0"),
        ({"noise": -1}, "noise=-1 must be a number in [0, 1e+100]"),
        ({"noise": np.nan}, "noise=nan must be a number"),
        ({"empty_fraction": 1.5}, "empty_fraction=1.5 must be a number in [0, 1]"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make_ranking(**parameters)
