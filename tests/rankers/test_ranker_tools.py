"""GroupedRanker in every tool of scikit-learn."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401

from skrank import GroupedRanker
from skrank.scoring import scorer
from tests.helpers.rankers import (
    RANKERS,
    STOP,
    every_mode,
    every_ranker,
    lgbm,
    routing,
    search,
    validate,
)

# tools of scikit-learn ----------------------------------------------------------------------------


@every_ranker
def test_interleaving_the_rows_of_queries_does_not_change_scores(ranker, data):
    """Rows of a query keep their order, which orders ties, but are not contiguous."""
    rng = np.random.default_rng(0)
    place = np.concatenate([np.sort(rng.random(size)) for size in np.bincount(data.qid)])
    rows = np.argsort(place)
    assert np.any(data.qid[rows][1:] < data.qid[rows][:-1])
    if "ridge" in repr(ranker).lower() or "hist" in repr(ranker).lower():
        tolerance = 1e-3  # sums of floats in another order
    else:
        tolerance = 1e-9
    scores, again = (
        validate(ranker, data, "carried", scorer("gap"), rows=order)["test_score"]
        for order in (slice(None), rows)
    )
    assert again == pytest.approx(scores, abs=tolerance)


@every_mode
def test_grid_search_of_a_pipeline_on_several_metrics(mode, data, y):
    grid = {"groupedranker__estimator__num_leaves": [2, 7]}
    scoring = scorer("gap", "ndcg@10", "neg_error@5")
    found = search(RANKERS["pipeline"], grid, data, mode, scoring=scoring, refit="gap")
    results = found.cv_results_
    assert found.best_index_ == np.argmax(results["mean_test_gap"])
    assert {"mean_test_ndcg@10", "mean_test_neg_error@5"} < set(results)
    assert np.all(results["mean_test_neg_error@5"] < 0)
    assert scorer("gap")(found, data.X, y) > 0.6


@every_mode
def test_without_scoring_the_ranker_scores_itself(mode, data):
    ranker = GroupedRanker(lgbm(), objective="err@5", scoring="gap@10")
    found = search(ranker, {"estimator__num_leaves": [7]}, data, mode, scoring=None)
    explicit = search(ranker, {"estimator__num_leaves": [7]}, data, mode, scoring=scorer("gap@10"))
    assert found.best_score_ == explicit.best_score_


@every_mode
def test_a_search_over_objectives_measures_all_of_them_by_one_metric(mode, data):
    """Not each by the metric of its objective."""
    grid = {
        "objective": ["gap(thresholds=[1,0,0,0])", "gap(thresholds=[0.1,0.2,0.3,0.4])"],
        "eval_metric": ["err", "p@1"],
    }
    found = search(GroupedRanker(lgbm(), **STOP), grid, data, mode, scoring=None)
    fixed = search(GroupedRanker(lgbm(), **STOP), grid, data, mode, scoring=scorer("ndcg@10"))
    assert found.cv_results_["mean_test_score"].tolist() == (
        fixed.cv_results_["mean_test_score"].tolist()
    )


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_parallel_searches_give_the_same_numbers(backend, data):
    grid = {"estimator__learning_rate": [0.1, 0.3]}
    one = search(RANKERS["lightgbm-gap"], grid, data, "carried")
    with parallel_config(backend):
        two = search(RANKERS["lightgbm-gap"], grid, data, "carried", n_jobs=2)
    scores = "mean_test_score"
    assert two.cv_results_[scores].tolist() == one.cv_results_[scores].tolist()


def test_tools_that_strip_the_index_need_routing(data, y):
    bag = BaggingRegressor(GroupedRanker(lgbm(n_estimators=5)), n_estimators=2, random_state=0)
    target = TransformedTargetRegressor(
        GroupedRanker(lgbm(n_estimators=5), objective="gap(labels=interp)"),
        func=np.sqrt,
        inverse_func=np.square,
    )
    for tool in (bag, target):
        with pytest.raises(ValueError, match=r"skrank\.with_groups"):
            tool.fit(data.X, y)
    with routing():
        for tool in (bag, target):
            tool.fit(data.X, data.relevance, groups=data.qid)
            assert scorer("gap")(tool, data.X, y) > 0.5
