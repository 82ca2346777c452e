"""Features of LinearRanker: missing values, categories and transformers."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

import skrank
from skrank import GroupedRanker, LinearRanker
from skrank.datasets import make_ranking
from tests.helpers.rankers import lgbm, xgb

DATA = make_ranking(50, n_docs=(8, 20), n_features=6, n_informative=4, random_state=0)
LABELS, QID = DATA.relevance, DATA.qid
Y = skrank.with_groups(LABELS, QID)
RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(len(QID), 3))
# counts with a heavy tail, one that grows with the grade; a normal column; and its exponential
COUNTS = np.floor(np.exp(NOISE[:, 0] * 2 + LABELS))
X = np.column_stack([COUNTS, NOISE[:, 1] + LABELS, np.exp(3 * NOISE[:, 2])])
CODES = np.minimum(LABELS, 2) + RNG.integers(0, 2, len(QID))
SITES = np.array(list("abcd"))[CODES]


def fit(X, **parameters):
    return LinearRanker(**parameters).fit(X, Y)


def with_gaps(X, share=0.1, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
def test_nan_that_correlates_with_grades_has_a_weight(layout):
    table = X.copy()
    table[np.random.default_rng(1).random(len(X)) < np.where(LABELS > 1, 0.05, 0.5), 1] = np.nan
    model = fit(layout(table))
    names = model.feature_map_.get_feature_names_out().tolist()
    assert names == ["x0", "x1", "x2", "x1_missing"]
    assert model.coef_[3] < -0.1


def test_nan_in_columns_without_nan_in_training_becomes_the_median():
    model = fit(X)
    gaps = X.copy()
    gaps[5, 1], gaps[6, 0] = np.nan, np.nan
    filled = X.copy()
    filled[5, 1], filled[6, 0] = np.median(X[:, 1]), np.median(X[:, 0])
    assert_allclose(model.predict(gaps), model.predict(filled))


def test_a_column_of_only_nan_has_weight_0():
    empty = np.column_stack([X, np.full(len(X), np.nan)])
    for table in (empty, csr_matrix(empty)):
        model = fit(table)
        assert model.coef_[3] == 0
        assert np.isfinite(model.predict(table)).all()
        with_values = model.predict(np.column_stack([X, LABELS]))
        assert_allclose(with_values, model.predict(empty), rtol=1e-9, atol=1e-9)


def test_nan_in_queries_of_weight_0_and_held_out_queries_is_replaced():
    table = with_gaps(X)
    table[QID == 0] = np.nan
    model = LinearRanker().fit(table, Y, sample_weight=(QID > 0).astype(float))
    rest = QID > 0
    other = LinearRanker().fit(table[rest], skrank.with_groups(LABELS[rest], QID[rest]))
    assert_allclose(model.coef_, other.coef_, rtol=1e-3, atol=1e-5)
    path = fit(table, alpha=[1e-3, 0.1], validation_fraction=0.2, random_state=0)
    assert len(path.evals_result_["validation"]["gap"]) == 2


def frame(**columns):
    return pd.DataFrame({"count": X[:, 0], "normal": X[:, 1], **columns})


SITE, LEVELS = frame(site=pd.Categorical(SITES)), pl.Enum(list("abcd"))
CATEGORIES = {
    "pandas": (SITE, None),
    "text": (frame(site=SITES), ["site"]),
    "number": (frame(site=CODES), [2]),
    "array": (np.column_stack([X[:, :2], CODES]), [2]),
    "sparse": (csr_matrix(np.column_stack([X[:, :2], CODES])), [2]),
    "polars": (pl.DataFrame(frame(site=SITES).to_dict("list")).cast({"site": LEVELS}), None),
}  # fmt: skip


@pytest.fixture(scope="module")
def of_pandas():
    """Scores of a model of categories of pandas."""
    return fit(SITE).predict(SITE)


@pytest.mark.parametrize("kind", CATEGORIES)
def test_each_of_few_levels_has_a_weight(kind, of_pandas):
    table, named = CATEGORIES[kind]
    model = fit(table, options={"categorical_features": named})
    assert len(model.coef_) == 6
    assert model.coef_[2] < model.coef_[3] < model.coef_[4]
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(table), model.predict(table))
    assert_allclose(model.predict(table), of_pandas, rtol=1e-3, atol=1e-3)


def test_a_column_may_have_the_name_of_a_level():
    named = SITE.rename(columns={SITE.columns[0]: f"site_{SITES[0]}"})
    held_out = {"alpha": [1e-3, 1e-2], "validation_fraction": 0.2, "random_state": 0}
    assert_array_equal(fit(named, **held_out).coef_, fit(SITE, **held_out).coef_)


def test_many_levels_become_mean_grades_of_other_queries():
    # each level of noise has a few rows, which do not predict grades
    noise = pd.Categorical(np.random.default_rng(2).integers(0, 300, len(X)))
    told = pd.Categorical(np.random.default_rng(3).integers(0, 8, len(X)) + 8 * LABELS)
    for table, column in ((frame(noise=noise, told=told), 3), (frame(noise=noise), 1)):
        model = fit(table)
        assert model.coef_.shape == (len(table.columns),)
        sizes = model.coef_ * np.std(model.feature_map_.transform(table), axis=0)
        assert sizes[column] > 5 * abs(sizes[2])


@pytest.mark.parametrize("n_levels", [4, 40])
def test_a_level_that_was_never_seen(n_levels):
    codes = np.random.default_rng(4).integers(0, n_levels, len(X))
    model = fit(frame(site=pd.Categorical(codes)))
    fresh = frame(site=pd.Categorical(np.full(len(X), 999)))
    features = model.feature_map_.transform(fresh)[:, 2:]
    assert_allclose(features, 0, atol=0.1)  # the mean of grades less those of the query is 0
    assert np.ptp(features, axis=0).max() == 0


@pytest.mark.parametrize(("missing", "n_levels"), [(None, 3), (None, 40), (np.nan, 3), (pd.NA, 40)])
def test_missing_categories_are_a_level(missing, n_levels):
    levels = np.array([f"level {number}" for number in range(n_levels)], dtype=object)
    given = levels[np.random.default_rng(5).integers(0, n_levels, len(X))]
    given[LABELS > 1] = missing
    for column in (pd.Categorical(given), pd.Series(given)):
        model = fit(frame(site=column), options={"categorical_features": ["site"]})
        score = model.predict(frame(site=pd.Series(given, dtype=object)))
        assert score[LABELS > 1].mean() > score[LABELS <= 1].mean() + 0.5


def test_the_order_of_queries_changes_nothing():
    table = frame(site=pd.Categorical(RNG.integers(0, 40, len(X)) + 40 * (LABELS > 2)))
    order = np.argsort(np.random.default_rng(8).permutation(QID.max() + 1)[QID], kind="stable")
    mixed = LinearRanker().fit(table.iloc[order], LABELS[order].astype(np.float32), QID[order])
    assert_allclose(mixed.predict(table), fit(table).predict(table), rtol=1e-6, atol=1e-6)


def test_a_transformer_of_all_columns():
    ranker = LinearRanker(features=QuantileTransformer(n_quantiles=50))
    model = ranker.set_params(features__output_distribution="normal").fit(X, Y)
    quantiles = ranker.features.fit(X)
    by_hand = fit(quantiles.transform(X), features="standard")
    assert_allclose(model.predict(X), by_hand.predict(quantiles.transform(X)), rtol=1e-6)
    assert not hasattr(LinearRanker(features=QuantileTransformer()).features, "quantiles_")
    columns = [(step, StandardScaler(), [0]) for step in ("first", "second")]
    pipeline = make_pipeline(ColumnTransformer(columns, verbose_feature_names_out=False))
    assert fit(X, features=pipeline).coef_.shape == (2,)


def test_the_transformer_can_be_read_and_replaced():
    table = frame(site=pd.Categorical(RNG.integers(0, 30, len(X))), kind=pd.Categorical(SITES))
    table.loc[::9, "normal"] = np.nan
    model = fit(table)
    columns = model.feature_map_
    levels = ["kind_a", "kind_b", "kind_c", "kind_d"]
    assert columns.get_feature_names_out().tolist() == ["count", "normal", *levels, "site"]
    assert_allclose(fit(table, features=columns).coef_, model.coef_, rtol=1e-6, atol=1e-6)
    mean = clone(columns).set_params(numbers__ridgeimputer=SimpleImputer(add_indicator=True))
    assert fit(table, features=mean).score(table, Y) == pytest.approx(
        model.score(table, Y), abs=0.05
    )


LGBM = lgbm(n_estimators=5, num_leaves=4)
XGB = xgb(n_estimators=5, max_depth=2)


@pytest.mark.parametrize(
    ("estimator", "options"), [(LGBM, {}), (XGB, {"validation_fraction": 0.3, "random_state": 0})],
    ids=["lightgbm", "xgboost"],
)  # fmt: skip
def test_boosting_from_linear_accepts_nan_and_categories(estimator, options):
    table = frame(site=pd.Categorical(SITES)).mask(with_gaps(np.ones((len(X), 3))) != 1)
    model = GroupedRanker(estimator, objective="gap", init="linear", **options).fit(table, Y)
    scores = model.predict(table)
    assert np.isfinite(scores).all()
    start = model.init_factor_ * model.init_.predict(table)
    if model.best_iteration_:
        start = start + model.estimator_.predict(table)
    assert_allclose(scores, start, rtol=1e-5, atol=1e-5)


INFINITE = SITE.assign(count=np.where(np.arange(len(X)) == 4, np.inf, X[:, 0]))


@pytest.mark.parametrize(
    ("table", "parameters", "message"),
    [
        (SITE, {"features": "logs"}, "features='logs'"),
        (SITE, {"options": pd.Series([1])}, "options="),
        (SITE, {"options": {"categorical_features": ["town"]}}, "'town'"),
        (SITE, {"options": {"categorical_features": [True]}}, "column True"),
        (
            SITE,
            {"features": StandardScaler(), "options": {"categorical_features": ["site"]}},
            "all columns",
        ),
        (frame(site=SITES), {}, "column 'site'"),
        (frame(site=CODES.astype(str)), {}, "column 'site'"),
        (np.where(X > 1e3, "9", X.astype(object)), {}, "column 0"),
        (INFINITE, {}, "row 4 of X.*column 'count'"),
    ],
)
def test_bad_parameters_and_columns(table, parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(table, **parameters)
