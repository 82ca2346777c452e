"""QueryFeatures: definitions, tools of scikit-learn, Dask, and errors."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import skrank
from skrank import LinearRanker, QueryFeatures
from skrank.datasets import make_ranking
from tests.helpers.rankers import routing

KINDS = ["rank", "zscore", "share", "difference"]
DATA = make_ranking(30, n_docs=(4, 15), n_features=4, n_informative=3, random_state=0)
X, LABELS, QID = DATA.X, DATA.relevance, DATA.qid
Y = skrank.with_groups(LABELS, QID)
FRAME = pd.DataFrame(X, columns=list("abcd"), index=pd.Index(QID, name="qid"))


def by_definition(kind, values, groups):
    """The added values by pandas, which ignores NaN."""
    table = pd.DataFrame(values)
    queries = table.groupby(groups)
    highest, lowest = queries.transform("max"), queries.transform("min")
    if kind == "rank":
        found = queries.rank() / queries.transform("count")
    elif kind == "zscore":
        found = (table - queries.transform("mean")) / queries.transform("std", ddof=0)
        found = found.where(highest != lowest, 0.0).where(table.notna())
    elif kind == "share":
        largest = np.maximum(highest.abs(), lowest.abs())
        found = table / largest.where(largest != 0, 1.0)
    else:
        found = table - highest
    return found.to_numpy()


def rough(rng, rows, columns):
    """Values with ties, zeros and NaN, a constant column, and one that is NaN in some queries."""
    values = rng.integers(-3, 4, (rows, columns)).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    values[:, 0] = 0.1
    return values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("contiguous", [True, False])
def test_values_equal_the_definition(kind, contiguous):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 25, 200)
    groups = np.sort(groups) if contiguous else groups
    values = rough(rng, 200, 3)
    values[groups == groups[0], 2] = np.nan
    found = QueryFeatures(kind, keep_original=False).fit(values).transform(values, groups)
    expected = by_definition(kind, values, groups)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_columns_are_the_features_and_then_kind_by_kind():
    features = QueryFeatures(KINDS).set_output(transform="pandas").fit(FRAME)
    found = features.transform(FRAME)
    names = [*"abcd", *(f"{name}_{kind}" for kind in KINDS for name in "abcd")]
    assert found.columns.to_list() == names == features.get_feature_names_out().tolist()
    assert found.index.equals(FRAME.index)
    pd.testing.assert_frame_equal(found[list("abcd")], FRAME)
    np.testing.assert_allclose(found["b_zscore"], by_definition("zscore", X, QID)[:, 1])
    repeated = FRAME[["a", "b"]].set_axis(["a", "a_rank"], axis=1)
    with pytest.raises(ValueError, match="called 'a_rank'"):
        QueryFeatures().fit(repeated).get_feature_names_out()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_column_of_queries_is_not_a_feature(library):
    make = pytest.importorskip(library).DataFrame
    columns = {"qid": [f"q{one}" for one in QID]} | {
        name: FRAME[name].to_numpy() for name in "abcd"
    }
    features = QueryFeatures().set_output(transform=library).fit(make(columns))
    found = features.transform(make(columns))
    assert list(found.columns) == [*"abcd", *(f"{name}_rank" for name in "abcd")]
    assert list(found.columns) == features.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.to_numpy(), QueryFeatures().fit(X).transform(X, QID))


def test_single_precision_and_extreme_values():
    features = QueryFeatures(KINDS).fit(X)
    found = features.transform(X.astype(np.float32), QID)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, features.transform(X, QID), rtol=1e-4, atol=1e-5)
    values = np.array([[1e308], [-1e308], [5e-324], [0.0]])
    found = QueryFeatures(KINDS).fit(values).transform(values, np.zeros(4))
    assert np.isfinite(found).all()
    assert found[1, 4] == np.finfo(np.float64).min


def test_pipelines_with_groups_on_the_index():
    features = QueryFeatures(["rank", "zscore"]).set_output(transform="pandas")
    model = make_pipeline(features, LinearRanker("gap"))
    by_hand = features.fit(FRAME).transform(FRAME)
    expected = LinearRanker("gap").fit(by_hand, LABELS).predict(by_hand)
    np.testing.assert_allclose(clone(model).fit(FRAME, LABELS).predict(FRAME), expected)
    grid = {"queryfeatures__kinds": ["rank", KINDS]}
    cv = skrank.QueryKFold(3)
    search = GridSearchCV(model, grid, scoring=skrank.scorer("gap"), cv=cv).fit(FRAME, Y)
    assert np.diff(search.cv_results_["mean_test_score"])[0] != 0


def test_column_transformers():
    some = QueryFeatures("rank", keep_original=False)
    expected = np.column_stack([by_definition("rank", X[:, :2], QID), X[:, 2]])
    parts = [("ranks", some, ["qid", "a", "b"]), ("kept", "passthrough", ["c"])]
    columns = ColumnTransformer(parts)
    plain = FRAME.reset_index()
    np.testing.assert_allclose(columns.fit(plain).transform(plain), expected)
    assert columns.get_feature_names_out().tolist() == ["ranks__a_rank", "ranks__b_rank", "kept__c"]
    with routing():
        routed = ColumnTransformer([("ranks", some, [0, 1]), ("kept", "passthrough", [2])])
        np.testing.assert_allclose(routed.fit_transform(X, groups=QID), expected)


def test_partitions_of_a_dask_frame():
    dd = pytest.importorskip("dask.dataframe")
    features = QueryFeatures(KINDS).set_output(transform="pandas").fit(FRAME.head())
    frame = dd.from_pandas(FRAME, npartitions=3)  # which keeps equal indexes together
    assert frame.npartitions == 3
    found = frame.map_partitions(features.transform)
    pd.testing.assert_frame_equal(found.compute(), features.transform(FRAME))
    for call in (features.fit, features.transform):
        with pytest.raises(ValueError, match=r"X.*map_partitions"):
            call(frame)


OTHER = np.where(np.arange(len(QID)) == 5, 99, QID)
NUMBERED = FRAME.reset_index(drop=True)
GRADED = pd.Series(np.ones(len(QID)), NUMBERED.index)
INFINITE = X.copy()
INFINITE[7, 2] = -np.inf


def refit(**parameters):
    return lambda features: clone(features).set_params(**parameters).fit(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (refit(kinds="ranks"), "kinds='ranks'"),
        (refit(kinds=["rank", "rank"]), "twice"),
        (lambda one: one.transform(X), r"QueryFeatures\.transform"),
        (lambda one: one.transform(X, [1, 2, 3]), "groups"),
        (lambda one: one.fit(FRAME).transform(FRAME, OTHER), "row 5"),
        (lambda one: clone(one).fit_transform(FRAME.reset_index(), groups=OTHER), "row 5"),
        (lambda one: clone(one).fit_transform(NUMBERED, GRADED[::-1], QID), "another order"),
        (lambda one: one.fit(INFINITE), "row 7 of X.* column 2"),
        (lambda one: one.fit(sparse.csr_matrix(X)), "toarray"),
        (lambda one: one.fit([["1"], ["2"]]), "column 0"),
        (lambda one: one.fit(FRAME.assign(day=pd.Timestamp("2020-01-01"))), "column 'day'"),
        (lambda one: one.fit(FRAME.reset_index()[["qid"]]), "besides the queries"),
    ],
)
def test_bad_parameters_and_data(call, message):
    features = QueryFeatures("share").fit(X)
    with pytest.raises(ValueError, match=message):
        call(features)
    assert features.n_features_in_ == 4  # a failed fit changes nothing
    with pytest.raises(NotFittedError):
        QueryFeatures().transform(X, QID)


class OneQuery(QueryFeatures):
    """Each row is a query: scikit-learn's checks compare all rows with some, without groups."""

    def transform(self, X, groups=None):
        rows = X.shape[0] if sparse.issparse(X) else np.asarray(X).shape[0]
        return super().transform(X, np.arange(rows) if groups is None else groups)

    def fit_transform(self, X, y=None, groups=None):
        return self.fit(X, y).transform(X, groups)


@parametrize_with_checks([OneQuery(KINDS), OneQuery("share"), OneQuery(keep_original=False)])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
