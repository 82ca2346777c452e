"""The literal definitions have values of papers and of other tools, and values by hand."""

import math
from fractions import Fraction

import pytest

from tests.helpers import reference as ref

EXAMPLE = [1, 0, 3, 2, 0, 1, 3]
USERS = (0.2, 0.5, 0.3)


def close(value, abs=1e-12):
    return pytest.approx(value, abs=abs, rel=0)


# ---------------------------------------------------------------------- GAP


def experiment(ranked, g):
    """Exact success probability of the random experiment, by enumeration of all its outcomes."""
    g = [Fraction(str(x)) for x in g]
    pairs = [(j, n) for j in (1, 2, 3) for n, y in enumerate(ranked, start=1) if y >= j]
    total = sum(g[j - 1] for j, _ in pairs)
    hit = {(j, n): Fraction(sum(1 for y in ranked[:n] if y >= j), n) for j, n in pairs}
    return sum(g[pair[0] - 1] / total * hit[pair] for pair in pairs)


def test_gap_is_the_random_experiment_over_user_document_incidences():
    by_pair = experiment(EXAMPLE, USERS)
    assert ref.gap(EXAMPLE, thresholds=USERS) == close(float(by_pair))
    assert float(by_pair) == close(0.5084, abs=5e-5)


# ---------------------------------------------------------------------- ROMIP


def test_suprema_of_err_and_pfound_in_the_romip_scale():
    assert ref.err([3] * 200, max_grade=3) == close(7 * math.log(8 / 7))
    assert ref.err([3] * 200, max_grade=3) == close(0.935, abs=5e-4)
    assert ref.pfound([3] * 200) == close(0.5 / (1 - 0.5 * 0.85))
    assert ref.pfound([3] * 200) == close(0.870, abs=5e-4)
    assert ref.pfound([0.5, 0.5], p_rel="raw") == close(0.7125)


# ---------------------------------------------------------------------- Sakai


def test_q_measure_of_pyntcireval_s_example():
    ranked, rest = [0, 1, 0, 0, 2], [1, 1, 1, 1]
    assert ref.q(ranked, unretrieved=rest) == close(0.14242, abs=5e-6)
    assert ref.ap(ranked, unretrieved=rest) == close(0.15)
    assert ref.q(ranked, unretrieved=rest, k=3, normalize="ideal") == close(0.13333, abs=5e-6)


# ---------------------------------------------------------------------- ties, lambdas


def test_lambdas_of_two_documents_by_hand():
    """Two documents in the wrong order: dAP = 1/2, distance 1, one pair."""
    p = 1 / (1 + math.exp(-1))
    metric, normalizer = ref.objective(ref.ap_numerator, [0, 1])
    plain = {"normalizer": normalizer, "norm": False}
    grad, hess = ref.lambdas(metric, [1.0, 0.0], [0, 1], **plain)
    assert grad == close([0.5 * p, -0.5 * p])
    assert hess == close([0.5 * p * (1 - p)] * 2)
    grad, _ = ref.lambdas(metric, [1.0, 0.0], [0, 1], normalizer=normalizer)
    assert grad[0] == close(math.log2(1 + p / 1.01) / 2)
