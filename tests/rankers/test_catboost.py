"""GroupedRanker with CatBoost: early stopping by metrics of skrank, and what CatBoost refuses."""

import pickle

import catboost
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import Bunch

import skrank
from skrank.datasets import make_ranking

STOP = {"validation_fraction": 0.25, "early_stopping_rounds": 4, "random_state": 0}


def cat(cls=catboost.CatBoostRanker, **parameters):
    defaults = {"iterations": 40, "depth": 3, "learning_rate": 0.4, "random_seed": 0}
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    return cls(**defaults | quiet | parameters)


@pytest.fixture(scope="module")
def held_out():
    return make_ranking(n_queries=30, n_docs=(5, 20), n_features=8, random_state=1)


def fitted(estimator, data, held_out, eval_metric="gap@10", rounds=4, **weights):
    """Validation rows are shuffled."""
    rows = np.random.default_rng(0).permutation(len(held_out.qid))
    return skrank.GroupedRanker(
        estimator, eval_metric=eval_metric, early_stopping_rounds=rounds
    ).fit(
        data.X, data.relevance, groups=data.qid,
        X_val=held_out.X[rows], y_val=held_out.relevance[rows], groups_val=held_out.qid[rows],
        **weights,
    )  # fmt: skip


def by_hand(ranker, held_out, name):
    """Values of a metric per round."""
    metric = skrank.metric(name, max_grade=4)
    return [
        metric(held_out.relevance, scores, groups=held_out.qid)
        for scores in ranker.estimator_.staged_predict(held_out.X)
    ]


ESTIMATORS = {
    "ranker": cat(),
    "ordered": cat(loss_function="QueryRMSE", boosting_type="Ordered"),
    "own metric": cat(eval_metric="NDCG:top=3"),
    "regressor": cat(catboost.CatBoostRegressor),
}
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


@every_estimator
def test_logged_values_equal_the_metric_and_stop_training(estimator, data, held_out):
    ranker = fitted(estimator, data, held_out)
    values = ranker.evals_result_["validation"]["gap@10"]
    best = int(np.argmax(values)) + 1
    assert ranker.best_iteration_ == best < 40
    assert len(values) == best + 4
    np.testing.assert_allclose(by_hand(ranker, held_out, "gap@10"), values[:best], rtol=1e-12)


@pytest.mark.parametrize("names", [("gap@10", "error@5"), ("error@5", "gap@10")])
def test_early_stopping_follows_the_first_metric_in_its_direction(names, data, held_out):
    ranker = fitted(cat(), data, held_out, names)
    evals = ranker.evals_result_["validation"]
    assert tuple(evals) == names
    choose = np.argmax if names[0] == "gap@10" else np.argmin
    assert ranker.best_iteration_ == choose(evals[names[0]]) + 1
    np.testing.assert_allclose(
        by_hand(ranker, held_out, "gap@10"), evals["gap@10"][: ranker.best_iteration_]
    )


def test_training_rows_with_equal_labels_are_not_used_for_validation(data, y):
    noise = np.random.default_rng(2).normal(size=data.X.shape)
    twin = Bunch(**data | {"X": data.X + noise})
    ranker = skrank.GroupedRanker(cat(), eval_metric="gap@10", early_stopping_rounds=4).fit(
        data.X, y, X_val=twin.X, y_val=skrank.with_groups(data.relevance, data.qid)
    )
    values = ranker.evals_result_["validation"]["gap@10"]
    rounds = ranker.best_iteration_
    assert len(values) == rounds + 4 < 40
    np.testing.assert_allclose(by_hand(ranker, twin, "gap@10"), values[:rounds], rtol=1e-12)


def test_queries_may_have_weights(data, y):
    weight = np.where(data.qid % 2 == 0, 1.0, 3.0)
    ranker = skrank.GroupedRanker(cat(), eval_metric="gap@10", **STOP)
    plain, weighted = ranker.fit(data.X, y), clone(ranker).fit(data.X, y, sample_weight=weight)
    assert plain.evals_result_ != weighted.evals_result_


def test_the_log_has_the_name_of_the_metric(data, held_out):
    ranker = fitted(cat(), data, held_out)
    log = ranker.estimator_.get_evals_result()
    assert log["validation"]["gap@10"] == ranker.evals_result_["validation"]["gap@10"]
    assert set(log["learn"]["gap@10"]) == {-1.0}  # not measured


def test_without_eval_metric_the_metric_of_catboost_stops_training(data, y):
    ranker = skrank.GroupedRanker(cat(eval_metric="NDCG:top=3"), **STOP).fit(data.X, y)
    assert any(name.startswith("NDCG:top=3") for name in ranker.evals_result_["validation"])


def test_fitted_rankers_store_no_rows_and_can_be_pickled(data, held_out):
    few, many = (fitted(cat(), data, part) for part in (held_out, data))
    sizes = [len(pickle.dumps(one.estimator_.get_params())) for one in (few, many)]
    assert sizes[0] == sizes[1] < 1000  # stored without labels
    again = pickle.loads(pickle.dumps(few))
    np.testing.assert_array_equal(again.predict(data.X), few.predict(data.X))
    assert repr(again.estimator_.get_params()["eval_metric"]) == "<gap@10 of one training>"
    twin = clone(again).set_params(eval_metric=None, early_stopping_rounds=None)
    assert twin.fit(data.X, data.relevance, groups=data.qid).best_iteration_ == 40
    with pytest.raises(catboost.CatBoostError, match="this eval_metric was for one training"):
        clone(few.estimator_).fit(data.X, data.relevance, group_id=data.qid)
