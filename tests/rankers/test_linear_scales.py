"""LinearRanker does not depend on the units of features, weights and labels."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_matrix, csr_matrix

import skrank
from skrank import LinearRanker
from skrank.datasets import make_ranking
from skrank.rankers._linear_rows import LinearRows, RowParts, standardised
from tests.helpers.engine import judge

DATA = make_ranking(60, n_docs=(5, 25), n_features=6, n_informative=4, random_state=0)
LABELS, QID = DATA.relevance, DATA.qid
X = np.rint(DATA.X * 100)  # whole numbers: they can be scaled and shifted without rounding
GAP = skrank.metric("gap")
layouts = pytest.mark.parametrize("layout", [np.asarray, csr_matrix, csc_matrix])


def fit(X, labels=LABELS, qid=QID, sample_weight=None, objective="gap", **parameters):
    """A ranker without transformation of columns, so that weights are in their units."""
    model = LinearRanker(objective, **{"features": "standard"} | parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return model.fit(X, labels, groups=qid, sample_weight=sample_weight)


@pytest.fixture(scope="module")
def plain():
    return fit(X)


@layouts
@pytest.mark.parametrize(
    ("dtype", "powers"),
    [(np.float32, 70), (np.float32, -100), (np.float64, [-900, 1010, 0, 400, -400, 3])]
    + [(np.float64, power) for power in (1010, 600, 500, 310, -310, -540, -990)],
    ids=str,
)
def test_features_may_have_any_magnitude(layout, dtype, powers, plain):
    factor = np.exp2(powers)
    model = fit(layout((X * factor).astype(dtype)))
    assert_allclose(model.coef_ * factor, plain.coef_, rtol=1e-3, atol=1e-6)
    assert_allclose(model.predict(layout(X * factor)), plain.predict(X), rtol=1e-3, atol=1e-3)


def test_whole_numbers(plain):
    assert_allclose(fit(X.astype(np.int16)).coef_, plain.coef_, rtol=1e-6)


@layouts
@pytest.mark.parametrize(
    ("dtype", "shift"), [(np.float32, 2**20), (np.float64, 2**30), (np.float64, 2**36)]
)
def test_features_with_a_large_mean(layout, dtype, shift, plain):
    """Such as times in seconds, or identifiers."""
    table = layout((X + shift).astype(dtype))
    model = fit(table)
    assert_allclose(model.coef_, plain.coef_, rtol=0.02, atol=1e-4)
    assert GAP(LABELS, model.predict(table), groups=QID) == pytest.approx(
        GAP(LABELS, plain.predict(X), groups=QID), abs=0.005
    )


@layouts
@pytest.mark.parametrize("value", [1e9, 0.1, 1e300, 1e-300])
def test_constants_have_no_weight(layout, value, plain):
    """Constants of a query hardly have a weight."""
    by_query = np.random.default_rng(0).normal(size=60)[QID]
    model = fit(layout(np.column_stack([X, np.full(len(X), value), by_query])))
    assert model.coef_[6] == 0
    assert abs(model.coef_[7]) < 1e-4
    assert_allclose(model.coef_[:6], plain.coef_, rtol=1e-3, atol=1e-4)


def test_a_feature_whose_weight_would_overflow_has_weight_0(plain):
    model = fit(np.column_stack([X, X[:, :1] * 5e-324]))
    assert model.coef_[6] == 0
    assert_allclose(model.coef_[:6], plain.coef_, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
@pytest.mark.parametrize("shift", [0, 2.0**40])
def test_moments(layout, shift):
    """Against exact sums, with absent sparse entries."""
    rng = np.random.default_rng(0)
    table = np.rint(rng.normal(size=(500, 4)) * 100) * (rng.random((500, 4)) < [0.1, 0.5, 0.9, 1])
    table[:, 3] += shift
    weights = rng.integers(1, 4, 500) / 4
    judgments = judge(np.zeros(500), np.arange(500))  # a query per row
    rows, deviation = standardised(RowParts([LinearRows(layout(table), judgments, weights)]), 0.0)
    (part,) = rows.parts
    exact = np.average(table.astype(np.longdouble), axis=0, weights=weights)
    squares = np.average((table - exact) ** 2, axis=0, weights=weights)
    assert_allclose(part.center, exact.astype(float), rtol=1e-13)
    assert_allclose(deviation, np.sqrt(squares).astype(float), rtol=1e-12)


@layouts
@pytest.mark.parametrize("size", [1, 1000])
def test_weights_do_not_depend_on_blocks_of_rows(layout, size, monkeypatch):
    monkeypatch.setattr("skrank.rankers._matrix._BLOCK", size)
    table = np.where(np.random.default_rng(0).random(X.shape) < [0, 0.1, 0.5, 0.9, 0, 0], 0, X)
    again = fit(layout(table))
    monkeypatch.undo()
    assert_allclose(again.coef_, fit(table).coef_, rtol=1e-3, atol=1e-6)


def test_duplicate_sparse_entries_are_summed(plain):
    twice = csr_matrix((len(X), 6))
    twice.indptr = 12 * np.arange(len(X) + 1)
    twice.indices = np.tile(np.repeat(np.arange(6), 2), len(X))
    twice.data = np.column_stack([X - 1000, np.full_like(X, 1000)]).reshape(-1, 2, 6)
    twice.data = twice.data.swapaxes(1, 2).ravel()
    assert_array_equal(twice.toarray(), X)
    model = fit(twice)
    assert_allclose(model.coef_, plain.coef_, rtol=1e-3, atol=1e-6)
    assert twice.nnz == 12 * len(X)  # the caller's matrix does not change


@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
def test_scores_that_overflow_raise(layout):
    model = fit(X * 1e-10)
    with pytest.raises(ValueError, match=r"the score of row 3 is -?(inf|nan): its features are"):
        model.predict(layout(np.where(np.arange(len(X))[:, None] == 3, X * 1e304, X)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, csr_matrix])
@pytest.mark.parametrize("n_features", [7, 136, 137])
@pytest.mark.parametrize("share", [0, 0.1])
def test_a_score_does_not_depend_on_other_rows(dtype, layout, n_features, share):
    """Equal documents thus tie at any row, with and without NaN."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, n_features))
    table[rng.random(table.shape) < share] = np.nan
    table = np.repeat(table, 5, axis=0).astype(dtype)
    model = LinearRanker().fit(table, np.arange(200) % 3, groups=np.arange(200) // 10)
    scores = model.predict(layout(table))
    assert_array_equal(scores.reshape(40, 5), np.repeat(scores[::5], 5).reshape(40, 5))
    for size in (1, 3, 8, 50):
        parts = [model.predict(layout(table[row : row + size])) for row in range(0, 200, size)]
        assert_array_equal(np.concatenate(parts), scores)


@pytest.mark.parametrize("weight", [1e300, 1e-20, 1e-300])
@pytest.mark.parametrize("objective", ["gap", "err@5"])
def test_only_ratios_of_weights_matter(weight, objective):
    weights = np.exp2(QID % 3) / 4
    path = {"objective": objective, "alphas": [1e-3, 10.0, 0.1], "random_state": 0}
    first, again = (fit(X, sample_weight=one, **path) for one in (weights, weights * weight))
    assert_allclose(again.coef_, first.coef_, rtol=1e-3, atol=1e-6)
    assert again.alpha_ == first.alpha_


def test_rows_without_weight_change_nothing(plain):
    """Their features may be extreme."""
    away = np.vstack([X, np.full((5, 6), 1e200) * np.arange(5)[:, None]])
    weights = np.append(np.ones(len(X)), np.zeros(5))
    model = fit(
        away, np.append(LABELS, np.arange(5)), np.append(QID, np.full(5, 99)), sample_weight=weights
    )
    assert_allclose(model.coef_, plain.coef_, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("power", [-30, -20, -6])
@pytest.mark.parametrize("centered", [False, True])
def test_squared_errors_of_labels_in_any_unit(power, centered):
    """Labels such as rates of clicks are far below 1."""
    objective = skrank.SquaredError("linear", centered=centered)
    once, again = (
        fit(X, LABELS / 4 * factor, objective=objective, tol=1e-10) for factor in (1, 2.0**power)
    )
    assert_allclose(again.coef_ / 2.0**power, once.coef_, rtol=0.01, atol=1e-5)


def test_a_warm_start_ignores_weights_of_constant_features():
    table = np.column_stack([X, np.ones(len(X))])
    model = LinearRanker(warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model.fit(table, LABELS, groups=QID).fit(table, LABELS, groups=QID)
    assert model.coef_[6] == 0
