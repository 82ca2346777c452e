"""All folds share the highest grade of the collection; an error if it is unknown."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import RandomForestClassifier, StackingRegressor, VotingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline

import skrank
from skrank import GroupedRanker, scorer
from skrank.datasets import make_ranking

DEPENDENT = {  # with the highest grade of the data written out
    "err": "err(max_grade=4)",
    "nerr": "nerr(max_grade=4)",
    "rbp": "rbp(max_grade=4)",
    "rpref(variant=n)": "rpref(variant=n,max_grade=4)",
}
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


@pytest.mark.parametrize("name", DEPENDENT)
def test_folds_share_the_scale_of_all_labels(name, data, y):
    """A Ridge has no max_grade_, and a fold may lack the highest grade in either of its parts."""
    metric, expected = skrank.metric(DEPENDENT[name]), []
    for train, test in CV.split(data.X, y):
        scores = Ridge().fit(data.X[train], y.iloc[train]).predict(data.X[test])
        expected.append(metric(data.relevance[test], scores, groups=data.qid[test]))
    for model in (Ridge(), GroupedRanker(Ridge())):
        found = cross_validate(model, data.X, y, cv=CV, scoring=scorer(name))
        assert found["test_score"].tolist() == pytest.approx(expected)


def test_direct_calls_on_a_part_use_the_highest_grade_of_the_collection(data, y):
    low = data.qid > 0
    labels, scores, err = y[low], data.X[low, 0], skrank.metric("err")
    expected = skrank.metric("err", max_grade=4)(labels, scores)
    assert expected < 0.9 * err(data.relevance[low], scores, groups=data.qid[low])
    assert err(labels, scores) == expected
    assert err.per_query(labels, scores).mean() == pytest.approx(expected)
    report = skrank.evaluate(labels, scores, metrics=["err", "gap"])
    assert report.averages[0, 0] == expected
    compared = skrank.compare(labels, {"a": scores, "b": -scores}, metrics=["err"])
    assert expected in compared.means.to_numpy()


def test_the_highest_label_of_the_collection_is_named_where_it_is_too_high():
    labels = skrank.with_groups([1, 0, 2000, 1], [1, 1, 2, 2])
    with pytest.raises(ValueError, match=r"^2000"):
        skrank.metric("gap")(labels.iloc[:2], [1.0, 2.0])


def test_changed_labels_are_not_part_of_the_collection(data, y):
    """They keep the index and the attrs."""
    model = Ridge().fit(data.X, y)
    turned = pd.Series(y.to_numpy()[::-1].copy(), index=y.index)
    for changed in ((y >= 2).astype(int), y.clip(upper=1), np.log1p(y), y * 2, turned):
        with pytest.raises(ValueError, match="max_grade="):
            scorer("err")(model, data.X, changed)


def test_parts_have_the_highest_grade_of_the_collection(y):
    low = y[y < 4]
    for part in (
        low.iloc[5:9], low.iloc[::-1], low.astype(float), low.sample(frac=0.3, random_state=0),
        pd.concat([low.iloc[:3], low.iloc[30:50]]), pickle.loads(pickle.dumps(low)).iloc[10:],
        copy.deepcopy(low),
    ):  # fmt: skip
        scores = np.arange(len(part)) % 7
        assert skrank.metric("err")(part, scores) == skrank.metric("err", max_grade=4)(part, scores)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_rankers_take_a_frame_of_one_column_and_its_collection(data, y):
    low = y < 4
    assert GroupedRanker(Ridge()).fit(data.X[low], y[low].to_frame()).max_grade_ == 4


@pytest.mark.filterwarnings("ignore::skrank.CutQueryWarning")
@pytest.mark.parametrize("missing", [np.nan, pd.NA])  # pd.NA makes an object column
def test_unjudged_rows_have_no_grade(missing):
    y = skrank.with_groups([missing, 2.5, missing, 1.0, 1.0], ["a", "a", "b", "c", "c"])
    ones = np.ones((5, 1))
    err = scorer("err")(Ridge().fit(ones, np.ones(5)), ones[2:], y.iloc[2:])
    assert err == skrank.metric("err", max_grade=3)([np.nan, 1, 1], [1, 1, 1], groups=[0, 1, 1])
    unjudged = pickle.loads(pickle.dumps(skrank.with_groups([np.nan, np.nan], [1, 1])))
    with pytest.raises(ValueError, match="max_grade="):
        scorer("err")(Ridge().fit(ones, np.ones(5)), ones[:2], unjudged)


@pytest.mark.parametrize("name", DEPENDENT)
def test_without_a_highest_grade_a_metric_that_needs_it_raises(name, data):
    low = data.qid > 0
    model = Ridge().fit(data.X, data.relevance)
    arguments = model, data.X[low], data.relevance[low]
    with pytest.raises(ValueError, match="max_grade="):
        scorer(name)(*arguments, groups=data.qid[low])
    given = scorer(name, max_grade=4)(*arguments, groups=data.qid[low])
    direct = skrank.metric(DEPENDENT[name])
    scores = model.predict(data.X[low])
    assert given == pytest.approx(direct(data.relevance[low], scores, groups=data.qid[low]))


MODELS = {
    "ranker": GroupedRanker(Ridge()),
    "pipeline": make_pipeline(GroupedRanker(Ridge())),
    "voting": VotingRegressor([("a", GroupedRanker(Ridge())), ("b", Ridge())]),
    "stacking": StackingRegressor([("a", GroupedRanker(Ridge()))], Ridge(), cv=2),
    "classifier": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(5, random_state=0),
    "search": GridSearchCV(GroupedRanker(Ridge()), {}, scoring="r2", cv=2),
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
    for given, top in (({}, 4), ({"max_grade": 4}, 4), ({"max_grade": 5}, 5)):
        direct = skrank.metric("err", max_grade=top)(scored, model.predict(data.X[low]))
        assert scorer("err", **given)(model, data.X[low], scored) == direct
