"""GroupedRanker(init=...) with objectives that have a link: the start is a part of the margin."""

from collections.abc import Callable

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge

import skrank
from skrank import GroupedRanker
from skrank.datasets import make_ranking
from tests.helpers.rankers import First

DATA = make_ranking(60, n_docs=(5, 20), n_features=6, n_informative=4, random_state=0)
X, LABELS, QID = DATA.X, DATA.relevance, DATA.qid
Y = skrank.with_groups(LABELS, QID)
COUNTS, POSITIVE, SHARES = LABELS + 0.0, LABELS + 0.5, LABELS / 4
BINARY = (LABELS > 1).astype(float)
HALF = First(0.5)
START = HALF.predict(X)


def xgb(**parameters):
    defaults = {"n_estimators": 10, "max_depth": 3, "n_jobs": 1}
    return xgboost.XGBRegressor(**defaults | parameters)


def lgbm(**parameters):
    defaults = {"n_estimators": 10, "num_leaves": 7, "verbosity": -1, "n_jobs": 1}
    return lightgbm.LGBMRegressor(**defaults | parameters)


def cat(**parameters):
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostRegressor(**{"iterations": 10, "depth": 3} | quiet | parameters)


# Predictions of a library from a margin, by its public interface.


def by_xgboost(estimator, y):
    model = clone(estimator).fit(X, y, base_margin=START)
    return model.predict(X, base_margin=START)


def by_lightgbm(estimator, y):
    """LightGBM cannot predict from given scores, but it passes predictions to eval metrics."""
    seen = {}

    def note(predictions, _):
        seen["last"] = np.array(predictions)
        return "none", 0.0, True

    params = clone(estimator).get_params()
    rounds = params.pop("n_estimators")
    params = {name: value for name, value in params.items() if value is not None}
    params |= {"objective": params.get("objective", "regression"), "metric": "None"}
    data = lightgbm.Dataset(X, y, init_score=START, params={"verbosity": -1})
    held_out = lightgbm.Dataset(X, y, init_score=START, reference=data)
    lightgbm.train(params, data, rounds, [held_out], feval=note)
    return seen["last"]


def by_catboost(estimator, y):
    model = clone(estimator).fit(X, y, baseline=START)
    return model.predict(catboost.Pool(X, baseline=START))


def labelled(**names):
    """Labels by the name of an objective, from names by labels."""
    labels = {"counts": COUNTS, "positive": POSITIVE, "shares": SHARES, "binary": BINARY}
    return {name: labels[key] for key, value in names.items() for name in value.split()}


XGB_OBJECTIVES = labelled(
    counts="reg:squarederror reg:squaredlogerror reg:pseudohubererror reg:absoluteerror "
    "count:poisson reg:tweedie",
    positive="reg:gamma survival:cox",
    shares="reg:logistic",
    binary="binary:logistic binary:logitraw binary:hinge",
)
LGBM_OBJECTIVES = labelled(
    counts="regression regression_l1 huber fair quantile poisson tweedie",
    positive="mape gamma",
    shares="cross_entropy xentropy cross_entropy_lambda",
    binary="binary",
)
CAT_LOSSES = labelled(
    counts="RMSE MAE Poisson Tweedie:variance_power=1.5 LogCosh", positive="LogLinQuantile Cox"
)
QUANTILE = {"objective": "reg:quantileerror", "quantile_alpha": 0.5}
LINEAR = {"objective": "count:poisson", "booster": "gblinear", "max_depth": None}
BASED = ("reg:squarederror", "count:poisson", "reg:logistic")
SQRT = ("regression", "fair", "huber", "poisson")
CASES: list[tuple[Callable[..., np.ndarray], BaseEstimator, np.ndarray]] = [
    *((by_xgboost, xgb(objective=name), y) for name, y in XGB_OBJECTIVES.items()),
    *((by_xgboost, xgb(objective=name, base_score=0.3), XGB_OBJECTIVES[name]) for name in BASED),
    *((by_xgboost, xgb(**one), COUNTS) for one in (QUANTILE, LINEAR)),
    *((by_lightgbm, lgbm(objective=name), y) for name, y in LGBM_OBJECTIVES.items()),
    *((by_lightgbm, lgbm(objective=name, reg_sqrt=True), COUNTS) for name in SQRT),
    (by_lightgbm, lgbm(objective="binary", sigmoid=2.5), BINARY),
    (by_lightgbm, lgbm(objective="poisson", linear_tree=True), COUNTS),
    *((by_catboost, cat(loss_function=name), y) for name, y in CAT_LOSSES.items()),
]


@pytest.mark.parametrize(("by_library", "estimator", "y"), CASES, ids=range(len(CASES)))
def test_predictions_equal_the_library_s_inverse_link_of_the_margin(by_library, estimator, y):
    model = GroupedRanker(estimator, init=HALF, init_scale=None).fit(X, y)
    expected = by_library(estimator, y)
    assert_allclose(model.predict(X), expected, rtol=1e-5, atol=1e-6)
    assert np.isfinite(model.predict(X)).all()
    assert model.estimator_.get_params().keys() == estimator.get_params().keys()


def test_every_objective_of_xgboost_is_known():
    """XGBoost lists its objectives in the error for an unknown objective."""
    with pytest.raises(xgboost.core.XGBoostError) as told:
        xgb(objective="none").fit(X, COUNTS)
    names = {line.split()[-1] for line in str(told.value).splitlines() if "candidate" in line}
    several = {name for name in names if name.startswith(("multi:", "rank:"))}
    # margins of a row, queries, bounds of labels, or one quantile that is not given
    other = {"survival:aft", "reg:quantileerror", "reg:expectileerror"}
    other |= {"reg:linear"}  # the old name of reg:squarederror
    assert names - several - other <= set(XGB_OBJECTIVES)


@pytest.mark.filterwarnings("ignore:Found .* in params")
def test_an_objective_that_is_given_by_an_alias():
    """LightGBM has aliases for its parameters, and their values."""
    expected = GroupedRanker(lgbm(objective="poisson"), init=HALF).fit(X, COUNTS).predict(X)
    for parameters in ({"application": "poisson"}, {"loss": "poisson"}):
        model = GroupedRanker(lgbm(**parameters), init=HALF).fit(X, COUNTS)
        assert_array_equal(model.predict(X), expected)


def test_an_objective_of_the_user_has_no_link():
    def squares(y, predictions):
        return predictions - y, np.ones_like(y)

    for estimator, margins in (
        (xgb(objective=squares), {"output_margin": True}),
        (lgbm(objective=squares), {"raw_score": True}),
    ):
        model = GroupedRanker(estimator, init=HALF, init_scale=None).fit(X, COUNTS)
        rounds = model.estimator_.predict(X, **margins)
        assert_allclose(model.predict(X), START + rounds, rtol=1e-6)


def test_an_unknown_link_raises():
    """Such as the link of a subclass, or of an objective of a later version."""

    class Clipped(xgboost.XGBRegressor):
        def predict(self, X, **options):
            return np.maximum(super().predict(X, **options), 0.7 if not options else -np.inf)

    estimator = Clipped(n_estimators=3, n_jobs=1)
    with pytest.raises(ValueError, match="init cannot start Clipped: skrank does not"):
        GroupedRanker(estimator, init=HALF).fit(X, COUNTS)
    GroupedRanker(estimator).fit(X, COUNTS)


@pytest.mark.parametrize("parameters", [{"boosting_type": "rf"}, {"boosting": "random_forest"}])
def test_a_random_forest_with_init_raises(parameters):
    estimator = lightgbm.LGBMRanker(subsample=0.5, subsample_freq=1, verbosity=-1, **parameters)
    with pytest.raises(ValueError, match="random forest of LightGBM averages trees, and cannot"):
        GroupedRanker(estimator, init="linear").fit(X, Y)


# what a start may be ------------------------------------------------------------------------------


@pytest.mark.parametrize("init", ["linear", skrank.LinearRanker(), GroupedRanker(Ridge())], ids=str)
@pytest.mark.parametrize("estimator", [lgbm(), xgb(), cat()], ids=lambda one: type(one).__name__)
def test_a_regressor_may_start_from_a_ranker(estimator, init):
    """The ranker needs queries, although the regressor does not."""
    rows = np.random.default_rng(0).permutation(len(X))
    model = GroupedRanker(estimator, init=init).fit(X[rows], Y.iloc[rows])
    same = clone(model.init_).fit(X, Y)
    assert_allclose(model.init_.predict(X), same.predict(X), rtol=1e-3, atol=1e-3)
    assert_array_equal(
        model.predict(X), clone(model).fit(X[rows], LABELS[rows], groups=QID[rows]).predict(X)
    )
    with pytest.raises(ValueError, match="group"):
        GroupedRanker(estimator, init=init).fit(X, LABELS)
    with pytest.raises(ValueError, match="label"):
        GroupedRanker(estimator, init=init).fit(X, skrank.with_groups(LABELS - 1.0, QID))


def test_start_scores_of_any_magnitude():
    plain = GroupedRanker(lgbm(), init=HALF).fit(X, COUNTS).predict(X)
    ranker = GroupedRanker(lgbm(), init=First(0.5, column=6))
    for factor in (2.0**-400, 2.0**400):
        table = np.column_stack([X, X[:, 0] * factor])
        assert_allclose(ranker.fit(table, COUNTS).predict(table), plain, rtol=1e-6)
    table[:, 6] *= 2.0**200
    with pytest.raises(ValueError, match="scores of init=First are too large"):
        ranker.fit(table, COUNTS)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize("estimator", [lgbm(), xgb(), cat()], ids=lambda one: type(one).__name__)
def test_start_scores_that_are_not_finite_raise(value, scale, estimator):
    table = X.copy()
    table[3, 0] = value
    with pytest.raises(ValueError, match=f"init=First scores 1 rows as {value}, and boosting"):
        GroupedRanker(estimator, init=HALF, init_scale=scale).fit(table, COUNTS)
