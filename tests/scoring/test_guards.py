"""CutQueryWarning is raised for rows of cut queries, and not otherwise."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    KFold,
    cross_val_predict,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skrank
from skrank.datasets import make_ranking
from tests.helpers.rankers import routing

CUT = "queries are cut in the rows that are"
FITTED, SCORED = f"{CUT} given to fit", f"{CUT} scored"
TORN = KFold(3, shuffle=True, random_state=0)
WHOLE = [
    skrank.QueryKFold(2, drop_unjudged_test=True),
    skrank.QueryKFold(2, shuffle=True),
    skrank.QueryShuffleSplit(2, random_state=0),
    skrank.QueryTimeSeriesSplit(2, gap=2, max_train_size=10),
]


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=24, n_docs=(4, 12), n_features=8, random_state=0)


@pytest.fixture
def y(data):
    return skrank.with_groups(data.relevance, data.qid)


def ranker(**parameters):
    booster = lightgbm.LGBMRanker(n_estimators=2, num_leaves=4, verbosity=-1, n_jobs=1)
    return skrank.GroupedRanker(booster, **parameters)


MODELS = {
    "ranker": ranker(),
    "pipeline": make_pipeline(StandardScaler(), ranker()),
    "regressor": Ridge(),  # only the scorer can warn
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
GAP = skrank.scorer("gap")


def measured(model, X, y, scoring=GAP, **how):
    """Scores of all folds; in `cross_validate`, a warning that is an error would make one NaN."""
    scores = cross_validate(model, X, y, scoring=scoring, **how)["test_score"]
    assert np.isfinite(scores).all()
    return scores


def test_the_warning_names_queries_and_numbers_of_rows():
    """A single row is a cut query, too. Ids may be of mixed types."""
    ids = np.array([1, "b", 2.5, "d"], dtype=object)
    y = skrank.with_groups(np.tile([0, 1, 2], 4), np.repeat(ids, 3))
    X, mask = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12) < 4
    first = "^1 of 2 .* scored, first query 'b', of which there are 2 of 3 rows"
    for train, test, message in (
        ([*range(4), 9, 10, 11], [4, 5, 9, 10, 11], first),
        (range(6), range(6, 10), "query 'd'"),
        (mask, ~mask, "^1 of 3 .* query 'b'"),
    ):
        with pytest.warns(skrank.CutQueryWarning, match=message):
            cross_validate(Ridge(), X, y, cv=[(train, test)], scoring=GAP)


def test_labels_of_two_collections_or_of_a_file_have_no_queries_of_a_collection(y, tmp_path):
    """pandas writes attrs as JSON; labels that are read from files have only the totals."""
    other = skrank.with_groups(y.to_numpy(), y.index)
    assert "skrank" not in pd.concat([y, other]).attrs
    y.to_frame().to_parquet(tmp_path / "labels.parquet")
    read = pd.read_parquet(tmp_path / "labels.parquet")["relevance"]
    assert read.attrs["skrank"] == dict(y.attrs["skrank"])
    ranker().fit(np.ones((len(y) - 1, 1)), read.iloc[1:])


def test_a_split_of_rows_by_hand(data, y):
    X, X_test, labels, y_test = train_test_split(data.X, y, random_state=0)
    for model in (ranker(), MODELS["pipeline"]):
        with pytest.warns(skrank.CutQueryWarning, match=FITTED):
            model.fit(X, labels)
        with pytest.warns(skrank.CutQueryWarning, match=SCORED):
            model.score(X_test, y_test)
    with pytest.warns(skrank.CutQueryWarning, match=FITTED) as caught:
        ranker().fit(X, labels, X_val=X_test, y_val=y_test)
    assert len(caught) == 2


@every_model
@pytest.mark.parametrize("cv", WHOLE, ids=lambda cv: repr(cv).partition("(")[0])
def test_whole_queries_do_not_warn(model, cv, data, y):
    found = measured(model, data.X, y, cv=cv, return_train_score=True)
    with routing():
        routed = measured(model, data.X, data.relevance, cv=cv, params={"groups": data.qid})
    assert len(found) == len(routed) > 1


def test_with_groups_of_selected_documents_does_not_warn(data, y):
    """`with_groups` is called again for the remaining documents."""
    some = np.random.default_rng(0).random(len(y)) < 0.6
    left = skrank.with_groups(y[some], y.index[some])
    cv = skrank.QueryKFold(3)
    cross_validate(ranker(), data.X[some], left, cv=cv, scoring=GAP, return_train_score=True)
    model = ranker().fit(data.X[some], left)
    model.score(data.X[some], left)
    model.score(data.X, y)
    for part in (y[some], left.iloc[1:]):
        with pytest.warns(skrank.CutQueryWarning, match=SCORED):
            model.score(data.X[: len(part)], part)


def test_unjudged_documents_that_a_ranker_drops_do_not_warn(data):
    relevance = np.where(np.arange(len(data.qid)) % 3, data.relevance, np.nan)
    y = skrank.with_groups(relevance, data.qid)
    fitted = ranker(options={"unjudged": "drop"}).fit(data.X, y, X_val=data.X, y_val=y)
    judged = ~np.isnan(relevance)
    alone = ranker().fit(data.X[judged], relevance[judged], groups=data.qid[judged])
    assert_array_equal(fitted.predict(data.X), alone.predict(data.X))


def test_other_collections_with_the_same_query_ids_do_not_warn(data, y):
    half = len(y) // 2
    first = skrank.with_groups(data.relevance[:half], data.qid[:half])
    second = skrank.with_groups(data.relevance[half:], data.qid[half:] - data.qid[half])
    found = ranker().fit(data.X[:half], first).score(data.X[half:], second)
    plain = ranker().fit(data.X[:half], first.to_numpy(), groups=data.qid[:half])
    assert plain.score(data.X[half:], second.to_numpy(), groups=second.index) == found


def test_estimators_without_queries_do_not_warn(data, y):
    """Training does not depend on queries, and no ranking is measured."""
    for model in (skrank.GroupedRanker(Ridge()), Ridge()):
        assert np.isfinite(cross_val_predict(model, data.X, y, cv=TORN)).all()
        measured(model, data.X, y, scoring="r2", cv=TORN)
