"""Columns of frames: what every ranker takes, and errors that name the column."""

import datetime
from decimal import Decimal
from importlib.util import find_spec

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from catboost import CatBoostRanker
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import skrank
from skrank import GroupedRanker, LinearRanker, RankerMean
from skrank.datasets import make_ranking
from tests.helpers.rankers import cat, hist, lgbm, xgb

DATA = make_ranking(20, n_docs=(4, 8), n_features=3, n_informative=3, random_state=0)
Y, N = skrank.with_groups(DATA.relevance, DATA.qid), len(DATA.qid)
RANKERS = {
    "linear": LinearRanker(),
    "lightgbm": GroupedRanker(lgbm(n_estimators=3, min_child_samples=3)),
    "xgboost": GroupedRanker(xgb(n_estimators=3)),
    "catboost": GroupedRanker(cat(iterations=3)),
    "hist": GroupedRanker(hist(max_iter=3, min_samples_leaf=5)),
    "mean": RankerMean([GroupedRanker(lgbm(n_estimators=3, min_child_samples=3))]),
}
if find_spec("torch"):
    from skrank.torch import NeuralRanker

    NEURAL = NeuralRanker(hidden=(2,), epochs=1, random_state=0)
else:
    NEURAL = LinearRanker()
every = pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)

DATES = pd.date_range("2026-01-01", periods=N)
VALUES = np.arange(N) % 7 / 2
MISSING = np.arange(N) % 5 == 0


def frame(column):
    return pd.DataFrame(DATA.X, columns=list("abc")).assign(new=column)


def objects(values):
    """Objects, with None as SQL and JSON have it."""
    return pd.Series(
        [None if no else one for one, no in zip(values, MISSING, strict=True)], None, object
    )


REFUSED = {
    "dates": DATES,
    "dates with a zone": DATES.tz_localize("UTC"),
    "dates of Arrow": pd.Series(DATES).astype("timestamp[ns][pyarrow]"),
    "dates as objects": objects([datetime.date(2026, 1, 1)] * N),
    "time spans": DATES - DATES[0],
    "periods": DATES.to_period("D"),
    "text": objects(["x"] * N),
    "numbers as text": [str(value) for value in VALUES],
    "text of Arrow": pd.Series(["x"] * N, dtype="string[pyarrow]"),
    "lists": objects([[1.0]] * N),
    "complex numbers": VALUES + 1j,
}


@pytest.mark.parametrize("column", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("ranker", [*RANKERS.values(), NEURAL], ids=[*RANKERS, "neural"])
def test_columns_that_are_not_numbers_are_named(ranker, column):
    with pytest.raises((ValueError, TypeError), match="'new'"):
        ranker.fit(frame(column), Y)


def test_query_features_and_tune_name_the_column():
    X = frame(DATES)
    with pytest.raises(ValueError, match="'new'"):
        skrank.QueryFeatures().fit(X)
    with pytest.raises(ValueError, match="'new'"):
        skrank.tune(X, Y, time_budget=1e-3, boosters=["lightgbm"], cv=2)


TAKEN = {
    "objects": objects(VALUES),
    "decimals": objects(list(map(Decimal, VALUES))),
    "Float64": pd.Series(VALUES, dtype="Float64").mask(MISSING),
    "Arrow": pd.Series(VALUES, dtype="double[pyarrow]").mask(MISSING),
}


@every
@pytest.mark.parametrize("column", TAKEN.values(), ids=TAKEN)
def test_numbers_of_any_dtype_equal_floats(ranker, column):
    floats = frame(np.where(MISSING, np.nan, VALUES))
    expected = ranker.fit(floats, Y).predict(floats)
    X = frame(column)
    assert ranker.fit(X, Y).predict(X).tolist() == expected.tolist()
    assert str(X["new"].dtype) == str(column.dtype)  # the caller's frame stays as it is


@every
@pytest.mark.parametrize("dtype", ["object", "boolean", "bool[pyarrow]"])
def test_booleans_may_be_missing(ranker, dtype):
    floats = frame(np.where(MISSING, np.nan, VALUES > 1))
    flags = pd.Series(VALUES > 1).astype(dtype).mask(MISSING, pd.NA)
    expected = ranker.fit(floats, Y).predict(floats)
    assert ranker.fit(frame(flags), Y).predict(frame(flags)).tolist() == expected.tolist()


@every
@pytest.mark.parametrize(
    "levels",
    [DATES[:3], pd.interval_range(0, 3), [False, True], pd.array(["x", "y"], "string[pyarrow]")],
    ids=["dates", "intervals", "booleans", "Arrow"],
)
def test_levels_of_categories_may_be_of_any_type(ranker, levels):
    codes = np.arange(N) % len(levels)
    text = frame(pd.Categorical(np.array(list(map(str, levels)))[codes]))
    kinds = frame(pd.Categorical.from_codes(codes, levels))
    expected = ranker.fit(text, Y).predict(text)
    assert ranker.fit(kinds, Y).predict(kinds) == pytest.approx(expected, abs=1e-6)


def test_columns_that_an_estimator_encodes_are_passed_on():
    text, dates = frame(np.array(["x", "y"])[np.arange(N) % 2]), frame(DATES)
    named = CatBoostRanker(3, cat_features=["new"], verbose=False, allow_writing_files=False)
    assert GroupedRanker(named).fit(text, Y).predict(text).shape == (N,)
    coded = HistGradientBoostingRegressor(max_iter=3, categorical_features=["new"])
    assert GroupedRanker(coded).fit(text, Y).predict(text).shape == (N,)
    days = FunctionTransformer(lambda X: X.assign(new=X["new"].dt.day))
    assert GroupedRanker(make_pipeline(days, Ridge())).fit(dates, Y).predict(dates).shape == (N,)


@pytest.mark.parametrize(
    ("ranker", "value"),
    [
        (RANKERS["xgboost"], np.inf),
        (RANKERS["xgboost"], 1e300),
        (RANKERS["linear"], -np.inf),
        (NEURAL, np.inf),
    ],
)
@pytest.mark.parametrize("table", [frame, lambda column: frame(column).to_numpy()])
def test_infinite_values_are_named(ranker, value, table):
    column = np.where(np.arange(N) == 4, value, VALUES)
    with pytest.raises(ValueError, match=r"row 4 of X .* column ('new'|3)"):
        ranker.fit(table(column), Y)


def test_infinite_values_that_a_library_takes():
    X = frame(np.where(MISSING, np.inf, VALUES))
    for ranker in (RANKERS["lightgbm"], RANKERS["catboost"], RANKERS["hist"]):
        assert np.isfinite(ranker.fit(X, Y).predict(X)).all()
    assert GroupedRanker(xgb(n_estimators=3, missing=np.inf)).fit(X, Y).best_iteration_ == 3


@pytest.mark.parametrize(
    ("name", "libraries"),
    [
        ("a[0]", {"lightgbm", "xgboost", "mean"}),
        ("a<b", {"xgboost"}),
        ('a"b', {"lightgbm", "mean"}),
        ("", {"lightgbm", "mean"}),
        ("a b", set()),
    ],
)
def test_names_that_a_library_refuses(name, libraries):
    X = frame(VALUES).rename(columns={"new": name})
    for library, ranker in RANKERS.items():
        if library in libraries:
            with pytest.raises(ValueError, match="column") as error:
                ranker.fit(X, Y)
            assert repr(name) in str(error.value)
        else:
            ranker.fit(X, Y)


@pytest.mark.parametrize("ranker", [*RANKERS.values(), NEURAL], ids=[*RANKERS, "neural"])
@pytest.mark.parametrize("label", [str, lambda grade: ["bad", "good", "best"][int(grade) % 3]])
def test_labels_that_are_text_are_refused(ranker, label):
    for labels in (
        [label(grade) for grade in DATA.relevance],
        pd.Series(DATA.relevance).map(label),
    ):
        with pytest.raises(ValueError, match="y holds text"):
            ranker.fit(DATA.X, labels, DATA.qid)


def test_grades_that_a_classifier_does_not_take():
    grades = np.array([0, 1, 5, 5, 5])[DATA.relevance.astype(int)]
    with pytest.raises(ValueError, match=r"0, 1, 5.*XGBClassifier"):
        GroupedRanker(xgb(xgboost.XGBClassifier)).fit(DATA.X, grades, DATA.qid)


def test_weights_of_classes_need_an_objective_of_the_booster():
    trees = lgbm(lightgbm.LGBMRanker, n_estimators=3, class_weight="balanced")
    GroupedRanker(trees).fit(DATA.X, Y)
    with pytest.raises(ValueError, match="class_weight"):
        GroupedRanker(trees, objective="gap").fit(DATA.X, Y)
