"""GroupedRanker: training, containers of features, arguments of `fit`, and errors."""

import pickle
import sys

import catboost
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import xgboost
from scipy.sparse import coo_matrix, csr_array
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import GroupedRanker, QueryKFold, scorer
from tests.helpers.rankers import (
    RANKERS,
    STOP,
    cat,
    data,
    fit_with,
    hist,
    lgbm,
    xgb,
    y,
)  # fmt: skip

each_booster = pytest.mark.parametrize("make", [lgbm, xgb], ids=["lightgbm", "xgboost"])


# training -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "objective", "same"),
    [
        (lgbm(), None, lgbm()),
        (xgb(), None, xgb()),
        (lgbm(), "gap", lgbm(objective=skrank.lightgbm.objective("gap"), metric="None")),
    ],
    ids=["lightgbm", "xgboost", "gap"],
)
def test_training_equals_a_direct_call_of_the_booster(estimator, objective, same):
    model = GroupedRanker(estimator, objective=objective).fit(data.X, y)
    by_hand = same.fit(data.X, data.relevance, group=np.bincount(data.qid))
    assert model.predict(data.X).tolist() == by_hand.predict(data.X).tolist()


def test_the_fitted_xgboost_ranker_is_complete():
    frame = pd.DataFrame(data.X, columns=data.feature_names)
    model = clone(RANKERS["xgboost-gap"]).fit(frame, y)
    inner = model.estimator_
    assert inner.predict(frame).tolist() == model.predict(frame).tolist()
    assert inner.best_iteration + 1 == model.best_iteration_
    assert inner.feature_importances_.tolist() == model.feature_importances_.tolist()
    assert inner.evals_result()["validation_0"] == model.evals_result_["validation"]
    contributions = inner.get_booster().predict(xgboost.DMatrix(frame), pred_contribs=True)
    assert contributions.shape == (len(y), 9)
    assert clone(inner).get_params() == clone(xgb()).get_params()


@pytest.mark.parametrize("validation", [False, True])
def test_max_grade_is_the_highest_of_all_labels(validation):
    """Of training queries, held-out queries, and the rows of X_val."""
    high = data.qid < 20 if validation else data.qid == 0
    relevance = np.where(high, data.relevance, np.minimum(data.relevance, 2))
    relevance[0] = 4
    rest = [one[~high] for one in (data.X, relevance, data.qid)]
    model = GroupedRanker(lgbm(), objective="gap", eval_metric="err", **STOP)
    if validation:
        names = ("X_val", "y_val", "groups_val")
        top = [one[high] for one in (data.X, relevance, data.qid)]
        model.set_params(validation_fraction=None)
        model.fit(*rest, **dict(zip(names, top, strict=True)))
        by_hand = skrank.metric("err", max_grade=4)(top[1], model.predict(top[0]), groups=top[2])
        assert max(model.evals_result_["validation"]["err"]) == pytest.approx(by_hand)
    else:
        model.fit(data.X, relevance, data.qid)
    assert model.max_grade_ == 4
    X, labels, groups = rest
    by_hand = skrank.metric("err", max_grade=4)(labels, model.predict(X), groups=groups)
    assert scorer("err")(model, X, labels, groups=groups) == by_hand


def test_a_grouped_classifier_is_trained_on_grades_and_has_predict_proba():
    ranker = GroupedRanker(LogisticRegression(max_iter=2000))
    assert is_classifier(ranker)
    model = ranker.fit(data.X, y)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    expected = model.estimator_.predict_proba(data.X)
    assert model.predict_proba(data.X).tolist() == expected.tolist()
    assert model.predict(data.X) == pytest.approx(expected @ np.arange(5))
    regressor = GroupedRanker(Ridge())
    assert is_regressor(regressor)
    assert not hasattr(regressor, "predict_proba")
    assert not hasattr(regressor.fit(data.X, y), "classes_")


def test_other_rankers_get_the_queries():
    class Other(BaseEstimator):
        def fit(self, X, y, qid):
            assert np.all(np.diff(qid) >= 0)
            self.n_queries_ = len(set(qid.tolist()))
            return self

        def predict(self, X):
            return X[:, 0]

    rows = np.random.default_rng(0).permutation(len(y))
    assert GroupedRanker(Other()).fit(data.X[rows], y.iloc[rows]).estimator_.n_queries_ == 80
    with pytest.raises(ValueError, match="needs the query of each row"):
        GroupedRanker(Other()).fit(data.X, data.relevance)


def test_max_queries_draws_at_random():
    """The first queries of a file may not be a random sample."""

    class Seen(Ridge):
        def fit(self, X, y, sample_weight=None):
            self.rows_ = {row.tobytes() for row in np.ascontiguousarray(X)}
            return super().fit(X, y)

    def drawn(seed, count=20):
        model = GroupedRanker(Seen(), max_queries=count, random_state=seed).fit(data.X, y)
        used = np.array([row.tobytes() in model.estimator_.rows_ for row in data.X])
        return frozenset(data.qid[used].tolist())

    seen = [drawn(seed) for seed in range(5)]
    assert {len(queries) for queries in seen} == {20}
    assert len(set(seen)) == 5
    assert drawn(3, 10) < drawn(3) == seen[3] < drawn(3, 1000)
    assert len(frozenset.union(*seen) - frozenset(range(20))) > 20


# labels and parameters ----------------------------------------------------------------------------


CLICKED = pd.Series(data.relevance > 1, dtype="boolean").where(np.arange(len(y)) % 5 != 0)


@pytest.mark.parametrize(
    "clicked",
    [CLICKED, CLICKED.astype("bool[pyarrow]"), CLICKED.astype(object), CLICKED.astype("Int64")],
    ids=lambda one: str(one.dtype),
)
def test_labels_with_missing_values_are_trained_and_scored_as_floats(clicked):
    floats = CLICKED.astype("float")
    for make in (lgbm, xgb, cat):
        ranker = GroupedRanker(make(), unjudged="drop", scoring="ap")
        model = clone(ranker).fit(data.X, clicked, groups=data.qid)
        expected = clone(ranker).fit(data.X, floats, groups=data.qid)
        assert model.predict(data.X).tolist() == expected.predict(data.X).tolist()
        by_hand = skrank.metric("ap")(floats, model.predict(data.X), groups=data.qid)
        assert model.score(data.X, clicked, data.qid) == by_hand
        labels = skrank.with_groups(clicked, data.qid)
        assert model.score(data.X, labels) == by_hand


@pytest.mark.parametrize(("make", "objective"), [(lgbm, "softmax"), (xgb, "softmax"), (cat, None)])
def test_continuous_labels_start_from_a_linear_ranker_on_them(make, objective):
    shares = (data.relevance + np.random.default_rng(0).random(len(y))) / 6
    ranker = GroupedRanker(make(), objective=objective, init="linear")
    model = ranker.fit(data.X, shares, groups=data.qid)
    assert str(model.init_.objective) == "ndcg(gain=linear)"


def test_too_few_rows_for_lightgbm_are_an_error_that_names_its_parameter():
    few = data.qid < 2
    ranker = GroupedRanker(lgbm(), objective="gap")
    with pytest.raises(ValueError, match="min_child_samples=20"):
        ranker.fit(data.X[few], y[few])
    ranker.set_params(estimator__min_child_samples=2).fit(data.X[few], y[few])
    with pytest.raises(ValueError, match="not constant"):
        ranker.fit(np.ones_like(data.X), y)


@pytest.mark.parametrize("constraints", [
    {"monotone_constraints": {"f0": 1}}, {"interaction_constraints": [["f0", "f1"], ["f2", "f3"]]},
], ids=lambda one: next(iter(one)))  # fmt: skip
@pytest.mark.parametrize("objective", [None, "gap"])
def test_constraints_of_xgboost_by_name(constraints, objective):
    frame = pd.DataFrame(data.X, columns=[f"f{number}" for number in range(8)])
    numbered = {
        "monotone_constraints": "(1)",
        "interaction_constraints": "[[0, 1], [2, 3]]",
    }
    options = {"objective": objective, "eval_metric": "gap", **STOP}
    model = GroupedRanker(xgb(**constraints), **options).fit(frame, y)
    (name,) = constraints
    same = GroupedRanker(xgb(**{name: numbered[name]}), **options).fit(frame, y)
    scores = pickle.loads(pickle.dumps(model)).predict(frame)
    assert scores.tolist() == model.predict(frame).tolist() == same.predict(frame).tolist()
    assert clone(model).estimator.get_params()[name] == constraints[name]
    assert model.estimator_.get_params()[name] == constraints[name]


@pytest.mark.parametrize("parameters", [{}, {"monotone_constraints": {"f1": 1}}])
def test_parameters_of_catboost_that_are_lists(parameters):
    frame = pd.DataFrame(data.X[:, :3], columns=["f0", "f1", "f2"])
    frame["kind"] = np.array(["x", "y", "z"])[data.qid % 3]
    parameters = {"cat_features": ["kind"]} | parameters
    trees, regressor = cat(**parameters), cat(catboost.CatBoostRegressor, **parameters)
    ranker = GroupedRanker(trees, init=regressor, **STOP)
    direct = cat(**parameters).fit(frame, data.relevance, group_id=data.qid)
    alone = GroupedRanker(trees).fit(frame, y)
    assert alone.predict(frame) == pytest.approx(direct.predict(frame))
    grid = {"estimator__depth": [2, 3], "estimator__cat_features": [["kind"]]}
    search = GridSearchCV(ranker, grid, cv=QueryKFold(2)).fit(frame, y)
    assert search.best_estimator_.estimator_.get_params()["cat_features"] == ["kind"]
    mean = skrank.RankerMean([alone, regressor])
    scores = cross_validate(mean, frame, y, cv=QueryKFold(2), error_score="raise")["test_score"]
    assert np.all(scores > 0.3)
    assert clone(mean).get_params()["catboostregressor"].get_params() == regressor.get_params()


# containers ---------------------------------------------------------------------------------------


@each_booster
def test_sparse_and_missing_values(make):
    X = np.where(np.abs(data.X) < 0.5, 0.0, data.X)
    for sparse in (csr_array(X), coo_matrix(X)):
        model = GroupedRanker(make(), objective="gap", eval_metric="gap", **STOP).fit(sparse, y)
        assert scorer("gap")(model, csr_array(X), y) > 0.6
    X[::3, 1] = np.nan
    assert GroupedRanker(make(), objective="gap", **STOP).fit(X, y).score(X, y) > 0.6


@each_booster
def test_frames_of_polars_are_read_without_pyarrow(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    kinds = np.array(["a", "b", "c"])[data.qid % 3]
    levels = ["c", "a", "b", "d"]
    some = pl.Series([None if row % 7 == 0 else row for row in range(len(y))])
    columns = {"flag": data.X[:, 0] > 0, "some": some, "kind": pl.Series(kinds, dtype=pl.String)}
    frame = pl.DataFrame(data.X, data.feature_names).with_columns(**columns)
    enum = frame.with_columns(kind=frame["kind"].cast(pl.Enum(levels)))
    known = pd.DataFrame(data.X, columns=data.feature_names).assign(
        flag=columns["flag"], some=some.to_numpy(), kind=pd.Categorical(kinds, categories=levels)
    )
    ranker = GroupedRanker(make(**{"enable_categorical": True} if make is xgb else {}))
    ranker.set_params(eval_metric="gap", **STOP).fit(enum, y)
    again = clone(ranker).fit(known, y)
    assert ranker.predict(enum).tolist() == again.predict(known).tolist()
    assert ranker.predict(enum[:5]).tolist() == again.predict(known[:5]).tolist()
    with pytest.raises(ValueError, match=r"'kind'.*polars\.Enum"):
        ranker.fit(frame.with_columns(kind=frame["kind"].cast(pl.Categorical)), y)


def test_a_query_column_is_reported():
    frame = pd.DataFrame(data.X, columns=data.feature_names).assign(qid=data.qid)
    message = "feature"
    with pytest.warns(UserWarning, match=message):
        GroupedRanker(lgbm()).fit(frame, y)
    taken = pytest.warns(UserWarning, match="taken from the column")
    with pytest.warns(UserWarning, match=message), taken:
        GroupedRanker(lgbm()).fit(frame, data.relevance)


class Silent(FunctionTransformer):
    """A step without get_feature_names_out."""

    def get_feature_names_out(self, input_features=None):
        raise ValueError("they have no names")


def test_a_step_without_feature_names_causes_no_false_warning():
    frame = pd.DataFrame(data.X, columns=[f"x{i}" for i in range(8)]).assign(qid=data.qid)
    model = make_pipeline(Silent(lambda X: np.asarray(X)[:, :8]), lgbm()).fit(
        frame, data.relevance, lgbmranker__group=np.bincount(data.qid)
    )
    assert 0 < skrank.scorer("ndcg")(model, frame, y) < 1


# parameters of the estimator's own fit ------------------------------------------------------------


def test_feature_weights_of_xgboost():
    weights = (np.arange(8) == 2).astype(float)
    ranker = GroupedRanker(xgb(colsample_bynode=0.1), objective="gap")
    model = ranker.fit(data.X, y, feature_weights=weights)
    assert np.flatnonzero(model.feature_importances_).tolist() == [2]


def test_values_per_row_follow_their_rows_and_values_per_feature_of_boosters_do_not():
    class Noting(Ridge):
        def fit(self, X, y, *, flags):
            self.flags_ = flags
            return super().fit(X, y)

    rows = np.random.default_rng(0).permutation(len(y))
    model = GroupedRanker(Noting(), max_queries=40).fit(data.X[rows], y.iloc[rows], flags=rows)
    used = model.estimator_.flags_
    assert len(set(data.qid[used])) == 40
    assert (np.diff(data.qid[used]) >= 0).all()

    rng = np.random.default_rng(0)
    X, labels, qid = rng.normal(size=(40, 40)), rng.integers(0, 3, 40), rng.permutation(40) % 4
    one = (np.arange(40) == 2).astype(float)
    ranker = GroupedRanker(xgb(colsample_bynode=0.02), objective="gap")
    model = ranker.fit(X, labels, qid, feature_weights=one)
    assert np.flatnonzero(model.feature_importances_).tolist() == [2]


@pytest.mark.parametrize("routed", [False, True])
def test_arguments_of_the_booster_pass_through_tools_of_scikit_learn(routed):
    """With metadata routing, GroupedRanker requests the arguments of fit of its estimator."""
    X = np.column_stack([data.qid % 7, data.X])
    ranker, cv = GroupedRanker(lgbm()), QueryKFold(3)
    params = {"categorical_feature": [0]}
    with sklearn.config_context(enable_metadata_routing=routed):
        scores = cross_validate(ranker, X, y, cv=cv, params=params)["test_score"]
        piped = make_pipeline(FunctionTransformer(), ranker)
        if routed:
            piped_scores = cross_validate(piped, X, y, cv=cv, params=params)["test_score"]
            assert scores.tolist() == piped_scores.tolist()
    by_hand = []
    for train, test in cv.split(X, y):
        clone(ranker).fit(X[train], y.iloc[train], **params)
        model = clone(ranker).fit(X[train], y.iloc[train], categorical_feature=[0])
        by_hand.append(model.score(X[test], y.iloc[test]))
    assert scores.tolist() == pytest.approx(by_hand)


def test_metadata_requests():
    ranker = GroupedRanker(lgbm())
    assert "qid" not in ranker.get_metadata_routing().fit.requests
    assert sklearn.utils.get_tags(ranker).input_tags.sparse
    assert sklearn.utils.get_tags(GroupedRanker(cat())).input_tags.allow_nan
    assert not sklearn.utils.get_tags(GroupedRanker(Ridge())).input_tags.allow_nan


def test_a_classifier_of_strings_has_no_highest_grade():
    X, labels = [[0.0], [1.0]], {"y": [0, 1], "groups": ["q", "q"]}
    words = LogisticRegression().fit(X, ["bad", "good"])
    with pytest.raises(ValueError, match="depends on the highest grade of the collection"):
        scorer("err", response_method="decision_function")(words, X, **labels)
    grades = LogisticRegression().fit(X, [0, 3])
    assert scorer("err")(grades, X, **labels) == scorer("err", max_grade=3)(grades, X, **labels)


# errors -------------------------------------------------------------------------------------------


ONES = np.ones(len(data.qid))
GAP = {"objective": "gap"}
NO_WEIGHTS = "KNeighborsRegressor takes no sample_weight: fit"
FOREST = "random forest of LightGBM averages trees, and"


@pytest.mark.parametrize(
    ("estimator", "changes", "message"),
    [
        (Ridge(), GAP, "objective='gap'"),
        (cat(), GAP, "CatBoost"),
        (lightgbm.LGBMRegressor(), GAP, "LGBMRanker"),
        (Ridge(), {"eval_metric": "gap"}, "eval_metric"),
        (cat(catboost.CatBoostClassifier), {"eval_metric": "gap"}, "eval_metric"),
        (Ridge(), {"validation_fraction": 0.2}, "does not train in rounds"),
        (lgbm(), {"validation_fraction": 1.0}, "leaves nothing to train on"),
        (lgbm(), {"validation_fraction": 2}, "number in"),
        (lgbm(), {"objective": "gpa"}, "'gap'"),
        (lgbm(), {"eval_metric": []}, "at least one"),
        (lgbm(), {"max_queries": 0}, "at least 1"),
        (lgbm(), {"early_stopping_rounds": 0.5}, "integer"),
        (lgbm(), {"early_stopping_rounds": "never"}, "early_stopping_rounds='never'"),
        (lgbm(), {"unjudged": "ignore"}, "unjudged='ignore'"),
        (hist(early_stopping=True), {}, "holds out single rows, which splits queries"),
        *(
            (one, {}, "early_stopping_rounds")
            for one in (
                lgbm(early_stopping_round=3),
                xgb(early_stopping_rounds=3),
                cat(od_wait=3),
            )
        ),
        (xgb(eval_metric=max), {}, "eval_metric of XGBRanker"),
        (hist(), {"validation_fraction": 0.2}, "eval_metric"),
        (
            xgboost.XGBRegressor(objective=lambda y, p: (p - y, 1 + 0 * y)),
            {"eval_metric": "ndcg@10", "validation_fraction": 0.25},
            "objective",
        ),
        (make_pipeline(StandardScaler(), lgbm()), {}, "pipeline"),
        # arguments of fit
        (KNeighborsRegressor(), {"sample_weight": ONES}, NO_WEIGHTS),
        (make_pipeline(KNeighborsRegressor()), {"sample_weight": ONES}, NO_WEIGHTS),
        *(
            (make(), {name: ONES}, f"{name}=.*{remedy}")
            for make, name, remedy in (
                (lgbm, "eval_set", "X_val"),
                (xgb, "eval_qid", "X_val"),
                (cat, "group_id", "groups="),
                (cat, "group_weight", "sample_weight="),
                (cat, "pairs", "CatBoostRanker"),
                (cat, "subgroup_id", "CatBoostRanker"),
                (lgbm, "init_score", "init="),
                (xgb, "base_margin", "init="),
                (cat, "baseline", "init="),
                (lgbm, "init_model", "FrozenEstimator"),
                (xgb, "xgb_model", "FrozenEstimator"),
            )
        ),
        # starts
        (hist(), {"init": "linear"}, "BoostingRegressor"),
        (Ridge(), {"init": "linear"}, "Ridge"),
        (lgbm(lightgbm.LGBMClassifier), {"init": "linear"}, "LGBMClassifier"),
        (lgbm(), {"init": "line"}, "init='line'"),
        (lgbm(), {"init": Ridge}, "init="),
        (lgbm(), {"init": "linear", "init_scale": 0}, "init_scale=0"),
        (lgbm(boosting_type="rf"), {"init": Ridge()}, FOREST),
        (lgbm(boosting="random_forest"), {"init": Ridge()}, FOREST),
    ],
    ids=str,
)
def test_unsupported_combinations_raise(estimator, changes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fit_with(GroupedRanker(estimator), data.X, y, changes)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-1.0, "sample_weight of row 7"),
        (np.nan, "sample_weight of row 7"),
        (np.inf, "sample_weight of row 7"),
        (None, "(?i)weights"),
    ],
)
@pytest.mark.parametrize("estimator", [Ridge(), hist(), cat(catboost.CatBoostRegressor)], ids=str)
def test_bad_weights_of_rows_raise(estimator, weight, message):
    """Otherwise, some estimators would train on other weights, and some raise other errors."""
    rows = np.random.default_rng(0).normal(size=(40, 3))
    weights = np.zeros(40) if weight is None else np.where(np.arange(40) == 7, weight, 1.0)
    with pytest.raises(ValueError, match=message):
        GroupedRanker(estimator).fit(rows, np.arange(40) % 3, sample_weight=weights)


@pytest.mark.parametrize(
    ("name", "metric"), [("lambdarank", "ndcg"), ("rank:ndcg", "ndcg"), ("rank:map", "ap")]
)
def test_an_objective_of_the_booster_is_recognised(name, metric):
    hint = f"objective='{name}' is an objective of the booster.*such as objective='{metric}'"
    for call in (
        lambda: GroupedRanker(lgbm(), objective=name).fit(data.X, y),
        lambda: skrank.lightgbm.objective(name),
        lambda: skrank.xgboost.objective(name),
    ):
        with pytest.raises(ValueError, match=hint):
            call()
