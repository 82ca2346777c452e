"""GroupedRanker: training, containers of features, arguments of `fit`, and errors."""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import xgboost
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import GroupedRanker, LinearRanker, QueryKFold, scorer
from tests.helpers.rankers import STOP, First, cat, data, fit_with, hist, lgbm, xgb, y

each_booster = pytest.mark.parametrize("make", [lgbm, xgb], ids=["lightgbm", "xgboost"])


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


def test_max_grade_is_the_highest_of_all_labels():
    """Of training queries, and of the rows of X_val."""
    high = data.qid < 20
    relevance = np.where(high, data.relevance, np.minimum(data.relevance, 2))
    relevance[0] = 4
    rest, top = ([one[part] for one in (data.X, relevance, data.qid)] for part in (~high, high))
    model = GroupedRanker(lgbm(), objective="gap", eval_metric="err", early_stopping_rounds=5)
    model.fit(*rest, **dict(zip(("X_val", "y_val", "groups_val"), top, strict=True)))
    X, labels, groups = top
    by_hand = skrank.metric("err", max_grade=4)(labels, model.predict(X), groups=groups)
    assert max(model.evals_result_["validation"]["err"]) == pytest.approx(by_hand)
    assert model.max_grade_ == 4


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
    class Other(First):
        def fit(self, X, y, qid, sample_weight=None):
            assert np.all(np.diff(qid) >= 0)
            self.n_queries_ = len(set(qid.tolist()))
            return super().fit(X, y)

    rows = np.random.default_rng(0).permutation(len(y))
    assert GroupedRanker(Other()).fit(data.X[rows], y.iloc[rows]).estimator_.n_queries_ == 80
    with pytest.raises(ValueError, match="query of each row"):
        GroupedRanker(Other()).fit(data.X, data.relevance)
    with pytest.raises(ValueError, match="sample_weight varies"):
        GroupedRanker(Other()).fit(data.X, y, sample_weight=np.arange(len(y)))


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


CLICKED = pd.Series(data.relevance > 1, dtype="boolean").where(np.arange(len(y)) % 5 != 0)


@pytest.mark.parametrize("make", [lgbm, xgb, cat], ids=["lightgbm", "xgboost", "catboost"])
def test_labels_with_missing_values_are_trained_and_scored_as_floats(make):
    ranker = GroupedRanker(make(), options={"unjudged": "drop"}, scoring="ap")
    floats = CLICKED.astype("float")
    expected = clone(ranker).fit(data.X, floats, groups=data.qid)
    for dtype in ("boolean", "bool[pyarrow]", object, "Int64"):
        clicked = CLICKED.astype(dtype)
        model = clone(ranker).fit(data.X, clicked, groups=data.qid)
        assert model.predict(data.X).tolist() == expected.predict(data.X).tolist()
        by_hand = skrank.metric("ap")(floats, model.predict(data.X), groups=data.qid)
        assert model.score(data.X, clicked, data.qid) == by_hand
        assert model.score(data.X, skrank.with_groups(clicked, data.qid)) == by_hand


@pytest.mark.parametrize(("make", "objective"), [(lgbm, "softmax"), (xgb, "softmax"), (cat, None)])
def test_labels_that_are_not_grades_start_from_a_linear_ranker_on_them(make, objective):
    shares = (data.relevance + np.random.default_rng(0).integers(0, 9, len(y)) / 9) / 6
    ranker = GroupedRanker(make(), objective=objective, init="linear")
    model = ranker.fit(data.X, shares, groups=data.qid)
    assert str(model.init_.objective) == "ndcg(gain=linear)"


def test_too_few_rows_for_lightgbm_are_an_error_that_names_its_parameter():
    few = data.qid < 2
    ranker = GroupedRanker(lgbm(), objective="gap")
    with pytest.raises(ValueError, match="min_child_samples=20"):
        ranker.fit(data.X[few], y[few])
    with pytest.raises(ValueError, match="min_data_in_leaf=50"):
        clone(ranker).set_params(estimator__min_data_in_leaf=50).fit(data.X[few], y[few])
    ranker.set_params(estimator__min_child_samples=2).fit(data.X[few], y[few])
    with pytest.raises(ValueError, match="not constant"):
        ranker.fit(np.ones_like(data.X), y)


@pytest.mark.parametrize(("name", "named", "numbered"), [
    ("monotone_constraints", {"f0": 1}, "(1)"),
    ("interaction_constraints", [["f0", "f1"], ["f2", "f3"]], "[[0, 1], [2, 3]]"),
])  # fmt: skip
@pytest.mark.parametrize("objective", [None, "gap"])
def test_constraints_of_xgboost_by_name(name, named, numbered, objective):
    frame = pd.DataFrame(data.X).add_prefix("f")
    model, same = (
        GroupedRanker(xgb(**{name: one}), objective=objective, eval_metric="gap", **STOP)
        for one in (named, numbered)
    )
    scores = model.fit(frame, y).predict(frame).tolist()
    assert scores == same.fit(frame, y).predict(frame).tolist()
    assert clone(model).estimator.get_params()[name] == named
    assert model.estimator_.get_params()[name] == named


@pytest.mark.parametrize("model", [GroupedRanker(lgbm()), GroupedRanker(Ridge())], ids=str)
def test_a_column_of_queries_in_tools_of_scikit_learn(model):
    """Splits, scores and searches read it. Steps of a pipeline that return frames pass it on."""
    ids = np.array([f"q{one:02}" for one in data.qid])
    frame = pd.DataFrame(data.X, columns=data.feature_names).assign(qid=ids)
    passing = make_pipeline(FunctionTransformer(), model)
    how = {"cv": QueryKFold(2), "scoring": scorer("gap")}
    expected = cross_validate(model, data.X, skrank.with_groups(data.relevance, ids), **how)
    for one in (model, passing):
        found = cross_validate(one, frame, data.relevance, **how)
        assert found["test_score"].tolist() == expected["test_score"].tolist()
    search = GridSearchCV(model, {"scoring": ["gap"]}, **how).fit(frame, data.relevance)
    assert "qid" not in search.best_estimator_.feature_names_in_
    table = pl.DataFrame(data.X, data.feature_names).with_columns(qid=pl.Series(ids))
    again = clone(model).fit(table, data.relevance)
    assert again.predict(table).tolist() == model.fit(frame, data.relevance).predict(frame).tolist()


@each_booster
def test_frames_of_polars(make):
    pytest.importorskip("pyarrow")
    kinds = np.array(["a", "b", "c"])[data.qid % 3]
    levels = ["c", "a", "b", "d"]
    some = pl.Series([None if row % 7 == 0 else row for row in range(len(y))])
    columns = {"flag": data.X[:, 0] > 0, "some": some, "kind": pl.Series(kinds, dtype=pl.String)}
    frame = pl.DataFrame(data.X, data.feature_names).with_columns(**columns)
    enum = frame.with_columns(kind=frame["kind"].cast(pl.Enum(levels)))
    known = pd.DataFrame(data.X, columns=data.feature_names).assign(
        flag=columns["flag"], some=some.to_numpy(), kind=pd.Categorical(kinds, categories=levels)
    )
    ranker = GroupedRanker(make()).set_params(eval_metric="gap", **STOP).fit(enum, y)
    again = clone(ranker).fit(known, y)
    assert ranker.predict(enum).tolist() == again.predict(known).tolist()
    assert ranker.predict(enum[:5]).tolist() == again.predict(known[:5]).tolist()
    with pytest.raises(ValueError, match="'kind' of X"):
        ranker.fit(frame, y)
    numbers = enum.drop("kind", "flag", "some")
    scores = ranker.fit(numbers.to_arrow(), y).predict(numbers.to_arrow())
    assert scores.tolist() == ranker.fit(numbers, y).predict(numbers).tolist()


@pytest.mark.parametrize("make", [lgbm, xgb, cat], ids=["lightgbm", "xgboost", "catboost"])
def test_categories_are_those_of_the_training_rows(make):
    levels = np.array(["x", "y", "z"])[data.relevance.astype(int) % 3]
    text = pd.DataFrame(data.X[:, :2]).add_prefix("f").assign(level=levels)
    text.loc[0, "level"] = None
    frame = text.astype({"level": "category"})
    held_out = {"X_val": text, "y_val": data.relevance, "groups_val": data.qid}
    model = GroupedRanker(make(), eval_metric="gap").fit(
        frame, data.relevance, data.qid, **held_out
    )
    scores, some = model.predict(frame), levels != "x"
    assert model.predict(text).tolist() == scores.tolist()
    part = text[some].astype({"level": "category"})  # whose levels have other numbers
    assert model.predict(part).tolist() == scores[some].tolist()
    errors = ValueError, catboost.CatBoostError
    with pytest.raises(errors, match=r"'level' of X is text.*astype|Cannot convert 'y'"):
        clone(model).set_params(eval_metric=None).fit(text, data.relevance, data.qid)
    for other in (1, pd.Categorical([1] * len(text)), pd.Timestamp("2020-01-01")):
        with pytest.raises(ValueError, match=r"'level' of X.*(int|datetime)64.*'x'"):
            model.predict(text.assign(level=other))
    with pytest.raises(errors, match=r"'f0' of X is text.*to_numeric|Cannot convert 'q'"):
        model.predict(text.assign(f0="q"))
    missing = model.predict(text.head(3).assign(f0=np.nan, level=None))
    assert model.predict(text.head(3).assign(f0=None, level=np.nan)).tolist() == missing.tolist()
    model.fit(data.X, data.relevance, data.qid, X_val=data.X, y_val=y)
    assert model.predict(pd.DataFrame(data.X)).tolist() == model.predict(data.X).tolist()


def test_integers_that_name_columns_are_not_positions():
    X = pd.DataFrame({1: pd.Categorical(["a", "b"] * 10), 0: "q"})
    with pytest.raises(ValueError, match="column 0 of X is text"):
        GroupedRanker(lgbm()).fit(X, [0, 1] * 10, np.repeat([0, 1], 10))


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

    codes = pd.DataFrame({"code": data.qid % 7, "size": data.qid % 5})
    of_arrays, of_lists = (
        GroupedRanker(cat(), validation_fraction=0.2, random_state=0).fit(
            codes, y, cat_features=columns
        )
        for columns in (np.array([0]), [0])
    )
    assert of_arrays.estimator_.get_cat_feature_indices() == [0]
    assert of_arrays.evals_result_ == of_lists.evals_result_


@pytest.mark.parametrize("routed", [False, True])
def test_arguments_of_the_booster_pass_through_tools_of_scikit_learn(routed):
    """With metadata routing, GroupedRanker requests the arguments of fit of its estimator."""
    X = np.column_stack([data.qid % 7, data.X])
    ranker, cv, params = GroupedRanker(lgbm()), QueryKFold(2), {"categorical_feature": [0]}
    if routed:
        ranker = make_pipeline(FunctionTransformer(), ranker)
    with sklearn.config_context(enable_metadata_routing=routed):
        scores = cross_validate(ranker, X, y, cv=cv, params=params)["test_score"]
    by_hand = [
        GroupedRanker(lgbm()).fit(X[train], y.iloc[train], **params).score(X[test], y.iloc[test])
        for train, test in cv.split(X, y)
    ]
    assert scores.tolist() == pytest.approx(by_hand)


ONES = np.ones(len(data.qid))


GAP, STOPPING, LINEAR = {"objective": "gap"}, {"validation_fraction": 0.25}, {"init": "linear"}
OWN = xgboost.XGBRegressor(objective=lambda y, p: (p - y, 1 + 0 * y))
UNSUPPORTED = [
    (cat(), GAP, "CatBoost"),
    (lightgbm.LGBMRegressor(), GAP, "LGBMRanker"),
    (Ridge(), {"eval_metric": "gap"}, "eval_metric"),
    (Ridge(), STOPPING, "rounds"),
    (lgbm(), {"validation_fraction": 2}, "validation_fraction"),
    (lgbm(), {"objective": "gpa"}, "'gap'"),
    (lgbm(), {"eval_metric": []}, "at least one"),
    (lgbm(), {"max_queries": 0}, "at least 1"),
    (lgbm(), {"early_stopping_rounds": "never"}, "early_stopping_rounds='never'"),
    (lgbm(), {"unjudged": "ignore"}, "unjudged='ignore'"),
    (hist(early_stopping=True), {}, "splits queries"),
    (lgbm(early_stopping_round=3), {}, "early_stopping_rounds"),
    (lgbm(early_stopping_min_delta=0.1), {}, "early_stopping_rounds"),
    (xgb(early_stopping_rounds=3), {}, "early_stopping_rounds"),
    (cat(od_wait=3), {}, "early_stopping_rounds"),
    (cat(od_pval=0.1), {}, "early_stopping_rounds"),
    (cat(use_best_model=True), STOPPING | {"early_stopping_rounds": None}, "use_best_model"),
    (lgbm(application="regression"), GAP, "application.*objective="),
    (lgbm(objective="rank_xendcg"), GAP, "rank_xendcg.*objective="),
    (lgbm(objective=max), GAP, "max.*objective="),
    (xgb(objective="rank:map"), GAP, "rank:map.*objective="),
    (lgbm(metric_types="map"), GAP, "metric_types.*eval_metric="),
    (lgbm(metric="map"), GAP, "metric='map'.*eval_metric="),
    (
        cat(eval_metric="NDCG"),
        STOPPING | {"eval_metric": "err"},
        "eval_metric='NDCG'.*eval_metric=",
    ),
    (lgbm(eval_at=[5]), GAP, "eval_at.*eval_metric="),
    (lgbm(label_gain=np.arange(5)), GAP, "label_gain.*gain="),
    (lgbm(lambdarank_truncation_level=9), GAP, "truncation_level="),
    (lgbm(unbalance=False), GAP, "unbalance"),
    (lgbm(alpha=0.1), GAP, "alpha"),
    (lgbm(class_weight="balanced"), GAP, "class_weight"),
    (xgb(lambdarank_unbiased=True), GAP, "unbiased"),
    (xgb(ndcg_exp_gain=False), GAP, "gain="),
    (xgb(scale_pos_weight=2), GAP, "scale_pos_weight"),
    (lgbm(), GAP | {"eval_at": [5]}, "eval_at.*eval_metric="),
    (xgb(eval_metric=max), {}, "eval_metric of XGBRanker"),
    (hist(), STOPPING, "eval_metric"),
    (OWN, STOPPING | {"eval_metric": "ndcg@10"}, "objective"),
    (make_pipeline(StandardScaler(), lgbm()), {}, "pipeline"),
    (xgb(xgboost.XGBClassifier), {"y": 2 * y}, r"0, 2, 4.*XGBClassifier"),
    # arguments of fit
    (KNeighborsRegressor(), {"sample_weight": ONES}, "sample_weight"),
    (lgbm(), {"eval_set": ONES}, "eval_set=.*X_val"),
    (xgb(), {"eval_qid": ONES}, "eval_qid=.*X_val"),
    (cat(), {"group_id": ONES}, "group_id=.*groups="),
    (cat(), {"subgroup_id": ONES}, "subgroup_id=.*CatBoostRanker"),
    (lgbm(), {"init_score": ONES}, "init_score=.*init="),
    (lgbm(), {"init_model": ONES}, "init_model=.*FrozenEstimator"),
    # starts
    (hist(), LINEAR, "BoostingRegressor"),
    (Ridge(), LINEAR, "Ridge"),
    (lgbm(lightgbm.LGBMClassifier), LINEAR, "LGBMClassifier"),
    (lgbm(), {"init": Ridge}, "init="),
    (lgbm(), LINEAR | {"init_scale": 0}, "init_scale=0"),
    (lgbm(boosting_type="rf"), {"init": Ridge()}, "random forest"),
    (lgbm(mc=[0, -1]), LINEAR, "mc of LGBMRanker"),
    (xgb(monotone_constraints="(0,1)"), {"init": Ridge()}, "monotone_constraints of XGBRanker"),
    (xgb(monotone_constraints={"f0": 1}), LINEAR, "monotone_constraints"),
    (cat(monotone_constraints="1:-1"), {"init": LinearRanker()}, "monotone_constraints"),
    (lgbm(zero_as_missing=True), LINEAR, "zero_as_missing"),
    (xgb(missing=-1), {"init": LinearRanker("gap")}, "missing=-1"),
]


@pytest.mark.parametrize(("estimator", "changes", "message"), UNSUPPORTED, ids=str)
def test_unsupported_combinations_raise(estimator, changes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fit_with(GroupedRanker(estimator), data.X, y, changes)


def test_parameters_that_act_are_not_refused():
    constrained = lgbm(monotone_constraints=[1] + [0] * 7)
    for estimator, changes in (
        (lgbm(max_delta_step=0.1, label_gain=[0, 1, 1, 1, 1]), {"eval_metric": "gap"} | STOP),
        (
            lgbm(metric="ndcg", label_gain=[0, 1, 1, 1, 1]),
            {"objective": "softmax", "eval_at": [3]} | STOP,
        ),
        (xgb(alpha=0.1, max_delta_step=0.1, monotone_constraints=(0,) * 8), {"objective": "gap"}),
        (constrained, {"init": constrained}),
        (xgb(missing=-1), {"init": First()}),
        (cat(monotone_constraints="0:0,1:0"), {"init": First()}),
    ):
        ranker = fit_with(GroupedRanker(estimator), data.X, y, changes)
        assert np.ptp(ranker.predict(data.X)) > 0


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, None])
@pytest.mark.parametrize("estimator", [Ridge(), hist(), cat(catboost.CatBoostRegressor)], ids=str)
def test_bad_weights_of_rows_raise(estimator, weight):
    """Otherwise, some estimators would train on other weights, and some raise other errors."""
    weights = np.zeros(40) if weight is None else np.where(np.arange(40) == 7, weight, 1.0)
    message = "(?i)weights" if weight is None else "sample_weight of row 7"
    with pytest.raises(ValueError, match=message):
        GroupedRanker(estimator).fit(data.X[:40], np.arange(40) % 3, sample_weight=weights)
