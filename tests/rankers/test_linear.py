"""LinearRanker: loss, stages, units of features, weights and labels, alpha, and errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_matrix, csr_matrix

import skrank
from skrank import LinearRanker, SoftRank
from skrank.datasets import make_ranking
from tests.helpers.rankers import fit_with, with_options

DATA = make_ranking(60, n_docs=(5, 25), n_features=6, n_informative=4, random_state=0)
LABELS, QID = DATA.relevance, DATA.qid
X = np.rint(DATA.X * 100)  # whole numbers: they can be scaled and shifted without rounding
GAP = skrank.metric("gap")
layouts = pytest.mark.parametrize("layout", [np.asarray, csr_matrix, csc_matrix])


def fit(X=X, labels=LABELS, qid=QID, sample_weight=None, features="standard", **parameters):
    """A ranker without transformation of columns, so that weights are in their units."""
    return with_options(LinearRanker, features=features, **parameters).fit(
        X, labels, groups=qid, sample_weight=sample_weight
    )


@pytest.fixture(scope="module")
def plain():
    return fit()


def value(model, X=X):
    return GAP(LABELS, model.predict(X), groups=QID)


@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
@pytest.mark.parametrize(
    "objective",
    [
        SoftRank("gap", sigma=0.7),
        SoftRank("ndcg", sigma=0.7),
        SoftRank("ap(rel=2)", sigma=0.7),
        skrank.Softmax(),
        skrank.SquaredError(centered=True),
        0.5 * SoftRank("gap") + 0.5 * skrank.Softmax(),
    ],
    ids=str,
)
def test_the_gradient_of_the_documented_loss_vanishes(objective, layout):
    """Of the mean loss of queries, plus alpha times the sum of squares of scaled weights."""
    weights = np.random.default_rng(0).uniform(0.5, 2, 60)
    model = fit(layout(X), sample_weight=weights[QID], objective=objective, alpha=0.01, tol=1e-12)
    slopes, _ = objective.on_scale(4)(LABELS, model.predict(X), groups=QID)
    share = weights / weights[np.bincount(QID, LABELS) > 0].sum()  # of queries with a loss
    scale = np.sqrt(np.cov(X.T, aweights=weights[QID], ddof=0).diagonal())
    penalty = 2 * 0.01 * model.coef_ * scale
    assert_allclose((share[QID] * slopes) @ (X / scale), -penalty, rtol=1e-3, atol=1e-5)
    assert np.abs(penalty).max() > 1e-4


@pytest.mark.parametrize("metric", ["err@5", "precision@5", "rr"])
def test_newton_steps_never_lower_the_metric(metric):
    given = {"alpha": 0, "smoothing": 0.7, "tol": 1e-6}
    before, after = (
        skrank.metric(metric)(LABELS, fit(objective=objective, **given).predict(X), groups=QID)
        for objective in (SoftRank("gap"), metric)
    )
    assert after >= before


def test_positive():
    table = np.column_stack([X, -X])
    model = fit(table, positive=True)
    assert model.coef_.min() == 0
    assert value(model, X=table) == pytest.approx(value(fit()), abs=0.01)
    only = fit(-np.abs(X[:, :1]) * LABELS[:, None] - 1, positive=True)
    assert_array_equal(only.coef_, 0)


ALPHAS = [1e-3, 10.0, 0.1]


@pytest.mark.parametrize(("metric", "choose"), [("ndcg@5", np.argmax), ("error@5", np.argmin)])
def test_alphas_are_compared_on_held_out_queries(metric, choose):
    model = fit(alpha=ALPHAS, eval_metric=metric, validation_fraction=0.3, random_state=0)
    values = model.evals_result_["validation"][metric]
    assert len(values) == 3
    assert model.alpha_ == sorted(ALPHAS, reverse=True)[int(choose(values))]
    assert_allclose(model.coef_, fit(alpha=model.alpha_).coef_, rtol=0.01, atol=1e-4)  # of all


@pytest.mark.parametrize("objective", ["gap", "err@5"])
@pytest.mark.parametrize("rounds", [2, None])
def test_one_alpha_stops_early_on_validation_rows(objective, rounds):
    known = QID < 40
    held_out = {"X_val": X[~known], "y_val": LABELS[~known], "groups_val": QID[~known]}
    model = LinearRanker(objective, features="standard", early_stopping_rounds=rounds)
    model.fit(X[known], LABELS[known], groups=QID[known], **held_out)
    values = next(iter(model.evals_result_["validation"].values()))
    assert len(values) == model.n_iter_
    best = max(values) if rounds else values[-1]
    metric = skrank.metric(objective, max_grade=4) if objective == "err@5" else GAP
    found = metric(LABELS[~known], model.predict(X[~known]), groups=QID[~known])
    assert found == pytest.approx(best)
    if rounds:
        assert len(values) <= int(np.argmax(values)) + 1 + rounds


@layouts
@pytest.mark.parametrize(
    ("dtype", "powers"),
    [(np.float32, 70), (np.float32, -100), (np.float64, [-400, 400, 0, 200, -200, 3])],
    ids=str,
)
def test_features_may_have_any_magnitude(layout, dtype, powers, plain):
    factor = np.exp2(powers)
    model = fit(layout((X * factor).astype(dtype)))
    assert_allclose(model.coef_ * factor, plain.coef_, rtol=1e-3, atol=1e-6)
    assert_allclose(model.predict(layout(X * factor)), plain.predict(X), rtol=1e-3, atol=1e-3)


@layouts
@pytest.mark.parametrize(
    ("dtype", "shift"), [(np.float32, 2**20), (np.float64, 2**30), (np.float64, 2**36)]
)
def test_features_with_a_large_mean(layout, dtype, shift, plain):
    """Such as times in seconds, or identifiers."""
    table = layout((X + shift).astype(dtype))
    model = fit(table)
    assert_allclose(model.coef_, plain.coef_, rtol=0.02, atol=1e-4)
    assert value(model, X=table) == pytest.approx(value(plain), abs=0.005)


@layouts
@pytest.mark.parametrize("value", [1e9, 0.1, 1e100, 1e-300])
def test_constants_have_no_weight(layout, value, plain):
    """Constants of a query hardly have a weight."""
    by_query = np.random.default_rng(0).normal(size=60)[QID]
    model = fit(layout(np.column_stack([X, np.full(len(X), value), by_query])))
    assert model.coef_[6] == 0
    assert abs(model.coef_[7]) < 1e-4
    assert_allclose(model.coef_[:6], plain.coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("layout", "objective"), [(np.asarray, "err@5"), (csr_matrix, "gap"), (csc_matrix, "gap")]
)
def test_copies_of_all_queries_do_not_change_weights(layout, objective):
    """Their rows are read in several blocks."""
    table = np.where(np.random.default_rng(0).random(X.shape) < [0, 0.1, 0.5, 0.9, 0, 0], 0, X)
    n = 30
    again = fit(
        layout(np.tile(table, (n, 1))), np.tile(LABELS, n), np.tile(QID, n)
        + 60 * np.repeat(np.arange(n), len(QID)), objective=objective,
    )  # fmt: skip
    assert_allclose(again.coef_, fit(table, objective=objective).coef_, rtol=1e-3, atol=1e-6)


def test_duplicate_sparse_entries_are_summed(plain):
    once = csr_matrix(X)
    entries = np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), 2 * once.indptr
    twice = csr_matrix(entries, once.shape)
    assert_allclose(fit(twice).coef_, plain.coef_, rtol=1e-3, atol=1e-6)
    assert twice.nnz == 2 * once.nnz  # the caller's matrix does not change


@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
def test_scores_that_overflow_raise(layout):
    model = fit(X * 1e-10)
    with pytest.raises(ValueError, match=r"row 3 .*(inf|nan)"):
        model.predict(layout(np.where(np.arange(len(X))[:, None] == 3, X * 1e304, X)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n_features", "share"), [(7, 0), (137, 0.1)])
def test_a_score_does_not_depend_on_other_rows(dtype, n_features, share):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, n_features))
    table[rng.random(table.shape) < share] = np.nan
    table = np.repeat(table, 3, axis=0).astype(dtype)
    model = LinearRanker().fit(table, np.arange(60) % 4, groups=np.arange(60) // 10)
    for layout in (np.ascontiguousarray, np.asfortranarray, csr_matrix):
        scores = model.predict(layout(table))
        assert_allclose(scores, np.repeat(scores[::3], 3), rtol=1e-9, atol=1e-9)
        for size in (1, 7, 24):
            parts = [model.predict(layout(table[row : row + size])) for row in range(0, 24, size)]
            assert_allclose(np.concatenate(parts)[:24], scores[:24], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("objective", "weight"), [("gap", 1e300), ("gap", 1e-20), ("gap", 1e-300), ("err@5", 1e300)]
)
def test_only_ratios_of_weights_matter(objective, weight):
    weights = np.exp2(QID % 3) / 4
    path = {"objective": objective, "alpha": ALPHAS, "random_state": 0, "validation_fraction": 0.2}
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": -1}, "alpha=-1"),
        ({"alpha": []}, "alpha="),
        ({"alpha": [1.0, -1.0], "validation_fraction": 0.2}, "alpha=-1"),
        ({"alpha": [1.0, 2.0]}, "validation_fraction=0.2"),
        ({"smoothing": 0}, "smoothing=0"),
        ({"early_stopping_rounds": 0}, "early_stopping_rounds=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"objective": "gapp"}, "'gap'"),
        ({"y": np.zeros(len(X))}, "no training query"),
        ({"X": np.where(X > 200, np.inf, X)}, r"row \d+ of X.* column \d"),
        ({"X": np.column_stack([X, X[:, :1] * 1e200])}, "feature 6"),
    ],
)
def test_bad_parameters_and_data(changes, message):
    with pytest.raises(ValueError, match=message):
        fit_with(LinearRanker(features="standard"), X, LABELS, {"groups": QID} | changes)
