"""GroupedRanker(init=...): boosting that starts from the scores of another ranker."""

from collections.abc import Callable
from functools import partial

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge

import skrank
from skrank import GroupedRanker, LinearRanker
from skrank.datasets import make_ranking
from skrank.rankers._kinds import kind_of
from tests.helpers import rankers
from tests.helpers.rankers import First

DATA = make_ranking(60, n_docs=(5, 20), n_features=6, n_informative=4, random_state=0)
X, LABELS, QID = DATA.X, DATA.relevance, DATA.qid
Y = skrank.with_groups(LABELS, QID)
COUNTS, POSITIVE, SHARES = LABELS + 0.0, LABELS + 0.5, LABELS / 4
BINARY = (LABELS > 1).astype(float)
KNOWN = np.column_stack([X, LABELS + 0.01 * X[:, 0]])  # the last feature predicts the labels
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
# with the inverse link of the objective
REGRESSORS = {
    "xgboost poisson": (xgb(objective="count:poisson"), np.exp),
    "xgboost tweedie": (xgb(objective="reg:tweedie"), np.exp),
    "lightgbm poisson": (lgbm(objective="poisson"), np.exp),
    "lightgbm sqrt": (lgbm(reg_sqrt=True), np.square),
    "catboost poisson": (cat(loss_function="Poisson"), np.exp),
}
every_ranker = pytest.mark.parametrize(("estimator", "options"), RANKERS.values(), ids=RANKERS)
every = pytest.mark.parametrize(
    ("estimator", "options", "link"),
    [(*one, np.positive) for one in RANKERS.values()]
    + [(estimator, {}, link) for estimator, link in REGRESSORS.values()],
    ids=[*RANKERS, *REGRESSORS],
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


@every_ranker
def test_rounds_correct_the_errors_of_the_start(estimator, options):
    """Rounds after a good start change scores less than rounds after scores of 0."""

    def spread(init, scale):
        model = fit(estimator, init, KNOWN, init_scale=scale, **options)
        return np.std(inside(model.estimator_.predict(KNOWN)))

    assert spread(First(column=6), 30.0) < 0.7 * spread(None, 1.0)


@every
def test_a_constant_start_does_not_change_the_model(estimator, options, link):
    """For a ranker, a start that is constant inside queries."""
    column = QID if link is np.positive else 0 * QID
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


def test_a_query_of_weight_2_counts_as_two_in_the_scale_of_the_start():
    doubled = np.flatnonzero(QID < 20)
    rows = np.append(np.arange(len(X)), doubled)
    weights = np.where(QID < 20, 2.0, 1.0)
    model = GroupedRanker(LGBM, init=Ridge())
    expected = model.fit(X[rows], LABELS[rows], np.append(QID, QID[doubled] + 100)).init_factor_
    assert model.fit(X, Y, sample_weight=weights).init_factor_ == pytest.approx(expected)


def test_linear_is_a_linear_ranker_on_the_metric_of_the_objective():
    model = fit(LGBM, "linear", objective="ndcg")
    by_hand = LinearRanker("ndcg").fit(X, Y)
    assert isinstance(model.init_, LinearRanker)
    assert_allclose(model.init_.coef_, by_hand.coef_)
    assert fit(LGBM, "linear").init_.objective == "gap"
    assert fit(LGBM, "linear", objective=skrank.Softmax()).init_.objective == "gap"


@every
def test_values_per_round_are_those_of_predictions_and_the_start_is_round_0(
    estimator, options, link
):
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


@every_ranker
@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_the_start_is_the_best_round_of_a_metric_where_lower_is_better(estimator, options, scale):
    """If the start scores are the labels, no round is better; if reversed, the start is worst."""
    stop = STOP | {"eval_metric": "error@5"}
    for factor in (1.0, -1.0):
        model = fit(estimator, First(factor, column=6), KNOWN, init_scale=scale, **options, **stop)
        values = model.evals_result_["validation"]["error@5"]
        assert model.best_iteration_ == int(np.argmin(values))
        assert (model.best_iteration_ == 0) == (factor > 0)


@every
@pytest.mark.parametrize("refit", [False, True])
def test_predictions_are_the_start_if_no_round_is_better(estimator, options, link, refit):
    known = np.column_stack([X, LABELS])
    model = fit(estimator, First(0.5, column=6), known, refit=refit, **options, **STOP)
    assert model.best_iteration_ == 0
    assert model.evals_result_["validation"]["ndcg@5"][0] == 1
    assert_allclose(model.predict(known), link(model.init_factor_ * LABELS / 2))
    if "CatBoost" not in repr(estimator):  # CatBoost would compute its metric on the rows again
        assert len(model.feature_importances_) == 7


# objectives with a link: the start is a part of the margin ----------------------------------------


def by_xgboost(estimator, y):
    """Predictions of XGBoost from a margin, by its public interface; below, of the others."""
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
    expected, *found = (
        fit(lgbm(**{name: "poisson"}), HALF, y=COUNTS).predict(X)
        for name in ("objective", "application", "loss")
    )
    assert_array_equal(found, [expected] * 2)


def test_an_objective_of_the_user_has_no_link():
    def squares(y, predictions):
        return predictions - y, np.ones_like(y)

    for estimator, margins in (
        (xgb(objective=squares), {"output_margin": True}),
        (lgbm(objective=squares), {"raw_score": True}),
    ):
        model = fit(estimator, HALF, y=COUNTS, init_scale=None)
        rounds = model.estimator_.predict(X, **margins)
        assert_allclose(model.predict(X), START + rounds, rtol=1e-6)


def test_an_unknown_link_raises(monkeypatch):
    """The links of XGBoost and LightGBM are tables; the test above compares all their entries."""
    for estimator, name in ((xgb(), "reg:squarederror"), (lgbm(), "regression")):
        kind = type(kind_of(estimator))
        monkeypatch.setattr(kind, "links", dict(kind.links))
        kind.links.pop(name)
        with pytest.raises(
            ValueError, match=f"init cannot start {type(estimator).__name__}.*{name}"
        ):
            fit(estimator, HALF, y=COUNTS)
        fit(estimator, None, y=COUNTS)


@pytest.mark.parametrize("init", ["linear", skrank.LinearRanker(), GroupedRanker(Ridge())], ids=str)
@every_regressor
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
        fit(estimator, init, y=LABELS)
    with pytest.raises(ValueError, match="label"):
        fit(estimator, init, y=skrank.with_groups(LABELS - 1.0, QID))


def test_start_scores_of_any_magnitude():
    plain = fit(lgbm(), HALF, y=COUNTS).predict(X)
    for factor in (2.0**-600, 2.0**600, 2.0**1000):
        table = np.column_stack([X, X[:, 0] * factor])
        model = fit(lgbm(), First(0.5, column=6), table, COUNTS)
        assert_allclose(model.predict(table), plain, rtol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("scale", [None, 1.0])
@every_regressor
def test_start_scores_that_are_not_finite_raise(value, scale, estimator):
    table = X.copy()
    table[3, 0] = value
    with pytest.raises(ValueError, match=f"init=First scores 1 rows as {value}, and boosting"):
        fit(estimator, HALF, table, COUNTS, init_scale=scale)
