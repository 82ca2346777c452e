"""All folds share the highest grade of the collection; an error if it is unknown."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import (
    RandomForestClassifier,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline

import skrank
from skrank import GroupedRanker, scorer
from skrank.datasets import make_ranking

DEPENDENT = ["err", "nerr", "rbp", "rpref(variant=n)", "0.5*err+0.5*gap"]
FREE = ["gap", "ndcg@10", "ap", "pfound", "rr", "q", "bpref"]
CV = skrank.QueryKFold(3)


@pytest.fixture(scope="module")
def data():
    """Grades 0 to 4; only the first query has grade 4."""
    made = make_ranking(n_queries=24, n_docs=(4, 12), random_state=0)
    relevance = np.where(made.qid == 0, made.relevance, np.minimum(made.relevance, 3))
    relevance[0] = 4
    return SimpleNamespace(X=made.X, relevance=relevance, qid=made.qid)


@pytest.fixture
def y(data):
    return skrank.with_groups(data.relevance, data.qid)


def on_scale(name, top=4):
    """The metric with the highest grade written out, in each of its parts."""
    one = skrank.metric(name)
    parts = [
        weight * (skrank.metric(part, max_grade=top) if part.needs_scale else part)
        for weight, part in one.terms
    ]
    return sum(parts[1:], parts[0]) if len(parts) > 1 else one.on_scale(top)


def by_hand(model, data, name, train, test):
    model = sklearn.clone(model).fit(data.X[train], data.relevance[train])
    predicted = model.predict(data.X[test])
    return on_scale(name)(data.relevance[test], predicted, groups=data.qid[test])


def validated(model, X, y, name, **arguments):
    found = cross_validate(model, X, y, cv=CV, scoring=scorer(name), **arguments)
    return found["test_score"].tolist()


# labels of with_groups ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", DEPENDENT)
def test_folds_share_the_scale_of_all_labels(name, data, y):
    """A Ridge has no max_grade_, and a fold may lack the highest grade in either of its parts."""
    expected = [
        by_hand(Ridge(), data, name, train, test)
        for train, test in CV.split(data.X, data.relevance, data.qid)
    ]
    assert validated(Ridge(), data.X, y, name) == pytest.approx(expected)
    assert validated(GroupedRanker(Ridge()), data.X, y, name) == pytest.approx(expected)
    assert validated(Ridge(), data.X, y, name, n_jobs=2) == pytest.approx(expected)


def test_rankers_take_the_scale_of_all_labels(data, y):
    for train, _ in CV.split(data.X, y):
        assert GroupedRanker(Ridge()).fit(data.X[train], y.iloc[train]).max_grade_ == 4
    low = data.qid > 0
    ranker = GroupedRanker(Ridge())
    assert ranker.fit(data.X[low], data.relevance[low]).max_grade_ == 3


def test_direct_calls_on_a_part_use_the_highest_grade_of_the_collection(data, y):
    scores = data.X[:, 0]
    low = data.qid > 0
    expected = skrank.metric("err", max_grade=4)(y[low], scores[low])
    assert expected < 0.9 * skrank.metric("err")(
        data.relevance[low], scores[low], groups=data.qid[low]
    )
    assert skrank.metric("err")(y[low], scores[low]) == expected
    assert skrank.metrics.err_score(y[low], scores[low]) == expected
    assert skrank.metric("err").per_query(y[low], scores[low]).mean() == pytest.approx(expected)
    report = skrank.evaluate(y[low], scores[low], metrics=["err", "gap"])
    assert report.mean["err"] == expected
    compared = skrank.compare({"a": scores[low], "b": -scores[low]}, y[low], metrics=["err"])
    assert expected in compared.means.to_numpy()


def test_the_highest_grade_of_arrays_is_their_own(data):
    """An array does not store that it is a part of a collection."""
    low = data.qid > 0
    given = data.relevance[low], data.X[low, 0]
    direct = skrank.metric("err")(*given, groups=data.qid[low])
    assert direct == skrank.metric("err", max_grade=3)(*given, groups=data.qid[low])
    assert skrank.evaluate(*given, groups=data.qid[low], metrics=["err"]).mean["err"] == direct


@pytest.mark.parametrize(
    "change",
    [
        lambda y: (y >= 2).astype(int),
        lambda y: y.clip(upper=1),
        np.log1p,
        lambda y: y * 2,
        lambda y: pd.Series(y.to_numpy()[::-1].copy(), index=y.index),
    ],
    ids=["binary", "clipped", "log", "doubled", "turned"],
)
def test_changed_labels_are_not_part_of_the_collection(change, y):
    """They keep the index and the attrs."""
    changed = change(y)
    with pytest.raises(ValueError, match="max_grade="):
        scorer("err")(Ridge().fit(np.ones((len(y), 1)), y), np.ones((len(y), 1)), changed)


@pytest.mark.parametrize(
    "take",
    [
        lambda y: y,
        lambda y: y.iloc[5:9],
        lambda y: y.iloc[::-1],
        lambda y: y[y < 3],
        lambda y: y.astype(float),
        lambda y: y.sample(frac=0.3, random_state=0),
        lambda y: pd.concat([y.iloc[:3], y.iloc[30:50]]),
        lambda y: pickle.loads(pickle.dumps(y)).iloc[10:],
        lambda y: copy.deepcopy(y),
    ],
    ids=["all", "slice", "turned", "low", "float", "sample", "pieces", "pickled", "copied"],
)
def test_parts_have_the_highest_grade_of_the_collection(take, y):
    part = take(y)
    scores = np.arange(len(part)) % 7
    assert skrank.metric("err")(part, scores) == skrank.metric("err", max_grade=4)(part, scores)


@pytest.mark.filterwarnings("ignore::skrank.CutQueryWarning")
def test_unjudged_rows_have_no_grade():
    y = skrank.with_groups([np.nan, 2.5, np.nan, 1.0, 1.0], ["a", "a", "b", "c", "c"])
    ones = np.ones((5, 1))
    err = scorer("err")(Ridge().fit(ones, np.ones(5)), ones[2:], y.iloc[2:])
    assert err == skrank.metric("err", max_grade=3)([np.nan, 1, 1], [1, 1, 1], groups=[0, 1, 1])
    unjudged = pickle.loads(pickle.dumps(skrank.with_groups([np.nan, np.nan], [1, 1])))
    with pytest.raises(ValueError, match="max_grade="):
        scorer("err")(Ridge().fit(ones, np.ones(5)), ones[:2], unjudged)


# labels of the training ---------------------------------------------------------------------------


def routing():
    return sklearn.config_context(enable_metadata_routing=True)


@pytest.mark.parametrize("name", DEPENDENT)
def test_without_a_highest_grade_a_metric_that_needs_it_raises(name, data):
    low = data.qid > 0
    model = Ridge().fit(data.X, data.relevance)
    arguments = model, data.X[low], data.relevance[low]
    with pytest.raises(ValueError, match=r"depends on the highest grade.*Give max_grade="):
        scorer(name)(*arguments, groups=data.qid[low])
    with routing(), pytest.raises(ValueError, match=r"Give max_grade="):
        scorer(name).to_sklearn()(*arguments, groups=data.qid[low])
    given = scorer(name, max_grade=4)(*arguments, groups=data.qid[low])
    direct = on_scale(name)(data.relevance[low], model.predict(data.X[low]), groups=data.qid[low])
    assert given == pytest.approx(direct)


@pytest.mark.parametrize("name", FREE)
def test_metrics_that_do_not_need_the_highest_grade_do_not_raise(name, data):
    low = data.qid > 0
    model = Ridge().fit(data.X, data.relevance)
    value = scorer(name)(model, data.X[low], data.relevance[low], groups=data.qid[low])
    direct = skrank.metric(name)(
        data.relevance[low], model.predict(data.X[low]), groups=data.qid[low]
    )
    assert value == direct
    ranker = GroupedRanker(Ridge()).fit(data.X[low], data.relevance[low])  # without grade 4
    value = scorer(name)(ranker, data.X, data.relevance, groups=data.qid)
    scores = ranker.predict(data.X)
    assert value == skrank.metric(name)(data.relevance, scores, groups=data.qid)


MODELS = {
    "ranker": GroupedRanker(Ridge()),
    "pipeline": make_pipeline(GroupedRanker(Ridge())),
    "voting": VotingRegressor([("a", GroupedRanker(Ridge())), ("b", Ridge())]),
    "stacking": StackingRegressor([("a", GroupedRanker(Ridge()))], Ridge(), cv=2),
    "classifier": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(5, random_state=0),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_highest_grade_is_read_from_models(model, data):
    low = data.qid > 0
    model = sklearn.clone(model).fit(data.X, data.relevance)
    given = model, data.X[low], data.relevance[low]
    found = scorer("err")(*given, groups=data.qid[low])
    assert found == scorer("err", max_grade=4)(*given, groups=data.qid[low])
    assert found < scorer("err", max_grade=3)(*given, groups=data.qid[low])


@pytest.mark.parametrize("trained", [2, 6])
def test_the_highest_grade_of_the_collection_overrides_the_model(trained, data, y):
    """The scored labels have grades 0 to 4; the model was trained on other grades."""
    low = data.qid > 0
    labels = np.where(data.relevance > 2, trained, data.relevance)
    model = GroupedRanker(Ridge()).fit(data.X, labels, data.qid)
    assert model.max_grade_ == trained
    scored = y[low]
    direct = skrank.metric("err", max_grade=4)(scored, model.predict(data.X[low]))
    assert scorer("err")(model, data.X[low], scored) == direct
    for given in (4, 5):
        direct = skrank.metric("err", max_grade=given)(scored, model.predict(data.X[low]))
        assert scorer("err", max_grade=given)(model, data.X[low], scored) == direct
