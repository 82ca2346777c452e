"""GroupedRanker with objectives that learn about positions; positions are sorted with rows."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skrank
from skrank import AdditivePositionBias, GroupedRanker, UnbiasedLambdaRank
from tests.helpers.rankers import lgbm, xgb

N, LONG = 120, 8
RNG = np.random.default_rng(0)
QID, RANK = np.repeat(np.arange(N), LONG), np.tile(np.arange(1, LONG + 1), N)
X = RNG.normal(size=(N * LONG, 3))
CLICKS = (RNG.random(N * LONG) < 1 / (1 + np.exp(1 - X[:, 0])) / RANK).astype(int)
SHUFFLED = np.argsort(RNG.random(N * LONG))

OBJECTIVES = [  # the order of ties depends on the order of rows; without ties, the model does not
    AdditivePositionBias(skrank.LambdaRank("ndcg", tie_order="stable")),
    UnbiasedLambdaRank("ndcg", tie_order="stable"),
]
each_objective = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda x: type(x).__name__)
ESTIMATORS = {"lightgbm": lgbm(n_estimators=10), "xgboost": xgb(n_estimators=10)}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def ranker(name="lightgbm", objective=OBJECTIVES[0], **parameters):
    return GroupedRanker(ESTIMATORS[name], objective=objective, **parameters)


@each_objective
@each_estimator
def test_positions_in_row_order_equal_the_default(name, objective):
    y = skrank.with_groups(CLICKS, QID)
    given = ranker(name, objective).fit(X, y, position=RANK)
    with pytest.warns(UserWarning, match="no position= .* order inside .* This is wrong if"):
        by_order = ranker(name, objective).fit(X, y)
    assert given.predict(X).tolist() == by_order.predict(X).tolist()
    if name == "lightgbm":
        assert given.estimator_.objective.positions is None  # it stores no rows


@each_objective
@each_estimator
def test_positions_are_sorted_with_shuffled_rows(name, objective, monkeypatch):
    """Each document has the position that was given for its row."""
    seen = []
    bind = type(objective).bind

    def noting(self, judgments, weights=None, *, max_grade=None, positions=None):
        seen.append((judgments.codes.copy(), np.asarray(positions)))
        return bind(self, judgments, weights, max_grade=max_grade, positions=positions)

    monkeypatch.setattr(type(objective), "bind", noting)
    y = skrank.with_groups(CLICKS, QID)
    ranker(name, objective).fit(X[SHUFFLED], y.iloc[SHUFFLED], position=RANK[SHUFFLED])
    labels, positions = seen[0]
    kept = np.argsort(QID[SHUFFLED], kind="stable")
    assert positions.tolist() == RANK[SHUFFLED][kept].tolist()
    assert labels.tolist() == CLICKS[SHUFFLED][kept].tolist()


@each_estimator
def test_positions_follow_validation_rows_and_max_queries(name):
    y = skrank.with_groups(CLICKS, QID)
    options = {"validation_fraction": 0.25, "max_queries": 80, "random_state": 0, "refit": True}
    stopping = ranker(name, eval_metric="ndcg@5", **options)
    model = stopping.fit(X[SHUFFLED], y.iloc[SHUFFLED], position=RANK[SHUFFLED])
    assert np.ptp(model.predict(X)) > 0


def test_unlabelled_documents_may_be_dropped_where_positions_are_given():
    clicks = CLICKS.astype(float)
    clicks[13] = np.nan
    dropping = ranker(unjudged="drop")
    model = dropping.fit(X, skrank.with_groups(clicks, QID), position=RANK)
    kept = np.arange(len(clicks)) != 13
    again = ranker().fit(X[kept], CLICKS[kept], QID[kept], position=RANK[kept])
    assert model.predict(X).tolist() == again.predict(X).tolist()


def test_positions_are_routed():
    model, cv = ranker(), skrank.QueryKFold(3)
    piped = make_pipeline(StandardScaler(with_mean=False, with_std=False), model)
    scoring = skrank.scorer("ndcg@5")
    with sklearn.config_context(enable_metadata_routing=True):
        params = {"groups": QID, "position": RANK}
        routed = cross_validate(piped, X, CLICKS, cv=cv, scoring=scoring, params=params)
        grid = {"estimator__num_leaves": [7]}  # as before
        search = GridSearchCV(model, grid, cv=cv, scoring=scoring).fit(X, CLICKS, **params)
    by_hand = []
    for train, test in cv.split(X, CLICKS, QID):
        model.fit(X[train], CLICKS[train], QID[train], position=RANK[train])
        by_hand.append(scoring(model, X[test], CLICKS[test], groups=QID[test]))
    assert routed["test_score"].tolist() == pytest.approx(by_hand)
    assert search.best_score_ == pytest.approx(np.mean(by_hand))
