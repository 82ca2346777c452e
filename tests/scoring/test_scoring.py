"""Scorers return values of metrics, with groups from every source."""

import pickle
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import skrank
from skrank import metrics
from skrank.datasets import make_ranking
from skrank.model_selection import QueryKFold
from skrank.scoring import get_scorer_names, scorer
from tests.helpers.rankers import First, routing


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=60, n_docs=(4, 25), random_state=0)


@pytest.fixture(scope="module")
def y(data):
    return skrank.with_groups(data.relevance, data.qid)


@pytest.fixture(scope="module")
def ridge(data):
    return Ridge().fit(data.X, data.relevance)


def test_several_metrics_use_one_prediction(data, y):
    model = First()
    model.predict = Mock(wraps=model.predict)
    found = scorer("gap", "ndcg@10", "err@20")(model, data.X, y)
    assert list(found) == ["gap", "ndcg@10", "err@20"]
    assert model.predict.call_count == 1
    assert found["ndcg@10"] == scorer("ndcg@10")(model, data.X, y)


def test_metrics_where_lower_is_better_are_negated(data, y, ridge):
    error = skrank.metric("error")(data.relevance, ridge.predict(data.X), groups=data.qid)
    assert scorer("error")(ridge, data.X, y) == -error
    assert scorer("gap", "error")(ridge, data.X, y)["neg_error"] == -error
    assert scorer("neg_error")(ridge, data.X, y) == -error
    with pytest.raises(ValueError, match=r"Write 'gap'"):
        scorer("neg_gap")


def test_sample_weight_weighs_queries(data, y, ridge):
    weight = np.where(data.qid < 30, 1.0, 0.0)
    half = data.qid < 30
    weighted = scorer("gap", max_grade=4)(ridge, data.X, y, sample_weight=weight)
    assert weighted == pytest.approx(scorer("gap", max_grade=4)(ridge, data.X[half], y[half]))
    with pytest.raises(ValueError, match="varies inside query"):
        scorer("gap")(ridge, data.X, y, sample_weight=np.arange(len(y)))


def test_labels_above_the_scale_are_refused():
    X, relevance, qid = np.array([[3.0], [2.0], [1.0]]), [0, 3, 1], [1, 1, 1]
    model = First()
    model.max_grade_ = 1
    with pytest.raises(ValueError, match=r"label 3 \(row 1.*max_grade=1.*as max_grade"):
        scorer("err")(model, X, relevance, groups=qid)
    model.max_grade_ = 4
    value = scorer("err(max_grade=5)")(model, X, relevance, groups=qid)
    assert value == metrics.ERR(max_grade=5)(relevance, [3, 2, 1])
    with pytest.raises(ValueError, match="above max_grade=2"):
        scorer("gap", max_grade=2)(First(), X, relevance, groups=qid)


def test_classifiers_rank_by_the_expected_grade_or_their_decision_function(data, y):
    model = LogisticRegression(max_iter=2000).fit(data.X, data.relevance)
    expected = model.predict_proba(data.X) @ model.classes_
    assert scorer("gap")(model, data.X, y) == metrics.GAP()(y, expected)
    by_class = scorer("gap", response_method="predict")(model, data.X, y)
    assert by_class == metrics.GAP()(y, model.predict(data.X))
    binary = LinearSVC().fit(data.X, data.relevance > 0)
    assert scorer("gap")(binary, data.X, y) == metrics.GAP()(y, binary.decision_function(data.X))


class Rules(Ridge):
    """A regressor with a method of classifiers, as those of imodels."""

    def predict_proba(self, X):
        raise NotImplementedError


def test_regressors_are_scored_by_predict(data, y, ridge):
    expected = scorer("gap")(ridge, data.X, y)
    for model in (Rules(), skrank.GroupedRanker(Rules()), make_pipeline(Rules())):
        assert scorer("gap")(model.fit(data.X, y), data.X, y) == pytest.approx(expected)


def test_groups_reach_the_steps_of_a_pipeline(data):
    features = skrank.QueryFeatures("rank")
    pipe = make_pipeline(features, skrank.GroupedRanker(Ridge()))
    with routing():
        scores = cross_validate(
            pipe, data.X, data.relevance, cv=QueryKFold(3), scoring=scorer("ndcg@10"),
            params={"groups": data.qid}, error_score="raise",
        )["test_score"]  # fmt: skip
        pipe.fit(data.X, data.relevance, groups=data.qid)
        own = pipe.score(data.X, data.relevance, groups=data.qid)
        value = scorer("ndcg@10").bind(data.qid)(pipe, data.X, data.relevance)
    assert np.isfinite(scores).all()
    X = features.fit_transform(data.X, groups=data.qid)
    assert value == own == scorer("ndcg@10")(pipe[-1], X, data.relevance, groups=data.qid)


def test_the_scoring_of_a_ranker_may_be_a_scorer(data, y):
    one = scorer("error")
    for ranker in (skrank.LinearRanker(scoring=one), skrank.GroupedRanker(Ridge(), scoring=one)):
        ranker = clone(ranker).fit(data.X, y)
        assert ranker.score(data.X, y) == one(ranker, data.X, y) < 0
    with pytest.raises(ValueError, match="scoring"):
        skrank.LinearRanker(scoring=scorer("gap", "ap")).fit(data.X, y)


def test_predictions_that_are_not_one_score_per_row_raise(data, y):
    words = [f"grade {label}" for label in data.relevance]
    names = RandomForestClassifier(n_estimators=2).fit(data.X, words)
    for model, message in (
        (LinearSVC().fit(data.X, data.relevance), "predict_proba"),
        (names, "classifier on grades"),
    ):
        with pytest.raises(ValueError, match=message):
            scorer("gap")(model, data.X, y)
    with pytest.raises(ValueError, match="response_method"):
        scorer("gap", response_method="score")
    with pytest.raises(AttributeError, match="predict"):
        scorer("gap")(StandardScaler().fit(data.X), data.X, y)


def test_groups_from_every_source_give_the_same_score(data, y, ridge):
    gap, rows = scorer("gap"), np.random.default_rng(0).permutation(len(y))
    expected = gap(ridge, data.X, y)
    frame = pd.DataFrame(data.X, data.qid).rename_axis(index="qid")
    assert gap(ridge, data.X, data.relevance, groups=data.qid) == expected
    assert gap(Ridge().fit(frame.to_numpy(), data.relevance), frame, data.relevance) == expected
    assert gap.bind(data.qid)(ridge, data.X, data.relevance) == expected
    assert gap(ridge, data.X[rows], y.iloc[rows]) == pytest.approx(expected)


def test_a_query_column_that_is_a_feature_is_reported(data, y):
    frame = pd.DataFrame(data.X, columns=data.feature_names).assign(qid=data.qid)
    piped = make_pipeline(StandardScaler().set_output(transform="pandas"), Ridge())
    ranked = make_pipeline(StandardScaler(), skrank.GroupedRanker(Ridge()))
    for model in (Ridge(), piped, ranked):
        with pytest.warns(UserWarning, match="feature"):
            scorer("gap")(model.fit(frame, y), frame, y)


def test_groups_are_routed_under_another_name(data):
    scoring = scorer("gap").set_score_request(groups="session")
    with routing():
        cv = QueryKFold(3).set_split_request(groups="session")
        found = cross_validate(
            Ridge(), data.X, data.relevance, cv=cv, scoring=scoring, params={"session": data.qid}
        )
    assert np.all(found["test_score"] > 0.5)
    with pytest.raises(ValueError, match="'groups'"):
        scorer("gap").set_score_request(group=True)


def test_clones_and_pickles_are_independent(data, y, ridge):
    one = scorer("gap@10", "err", max_grade=4).bind(data.qid)
    for other in (clone(one, safe=False), pickle.loads(pickle.dumps(one))):
        assert repr(other) == repr(one)
        assert other(ridge, data.X, y) == one(ridge, data.X, y)
        other.set_score_request(groups="session")
    assert one.get_metadata_routing().score.requests["groups"] is True
    search = clone(GridSearchCV(Ridge(), {}, scoring=one))
    assert repr(search.scoring) == repr(one)


def test_names():
    names = get_scorer_names()
    assert {"gap", "ndcg", "map", "mrr", "err", "neg_error"} <= set(names)
    for name in names:
        scorer(name)
    for wrong, message in ((["ndgc"], "'ndcg'"), ([], "one")):
        with pytest.raises(ValueError, match=message):
            scorer(*wrong)
