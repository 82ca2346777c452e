"""Folds of the cross-validation of boosters: whole queries, or an error."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.model_selection import GroupKFold, KFold

import skrank
import skrank.lightgbm
import skrank.xgboost
from tests.helpers.booster_runs import (
    FIRM,
    LGB,
    XGB,
    Data,
    splits,
)


@pytest.fixture(scope="module")
def data():
    return Data()


# Folds ----------------------------------------------------------------------------------------


def both(data, rounds=4, **options):
    """Means of both boosters per round."""
    options = {"objective": skrank.LambdaRank("gap", **FIRM), "metrics": "gap@5"} | options
    one = skrank.lightgbm.cv(LGB, data.dataset(True), rounds, **options)
    two = skrank.xgboost.cv(XGB, data.matrix(True), rounds, **options)
    return np.array([one["valid gap@5-mean"], two["test-gap@5-mean"]])


def test_the_order_of_queries_does_not_matter_with_groups(data):
    other = data.shuffled(1)
    time = {name: place for place, name in enumerate(sorted(set(data.qid.tolist())))}
    for folds in (3, skrank.QueryKFold(3), skrank.QueryTimeSeriesSplit(2, time=time)):
        found = both(data, folds=folds, groups=data.qid)
        again = both(other, folds=folds, groups=other.qid)
        np.testing.assert_allclose(again, found, atol=2e-6)
    assert not np.allclose(both(data), both(other))  # ids are then the numbers of the queries


def test_splitters_and_rows_give_the_same(data):
    number = np.repeat(np.arange(len(data.sizes)), data.sizes)
    expected = both(data, folds=GroupKFold(3))
    rows = list(GroupKFold(3).split(data.X, data.y, number))
    np.testing.assert_array_equal(both(data, folds=rows), expected)
    lazy = run_xgboost(data, objective="gap", folds=iter(rows))
    pd.testing.assert_frame_equal(lazy, run_xgboost(data, objective="gap", folds=rows))
    backwards = [(train[::-1], test[::-1].tolist()) for train, test in rows]
    np.testing.assert_array_equal(both(data, folds=backwards), expected)


def test_splitters_see_the_labels(data):
    number = np.repeat(np.arange(len(data.sizes)), data.sizes)
    cv = skrank.QueryKFold(4, stratify="n_relevant")
    expected = both(data, folds=list(cv.split(data.X, data.y, number)))
    np.testing.assert_array_equal(both(data, folds=cv), expected)


def test_the_scale_of_grades_is_that_of_all_labels(data):
    low = Data(3)
    low.y = np.minimum(low.y, 2)
    low.y[low.qid == low.qid[0]] = 4  # in one query only, which most training parts lack
    number = np.repeat(np.arange(len(low.sizes)), low.sizes)
    folds = list(skrank.QueryKFold(4).split(low.X, low.y, number))[:2]
    firm = skrank.LambdaRank(skrank.metric("err", max_grade=4), **FIRM)
    given = {"folds": folds, "rounds": 3}
    implied = both(low, objective=skrank.LambdaRank("err", **FIRM), **given)
    np.testing.assert_array_equal(both(low, objective=firm, **given), implied)
    for run, log in ((skrank.lightgbm.cv, "valid err-mean"), (skrank.xgboost.cv, "test-err-mean")):
        params, source = (LGB, low.dataset()) if "valid" in log else (XGB, low.matrix())
        one = run(params, source, 2, objective=firm, metrics="err", folds=folds)
        fixed = skrank.metric("err", max_grade=4)
        two = run(params, source, 2, objective=firm, metrics=fixed, folds=folds)
        expected = two[log.replace("err", str(fixed))]
        np.testing.assert_array_equal(one[log], expected)


def test_feature_names_and_categories_survive_the_split(data):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    frame["c"] = pd.Categorical(np.arange(len(frame)) % 3)
    matrix = xgb.DMatrix(frame, data.y, group=data.sizes, enable_categorical=True)
    _, boosters = skrank.xgboost.cv(XGB, matrix, 2, objective="gap", folds=2, return_boosters=True)
    assert boosters[0].feature_names == list("abcd")
    assert boosters[0].feature_types == ["float", "float", "c", "float"]


# Per query ------------------------------------------------------------------------------------


def test_values_per_query_of_every_fold(data):
    folds = splits(data)
    log, log2 = skrank.lightgbm.QueryLog(), skrank.xgboost.QueryLog()
    options = {"objective": skrank.LambdaRank("gap", **FIRM), "metrics": "gap@5", "folds": folds}
    one = skrank.lightgbm.cv(LGB, data.dataset(), 3, per_query=log, **options)
    two = skrank.xgboost.cv(XGB, data.matrix(), 3, per_query=log2, **options)
    assert (len(log), len(log2)) == (3, 6)
    for found, each in (
        (one["valid gap@5-mean"], [log.frame("gap@5", fold) for fold in range(3)]),
        (two["test-gap@5-mean"], [log2.frame("gap@5", 2 * fold + 1) for fold in range(3)]),
    ):
        assert [frame.shape for frame in each] == [
            (3, len(np.unique(data.qid[test]))) for _, test in folds
        ]
        np.testing.assert_allclose(
            np.mean([frame.mean(axis=1) for frame in each], axis=0), found, atol=6e-7
        )


# What is refused ------------------------------------------------------------------------------


def run_lightgbm(data, params=None, source=None, **options):
    source = data.dataset() if source is None else source
    return skrank.lightgbm.cv(LGB | (params or {}), source, 2, **options)


def run_xgboost(data, params=None, source=None, **options):
    source = data.matrix() if source is None else source
    return skrank.xgboost.cv(XGB | (params or {}), source, 2, **options)


each = pytest.mark.parametrize("run", [run_lightgbm, run_xgboost])


@each
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": KFold(3)}, "training part of fold 0 tears queries apart.*skrank.QueryKFold"),
        ({"folds": 1}, "at least 2 folds"),
        ({"folds": 41}, "n_splits=41, .* needs at least 41 queries, and there are 40"),
        ({"folds": "five"}, "folds='five' must be a number"),
        ({"folds": True}, "folds=True must be a number"),
        ({"folds": []}, "folds is empty"),
        ({"folds": [5]}, "fold 0 must be a pair"),
        ({"folds": [([0.5], [1])]}, "must hold row numbers"),
        ({"folds": [([], [1])]}, "must hold row numbers"),
        ({"folds": [([0], [10**6])]}, "training part of fold 0 tears"),
        ({"groups": np.zeros(3)}, "one query id per row"),
        ({"metrics": []}, "no metric"),
        ({"metrics": "gapp"}, "did you mean 'gap'"),
        ({"objective": None}, "the objective is missing"),
        ({"early_stopping_rounds": 0}, "must be at least 1"),
        ({"per_query": {}}, "must be a QueryLog"),
    ],
)
def test_bad_arguments(data, run, options, message):
    with pytest.raises(ValueError, match=message):
        run(data, **{"objective": "gap"} | options)


@each
def test_bad_folds(data, run):
    first, second = (np.arange(data.sizes[0]), data.sizes[0] + np.arange(data.sizes[1]))
    cases = [
        ((first, np.r_[first, second]), "fold 0 has query 0 in its training and its test part"),
        ((np.r_[first, first], second), "repeats rows"),
        ((np.r_[first[1:], first[1]], second), "repeats rows"),
        ((first, second[1:]), "test part of fold 0 tears"),
        ((first, [10**6]), "outside of 0.."),
        ((first, [-1]), "outside of 0.."),
    ]
    for fold, message in cases:
        with pytest.raises(ValueError, match=message):
            run(data, objective="gap", folds=[fold])


@each
def test_bad_groups(data, run):
    torn, alike = data.qid.copy(), data.qid.copy()
    torn[1] = "other"
    alike[-data.sizes[-1] :] = alike[0]
    for groups, message in ((torn, "row 1 has query"), (alike, "the same id for two queries")):
        with pytest.raises(ValueError, match=message):
            run(data, objective="gap", groups=groups)


@each
def test_one_objective_and_one_metric(data, run):
    with pytest.raises(ValueError, match="two objectives"):
        run(data, {"objective": "rank:ndcg"}, objective="gap")
    with pytest.raises(ValueError, match=r"the metric is missing: give metrics="):
        run(data, {"objective": "rank:ndcg"})
    for name in ("metric", "eval_metric"):
        if (name == "metric") == (run is run_lightgbm):
            with pytest.raises(ValueError, match=f"params has {name}='ndcg': give metrics= to"):
                run(data, {name: "ndcg"}, objective="gap")


def test_an_objective_in_the_parameters_of_lightgbm_gives_its_metric(data):
    found = run_lightgbm(data, {"objective": skrank.lightgbm.objective("err")}, folds=2)
    assert list(found) == ["valid err-mean", "valid err-stdv"]


def test_early_stopping_in_the_parameters_of_lightgbm_is_refused(data):
    with pytest.raises(ValueError, match=r"early_stopping_round=5: give early_stopping_rounds="):
        run_lightgbm(data, {"early_stopping_round": 5}, objective="gap")


def test_no_queries(data):
    with pytest.raises(ValueError, match=r"lightgbm.Dataset has no groups"):
        run_lightgbm(data, source=data.dataset(group=None), objective="gap")
    with pytest.raises(ValueError, match=r"the DMatrix has no groups"):
        run_xgboost(data, source=xgb.DMatrix(data.X, data.y), objective="gap")


def test_weights_of_rows_are_refused(data):
    source = data.matrix()
    source.set_weight(data.weight)
    with pytest.raises(ValueError, match="one weight per query"):
        run_xgboost(data, source=source, objective="gap")
    source = data.dataset(weight=np.arange(1.0, len(data.y) + 1))
    with pytest.raises(ValueError, match="varies inside query"):
        run_lightgbm(data, source=source, objective="gap")


def test_a_quantile_matrix_is_refused(data):
    matrix = xgb.QuantileDMatrix(data.X, data.y, group=data.sizes)
    with pytest.raises(TypeError, match=r"cannot split a QuantileDMatrix: build"):
        run_xgboost(data, source=matrix, objective="gap")
    with pytest.raises(TypeError, match=r"skrank.xgboost.cv needs a DMatrix"):
        skrank.xgboost.cv(XGB, data.X, 2, objective="gap")
