"""GroupedRanker with objectives that learn about positions; positions are sorted with rows."""

import warnings

import lightgbm
import numpy as np
import pytest
import sklearn
import xgboost
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skrank
from skrank import AdditivePositionBias, GroupedRanker, UnbiasedLambdaRank

N, LONG = 120, 8
RNG = np.random.default_rng(0)
QID, RANK = np.repeat(np.arange(N), LONG), np.tile(np.arange(1, LONG + 1), N)
X = RNG.normal(size=(N * LONG, 3))
CLICKS = (RNG.random(N * LONG) < 1 / (1 + np.exp(1 - X[:, 0])) / RANK).astype(int)
SHUFFLED = np.argsort(RNG.random(N * LONG))
# rows of a query are contiguous, in an order that does not depend on positions
MIXED = SHUFFLED[np.argsort(QID[SHUFFLED], kind="stable")]

OBJECTIVES = [AdditivePositionBias("ndcg"), UnbiasedLambdaRank("ndcg")]
each_objective = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda x: type(x).__name__)
ESTIMATORS = {
    "lightgbm": lightgbm.LGBMRanker(n_estimators=10, n_jobs=1, verbosity=-1),
    "xgboost": xgboost.XGBRanker(n_estimators=10, n_jobs=1, max_depth=3),
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def ranker(name, objective, **parameters):
    # the order of ties depends on the order of rows; without ties, the model does not
    stable = {"tie_order": "stable"}
    if isinstance(objective, AdditivePositionBias):
        objective = AdditivePositionBias(skrank.LambdaRank("ndcg", **stable))
    else:
        objective = UnbiasedLambdaRank("ndcg", **stable)
    return GroupedRanker(ESTIMATORS[name], objective=objective, **parameters)


@each_objective
@each_estimator
def test_positions_in_row_order_equal_the_default(name, objective):
    y = skrank.with_groups(CLICKS, QID)
    given = ranker(name, objective).fit(X, y, position=RANK)
    with pytest.warns(UserWarning, match="no position= is given to fit: the row order inside"):
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


def test_shuffled_rows_learn_the_same_bias():
    """Learned bias falls with the position; from the order of shuffled rows it does not."""
    y = skrank.with_groups(CLICKS, QID).iloc[MIXED]
    objective = UnbiasedLambdaRank("ndcg")
    right = GroupedRanker(ESTIMATORS["lightgbm"], objective=objective)
    bias = right.fit(X[MIXED], y, position=RANK[MIXED]).estimator_.objective.position_bias_
    assert bias["clicked"].loc[1] > 2 * bias["clicked"].loc[LONG]
    with pytest.warns(UserWarning, match="This is wrong if the rows were shuffled"):
        wrong = GroupedRanker(ESTIMATORS["lightgbm"], objective=objective).fit(X[MIXED], y)
    naive = wrong.estimator_.objective.position_bias_["clicked"]
    assert naive.loc[1] < 2 * naive.loc[LONG]


@each_estimator
def test_positions_follow_validation_rows_and_max_queries(name):
    y = skrank.with_groups(CLICKS, QID)
    stopping = ranker(
        name, OBJECTIVES[0], eval_metric="ndcg@5", validation_fraction=0.25, max_queries=80,
        random_state=0, refit=True,
    )  # fmt: skip
    model = stopping.fit(X[SHUFFLED], y.iloc[SHUFFLED], position=RANK[SHUFFLED])
    assert np.ptp(model.predict(X)) > 0


def test_unlabelled_documents_may_be_dropped_where_positions_are_given():
    clicks = CLICKS.astype(float)
    clicks[13] = np.nan
    dropping = ranker("lightgbm", OBJECTIVES[0], unjudged="drop")
    model = dropping.fit(X, skrank.with_groups(clicks, QID), position=RANK)
    kept = np.arange(len(clicks)) != 13
    again = ranker("lightgbm", OBJECTIVES[0]).fit(
        X[kept], skrank.with_groups(CLICKS[kept], QID[kept]), position=RANK[kept]
    )
    assert model.predict(X).tolist() == again.predict(X).tolist()


# like groups --------------------------------------------------------------------------------------


def test_positions_are_routed():
    model = make_pipeline(StandardScaler(), ranker("lightgbm", OBJECTIVES[0]))
    cv = skrank.QueryKFold(3)
    found = []
    with sklearn.config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("error")  # no warning that row order is used
        params = {"groups": QID, "position": RANK}
        routed = cross_validate(
            model, X, CLICKS, cv=cv, scoring=skrank.scorer("ndcg@5"), params=params
        )
        found.append(routed["test_score"].tolist())
        search = GridSearchCV(
            ranker("lightgbm", OBJECTIVES[0]), {"estimator__num_leaves": [4]}, cv=cv,
            scoring=skrank.scorer("ndcg@5"),
        )  # fmt: skip
        search.fit(X, CLICKS, groups=QID, position=RANK)
    by_hand = []
    for train, test in cv.split(X, CLICKS, QID):
        one = ranker("lightgbm", OBJECTIVES[0]).set_params(estimator__num_leaves=4)
        one.fit(X[train], CLICKS[train], QID[train], position=RANK[train])
        by_hand.append(skrank.scorer("ndcg@5")(one, X[test], CLICKS[test], groups=QID[test]))
    assert search.best_score_ == pytest.approx(np.mean(by_hand))
    assert len(found[0]) == 3


# what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "objective"), [("lightgbm", None), ("lightgbm", "gap"), ("xgboost", "gap")]
)
def test_positions_without_an_objective_that_learns_about_them_are_refused(estimator, objective):
    plain = GroupedRanker(ESTIMATORS[estimator], objective=objective)
    with pytest.raises(ValueError, match=r"position= is for objectives that learn about positions"):
        plain.fit(X, CLICKS, QID, position=RANK)
    with pytest.raises(ValueError, match=r"position= is for objectives that learn about positions"):
        GroupedRanker(Ridge()).fit(X, CLICKS, position=RANK)


def test_positions_must_be_whole_numbers_one_per_row():
    model = ranker("lightgbm", OBJECTIVES[0])
    with pytest.raises(ValueError, match=r"position of row 3 is 1\.5"):
        model.fit(X, CLICKS, QID, position=np.where(np.arange(len(RANK)) == 3, 1.5, RANK))
    with pytest.raises(ValueError, match="positions has 959 rows"):
        model.fit(X, CLICKS, QID, position=RANK[:-1])
