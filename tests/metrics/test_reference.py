"""Checks of the literal definitions in reference.py against what the papers and other tools say."""

import itertools
import math
import random
from fractions import Fraction
from functools import partial

import pytest

from tests.helpers import reference as ref

EXAMPLE = [1, 0, 3, 2, 0, 1, 3]
USERS = (0.2, 0.5, 0.3)


def close(value, abs=1e-12):
    return pytest.approx(value, abs=abs, rel=0)


def random_query(rng, grades=3, unjudged=True, unretrieved=3, length=9):
    """A ranked list and unretrieved judged labels with at least one relevant document."""
    while True:
        choices = [*range(grades + 1), 0] + ([None] if unjudged else [])
        ranked = [rng.choice(choices) for _ in range(rng.randint(1, length))]
        rest = [rng.randint(0, grades) for _ in range(rng.randint(0, unretrieved))]
        if any(label for label in ranked + rest):
            return ranked, rest


def random_simplex(rng, c=3):
    parts = [rng.random() for _ in range(c)]
    return [part / sum(parts) for part in parts]


def queries(n, seed=0, **shape):
    rng = random.Random(seed)
    return [random_query(rng, **shape) for _ in range(n)]


# ---------------------------------------------------------------------- GAP


@pytest.mark.parametrize("k", [None, 1, 3, 20])
@pytest.mark.parametrize("normalize", ["all", "ideal"])
def test_gap_with_a_point_mass_is_average_precision(k, normalize):
    for ranked, rest in queries(200):
        for threshold in (1, 2, 3):
            g = [float(j == threshold) for j in (1, 2, 3)]
            how = {"unretrieved": rest, "k": k, "normalize": normalize}
            expected = ref.ap(ranked, rel=threshold, **how)
            value = ref.gap(ranked, thresholds=g, **how)
            assert value is expected is None or value == close(expected)


@pytest.mark.parametrize("k", [None, 1, 3])
def test_gap_is_a_mixture_of_average_precisions(k):
    """GAP = sum w_j AP_j, w_j proportional to g_j R_j, or to g_j min(R_j, k) with "ideal"."""
    rng = random.Random(1)
    for ranked, rest in queries(200, seed=2):
        g = random_simplex(rng)
        everything = ref.judged_labels(ranked, rest)
        counts = [ref.count_relevant(everything, j) for j in (1, 2, 3)]
        if k is not None:
            counts = [min(count, k) for count in counts]
        aps = [ref.ap(ranked, unretrieved=rest, k=k, rel=j, normalize="ideal") for j in (1, 2, 3)]
        weights = [gj * count for gj, count in zip(g, counts, strict=True)]
        expected = sum(w * value for w, value in zip(weights, aps, strict=True) if w) / sum(weights)
        value = ref.gap(ranked, unretrieved=rest, k=k, thresholds=g, normalize="ideal")
        assert value == close(expected)


def test_gap_is_the_area_under_the_graded_precision_recall_curve():
    rng = random.Random(3)
    for ranked, rest in queries(200, seed=4):
        scale = {"thresholds": random_simplex(rng)}
        area, before = 0.0, 0.0
        for n in range(1, len(ranked) + 1):
            recall = ref.graded_recall(ranked, n, unretrieved=rest, **scale)
            graded = ref.graded_precision(ranked, n, **scale)
            area += 0.0 if graded is None else graded * (recall - before)
            before = recall
        assert ref.gap(ranked, unretrieved=rest, **scale) == close(area)


def experiment(ranked, g, user_first):
    """Exact success probability of the random experiment, by enumeration of all its outcomes."""
    g = [Fraction(str(x)) for x in g]
    pairs = [(j, n) for j in (1, 2, 3) for n, y in enumerate(ranked, start=1) if y >= j]
    if user_first:
        sizes = {j: sum(1 for y in ranked if y >= j) for j in (1, 2, 3)}
        weight = {(j, n): g[j - 1] / sizes[j] for j, n in pairs}
    else:
        total = sum(g[j - 1] for j, _ in pairs)
        weight = {(j, n): g[j - 1] / total for j, n in pairs}
    assert sum(weight.values()) == 1
    hit = {(j, n): Fraction(sum(1 for y in ranked[:n] if y >= j), n) for j, n in pairs}
    return sum(weight[pair] * hit[pair] for pair in pairs)


def test_gap_is_the_random_experiment_over_user_document_incidences():
    by_pair = experiment(EXAMPLE, USERS, user_first=False)
    by_user = experiment(EXAMPLE, USERS, user_first=True)
    assert ref.gap(EXAMPLE, thresholds=USERS) == close(float(by_pair))
    assert float(by_pair) == close(0.5084, abs=5e-5)
    assert float(by_user) == close(0.4551, abs=5e-5)
    mixture = sum(g * ref.ap(EXAMPLE, rel=j) for j, g in enumerate(USERS, start=1))
    assert mixture == close(float(by_user))


def test_labels_step_and_interp_agree_on_integers_only():
    for label in (0, 1, 2, 3):
        step = ref.relevance_probability(label, USERS)
        assert ref.relevance_probability(label, USERS, labels="interp") == close(step)
    assert ref.relevance_probability(1.5, USERS) == close(0.2)
    assert ref.relevance_probability(1.5, USERS, labels="interp") == close(0.2 + 0.5 / 2)


def test_gap_ignores_empty_middle_grades_but_the_simple_mixture_suffers_from_empty_top_grades():
    assert ref.gap([2, 2, 1, 0], thresholds=USERS) == close(1.0)
    assert ref.ap([2, 2, 1, 0], rel=3) is None
    assert ref.gap([3, 3, 1, 0], thresholds=USERS) == close(1.0)


# ---------------------------------------------------------------------- range, ideal, swaps

MONOTONE = {
    "gap": partial(ref.gap, max_grade=3),
    "gap@3": partial(ref.gap, max_grade=3, k=3, normalize="ideal"),
    "ap": ref.ap,
    "ap@3": partial(ref.ap, k=3, normalize="ideal"),
    "ndcg": ref.ndcg,
    "ndcg@3": partial(ref.ndcg, k=3),
    "ndcg jk": partial(ref.ndcg, gain="linear", discount="jk", base=2),
    "rbp": partial(ref.rbp, max_grade=3),
    "nerr": partial(ref.nerr, max_grade=3),
    "nerr@3": partial(ref.nerr, max_grade=3, k=3),
    "err": partial(ref.err, max_grade=3),
    "pfound": ref.pfound,
    "pfound yandex": partial(ref.pfound, p_rel="yandex"),
    "rr": ref.rr,
    "rr trec": partial(ref.rr, ruler="trec"),
    "precision@3": partial(ref.precision, k=3),
    "recall@3": partial(ref.recall, k=3),
    "success@3": partial(ref.success, k=3),
    "r_precision": ref.r_precision,
    "bpref": ref.bpref,
    "bpref 10": partial(ref.bpref, variant="10"),
}
OTHERS = {
    "q": ref.q,
    "q@3": partial(ref.q, k=3, normalize="ideal"),
    "rpref n": partial(ref.rpref, variant="n", max_grade=3),
    "rpref relative2": partial(ref.rpref, variant="relative2", max_grade=3),
    "f1": ref.f_beta,
    "accuracy": partial(ref.accuracy, k=3),
    "error": partial(ref.error, k=3),
    "iprec": partial(ref.iprec, recall_level=0.4),
    "infap": ref.infap,
}
IDEAL_IS_ONE = ["gap", "gap@3", "ap", "ap@3", "ndcg", "ndcg@3", "ndcg jk", "nerr", "nerr@3", "rr"]
IDEAL_IS_ONE += ["r_precision", "bpref", "bpref 10", "q", "q@3", "rpref n", "rpref relative2"]


@pytest.mark.parametrize("name", [*MONOTONE, *OTHERS])
def test_range_and_undefined(name):
    metric = {**MONOTONE, **OTHERS}[name]
    for ranked, rest in queries(200, seed=5):
        assert -1e-12 <= metric(ranked, unretrieved=rest) <= 1 + 1e-12
    assert metric([0, None, 0], unretrieved=[0]) is None
    assert metric([], unretrieved=[]) is None
    assert metric([], unretrieved=[1]) == (1 if name == "error" else 0)


@pytest.mark.parametrize("name", IDEAL_IS_ONE)
def test_ideal_list_has_value_one(name):
    metric = {**MONOTONE, **OTHERS}[name]
    for ranked, rest in queries(100, seed=6, unjudged=False):
        assert metric(sorted(ranked + rest, reverse=True)) == close(1.0)


@pytest.mark.parametrize("name", MONOTONE)
def test_swapping_a_better_document_down_never_helps(name):
    for ranked, rest in queries(60, seed=7, length=7):
        metric = partial(MONOTONE[name], unretrieved=rest)
        for a in range(1, len(ranked) + 1):
            for b in range(a + 1, len(ranked) + 1):
                # bpref sees no order between a non-relevant and an unjudged document
                if (ranked[a - 1] or 0) > (ranked[b - 1] or 0):
                    assert ref.swap_delta(metric, ranked, a, b) <= 1e-12


def test_gap_falls_strictly_if_a_threshold_separates_the_documents():
    metric = partial(ref.gap, thresholds=(0.5, 0.0, 0.5))
    assert ref.swap_delta(metric, [3, 1, 2, 0], 2, 3) == 0
    assert ref.swap_delta(metric, [3, 2, 1, 0], 1, 2) < 0


def test_q_measure_may_rise_when_a_better_document_moves_down():
    assert ref.swap_delta(ref.q, [0, 1, 3, 0], 2, 4) == close(0.0655, abs=5e-5)
    assert ref.swap_delta(partial(ref.q, beta=0), [0, 1, 3, 0], 2, 4) < 0


# ---------------------------------------------------------------------- ROMIP


def test_eleven_points_of_the_trec_example():
    ranked = [int(rank in (1, 2, 4, 15)) for rank in range(1, 21)]
    assert ref.eleven_points(ranked) == [1.0] * 6 + [0.75] * 2 + [4 / 15] * 3
    assert round(4 / 15, 2) == 0.27


def test_eleven_points_compare_integers():
    """3 of 10 relevant documents reach recall 0.3, although 0.1 * 3 > 3 / 10 in floating point."""
    assert 0.1 * 3 > 3 / 10
    assert ref.iprec([1, 1, 1], 0.1 * 3, unretrieved=[1] * 7) == 1.0
    assert ref.iprec([1, 1, 1], 0.4, unretrieved=[1] * 7) == 0.0


def test_suprema_of_err_and_pfound_in_the_romip_scale():
    assert ref.err([3] * 200, max_grade=3) == close(7 * math.log(8 / 7))
    assert ref.err([3] * 200, max_grade=3) == close(0.935, abs=5e-4)
    assert ref.pfound([3] * 200) == close(0.5 / (1 - 0.5 * 0.85))
    assert ref.pfound([3] * 200) == close(0.870, abs=5e-4)
    assert ref.pfound([0.5, 0.5], p_rel="raw") == close(0.7125)


def test_printed_dcg_discount_is_an_index_slip_that_changes_orders():
    """1/log2(2+p) with p from 1 orders some pairs of lists otherwise than 1/log2(1+p)."""

    def printed(rank):
        return 1 / math.log2(2 + rank)

    rng, differ, pairs = random.Random(8), 0, 500
    for _ in range(pairs):
        labels = [rng.randint(0, 3) for _ in range(9)] + [3]
        one, two = rng.sample(labels, 10), rng.sample(labels, 10)
        standard = ref.ndcg(one) - ref.ndcg(two)
        literal = ref.ndcg(one, discount=printed) - ref.ndcg(two, discount=printed)
        differ += standard * literal < 0
    assert 0.01 < differ / pairs < 0.1
    assert ref.ndcg([3, 2, 0], discount=printed) == close(1.0)


def test_rulers():
    assert [ref.rr([0] * r + [1], ruler="trec") for r in range(6)] == [1, 0.5, 0.33, 0.2, 0.1, 0]
    assert ref.rr([0] * 9 + [1], ruler="romip") == 0.1
    assert ref.rr([0] * 10 + [1], ruler="romip") == 0
    assert ref.rr([0, 0, 1]) == 1 / 3
    assert ref.rr([0, 0, 1], k=2) == 0
    assert ref.rr([0, 1], ruler=(1, 0.25)) == 0.25


def test_tables_of_gains():
    """A table says what a name says, for labels 0.0, 1.0, ... as for 0, 1, ..."""
    ranked, rest = [1.0, None, 0.0, 3.0], [2]
    table = {0: 0, 1: 1, 2: 3, 3: 7}
    assert ref.ndcg(ranked, unretrieved=rest, gain=table) == ref.ndcg(ranked, unretrieved=rest)
    assert ref.cg(ranked, unretrieved=rest, gain=list(table.values())) == 8
    assert ref.pfound([1.0, 2], p_rel="yandex") == close(0.07 + 0.93 * 0.85 * 0.14)
    jk = {"gain": "linear", "discount": "jk", "base": 2}
    assert ref.dcg([1, 1, 1, 1], **jk) == close(2 + 1 / math.log2(3) + 1 / 2)
    assert ref.dcg([1] * 4, gain="linear", discount="letor") == close(ref.dcg([1] * 4, **jk))
    assert ref.rbp([2, 0, 1], p=0.5, max_grade=2) == close(0.5 * (1 + 0.25 * 0.5))


def test_set_measures():
    """a = 2, b = 1, c = 1, d = 2."""
    ranked, rest = [1, 0, 2], [1, 0, None]
    assert ref.precision(ranked, unretrieved=rest) == ref.recall(ranked, unretrieved=rest) == 2 / 3
    assert ref.f_beta(ranked, unretrieved=rest) == close(2 / 3)
    assert ref.accuracy(ranked, unretrieved=rest) == 4 / 6
    assert ref.error(ranked, unretrieved=rest) == 2 / 6
    assert ref.precision(ranked, unretrieved=rest, k=10) == 2 / 10
    p, r = 1 / 4, 1 / 2
    assert ref.f_beta([1, 0, 0, 0], unretrieved=[1], beta=2) == close(5 * p * r / (4 * p + r))


def test_average_precision_is_at_most_recall():
    for ranked, rest in queries(200, seed=9):
        how = {"unretrieved": rest}
        assert ref.ap(ranked, **how) <= ref.recall(ranked, **how) + 1e-12
        lead = sorted(ranked, key=lambda y: -(y or 0))
        assert ref.ap(lead, **how) == close(ref.recall(lead, **how))


# ---------------------------------------------------------------------- Sakai


def bpref_as_printed(ranked, unretrieved, denominator):
    """Sakai 2007, equation 1: members of the first R judged non-relevant documents above D."""
    everything = ref.judged_labels(ranked, unretrieved)
    r = sum(1 for y in everything if y >= 1)
    n = len(everything) - r
    first = [i for i, y in enumerate(ranked) if y == 0][:r]
    total = 0.0
    for i, y in enumerate(ranked):
        if y is not None and y >= 1:
            above = sum(1 for j in first if j < i)
            total += 1 - (above / denominator(r, n) if above else 0)
    return total / r


def test_bpref_family():
    for ranked, rest in queries(400, seed=10):
        how = {"unretrieved": rest}
        names = ("trec", "romip", "10", "n", "old")
        value = {name: ref.bpref(ranked, variant=name, **how) for name in names}
        relevant = ref.count_relevant(ranked + rest, 1)
        other = len(ref.judged_labels(ranked, rest)) - relevant
        assert value["trec"] == close(bpref_as_printed(ranked, rest, min))
        assert value["romip"] == close(bpref_as_printed(ranked, rest, lambda r, n: r))
        assert relevant > other or value["trec"] == close(value["romip"])
        assert relevant < other or value["trec"] == close(value["n"])
        ordered = [value[v] for v in ("old", "trec", "romip", "10")]
        assert all(x <= y + 1e-12 for x, y in itertools.pairwise(ordered))


def test_binary_rpref_is_bpref_and_average_precision():
    for ranked, rest in queries(400, seed=11, grades=1):
        how = {"unretrieved": rest}
        for variant in ("n", "relative"):
            expected = ref.bpref(ranked, variant=variant, **how)
            assert ref.rpref(ranked, variant=variant, max_grade=1, **how) == close(expected)
        average = ref.ap(ref.condense(ranked), **how)
        assert ref.rpref(ranked, variant="relative2", max_grade=1, **how) == close(average)


def test_ideal_lists_of_the_relative_variants():
    for ranked, rest in queries(200, seed=12, unjudged=False):
        ideal = sorted(ranked + rest, reverse=True)
        relevant = ref.count_relevant(ideal, 1)
        assert ref.bpref(ideal, variant="relative") == close((relevant - 1) / relevant)
        value = ref.rpref(ideal, variant="relative", max_grade=3)
        assert value == close((sum(ideal) - ideal[0]) / sum(ideal))


def test_the_flaw_of_the_relative_variants_at_ranks_1_and_2():
    relative = partial(ref.rpref, variant="relative", max_grade=3)
    assert relative([3, 0]) == relative([0, 3]) == 0
    assert ref.bpref([1], variant="relative") == ref.bpref([0, 1], variant="relative") == 0
    assert relative([1, 3]) > 0


def test_q_measure_without_beta_is_average_precision():
    for ranked, rest in queries(200, seed=13):
        for k in (None, 3):
            how = {"unretrieved": rest, "k": k}
            assert ref.q(ranked, beta=0, **how) == close(ref.ap(ranked, **how))
    assert ref.q([3, 2, 1, 0]) == close(1.0)


def test_q_measure_of_pyntcireval_s_example():
    ranked, rest = [0, 1, 0, 0, 2], [1, 1, 1, 1]
    assert ref.q(ranked, unretrieved=rest) == close(0.14242, abs=5e-6)
    assert ref.ap(ranked, unretrieved=rest) == close(0.15)
    assert ref.q(ranked, unretrieved=rest, k=3, normalize="ideal") == close(0.13333, abs=5e-6)


def test_condensed_metrics_do_not_see_unjudged_documents():
    assert ref.from_array([math.nan, 1]) == [None, 1.0]
    assert ref.condense([None, 1, None, 0]) == [1, 0]
    assert ref.bpref([None, 0, None, 1]) == ref.bpref([0, 1])
    assert ref.ap([None, 0, 1]) == close(1 / 3)
    assert ref.judged([None, 1, 0, 0], k=2) == 0.5


# ---------------------------------------------------------------------- other tools


def trec_eval(ranked, rest, measures, unjudged):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    names = [f"d{i:03}" for i in range(len(ranked))]
    qrel = {d: y for d, y in zip(names, ranked, strict=True) if y is not None}
    if unjudged == "pooled":
        qrel.update({d: -1 for d, y in zip(names, ranked, strict=True) if y is None})
    qrel.update({f"u{i:03}": y for i, y in enumerate(rest)})
    run = {d: float(-i) for i, d in enumerate(names)}
    return pytrec_eval.RelevanceEvaluator({"q": qrel}, measures).evaluate({"q": run})["q"]


@pytest.mark.parametrize("unjudged", ["pooled", "outside"])
def test_trec_eval(unjudged):
    measures = {"map", "map_cut.3", "ndcg", "ndcg_cut.3", "bpref", "infAP", "iprec_at_recall"}
    measures |= {"Rprec", "recip_rank", "P.3", "recall.3", "success.1", "set_P", "set_recall"}
    for ranked, rest in queries(300, seed=14):
        value = trec_eval(ranked, rest, measures, unjudged)
        how = {"unretrieved": rest}
        expected = {
            "map": ref.ap(ranked, **how),
            "map_cut_3": ref.ap(ranked, k=3, **how),
            "ndcg": ref.ndcg(ranked, gain="linear", **how),
            "ndcg_cut_3": ref.ndcg(ranked, gain="linear", k=3, **how),
            "bpref": ref.bpref(ranked, **how),
            "infAP": ref.infap(ranked, unjudged=unjudged, **how),
            "Rprec": ref.r_precision(ranked, **how),
            "recip_rank": ref.rr(ranked, **how),
            "P_3": ref.precision(ranked, k=3, **how),
            "recall_3": ref.recall(ranked, k=3, **how),
            "success_1": ref.success(ranked, k=1, **how),
            "set_P": ref.precision(ranked, **how),
            "set_recall": ref.recall(ranked, **how),
        }
        relevant = ref.count_relevant(ranked + rest, 1)
        for i in range(11):
            # trec_eval cuts at int(level * R + 0.9) in floating point, which misses e.g. 0.7 * 3
            if int(i / 10 * relevant + 0.9) == -(-i * relevant // 10):
                exact = ref.iprec(ranked, Fraction(i, 10), **how)
                expected[f"iprec_at_recall_{i / 10:.2f}"] = exact
        for name, number in expected.items():
            assert value[name] == close(number, abs=1e-9), (name, ranked, rest)


def test_ties_agree_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = random.Random(15)
    for _ in range(50):
        labels = [rng.randint(0, 3) for _ in range(5)] + [2]
        scores = [rng.choice((0.0, 1.0)) for _ in labels]
        for k in (None, 2):
            metric = partial(ref.ndcg, gain="linear", k=k)
            expected = metrics.ndcg_score([labels], [scores], k=k)
            assert ref.tie_expectation(metric, scores, labels) == close(expected)


def lightgbm_gradients(labels, scores, parameters, copies=200):
    """LightGBM's own gradient and hessian, read from the leaf of one document at two l2 penalties.

    A leaf is -g / (h + l2). LightGBM refuses leaves that hold little of the hessian, hence many
    copies of the query.
    """
    lgb = pytest.importorskip("lightgbm")
    np = pytest.importorskip("numpy")
    n, outputs = len(labels), []
    fixed = {"objective": "lambdarank", "num_leaves": 2, "learning_rate": 1.0, "verbose": -1}
    fixed |= {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0, "num_threads": 1, **parameters}
    query = {"label": np.tile(labels, copies), "group": [n] * copies}
    query["init_score"] = np.tile(scores, copies)
    for l2 in (0.5, 2.0):
        outputs.append([])
        for row in range(n):  # a tree that can only split this document off
            params = {**fixed, "lambda_l2": l2 * copies}
            one = lgb.Dataset(np.tile(np.eye(n)[:, [row]], (copies, 1)), params=params, **query)
            tree = lgb.train(params, one, num_boost_round=1)
            outputs[-1].append(tree.predict(np.ones((1, 1)), raw_score=True)[0])
    hess = [(2.0 * y - 0.5 * x) / (x - y) for x, y in zip(*outputs, strict=True)]
    grad = [-x * (h + 0.5) for x, h in zip(outputs[0], hess, strict=True)]
    return grad, hess


@pytest.mark.parametrize("truncation_level", [3, 30])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("sigma", [1.0, 2.0])
def test_lambdas_are_lightgbm_s(truncation_level, norm, sigma):
    rng = random.Random(16)
    labels = [3, 0, 1, 2, 0, 1, 0, 2]
    scores = [rng.gauss(0, 1) for _ in labels]
    metric, normalizer = ref.objective(ref.dcg_sum, labels, truncation_level=truncation_level)
    grad, hess = ref.lambdas(
        metric,
        scores,
        labels,
        normalizer=normalizer,
        sigma=sigma,
        truncation_level=truncation_level,
        score_norm=norm,
        sum_norm=norm,
    )
    parameters = {"lambdarank_truncation_level": truncation_level, "lambdarank_norm": norm}
    theirs = lightgbm_gradients(labels, scores, {**parameters, "sigmoid": sigma})
    assert grad == pytest.approx(theirs[0], rel=2e-4, abs=1e-6)
    assert hess == pytest.approx(theirs[1], rel=2e-3, abs=1e-5)


# ---------------------------------------------------------------------- ties, lambdas


def test_ties():
    scores, labels = [1.0, 1.0, 0.0, -math.inf], [0, 1, 2, 3]
    assert list(ref.tie_orders(scores, labels)) == [[0, 1, 2], [1, 0, 2]]
    metric = partial(ref.gap, max_grade=3)
    assert ref.stable(metric, scores, labels) == metric([0, 1, 2], unretrieved=[3])
    worst, best = metric([0, 1, 2], unretrieved=[3]), metric([1, 0, 2], unretrieved=[3])
    assert ref.tie_expectation(metric, scores, labels) == close((worst + best) / 2)
    for which, value in (("worst", worst), ("best", best)):
        assert ref.tie_bound(metric, scores, labels, which) == value
        assert ref.label_ordered(metric, scores, labels, which) == value
    assert ref.tie_bound(ref.error, scores, labels, "best", greater_is_better=False) == 0.5


def test_a_constant_scorer_has_the_precision_of_chance():
    labels = [0, 1, 0, 2, 0, None]
    for k in (1, 2, 5):
        value = ref.tie_expectation(partial(ref.precision, k=k), [0.0] * 6, labels)
        assert value == close(2 / 6)


def test_lambdas_of_two_documents_by_hand():
    """Two documents in the wrong order: dAP = 1/2, distance 1, one pair."""
    p = 1 / (1 + math.exp(-1))
    metric, normalizer = ref.objective(ref.ap_numerator, [0, 1])
    plain = {"normalizer": normalizer, "score_norm": False, "sum_norm": False}
    grad, hess = ref.lambdas(metric, [1.0, 0.0], [0, 1], **plain)
    assert grad == close([0.5 * p, -0.5 * p])
    assert hess == close([0.5 * p * (1 - p)] * 2)
    grad, _ = ref.lambdas(metric, [1.0, 0.0], [0, 1], normalizer=normalizer)
    assert grad[0] == close(math.log2(1 + p / 1.01) / 2)


@pytest.mark.parametrize("numerator", [ref.dcg_sum, ref.ap_numerator, ref.q_numerator])
@pytest.mark.parametrize("truncation_level", [None, 2])
def test_lambdas_sum_to_zero_and_hessians_are_not_negative(numerator, truncation_level):
    rng = random.Random(17)
    for _ in range(20):
        labels = [rng.choice((0, 1, 2, 3)) for _ in range(6)]
        scores = [rng.choice((0.0, 0.5, 1.0, 2.0)) for _ in labels]
        how = {"truncation_level": truncation_level, "k": rng.choice((None, 3))}
        metric, normalizer = ref.objective(numerator, labels, **how)
        how = {"truncation_level": truncation_level, "normalizer": normalizer}
        grad, hess = ref.lambdas(metric, scores, labels, signed=True, **how)
        assert math.fsum(grad) == close(0.0)
        assert min(hess) >= 0


def test_normaliser_is_the_ideal_value_cut_at_the_truncation_level():
    labels = [0, 3, 1, 2, 0]
    _, normalizer = ref.objective(ref.gap_numerator, labels, truncation_level=2, max_grade=3)
    assert normalizer == close(1 + 2 / 3)
    _, normalizer = ref.objective(ref.ap_numerator, labels, truncation_level=2, k=1)
    assert normalizer == 1
    metric, _ = ref.objective(ref.dcg_sum, labels, truncation_level=2)
    assert metric(labels) == ref.dcg(labels)


def test_signed_lambdas_leave_out_the_pairs_that_q_measure_orders_wrongly():
    labels, scores = [0, 1, 3, 0], [4.0, 3.0, 2.0, 1.0]
    metric, normalizer = ref.objective(ref.q_numerator, labels)
    how = {"normalizer": normalizer, "sum_norm": False}
    plain, _ = ref.lambdas(metric, scores, labels, **how)
    signed, _ = ref.lambdas(metric, scores, labels, signed=True, **how)
    assert plain[3] > 0
    assert signed[3] < plain[3]


def test_documents_that_are_not_retrieved_take_no_part_in_the_lambdas():
    metric, normalizer = ref.objective(ref.dcg_sum, [2, 0, 1])
    grad, hess = ref.lambdas(metric, [0.0, 1.0, -math.inf], [2, 0, 1], normalizer=normalizer)
    assert grad[2] == hess[2] == 0
    assert grad[0] < 0 < grad[1]
