"""LinearRanker: loss, stages, units of features, weights and labels, alpha, and errors."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.exceptions import ConvergenceWarning

import skrank
from skrank import LinearRanker, SoftRank
from skrank._progress import Bar
from skrank.datasets import make_ranking
from skrank.rankers import _linear_training
from skrank.rankers._linear_training import LinearTraining, Stages, Steps
from tests.helpers.engine import judge
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


def training_on(objective, weights=None, X=X, **parameters):
    judgments = judge(LABELS, QID)
    weights = np.ones(len(judgments.queries)) if weights is None else weights
    settings = {"max_iter": 200, "tol": 1e-6, "positive": False} | parameters
    return LinearTraining(X, judgments, weights, Stages.of(objective, None), **settings)


@pytest.mark.parametrize(
    "objective",
    [
        "gap",
        "ndcg",
        "ap(rel=2)",
        skrank.Softmax(),
        skrank.SquaredError(centered=True),
        0.5 * SoftRank("gap") + 0.5 * skrank.Softmax(),
    ],
    ids=str,
)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_gradient_equals_finite_differences_of_the_loss(objective, sparse, monkeypatch):
    monkeypatch.setattr(_linear_training, "_PRECISION", np.float64)
    monkeypatch.setattr(_linear_training, "_GRID", 2.0**-60)
    given = {}

    def noting(loss, weights, **options):
        given["loss"] = loss
        return type("Result", (), {"x": weights, "nit": 0})

    monkeypatch.setattr(_linear_training, "minimize", noting)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(np.unique(QID)))
    table = csr_matrix(X) if sparse else X
    training = training_on(objective, weights, table)
    list(training.path(np.array([0.1]), np.zeros(6), Steps(Bar())))
    point = np.random.default_rng(1).normal(size=6)
    _, slopes = given["loss"](point)
    step = 1e-5
    ahead, behind = (
        np.array([given["loss"](point + sign * step * row)[0] for row in np.eye(6)])
        for sign in (1, -1)
    )
    assert_allclose(slopes, (ahead - behind) / (2 * step), atol=1e-8)


def test_the_loss_equals_the_documented_formula():
    """Mean of 1 - (smooth metric), plus alpha times the sum of squares of scaled weights."""
    model = fit(smoothing=0.7, alpha=0.01, tol=1e-12)
    training = training_on("gap")
    start = training.start()
    scale = np.std(X, axis=0)
    soft = SoftRank("gap", sigma=0.7)

    def loss(weights):
        scores = X @ (weights / scale)
        return 1 - soft.value(LABELS, scores, groups=QID) + 0.01 * weights @ weights

    found = model.coef_ * scale
    assert loss(found) < loss(start)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert loss(found + 0.05 * rng.normal(size=6)) > loss(found)


@pytest.mark.parametrize("metric", ["err@5", "precision@5", "rr"])
def test_newton_steps_never_lower_the_metric(metric):
    one = skrank.metric(metric)
    training = training_on(one, tol=0)
    start = training.start()
    alphas, steps = np.array([0.0]), Steps(Bar())
    ((_, before, _),) = training_on(SoftRank("gap")).path(alphas, start, steps)
    ((_, after, _),) = training.path(alphas, start, steps)
    found = [one(LABELS, training.scores(w), groups=QID) for w in (before, after)]
    assert found[1] >= found[0] - 1e-12


def test_positive():
    table = np.column_stack([X, -X])
    model = fit(table, positive=True)
    assert model.coef_.min() == 0
    assert value(model, X=table) == pytest.approx(value(fit()), abs=0.01)
    only = fit(-np.abs(X[:, :1]) * LABELS[:, None] - 1, positive=True)
    assert_array_equal(only.coef_, 0)


def test_too_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        fit(max_iter=2, smoothing=1)
    assert fit().n_iter_ < 200


ALPHAS = [1e-3, 10.0, 0.1]


@pytest.mark.parametrize(("metric", "choose"), [("ndcg@5", np.argmax), ("error@5", np.argmin)])
def test_alphas_are_compared_on_held_out_queries(metric, choose):
    model = fit(alpha=ALPHAS, eval_metric=metric, validation_fraction=0.3, random_state=0)
    values = model.evals_result_["validation"][metric]
    assert len(values) == 3
    assert model.alpha_ == sorted(ALPHAS, reverse=True)[int(choose(values))]


def test_held_out_queries_are_not_trained_on_while_alphas_are_compared(monkeypatch):
    seen = []
    path = LinearTraining.path

    def noting(self, alphas, weights, steps):
        seen.append(self.query_weights)
        return path(self, alphas, weights, steps)

    monkeypatch.setattr(LinearTraining, "path", noting)
    fit(alpha=ALPHAS, validation_fraction=0.3, random_state=0)
    assert [len(weights) for weights in seen] == [42, 60]


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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_training_needs_memory_for_a_few_vectors():
    rng = np.random.default_rng(0)
    n_rows = 300_000
    table, qid = rng.normal(size=(n_rows, 4)), np.repeat(np.arange(n_rows // 100), 100)
    labels = (table.sum(1) + rng.normal(size=n_rows)).clip(0, 3).round()
    ranker = with_options(LinearRanker, smoothing=1, max_iter=1)
    ranker.fit(table[:1000], labels[:1000], groups=qid[:1000])  # compiles
    tracemalloc.start()
    ranker.fit(table, labels, groups=qid)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * n_rows


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


@layouts
@pytest.mark.parametrize(("objective", "size"), [("gap", 1), ("gap", 1000), ("err@5", 1000)])
def test_sparse_features_stay_sparse_and_blocks_do_not_change_weights(
    layout, objective, size, monkeypatch
):
    table = np.where(np.random.default_rng(0).random(X.shape) < [0, 0.1, 0.5, 0.9, 0, 0], 0, X)
    monkeypatch.setattr("skrank.rankers._linear_training._BLOCK", size)
    monkeypatch.setattr(csr_matrix, "toarray", None)
    again = fit(layout(table), objective=objective)
    monkeypatch.undo()
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
    with pytest.raises(ValueError, match=r"the score of row 3 is -?(inf|nan): its features are"):
        model.predict(layout(np.where(np.arange(len(X))[:, None] == 3, X * 1e304, X)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, csr_matrix])
@pytest.mark.parametrize("n_features", [7, 137])
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
        ({"X": np.where(X > 200, np.inf, X)}, r"row \d+ of X is infinite in column \d"),
        ({"X": np.column_stack([X, X[:, :1] * 1e200])}, "feature 6"),
    ],
)
def test_bad_parameters_and_data(changes, message):
    with pytest.raises(ValueError, match=message):
        fit_with(LinearRanker(features="standard"), X, LABELS, {"groups": QID} | changes)
