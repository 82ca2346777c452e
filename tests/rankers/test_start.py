"""GroupedRanker(init=...): boosting that starts from the scores of another ranker."""

from functools import partial

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge

import skrank
from skrank import GroupedRanker, LinearRanker
from skrank.datasets import make_ranking
from tests.helpers import rankers
from tests.helpers.rankers import First

DATA = make_ranking(60, n_docs=(5, 20), n_features=6, n_informative=4, random_state=0)
X, LABELS, QID = DATA.X, DATA.relevance, DATA.qid
Y = skrank.with_groups(LABELS, QID)
COUNTS = LABELS + 0.0
HALF = First(0.5)
START = HALF.predict(X)
STOP = {"validation_fraction": 0.3, "eval_metric": "ndcg@5", "random_state": 0}


lgbm = partial(rankers.lgbm, lightgbm.LGBMRegressor, n_estimators=10)
xgb = partial(rankers.xgb, xgboost.XGBRegressor, n_estimators=10)
cat = partial(rankers.cat, catboost.CatBoostRegressor, iterations=10, depth=3)
LGBM = rankers.lgbm(n_estimators=20, num_leaves=4)
XGB = rankers.xgb(n_estimators=20, max_depth=2)
RANKERS = {
    "lightgbm gap": (LGBM, {"objective": "gap"}),
    "lightgbm": (LGBM, {}),
    "xgboost gap": (XGB, {"objective": "gap"}),
    "xgboost": (XGB, {}),
    "catboost": (rankers.cat(depth=2), {}),
}
every_ranker = pytest.mark.parametrize(("estimator", "options"), RANKERS.values(), ids=RANKERS)
REGRESSORS = [(one, {}) for one in (lgbm(), xgb(), cat())]
every = pytest.mark.parametrize(
    ("estimator", "options"),
    [*RANKERS.values(), *REGRESSORS],
    ids=[*RANKERS, *(type(one).__name__ for one, _ in REGRESSORS)],
)
every_regressor = pytest.mark.parametrize(
    "estimator", [lgbm(), xgb(), cat()], ids=lambda one: type(one).__name__
)


def fit(estimator, init, X=X, y=Y, **options):
    return GroupedRanker(estimator, init=init, **options).fit(X, y)


def inside(scores):
    """Scores minus the mean of their query."""
    return scores - (np.bincount(QID, scores) / np.bincount(QID))[QID]


@every_ranker
def test_predictions_are_the_sum_of_start_and_rounds(estimator, options):
    init = First()
    model = fit(estimator, init, **options)
    assert not hasattr(init, "fitted_")  # a clone is trained
    start = model.init_factor_ * X[:, 0]
    assert np.std(inside(start)) == pytest.approx(1)
    rounds = model.estimator_.predict(X)
    assert_allclose(model.predict(X), start + rounds)
    assert np.std(inside(rounds)) > 0.01


@every
def test_a_constant_start_does_not_change_the_model(estimator, options):
    """For a ranker, a start that is constant inside queries."""
    column = QID if "Ranker" in type(estimator).__name__ else 0 * QID
    table = np.column_stack([X, column])
    alone, model = (fit(estimator, init, table, **options) for init in (None, First(column=6)))
    assert model.init_factor_ == 0
    assert_allclose(model.predict(table), alone.predict(table), rtol=1e-6)


@every_ranker
def test_init_scale(estimator, options):
    small, large = (fit(estimator, First(), init_scale=scale, **options) for scale in (0.5, 4))
    assert large.init_factor_ == pytest.approx(8 * small.init_factor_)
    raw = fit(estimator, First(3.0), init_scale=None, **options)
    assert raw.init_factor_ == 1
    assert_array_equal(
        fit(estimator, First(256.0), **options).predict(X),
        fit(estimator, First(), **options).predict(X),
    )


def test_linear_is_a_linear_ranker_on_the_metric_of_the_objective():
    model = fit(LGBM, "linear", objective="ndcg")
    by_hand = LinearRanker("ndcg").fit(X, Y)
    assert isinstance(model.init_, LinearRanker)
    assert_allclose(model.init_.coef_, by_hand.coef_, rtol=1e-6, atol=1e-6)
    assert fit(LGBM, "linear").init_.objective == "gap"
    assert fit(LGBM, "linear", objective=skrank.Softmax()).init_.objective == "gap"


@every
def test_values_per_round_are_those_of_predictions_and_the_start_is_round_0(estimator, options):
    train, held_out = QID < 40, QID >= 40
    ranker = GroupedRanker(
        estimator, init=First(), eval_metric="ndcg@5", early_stopping_rounds=5, **options
    )
    model = ranker.fit(X[train], Y[train], X_val=X[held_out], y_val=Y[held_out])
    values = model.evals_result_["validation"]["ndcg@5"]
    assert model.best_iteration_ == int(np.argmax(values))
    start, served = (
        skrank.metric("ndcg@5")(LABELS[held_out], scores, groups=QID[held_out])
        for scores in (X[held_out, 0], model.predict(X[held_out]))
    )
    assert values[0] == pytest.approx(start)
    assert max(values) == pytest.approx(served, abs=1e-6)


@every
def test_predictions_are_the_start_if_no_round_is_better(estimator, options):
    known = np.column_stack([X, LABELS])
    for refit in (False, True):
        how = options | STOP | {"options": {"refit": refit}, "early_stopping_rounds": 3}
        model = fit(estimator, First(0.5, column=6), known, **how)
        assert model.best_iteration_ == 0
        assert model.evals_result_["validation"]["ndcg@5"][0] == 1
        assert_allclose(model.predict(known), model.init_factor_ * LABELS / 2)


def by_xgboost(estimator, y):
    """Predictions of XGBoost from a margin, by its public interface; below, of the others."""
    return clone(estimator).fit(X, y, base_margin=START).predict(X, base_margin=START)


def by_lightgbm(estimator, y):
    """LightGBM cannot predict from given scores, but margins are their sum with the rounds."""
    return START + clone(estimator).fit(X, y, init_score=START).predict(X, raw_score=True)


def by_catboost(estimator, y):
    model = clone(estimator).fit(X, y, baseline=START)
    return model.predict(catboost.Pool(X, baseline=START))


XGB_ERRORS = ("squarederror", "squaredlogerror", "pseudohubererror", "absoluteerror")


def squares(y, predictions):
    return predictions - y, np.ones_like(y)


IDENTITY = [
    (by_xgboost, xgb(objective=squares)),
    (by_lightgbm, lgbm(objective=squares)),
    *((by_xgboost, xgb(objective=f"reg:{name}")) for name in XGB_ERRORS),
    (by_xgboost, xgb(base_score=0.3)),
    (by_xgboost, xgb(booster="gblinear", max_depth=None)),
    *((by_lightgbm, lgbm(objective=name)) for name in ("regression", "mae", "huber", "quantile")),
    *((by_catboost, cat(loss_function=name)) for name in ("RMSE", "MAE")),
]
LINKS = [
    *(xgb(objective=name) for name in ("count:poisson", "reg:gamma", "binary:logistic")),
    *(lgbm(objective=name) for name in ("poisson", "cross_entropy")),
    lgbm(reg_sqrt=True),
    cat(loss_function="Poisson"),
]


@pytest.mark.parametrize(("by_library", "estimator"), IDENTITY, ids=range(len(IDENTITY)))
def test_predictions_equal_those_of_the_library_from_the_start(by_library, estimator):
    model = GroupedRanker(estimator, init=HALF, init_scale=None).fit(X, COUNTS)
    assert_allclose(model.predict(X), by_library(estimator, COUNTS), rtol=1e-5, atol=1e-6)
    assert model.estimator_.get_params().keys() == estimator.get_params().keys()


@pytest.mark.parametrize("estimator", LINKS, ids=range(len(LINKS)))
def test_objectives_with_a_link_are_refused(estimator):
    """Predictions would not be the sum of scores and rounds."""
    labels = (LABELS > 1) + 0.5 * (estimator.get_params().get("objective") == "reg:gamma")
    with pytest.raises(ValueError, match=f"init .*{type(estimator).__name__}"):
        fit(estimator, HALF, y=labels)
    fit(estimator, None, y=labels)


@pytest.mark.parametrize(
    ("estimator", "init"),
    [
        (estimator, init)
        for estimator in (lgbm(), xgb(), cat())
        for init in ("linear", GroupedRanker(Ridge()))
    ],
    ids=str,
)
def test_a_regressor_may_start_from_a_ranker(estimator, init):
    """The ranker needs queries, although the regressor does not."""
    rows = np.random.default_rng(0).permutation(len(X))
    model = GroupedRanker(estimator, init=init).fit(X[rows], Y.iloc[rows])
    same = clone(model.init_).fit(X, Y)
    assert_allclose(model.init_.predict(X), same.predict(X), rtol=1e-3, atol=1e-3)
    with_groups = clone(model).fit(X[rows], LABELS[rows], groups=QID[rows])
    assert_allclose(model.predict(X), with_groups.predict(X), rtol=1e-6)
    with pytest.raises(ValueError, match="group"):
        fit(estimator, init, y=LABELS)
    with pytest.raises(ValueError, match="label"):
        fit(estimator, init, y=skrank.with_groups(LABELS - 1.0, QID))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("scale", [None, 1.0])
@every_regressor
def test_start_scores_that_are_not_finite_raise(value, scale, estimator):
    table = X.copy()
    table[3, 0] = value
    with pytest.raises(ValueError, match="row 3"):
        fit(estimator, HALF, table, COUNTS, init_scale=scale)
