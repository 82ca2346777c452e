"""recommended_ranker: its rankers, the start that they share, and errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import skrank
from skrank import LinearRanker, recommended_ranker
from tests.helpers.rankers import data, y

ROUNDS = {"lightgbm": "n_estimators", "xgboost": "n_estimators", "catboost": "iterations"}


def small(booster):
    """A recommended ranker with few rounds."""
    ranker = recommended_ranker(booster, metric="gap@10", n_jobs=1, random_state=0)
    kinds = [booster] * len(ranker.estimators)
    if booster == "catboost":
        kinds = ["lightgbm", "lightgbm", "catboost"]
    rounds = {
        f"{name}__estimator__{ROUNDS[kind]}": 6
        for (name, _), kind in zip(ranker.estimators, kinds, strict=True)
    }
    return ranker.set_params(**rounds)


@pytest.mark.parametrize("booster", ROUNDS)
def test_rankers_boost_from_one_start_trained_on_all_queries(booster):
    fitted = small(booster).fit(data.X, y)
    start = LinearRanker("gap").fit(data.X, y)
    first, second = fitted.estimators_[:2]
    assert first.init_ is second.init_
    for one in fitted.estimators_:
        assert list(one.evals_result_["validation"]) == ["gap@10"]
    assert_allclose(first.init_.coef_, start.coef_)
    assert fitted.score(data.X, y) == skrank.metric("gap@10")(y, fitted.predict(data.X))


def test_a_shared_start_gives_the_scores_of_rankers_trained_alone():
    ranker = small("lightgbm")
    fitted = ranker.fit(data.X, y)
    alone = [one.fit(data.X, y).predict(data.X) for _, one in ranker.estimators]
    expected = sum(factor * one for factor, one in zip(fitted.factors_, alone, strict=True))
    assert_allclose(fitted.predict(data.X), expected, rtol=1e-9, atol=1e-9)


def test_seeds_and_names():
    seeds = {recommended_ranker().estimators[0][1].random_state for _ in range(2)}
    assert len(seeds) == 2
    one, other = (ranker for _, ranker in recommended_ranker(random_state=7).estimators)
    assert one.random_state == other.random_state == one.estimator.random_state == 7
    of_numpy = recommended_ranker("xgboost", random_state=np.int64(7))
    assert of_numpy.estimators[0][1].random_state == 7
    with pytest.raises(ValueError, match=r"booster='sklearn'.*'catboost'"):
        recommended_ranker("sklearn")
