"""GroupedRanker(init=...): boosting that starts from the scores of another ranker."""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

import skrank
from skrank import GroupedRanker, LinearRanker
from skrank.datasets import make_ranking
from tests.helpers.rankers import First

DATA = make_ranking(60, n_docs=(5, 20), n_features=6, n_informative=4, random_state=0)
X, LABELS, QID = DATA.X, DATA.relevance, DATA.qid
Y = skrank.with_groups(LABELS, QID)
LGBM = lightgbm.LGBMRanker(n_estimators=20, num_leaves=4, verbosity=-1, n_jobs=1)
XGB = xgboost.XGBRanker(n_estimators=20, max_depth=2, n_jobs=1)
CAT = catboost.CatBoostRanker(
    iterations=20, depth=2, verbose=False, allow_writing_files=False, thread_count=1
)
RANKERS = {
    "lightgbm gap": (LGBM, {"objective": "gap"}),
    "lightgbm": (LGBM, {}),
    "xgboost gap": (XGB, {"objective": "gap"}),
    "xgboost": (XGB, {}),
    "catboost": (CAT, {}),
}
# with the inverse link of the objective
TREES = {"n_estimators": 20, "n_jobs": 1}
REGRESSORS = {
    "xgboost poisson": (xgboost.XGBRegressor(objective="count:poisson", **TREES), np.exp),
    "xgboost tweedie": (xgboost.XGBRegressor(objective="reg:tweedie", **TREES), np.exp),
    "lightgbm poisson": (
        lightgbm.LGBMRegressor(objective="poisson", verbosity=-1, **TREES), np.exp,
    ),
    "lightgbm sqrt": (lightgbm.LGBMRegressor(reg_sqrt=True, verbosity=-1, **TREES), np.square),
    "catboost poisson": (
        catboost.CatBoostRegressor(
            loss_function="Poisson", iterations=20, verbose=False, allow_writing_files=False,
            thread_count=1,
        ),
        np.exp,
    ),
}  # fmt: skip
every_ranker = pytest.mark.parametrize(("estimator", "options"), RANKERS.values(), ids=RANKERS)
every = pytest.mark.parametrize(
    ("estimator", "options", "link"),
    [(*one, np.positive) for one in RANKERS.values()]
    + [(estimator, {}, link) for estimator, link in REGRESSORS.values()],
    ids=[*RANKERS, *REGRESSORS],
)
STOP = {"validation_fraction": 0.3, "eval_metric": "ndcg@5", "random_state": 0}
NDCG = skrank.metric("ndcg@5")


def fit(estimator, init, **options):
    return GroupedRanker(estimator, init=init, **options).fit(X, Y)


def inside(scores):
    """Scores minus the mean of their query."""
    return scores - (np.bincount(QID, scores) / np.bincount(QID))[QID]


@every_ranker
def test_predictions_are_the_sum_of_start_and_rounds(estimator, options):
    model = fit(estimator, First(), **options)
    start = model.init_factor_ * X[:, 0]
    assert np.std(inside(start)) == pytest.approx(1)
    rounds = model.estimator_.predict(X)
    assert_allclose(model.predict(X), start + rounds)
    assert np.std(inside(rounds)) > 0.01


@every_ranker
def test_rounds_correct_the_errors_of_the_start(estimator, options):
    """Rounds after a good start change scores less than rounds after scores of 0."""
    known = np.column_stack([X, LABELS + 0.01 * X[:, 0]])

    def spread(init, scale):
        model = GroupedRanker(estimator, init=init, init_scale=scale, **options).fit(known, Y)
        return np.std(inside(model.estimator_.predict(known)))

    assert spread(First(column=6), 30.0) < 0.7 * spread(None, 1.0)


@every
def test_a_constant_start_does_not_change_the_model(estimator, options, link):
    """For a ranker, a start that is constant inside queries."""
    column = QID if link is np.positive else 0 * QID
    table = np.column_stack([X, column])
    alone, model = (
        GroupedRanker(estimator, init=init, **options).fit(table, Y)
        for init in (None, First(column=6))
    )
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


def test_a_linear_start_takes_queries_from_the_index_of_features():
    frame = pd.DataFrame(X, index=pd.Index(QID, name="qid")).add_prefix("f")
    some = QID % 2 == 1
    model = GroupedRanker(LGBM, init="linear", objective="gap")
    expected = model.fit(X[some], LABELS[some], QID[some]).predict(X)
    found = model.fit(frame[some], LABELS[some]).predict(frame)
    assert_allclose(found, expected, rtol=1e-6)


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


@pytest.mark.parametrize("init", [Ridge(), LinearRanker("ap"), GroupedRanker(LGBM)], ids=str)
def test_any_estimator_may_be_the_start(init):
    model = fit(XGB, init, objective="gap")
    assert_allclose(
        model.predict(X), model.init_factor_ * model.init_.predict(X) + model.estimator_.predict(X)
    )
    assert not hasattr(init, "coef_")
    assert not hasattr(init, "estimator_")


# early stopping -----------------------------------------------------------------------------------


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
        NDCG(LABELS[held_out], scores, groups=QID[held_out])
        for scores in (X[held_out, 0], model.predict(X[held_out]))
    )
    assert values[0] == pytest.approx(start)
    assert max(values) == pytest.approx(served, abs=1e-6)


@every_ranker
@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_the_start_is_the_best_round_of_a_metric_where_lower_is_better(estimator, options, scale):
    """If the start scores are the labels, no round is better; if reversed, the start is worst."""
    known = np.column_stack([X, LABELS + 0.01 * X[:, 0]])
    stop = STOP | {"eval_metric": "error@5"}
    for factor in (1.0, -1.0):
        init = First(factor, column=6)
        ranker = GroupedRanker(estimator, init=init, init_scale=scale, **options, **stop)
        model = ranker.fit(known, Y)
        values = model.evals_result_["validation"]["error@5"]
        assert model.best_iteration_ == int(np.argmin(values))
        assert (model.best_iteration_ == 0) == (factor > 0)


@every
@pytest.mark.parametrize("refit", [False, True])
def test_predictions_are_the_start_if_no_round_is_better(estimator, options, link, refit):
    known = np.column_stack([X, LABELS])
    init = First(0.5, column=6)
    model = GroupedRanker(estimator, init=init, refit=refit, **options, **STOP).fit(known, Y)
    assert model.best_iteration_ == 0
    assert model.evals_result_["validation"]["ndcg@5"][0] == 1
    assert_allclose(model.predict(known), link(model.init_factor_ * LABELS / 2))
    if "CatBoost" not in repr(estimator):  # CatBoost would compute its metric on the rows again
        assert len(model.feature_importances_) == 7


# regressors, and errors -------------------------------------------------------------------------


def test_regressors_can_start_from_scores():
    target = LABELS + 0.0
    for estimator in (
        lightgbm.LGBMRegressor(n_estimators=20, verbosity=-1, n_jobs=1),
        xgboost.XGBRegressor(n_estimators=20, n_jobs=1),
    ):
        model = GroupedRanker(estimator, init=Ridge(), init_scale=None).fit(X, target)
        error = np.mean((model.predict(X) - target) ** 2)
        assert error < 0.7 * np.mean((Ridge().fit(X, target).predict(X) - target) ** 2)


def test_unsupported_starts_raise():
    hist = HistGradientBoostingRegressor()
    for estimator in (hist, Ridge(), lightgbm.LGBMClassifier(verbosity=-1)):
        with pytest.raises(ValueError, match=f"{type(estimator).__name__} cannot start from"):
            fit(estimator, "linear")
    with pytest.raises(ValueError, match="init='line' is not a choice"):
        fit(LGBM, "line")
    with pytest.raises(ValueError, match=r"init=<class .*Ridge'> is not an estimator: give an"):
        fit(LGBM, Ridge)
    with pytest.raises(ValueError, match="init_scale=0 must be"):
        fit(LGBM, "linear", init_scale=0)
    model = GroupedRanker(xgboost.XGBRanker(n_estimators=2), objective="gap", init="linear")
    with pytest.raises(
        ValueError, match="base_margin= of fit and init of GroupedRanker are both given"
    ):
        model.fit(X, LABELS, QID, base_margin=np.zeros(len(X)))
