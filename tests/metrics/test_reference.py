"""The literal definitions: GAP, ranges, swaps, and values that ROMIP prints."""

import math
import random
from fractions import Fraction
from functools import partial

import pytest

from tests.helpers import reference as ref
from tests.helpers.reference_cases import close, queries

EXAMPLE = [1, 0, 3, 2, 0, 1, 3]
USERS = (0.2, 0.5, 0.3)


def random_simplex(rng, c=3):
    parts = [rng.random() for _ in range(c)]
    return [part / sum(parts) for part in parts]


# ---------------------------------------------------------------------- GAP


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


# ---------------------------------------------------------------------- range, swaps

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


@pytest.mark.parametrize("name", [*MONOTONE, *OTHERS])
def test_range_and_undefined(name):
    metric = {**MONOTONE, **OTHERS}[name]
    for ranked, rest in queries(200, seed=5):
        assert -1e-12 <= metric(ranked, unretrieved=rest) <= 1 + 1e-12
    assert metric([0, None, 0], unretrieved=[0]) is None
    assert metric([], unretrieved=[]) is None
    assert metric([], unretrieved=[1]) == (1 if name == "error" else 0)


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
    """Gains as a table equal gains by name, for labels 0.0, 1.0, ... and 0, 1, ..."""
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
