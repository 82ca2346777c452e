"""The intervals of a report are bootstrap-t intervals of its means, or of another method."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import skrank
from skrank import stats
from skrank.datasets import make_ranking

data = make_ranking(n_queries=30, random_state=2)
WEIGHTS = np.random.default_rng(0).integers(0, 3, 30).astype(float)
BOUNDS = ["mean", "low", "high"]
METRICS = ["gap", "gap(empty=0)", "ap(average=geometric)", "precision(average=micro)@5"]


def report(metrics=METRICS, **how):
    scores = data.X[:, 0]
    return skrank.evaluate(data.relevance, scores, groups=data.qid, metrics=metrics, **how)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_intervals_hold_the_means(weights):
    found = report(sample_weight=None if weights is None else weights[data.qid]).to_frame()
    assert list(found.columns) == ["mean", "low", "high", "std", "queries", "empty"]
    assert (found["low"] < found["mean"]).all()
    assert (found["mean"] < found["high"]).all()


@pytest.mark.parametrize(("confidence", "n_resamples"), [(0.9, 1000), (0.999, 10_000)])
@pytest.mark.parametrize(("metric", "weights"), [("gap", None), ("gap(empty=0)", WEIGHTS)])
def test_intervals_are_those_of_the_bootstrap(metric, weights, confidence, n_resamples):
    """Those of a high confidence take more resamples."""
    found = report(sample_weight=None if weights is None else weights[data.qid])
    how = {"weights": weights, "confidence": confidence, "n_resamples": n_resamples}
    values = found.per_query[metric]
    expected = stats.bootstrap_interval(values, method="bootstrap-t", **how)
    row = found.to_frame(confidence=confidence).loc[metric, BOUNDS]
    assert_allclose(row, [expected.mean, expected.low, expected.high])


def test_geometric_mean():
    found = report()
    (name,) = (name for name in found.mean.index if "geometric" in name)
    logarithms = np.log(found.per_query[name].clip(lower=1e-5))
    expected = stats.bootstrap_interval(logarithms, method="bootstrap-t")
    row = found.to_frame().loc[name, BOUNDS]
    assert_allclose(row, np.exp([expected.mean, expected.low, expected.high]))


def test_not_enough_queries():
    found = skrank.evaluate([1, 0, 0], [3, 2, 1], groups=["a", "a", "b"], metrics=["gap", "p@1"])
    table = found.to_frame()
    assert table[["low", "high"]].isna().all(axis=None)
    assert "NaN" in repr(found)


def test_undefined_mean():
    table = report(metrics=["gap(empty=nan)", "gap"]).to_frame()
    assert table.loc["gap(empty=nan)", BOUNDS].isna().all()
    assert table.loc["gap", BOUNDS].notna().all()


def test_same_each_time():
    found = report()
    assert found.to_frame().equals(found.to_frame())


@pytest.mark.parametrize("method", ["percentile", "bca", "t"])
def test_other_methods(method):
    found = report()
    values = found.per_query["gap"]
    if method == "t":
        expected = stats.t_interval(values)
    else:
        expected = stats.bootstrap_interval(values, method=method)
    row = found.to_frame(interval=method).loc["gap"]
    assert_allclose([row["low"], row["high"]], [expected.low, expected.high])
    with pytest.raises(ValueError, match="interval='z'"):
        found.to_frame(interval="z")


def test_no_further_than_the_metric_reaches():
    relevance = skrank.with_groups([1, 0, 0, 2], ["a", "a", "b", "b"])
    table = skrank.evaluate(relevance, [4, 3, 2, 1], metrics=["gap", "dcg", "error@1"]).to_frame()
    wide = stats.t_interval([1.0, 0.5])
    assert wide.low < 0 < 1 < wide.high
    assert table.loc["gap", ["low", "high"]].tolist() == [0, 1]
    assert table.loc["error@1", ["low", "high"]].tolist() == [0, 1]
    assert table.loc["dcg", "low"] == 0
    assert table.loc["dcg", "high"] > 3
