"""SoftRank: properties, precision, trainings, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr

import skrank
from skrank._kernels import simd
from skrank.objectives import LambdaRank, SoftRank
from tests.helpers.engine import judge
from tests.helpers.softrank_cases import FORMS, every_form, many, one_query

# ---------------------------------------------------------------------- properties


@every_form
def test_gradients_sum_to_zero_and_curvature_is_positive(name, form):
    labels, scores, groups = many(30)
    for sigma, relative in ((0.01, False), (0.1, False), (1, False), (1, True)):
        objective = SoftRank(name, sigma=sigma, relative=relative, form=form)
        grad, hess = objective(labels, scores, groups=groups)
        for query in range(30):
            pull = grad[groups == query]
            assert abs(pull.sum()) <= 1e-12 * max(1, np.abs(pull).max())
        assert (hess >= 0).all()
        assert (hess[np.abs(grad) > 1e-30] > 0).all()


@every_form
def test_tied_documents_are_pulled_by_their_grades(name, form):
    grad, hess = SoftRank(name, form=form)([0, 1, 2, 3, 0], np.zeros(5))
    assert (np.diff(grad[:4]) <= 1e-15).all()
    assert grad[0] == pytest.approx(grad[4])
    assert grad[3] < 0 < grad[0]
    assert (hess > 0).all()


@every_form
def test_order_of_rows_shift_and_scale(name, form):
    labels, scores, groups = many(20)
    grad, hess = SoftRank(name, form=form)(labels, scores, groups=groups)
    rows = np.random.default_rng(0).permutation(len(labels))
    moved = SoftRank(name, form=form)(labels[rows], scores[rows] + 1000, groups=groups[rows])
    assert_allclose(moved, (grad[rows], hess[rows]), atol=1e-9)
    wider = SoftRank(name, sigma=7, form=form)(labels, scores * 7, groups=groups)
    assert_allclose((wider[0] * 7, wider[1] * 49), (grad, hess), rtol=1e-9, atol=1e-15)


@every_form
def test_relative_sigma_counts_standard_deviations_of_a_query(name, form):
    labels, scores = one_query(5)
    relative = SoftRank(name, sigma=0.4, relative=True, form=form)
    for scale in (0.1, 1, 1e6):
        fixed = SoftRank(name, sigma=min(0.4 * scale * scores.std(), 1e6), form=form)
        for a, b in zip(
            relative(labels, scores * scale), fixed(labels, scores * scale), strict=True
        ):
            assert_allclose(a, b, rtol=1e-9)
        value = relative.value(labels, scores * scale)
        assert value == pytest.approx(relative.value(labels, scores))
    tied = SoftRank(name, sigma=0.4 * 0.01, form=form)(labels, np.ones(len(labels)))
    assert_allclose(relative(labels, np.ones(len(labels))), tied, rtol=1e-9)


@every_form
def test_weights_scale_gradients_and_weigh_values(name, form):
    labels, scores, groups = many(10)
    weight = np.random.default_rng(0).choice([0, 0.5, 1, 3], 10)
    objective = SoftRank(name, form=form)
    plain = objective(labels, scores, groups=groups)
    weighted = objective(labels, scores, groups=groups, sample_weight=weight[groups])
    for a, b in zip(plain, weighted, strict=True):
        assert_allclose(b, a * weight[groups], rtol=1e-13, atol=1e-300)
    bound = objective.bind(judge(labels, groups))
    keep = ~bound.empty
    expected = np.average(bound.values(scores)[keep], weights=weight[keep])
    found = objective.value(labels, scores, groups=groups, sample_weight=weight[groups])
    assert found == pytest.approx(expected)


@every_form
def test_queries_without_anything_to_gain(name, form):
    groups = np.repeat(["none", "one", "unjudged", "some"], [3, 1, 2, 2])
    relevance = [0, 0, 0, 3, np.nan, np.nan, 2, np.nan]
    objective = SoftRank(name, form=form)
    grad, hess = objective(relevance, np.arange(8.0), groups=groups)
    assert not grad[:6].any()
    assert not hess[:3].any()
    assert grad[6] < 0 < grad[7]
    both = objective.value(relevance, np.arange(8.0), groups=groups)
    last = objective.value(relevance[3:], np.arange(3.0, 8), groups=groups[3:])
    assert both == pytest.approx(last)
    assert np.isnan(objective.value([0, 0], [1, 2]))


def test_values_of_queries_without_a_relevant_document_do_not_count():
    groups = ["a", "a", "b", "b"]
    found = SoftRank("gap").value([1, 0, 0, 0], [1, 2, 3, 4], groups=groups)
    assert found == pytest.approx(SoftRank("gap").value([1, 0], [1, 2]))


# ---------------------------------------------------------------------- precision, range, length


def through_boosters(objective, labels, scores, groups, dtype=np.float32):
    """Gradients as boosters compute them."""
    grad, hess = np.full((2, len(labels)), np.nan, dtype)
    objective.bind(judge(labels, groups)).gradient(scores, grad, hess)
    return grad, hess


@pytest.mark.parametrize(
    ("real", "absolute", "relative"), [(np.float32, 2e-7, 1e-4), (np.float64, 4e-16, 1e-12)]
)
def test_the_normal_distribution(real, absolute, relative):
    """Errors are at most those documented in `skrank._kernels.simd`."""
    y = np.linspace(0, simd.reach(real(0)), 20_001).astype(real)
    found = np.transpose([simd.normal(one) for one in y]).astype(float)
    exact = y.astype(float)
    tail, density = ndtr(-exact / simd.UNIT), np.exp2(-(exact**2))
    assert_allclose(found[0], tail, rtol=0, atol=absolute)
    assert_allclose(found[1], density, rtol=0, atol=absolute)
    there = density > 1e-3 * np.finfo(real).tiny * 2.0**23
    assert_allclose(found[0][there], tail[there], rtol=relative)
    assert_allclose(found[2], np.sqrt(exact**2 + 4 * simd.UNIT**2), rtol=4 * np.finfo(real).eps)
    assert found[0, -1] == found[1, -1] == 0


def test_a_value_and_its_gradient_come_in_one_pass():
    labels, scores, groups = many(30)
    for name, form in FORMS:
        for real, tolerance in ((np.float32, 2e-7), (np.float64, 1e-15)):
            bound = SoftRank(name, form=form).bind(judge(labels, groups))
            losses = bound.losses(scores, *np.empty((2, len(scores)), real))
            expected = np.where(bound.empty, 0, 1 - bound.values(scores))
            assert_allclose(losses, expected, atol=tolerance)


@pytest.mark.parametrize("name", ["gap", "ndcg"])
def test_pairs_that_are_not_kept_are_made_again(name):
    """A query with too many relevant documents to cache its pairs, and several tiles."""
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 4, 1300).astype(float), rng.normal(size=1300)
    objective = SoftRank(name, sigma=0.3)
    grad, hess = objective(labels, scores)
    assert abs(grad.sum()) < 1e-12
    for a, b in zip(through_boosters(objective, labels, scores, None), (grad, hess), strict=True):
        assert_allclose(a, b, atol=2e-6 * np.abs(b).max())
    unit = rng.normal(size=1300)
    up, down = (objective.value(labels, scores + s * unit) for s in (1e-5, -1e-5))
    assert grad @ unit == pytest.approx((down - up) / 2e-5, rel=1e-6)


@every_form
@pytest.mark.parametrize("sigma", [0.1, 1.0, 10.0])
def test_single_precision_is_close(name, form, sigma):
    labels, scores, groups = many(40)
    objective = SoftRank(name, sigma=sigma, form=form)
    double = objective(labels, scores, groups=groups)
    for one, two in zip(through_boosters(objective, labels, scores, groups), double, strict=True):
        assert one.dtype == np.float32
        assert np.abs(one - two).max() <= 2e-6 * np.abs(two).max()


RANGES = {
    "tiny": lambda rng, n: rng.integers(-9, 9, n) * 1e-30,
    "subnormal": lambda rng, n: rng.integers(-9, 9, n) * 1e-310,
    "wide": lambda rng, n: rng.normal(size=n) * 1e6,
    "one outlier": lambda rng, n: np.r_[1e6, rng.normal(size=n - 1)],
    "mixed": lambda rng, n: rng.choice([-1.0, 1.0], n) * 10.0 ** rng.integers(-30, 7, n),
    "huge": lambda rng, n: rng.normal(size=n) * 1e30,
}


@every_form
@pytest.mark.parametrize("spread", RANGES)
@pytest.mark.parametrize("relative", [False, True])
def test_scores_of_any_range(name, form, spread, relative):
    labels, _ = one_query(2, 20)
    scores = RANGES[spread](np.random.default_rng(0), 20)
    for sigma in (1e-9, 1e-3, 1.0, 1e6):
        objective = SoftRank(name, sigma=sigma, relative=relative, form=form)
        for part in through_boosters(objective, labels, scores, np.zeros(20)):
            assert np.isfinite(part).all()
        assert 0 <= objective.value(labels, scores) <= 1 + 1e-9


@every_form
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 32, 33, 65])
def test_lengths_around_a_step_of_simd(name, form, n):
    """Padding does not count, even after a longer list has filled it."""
    rng = np.random.default_rng(n)
    labels, scores = rng.integers(0, 4, n).astype(float), rng.normal(size=n)
    labels[0] = 3
    longer, more = one_query(n, 80)
    objective = SoftRank(name, form=form)
    alone = through_boosters(objective, labels, scores, np.zeros(n))
    groups = np.repeat([0, 1], [80, n])
    after = through_boosters(objective, np.r_[longer, labels], np.r_[more, scores], groups)
    for a, b, double in zip(alone, after, objective(labels, scores), strict=True):
        assert_array_equal(a, b[80:])
        assert_allclose(a, double, atol=2e-6 * np.abs(double).max() + 1e-7)


def test_long_queries():
    """Ten thousand documents, with memory for a few numbers per document."""
    rng = np.random.default_rng(0)
    labels, scores = rng.choice([0.0, 1, 3], 10_000, p=[0.98, 0.01, 0.01]), rng.normal(size=10_000)
    for name in ("gap", "ndcg"):
        objective = SoftRank(name, sigma=0.01)
        assert objective.value(labels, scores) == pytest.approx(
            skrank.metric(name)(labels, scores), abs=0.01
        )
        double = objective(labels, scores)
        for a, b in zip(through_boosters(objective, labels, scores, None), double, strict=True):
            assert_allclose(a, b, atol=1e-4 * np.abs(b).max())


# ---------------------------------------------------------------------- objects and errors


def test_metrics_and_forms_without_a_smooth_form():
    for name, form, message in [
        ("gap@10", "moments", r"cut-off has no smooth form: train on 'gap' and evaluate 'gap@10'"),
        ("ap@5", "moments", "train on 'ap'"),
        ("gap", "distribution", 'only dcg and ndcg have this form; gap has "moments"'),
        ("ndcg@10", "moments", 'cut-offs and .* need form="distribution"'),
        ("ndcg(discount=jk)", "moments", 'other than "log2" and "romip" need form="distribution"'),
        ("dcg(discount=[1,0.5])", "moments", 'form="distribution"'),
        ("err", "moments", "only gap, ap, dcg and ndcg.*LambdaRank takes any"),
        ("infap", "moments", "only gap, ap, dcg and ndcg"),
        ("gap(condensed=True)", "moments", "drop the training rows without a label"),
    ]:
        with pytest.raises(ValueError, match=message):
            SoftRank(name, form=form)


def test_options_are_checked():
    for option, message in [
        ({"sigma": 0}, r"sigma=0 must be a number in \[1e-09"),
        ({"sigma": float("nan")}, "sigma=nan"),
        ({"sigma": "1"}, "sigma='1'"),
        ({"relative": "yes"}, "relative='yes' must be True or False"),
        ({"form": "exact"}, r"form='exact' .*'moments', 'distribution'"),
    ]:
        with pytest.raises(ValueError, match=message):
            SoftRank("gap", **option)
    with pytest.raises(ValueError, match="unknown metric 'gpa': did you mean 'gap'"):
        SoftRank("gpa")


# ---------------------------------------------------------------------- training


@pytest.fixture(scope="module")
def ranking_data():
    """Queries whose relevance depends on three features and noise."""
    rng = np.random.default_rng(0)
    n_queries, n_documents = 60, 20
    X = rng.normal(size=(n_queries * n_documents, 5))
    latent = X[:, 0] + 0.7 * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=len(X))
    y = np.digitize(latent, [0.5, 1.2, 2.0]).astype(float)
    return X, y, np.full(n_queries, n_documents)


def rising(values):
    """Whether a training curve ends well above its start, and never far below its best."""
    values = np.array(values)
    return values[-1] > values[0] + 0.05 and (values >= np.maximum.accumulate(values) - 0.02).all()


OBJECTIVES = [
    SoftRank("gap"),
    SoftRank("gap", sigma=0.1),
    SoftRank("gap", sigma=0.2, relative=True),
    SoftRank("ap"),
    SoftRank("ndcg"),
    SoftRank("ndcg@10", form="distribution"),
]


every_objective = pytest.mark.parametrize("objective", OBJECTIVES, ids=str)


@every_objective
def test_lightgbm_raises_the_metric(objective, ranking_data):
    lightgbm = pytest.importorskip("lightgbm")
    import skrank.lightgbm

    X, y, sizes = ranking_data
    log = {}
    data = lightgbm.Dataset(X, y, group=sizes)
    parameters = {"num_leaves": 7, "min_data_in_leaf": 20, "verbosity": -1, "metric": "None"}
    booster = lightgbm.train(
        parameters | {"objective": skrank.lightgbm.objective(objective), "learning_rate": 0.2},
        data, 60, [data], feval=skrank.lightgbm.eval_metric(objective.metric),
        callbacks=[lightgbm.record_evaluation(log)],
    )  # fmt: skip
    curve = log["training"][str(objective.metric)]
    assert rising(curve)
    assert np.isfinite(booster.predict(X)).all()


@every_objective
def test_xgboost_raises_the_metric(objective, ranking_data):
    xgboost = pytest.importorskip("xgboost")
    import skrank.xgboost

    X, y, sizes = ranking_data
    log = {}
    data = xgboost.DMatrix(X, y, group=sizes)
    parameters = {"max_depth": 3, "eta": 0.3, "min_child_weight": 0.1, "lambda": 0.1}
    booster = xgboost.train(
        parameters | {"disable_default_eval_metric": 1}, data, 60, evals=[(data, "training")],
        obj=skrank.xgboost.objective(objective), evals_result=log, verbose_eval=False,
        custom_metric=skrank.xgboost.eval_metric(objective.metric),
    )  # fmt: skip
    curve = log["training"][str(objective.metric)]
    assert rising(curve)
    assert np.isfinite(booster.predict(data)).all()


def test_a_large_learning_rate_does_not_diverge(ranking_data):
    """Many rounds with learning rate 1: scores stay finite and the metric high."""
    lightgbm = pytest.importorskip("lightgbm")
    import skrank.lightgbm

    X, y, sizes = ranking_data
    parameters = {"num_leaves": 7, "verbosity": -1, "metric": "None", "learning_rate": 1.0}
    found = {}
    for objective in (SoftRank("gap", sigma=0.3), LambdaRank("gap")):
        call = skrank.lightgbm.objective(objective)
        data = lightgbm.Dataset(X, y, group=sizes)
        scores = lightgbm.train(parameters | {"objective": call}, data, 200).predict(X)
        assert np.isfinite(scores).all()
        found[type(objective)] = skrank.metric("gap")(y, scores, groups=np.repeat(range(60), 20))
    assert found[SoftRank] > 0.9 * found[LambdaRank]
