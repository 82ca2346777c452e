"""Splits that cut queries are told of, and nothing else is."""

import copy
import gc
import pickle
import warnings

import lightgbm
import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.ensemble import BaggingRegressor, HistGradientBoostingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedGroupKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skrank
from skrank._engine.whole import whole_of
from skrank.datasets import make_ranking

BOTH = "have rows in the training and in the test part of this split"
CUT = "are cut in the training part of this split"
KNOWN = "have other rows in the training part"
TORN = KFold(3, shuffle=True, random_state=0)
SKLEARN = tuple(map(int, sklearn.__version__.split(".")[:2]))
WHOLE = [
    skrank.QueryKFold(3),
    skrank.QueryKFold(3, drop_unjudged_test=True),
    skrank.RepeatedQueryKFold(3, n_repeats=1),
    skrank.QueryShuffleSplit(2, random_state=0),
    skrank.QueryTimeSeriesSplit(3, gap=2, max_train_size=10),
    skrank.LETORFolds(3),
]
WHOLE_BY_GROUPS = [GroupKFold(3), StratifiedGroupKFold(3), GroupShuffleSplit(3)]


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=24, n_docs=(4, 12), n_features=8, random_state=0)


@pytest.fixture
def y(data):
    return skrank.with_groups(data.relevance, data.qid)


def ranker(**parameters):
    booster = lightgbm.LGBMRanker(n_estimators=2, num_leaves=4, verbosity=-1, n_jobs=1)
    return skrank.GroupedRanker(booster, **parameters)


def routing():
    return sklearn.config_context(enable_metadata_routing=True)


MODELS = {
    "ranker": ranker(),
    "pipeline": make_pipeline(StandardScaler(), ranker()),
    "regressor": Ridge(),  # here the scorer sees it alone
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
GAP = skrank.scorer("gap")


# tools of scikit-learn that cut ------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("cv", [TORN, KFold(3)], ids=str)
def test_folds_of_rows(model, cv, data, y):
    with pytest.warns(skrank.CutQueryWarning, match=BOTH):
        cross_validate(model, data.X, y, cv=cv, scoring=GAP)


@every_model
def test_folds_of_rows_with_routed_groups(model, data):
    with routing(), pytest.warns(skrank.CutQueryWarning, match=BOTH):
        cross_val_score(
            model, data.X, data.relevance, cv=TORN, scoring=GAP, params={"groups": data.qid}
        )


def test_folds_of_rows_with_groups_on_the_features(data):
    X = pd.DataFrame(data.X, index=pd.Index(data.qid, name="qid"))
    with pytest.warns(skrank.CutQueryWarning, match=BOTH):
        cross_validate(ranker(), X, data.relevance, cv=TORN, scoring=GAP)


def test_groups_by_another_name(data):
    scoring = skrank.scorer("gap").set_score_request(groups="session")
    with routing():
        model = make_pipeline(ranker().set_fit_request(groups="session"))
    with routing(), pytest.warns(skrank.CutQueryWarning, match=BOTH):
        cross_validate(
            model, data.X, data.relevance, cv=TORN, scoring=scoring, params={"session": data.qid}
        )


def test_groups_among_other_parameters(data):
    """Strings beside weights, lists, and validation rows that are sparse and as many."""
    names = np.char.add("q", data.qid.astype(str)).astype(object)
    params = {
        "sample_weight": np.ones(len(names)),
        "X_val": csr_matrix(data.X),
        "y_val": data.relevance.tolist(),
        "groups_val": names.tolist(),
        "groups": names,
    }
    with routing():
        requests = dict.fromkeys(["sample_weight", "X_val", "y_val", "groups_val"], True)
        model = ranker().set_fit_request(**requests)
    with routing(), pytest.warns(skrank.CutQueryWarning, match=f"{BOTH}, first query 'q"):
        cross_validate(
            model, data.X.tolist(), data.relevance, cv=TORN, params=params,
            scoring=skrank.scorer("gap").set_score_request(sample_weight=True),
        )  # fmt: skip


@pytest.mark.parametrize("tool", [GridSearchCV, RandomizedSearchCV])
def test_searches_over_rows(tool, data, y):
    search = tool(MODELS["ranker"], {"estimator__num_leaves": [4]}, cv=TORN, scoring=GAP)
    if tool is RandomizedSearchCV:
        search.set_params(n_iter=1)
    with pytest.warns(skrank.CutQueryWarning, match=BOTH):
        search.fit(data.X, y)


@pytest.mark.parametrize("mode", ["carried", "routed"])
@pytest.mark.parametrize("tool", [HalvingGridSearchCV, HalvingRandomSearchCV])
@pytest.mark.parametrize("cv", [skrank.QueryKFold(3), GroupKFold(3)], ids=repr)
def test_halving_over_rows(tool, cv, mode, data, y):
    grid = {"estimator__num_leaves": [4, 5, 6]}
    search = tool(ranker(), grid, cv=cv, scoring=GAP, min_resources=60, random_state=0)
    if mode == "carried":
        with pytest.warns(skrank.CutQueryWarning, match=CUT):
            search.fit(data.X, y, groups=data.qid)
    else:
        with routing(), pytest.warns(skrank.CutQueryWarning, match=CUT):
            search.fit(data.X, data.relevance, groups=data.qid)


def test_halving_cuts_test_parts_too(data, y):
    search = HalvingGridSearchCV(
        Ridge(), {"alpha": [1, 2, 3]}, cv=skrank.QueryKFold(3), scoring=GAP, min_resources=60
    )
    with pytest.warns(skrank.CutQueryWarning, match="resource='max_queries'"):
        search.fit(data.X, y)


@pytest.mark.parametrize("shuffle", [False, True])
def test_learning_curves_over_rows(shuffle, data, y):
    with pytest.warns(skrank.CutQueryWarning, match=rf"{CUT}, first query \d+, of which it has"):
        learning_curve(
            ranker(), data.X, y, cv=skrank.QueryKFold(3), scoring=GAP, train_sizes=[0.51],
            shuffle=shuffle, random_state=0,
        )  # fmt: skip


def test_predictions_of_folds_of_rows(data, y):
    """No scorer is at work: lists would mix the scores of several models."""
    with pytest.warns(skrank.CutQueryWarning, match=BOTH):
        cross_val_predict(ranker(), data.X, y, cv=TORN)


def test_further_tools_that_cut(data, y):
    with pytest.warns(skrank.CutQueryWarning, match=BOTH):
        SequentialFeatureSelector(Ridge(), n_features_to_select=1, cv=TORN, scoring=GAP).fit(
            data.X, y
        )
    with pytest.warns(skrank.CutQueryWarning, match=BOTH):
        permutation_test_score(Ridge(), data.X, y, cv=TORN, scoring=GAP, n_permutations=1)
    with routing(), pytest.warns(skrank.CutQueryWarning, match=BOTH):
        RFECV(Ridge(), cv=TORN, scoring=GAP).fit(data.X, data.relevance, groups=data.qid)


def test_the_outer_loop_of_nested_searches_is_seen(data, y):
    inner = GridSearchCV(
        ranker(), {"estimator__num_leaves": [4]}, cv=skrank.QueryKFold(2), scoring=GAP
    )
    with pytest.warns(skrank.CutQueryWarning, match=BOTH):
        cross_validate(inner, data.X, y, cv=TORN, scoring=GAP)


@pytest.mark.skipif(SKLEARN < (1, 7), reason="filters of warnings do not reach the workers")
def test_workers_see_it_too(data, y):
    with pytest.raises(skrank.CutQueryWarning, match=BOTH):  # a warning here is an error
        cross_validate(ranker(), data.X, y, cv=TORN, scoring=GAP, n_jobs=2, error_score="raise")


def test_it_can_be_silenced(data, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", skrank.CutQueryWarning)
        cross_validate(ranker(), data.X, y, cv=TORN, scoring=GAP)
    assert issubclass(skrank.CutQueryWarning, UserWarning)


def test_it_names_queries_and_numbers(data):
    qid = np.repeat(["a", "b", "c", "d"], 3)
    y = skrank.with_groups(np.tile([0, 1, 2], 4), qid)
    X = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.warns(skrank.CutQueryWarning, match=r"^2 of 4 queries .* first query 'b'"):
        cross_validate(Ridge(), X, y, cv=[([*range(4), 9, 10, 11], [4, 5, 10])], scoring=GAP)
    with pytest.warns(
        skrank.CutQueryWarning, match=r"^1 of 2 .* test part .* 'd', of which it has 2 of 3 rows"
    ):
        cross_validate(Ridge(), X, y, cv=[(range(6), range(6, 11))], scoring=GAP)
    mask = np.arange(12) < 4
    with pytest.warns(skrank.CutQueryWarning, match=r"^1 of 4 .* first query 'b'"):
        cross_validate(Ridge(), X, y, cv=[(mask, ~mask)], scoring=GAP)


# by hand -----------------------------------------------------------------------------------------


def test_a_split_of_rows_by_hand(data, y):
    X_train, X_test, y_train, y_test = train_test_split(data.X, y, random_state=0)
    for model in (ranker(), make_pipeline(StandardScaler(), ranker())):
        model.fit(X_train, y_train)
        with pytest.warns(skrank.CutQueryWarning, match=f"scored {KNOWN}, first query"):
            GAP(model, X_test, y_test)
    search = GridSearchCV(
        ranker(), {"estimator__num_leaves": [4]}, cv=skrank.QueryKFold(3), scoring=GAP
    ).fit(X_train, y_train)
    with pytest.warns(skrank.CutQueryWarning, match=KNOWN):
        search.score(X_test, y_test)
    with pytest.warns(skrank.CutQueryWarning, match=KNOWN):
        search.best_estimator_.score(X_test, y_test)


def test_validation_rows_of_training_queries(data, y):
    X, X_val, labels, y_val = train_test_split(data.X, y, random_state=0)
    with pytest.warns(skrank.CutQueryWarning, match=f"validated on {KNOWN}"):
        ranker().fit(X, labels, X_val=X_val, y_val=y_val)


# correct uses: any warning is an error here ------------------------------------------------------


@every_model
@pytest.mark.parametrize("cv", WHOLE, ids=lambda cv: repr(cv).partition("(")[0])
def test_whole_queries_are_no_cut(model, cv, data, y):
    cross_validate(model, data.X, y, cv=cv, scoring=GAP, return_train_score=True)
    with routing():
        cross_validate(
            model, data.X, data.relevance, cv=cv, scoring=GAP, params={"groups": data.qid}
        )


@pytest.mark.parametrize("cv", WHOLE_BY_GROUPS, ids=lambda cv: type(cv).__name__)
def test_group_splitters_of_scikit_learn_are_no_cut(cv, data, y):
    shuffled = np.random.default_rng(0).permutation(len(y))
    cross_validate(
        ranker(), data.X[shuffled], y.iloc[shuffled].clip(upper=1), groups=data.qid[shuffled],
        cv=cv, scoring=GAP,
    )  # fmt: skip


def test_tools_over_queries_are_no_cut(data, y):
    cv = skrank.QueryKFold(3)
    validation_curve(
        ranker(), data.X, y, param_name="max_queries", param_range=[4, 8], cv=cv, scoring=GAP
    )
    search = HalvingGridSearchCV(
        ranker(random_state=0), {"estimator__num_leaves": [4, 5]}, cv=cv, scoring=GAP,
        resource="max_queries", max_resources=16, min_resources=8, factor=2,
    ).fit(data.X, y)  # fmt: skip
    cross_validate(search, data.X, y, cv=skrank.QueryKFold(2), scoring=GAP)
    cross_val_predict(ranker(), data.X, y, cv=cv)


def test_documents_left_out_beforehand_are_no_cut(data, y):
    some = np.random.default_rng(0).random(len(y)) < 0.6
    search = GridSearchCV(
        ranker(), {"estimator__num_leaves": [4]}, cv=skrank.QueryKFold(3), scoring=GAP,
        return_train_score=True,
    ).fit(data.X[some], y[some])  # fmt: skip
    search.score(data.X[some], y[some])  # the training rows
    search.score(data.X, y)  # the training queries, with all of their rows
    learned = ranker().fit(data.X, y)
    learned.score(data.X[some], y[some])  # some training rows


def test_ids_that_cannot_be_sorted_are_looked_at_too():
    ids = pd.Index([1] * 4 + ["b"] * 4 + [2.5] * 4, name="qid", dtype=object)
    y = pd.Series([0, 1, 2, 0] * 3, index=ids)
    X = np.arange(12.0).reshape(-1, 1) % 5
    cross_validate(Ridge(), X, y, cv=[(range(8), range(8, 12))], scoring=GAP)
    with pytest.warns(skrank.CutQueryWarning, match="first query 'b'"):
        cross_validate(Ridge(), X, y, cv=[(range(6), range(6, 12))], scoring=GAP)


def test_other_queries_of_the_same_labels_are_no_cut(data, y):
    parts = skrank.query_train_test_split(data.X, y, test_size=0.3, random_state=0)
    X_train, X_test, y_train, y_test = parts
    ranker().fit(X_train, y_train, X_val=X_test, y_val=y_test).score(X_test, y_test)


def test_other_collections_may_number_queries_alike(data, y):
    half = len(y) // 2
    first = skrank.with_groups(data.relevance[:half], data.qid[:half])
    second = skrank.with_groups(data.relevance[half:], data.qid[half:] - data.qid[half])
    ranker().fit(data.X[:half], first).score(data.X[half:], second)
    plain = ranker().fit(data.X[:half], first.to_numpy(), groups=data.qid[:half])
    plain.score(data.X[half:], second.to_numpy(), groups=second.index)


def test_bootstraps_of_rows_are_the_users_choice(data):
    with routing():
        bagging = BaggingRegressor(ranker(), n_estimators=2, random_state=0)
        cross_validate(
            bagging.set_params(max_samples=0.7), data.X, data.relevance, cv=skrank.QueryKFold(3),
            scoring=GAP, params={"groups": data.qid},
        )  # fmt: skip


def test_estimators_without_queries_train_on_any_rows(data, y):
    """What they learn does not depend on queries, and no ranking is measured."""
    for model in (skrank.GroupedRanker(Ridge()), HistGradientBoostingRegressor(max_iter=2)):
        cross_val_predict(model, data.X, y, cv=TORN)
        cross_validate(model, data.X, y, cv=TORN, scoring="r2")


# memory ------------------------------------------------------------------------------------------


def test_labels_know_what_they_are_a_part_of(y):
    assert y.index.name == "qid"
    assert hash(y.index.name) == hash("qid")
    assert repr(y.index.name) == "'qid'"
    whole = whole_of(y)
    assert whole.sizes_of(np.array([0, 99])).tolist() == [np.sum(y.index == 0), 0]
    for part in (
        y.iloc[3:9],
        y[y > 0],
        y.astype(float),
        np.log1p(y),
        copy.deepcopy(y),
        y.to_frame(),
    ):
        assert whole_of(part) is whole
    for other in (y.reset_index(), y.to_numpy()):
        assert whole_of(other) is None
    copied = whole_of(pickle.loads(pickle.dumps(y)))  # in another process
    assert copied is not whole
    assert copied.extent.sizes.tolist() == whole.extent.sizes.tolist()
    assert copied.extent.tops.tolist() == whole.extent.tops.tolist()


def test_a_ranker_keeps_no_labels_alive_and_pickles_none(data):
    y = skrank.with_groups(data.relevance, data.qid)
    some = np.arange(len(y)) % 3 == 0
    fitted = ranker().fit(data.X[some], y[some])
    assert not hasattr(pickle.loads(pickle.dumps(fitted)), "_trained_on")
    copy.deepcopy(fitted).score(data.X[~some], y[~some])
    with pytest.warns(skrank.CutQueryWarning, match=KNOWN):
        fitted.score(data.X[~some], y[~some])
    whole = fitted._trained_on.whole
    del y
    gc.collect()
    assert whole() is None
