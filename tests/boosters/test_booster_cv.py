"""Cross-validation of boosters: a loop over folds, the folds, and refusals."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.model_selection import GroupKFold, KFold

import skrank
import skrank.lightgbm
import skrank.xgboost
from tests.helpers.boosters import Data

LGB = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 5, "num_leaves": 8}
XGB = {"nthread": 1, "max_depth": 3}
FIRM = {"tie_order": "stable"}  # so that the order of queries draws nothing
DATA = Data(2, 40)
DATA.X = DATA.X.round(1)  # few values: bins do not depend on the order of rows


@pytest.fixture
def data():
    return DATA


def splits(data, n_splits=3, seed=0):
    cv = skrank.QueryKFold(n_splits, shuffle=True, random_state=seed)
    return list(cv.split(data.X, data.y, data.qid))


def by_hand(data, cv, name, weighted, built_in):
    """Values per fold and round, for LightGBM's or XGBoost's own objective or for GAP."""
    whole = data.dataset(weighted, free_raw_data=False).construct()
    values = []
    for train, test in splits(data, 3, 7):
        train, test = np.sort(train), np.sort(test)
        if cv is skrank.lightgbm.cv:
            params = LGB | {"metric": "None", "objective": built_in or "none"}
            booster = lgb.Booster(params, whole.subset(train))
            objective = None if built_in else skrank.lightgbm.objective("gap", **FIRM)
            for _ in range(6):
                booster.update(fobj=objective)
            scores = [booster.predict(data.X[test], num_iteration=end) for end in range(1, 7)]
        else:
            own = {"objective": built_in} if built_in else {}
            objective = None if built_in else skrank.xgboost.objective("gap", **FIRM)
            params = XGB | {"disable_default_eval_metric": 1} | own
            booster = xgb.train(params, data.part(train).matrix(weighted), 6, obj=objective)
            rows, how = data.part(test).matrix(), {"output_margin": True}
            scores = [booster.predict(rows, iteration_range=(0, k), **how) for k in range(1, 7)]
        metric = skrank.metric(name, max_grade=4)
        values.append([data.part(test).score(metric, one, weighted) for one in scores])
    return np.array(values)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("cv", "built_in"),
    [
        (skrank.lightgbm.cv, None), (skrank.lightgbm.cv, "lambdarank"),
        (skrank.xgboost.cv, None), (skrank.xgboost.cv, "rank:ndcg"),
    ],
)  # fmt: skip
def test_it_equals_a_loop_by_hand(data, cv, built_in, weighted):
    light = cv is skrank.lightgbm.cv
    objective = None if built_in else skrank.LambdaRank("gap", **FIRM)
    params = (LGB if light else XGB) | ({"objective": built_in} if built_in else {})
    rows = data.dataset(weighted) if light else data.matrix(weighted)
    how = {"metrics": ["gap@5", "err"], "folds": 3, "random_state": 7, "objective": objective}
    found = cv(params, rows, 6, **how)
    part, spread = ("valid ", "stdv") if light else ("test-", "std")
    tolerance = 1e-9 if light else 1e-6  # XGBoost logs six decimals
    assert isinstance(found, dict if light else pd.DataFrame)
    for name in ("gap@5", "err"):
        expected = by_hand(data, cv, name, weighted, built_in)
        for kind, values in (("mean", expected.mean(axis=0)), (spread, expected.std(axis=0))):
            np.testing.assert_allclose(found[f"{part}{name}-{kind}"], values, atol=tolerance)
    assert len(list(found)) == (4 if light else 8)


def stop_by_hand(means, rounds):
    best = 0
    for number, value in enumerate(means):
        if value > means[best]:
            best = number
        elif number - best >= rounds:
            return best
    return None


class Folded(xgb.callback.TrainingCallback):
    """The Booster of each fold."""

    def before_training(self, model):
        self.boosters = [fold.bst for fold in model.cvfolds]
        return model


@pytest.mark.parametrize("metrics", [("gap@5", "err"), ("err", "gap@5")])
@pytest.mark.parametrize("cv", [skrank.lightgbm.cv, skrank.xgboost.cv])
def test_it_stops_as_by_hand(data, cv, metrics):
    """The first metric decides when to stop."""
    light, folded = cv is skrank.lightgbm.cv, Folded()
    params = (LGB | {"learning_rate": 0.4}) if light else XGB | {"learning_rate": 0.5}
    first = f"valid {metrics[0]}-mean" if light else f"test-{metrics[0]}-mean"
    options = {"objective": skrank.LambdaRank("gap", **FIRM), "metrics": list(metrics), "folds": 3}

    def run(**extra):
        return cv(params, data.dataset() if light else data.matrix(), 60, **options, **extra)

    plain = run()
    best = stop_by_hand(list(plain[first]), 4)
    found = run(early_stopping_rounds=4, **{} if light else {"callbacks": [folded]})
    assert 0 < best < 55
    for name in found:
        assert list(found[name]) == list(plain[name][: best + 1])
    if light:
        more = run(early_stopping_rounds=4, return_cvbooster=True, eval_train_metric=True)
        assert more["cvbooster"].best_iteration == best + 1
        assert list(more[first]) == list(found[first])
        assert first.replace("valid", "train") in more
    else:
        assert [booster.best_iteration for booster in folded.boosters] == [best] * 3


def both(data, rounds=4, **options):
    """Means of both boosters per round."""
    options = {"objective": skrank.LambdaRank("gap", **FIRM), "metrics": "gap@5"} | options
    one = skrank.lightgbm.cv(LGB, data.dataset(True), rounds, **options)
    two = skrank.xgboost.cv(XGB, data.matrix(True), rounds, **options)
    return np.array([one["valid gap@5-mean"], two["test-gap@5-mean"]])


def test_the_order_of_queries_does_not_matter_with_groups(data):
    order = np.random.default_rng(1).permutation(40)
    other = data.part(np.concatenate([np.flatnonzero(data.qid == query) for query in order]))
    time = {query: -query for query in range(40)}
    for folds in (3, skrank.QueryKFold(3), skrank.QueryTimeSeriesSplit(2, time=time)):
        found = both(data, folds=folds, groups=data.qid)
        again = both(other, folds=folds, groups=other.qid)
        np.testing.assert_allclose(again, found, atol=2e-6)
    assert not np.allclose(both(data), both(other))  # ids are then the numbers of the queries


def test_splitters_and_rows_give_the_same(data):
    cv = skrank.QueryKFold(4, stratify="n_relevant")  # which needs the labels
    expected = both(data, folds=list(cv.split(data.X, data.y, data.qid)))
    np.testing.assert_array_equal(both(data, folds=cv), expected)
    expected = both(data, folds=GroupKFold(3))
    rows = list(GroupKFold(3).split(data.X, data.y, data.qid))
    for folds in (rows, [(train[::-1], test[::-1].tolist()) for train, test in rows]):
        np.testing.assert_array_equal(both(data, folds=folds), expected)


def test_the_scale_of_grades_is_that_of_all_labels():
    low = Data(3, 40)
    low.y = np.minimum(low.y, 2)
    low.y[low.qid == low.qid[0]] = 4  # in one query only, which most training parts lack
    folds = list(skrank.QueryKFold(4).split(low.X, low.y, low.qid))[:2]
    implied, given = skrank.metric("err"), skrank.metric("err", max_grade=4)
    for run, part in ((run_lightgbm, "valid "), (run_xgboost, "test-")):
        one, two = (
            run(low, objective=skrank.LambdaRank(metric, **FIRM), metrics=metric, folds=folds)
            for metric in (implied, given)
        )
        np.testing.assert_array_equal(one[f"{part}err-mean"], two[f"{part}{given}-mean"])


def test_feature_names_and_categories_survive_the_split(data):
    frame = pd.DataFrame(data.X, columns=list("abcdef"))
    frame["c"] = pd.Categorical(np.arange(len(frame)) % 3)
    matrix = xgb.DMatrix(frame, data.y, group=data.sizes, enable_categorical=True)
    folded = Folded()
    skrank.xgboost.cv(XGB, matrix, 2, objective="gap", folds=2, callbacks=[folded])
    assert folded.boosters[0].feature_names == list("abcdef")
    assert folded.boosters[0].feature_types == ["float", "float", "c", *["float"] * 3]


def run_lightgbm(data, params=None, source=None, **options):
    source = data.dataset() if source is None else source
    return skrank.lightgbm.cv(LGB | (params or {}), source, 2, **options)


def run_xgboost(data, params=None, source=None, **options):
    source = data.matrix() if source is None else source
    return skrank.xgboost.cv(XGB | (params or {}), source, 2, **options)


each = pytest.mark.parametrize("run", [run_lightgbm, run_xgboost])


FIRST, SECOND = np.arange(DATA.sizes[0]), DATA.sizes[0] + np.arange(DATA.sizes[1])
TORN, ALIKE = DATA.qid.copy(), DATA.qid.copy()
TORN[1] = -1
ALIKE[-DATA.sizes[-1] :] = ALIKE[0]


@each
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": KFold(3)}, "fold 0.*skrank.QueryKFold"),
        ({"folds": 1}, "folds"),
        ({"folds": 41}, "n_splits=41"),
        ({"folds": True}, "folds=True"),
        ({"folds": [5]}, "fold 0"),
        ({"folds": [([], [1])]}, "fold 0"),
        ({"folds": [(FIRST, np.r_[FIRST, SECOND])]}, "query 0"),
        ({"folds": [(np.r_[FIRST, FIRST], SECOND)]}, "fold 0"),
        ({"folds": [(FIRST, SECOND[1:])]}, "fold 0"),
        ({"folds": [(FIRST, [10**6])]}, "fold 0"),
        ({"groups": np.zeros(3)}, "query id"),
        ({"groups": TORN}, "row 1"),
        ({"groups": ALIKE}, "same id"),
        ({"metrics": []}, "no metric"),
        ({"objective": None}, "objective"),
        ({"params": {"objective": "rank:ndcg"}}, "two objectives"),
        ({"params": {"objective": "rank:ndcg"}, "objective": None}, "metric"),
        ({"early_stopping_rounds": 0}, "rounds=0"),
    ],
)
def test_bad_arguments(data, run, options, message):
    with pytest.raises(ValueError, match=message):
        run(data, **{"objective": "gap"} | options)


def test_parameters_of_the_boosters_that_cv_replaces(data):
    for run, params, message in (
        (run_lightgbm, {"metric": "ndcg"}, "metric='ndcg': give metrics="),
        (run_xgboost, {"eval_metric": "ndcg"}, "eval_metric='ndcg': give metrics="),
        (run_lightgbm, {"early_stopping_round": 5}, "round=5: give early_stopping_rounds="),
        (run_lightgbm, {"early_stopping_min_delta": 0.1}, "callbacks="),
        (run_lightgbm, {"ndcg_eval_at": [5]}, "ndcg_eval_at=.*metrics="),
        (run_lightgbm, {"sigmoid": 2.0}, "sigmoid= of skrank.LambdaRank"),
        (run_xgboost, {"lambdarank_normalization": False}, "norm= of skrank.LambdaRank"),
    ):
        with pytest.raises(ValueError, match=message):
            run(data, params, objective="gap")
    for run, name in ((run_lightgbm, "boosting"), (run_xgboost, "booster")):
        with pytest.raises(ValueError, match="dart"):
            run(data, {name: "dart"}, objective="gap", early_stopping_rounds=5)
    found = run_lightgbm(data, {"objective": skrank.lightgbm.objective("err")}, folds=2)
    assert list(found) == ["valid err-mean", "valid err-stdv"]


def test_data_without_queries_or_with_weights_of_rows(data):
    weights = np.arange(1.0, len(data.y) + 1)
    for run, source, message in (
        (run_lightgbm, data.dataset(group=None), "lightgbm.Dataset"),
        (run_lightgbm, data.dataset(weight=weights), "varies inside query"),
        (run_xgboost, xgb.DMatrix(data.X, data.y), "DMatrix"),
        (run_xgboost, data.matrix(weight=data.weight), "weight"),
    ):
        with pytest.raises(ValueError, match=message):
            run(data, source=source, objective="gap")
    matrix = xgb.QuantileDMatrix(data.X, data.y, group=data.sizes)
    with pytest.raises(TypeError, match="QuantileDMatrix"):
        run_xgboost(data, source=matrix, objective="gap")
    with pytest.raises(TypeError, match=r"skrank.xgboost"):
        skrank.xgboost.cv(XGB, data.X, 2, objective="gap")
