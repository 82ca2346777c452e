"""Columns of frames: what every ranker takes, and errors that name the column."""

import datetime
from decimal import Decimal
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
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


FLAGS = pd.Series(VALUES > 1)
TAKEN = [  # values, and columns of the same values
    (
        VALUES,
        objects(VALUES),
        objects(list(map(Decimal, VALUES))),
        pd.Series(VALUES, dtype="Float64").mask(MISSING),
        pd.Series(VALUES, dtype="double[pyarrow]").mask(MISSING),
    ),
    (
        FLAGS,
        FLAGS.astype("object").mask(MISSING, pd.NA),
        FLAGS.astype("boolean").mask(MISSING),
        FLAGS.astype("bool[pyarrow]").mask(MISSING),
    ),
]


@every
@pytest.mark.parametrize("values", TAKEN, ids=["numbers", "booleans"])
def test_numbers_and_booleans_of_any_dtype_equal_floats(ranker, values):
    first, *columns = values
    floats = frame(np.where(MISSING, np.nan, first))
    expected = ranker.fit(floats, Y).predict(floats)
    for column in columns:
        X = frame(column)
        assert ranker.fit(X, Y).predict(X).tolist() == expected.tolist(), column.dtype
        assert str(X["new"].dtype) == str(column.dtype)  # the caller's frame stays as it is


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
