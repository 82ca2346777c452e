"""Blocks of ties as long as a collection: the time does not grow with the square of the length."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import skrank
from skrank._kernels import cascade
from skrank._kernels.cascade import Cascade
from skrank._kernels.ranking import Contributing, Ranked


def two_grades(worthless, relevant, rho, ranks):
    """Expected ERR of a random order of documents of two grades, summed over the first ranks.

    The first j documents contain K relevant documents, where K is hypergeometric. A user passes the
    first j documents with the probability E (1 - rho)^K.
    """
    passes = []
    for j in range(ranks + 1):
        k = np.arange(j)
        ratios = (relevant - k) * (j - k) / ((k + 1.0) * (worthless - j + k + 1.0))
        logarithms = np.r_[0.0, np.cumsum(np.log(ratios))]
        chances = np.exp(logarithms - logarithms.max())
        passes.append(chances @ (1 - rho) ** np.arange(j + 1) / chances.sum())
    return -np.diff(passes) @ (1 / np.arange(1.0, ranks + 1))


def test_a_million_tied_documents():
    labels, scores = np.arange(1_000_000) % 2, np.zeros(1_000_000)
    err, ranks = skrank.metric("err", max_grade=4), np.arange(1.0, 2000)
    exact = two_grades(500_000, 500_000, 1 / 16, 1500)
    assert_allclose(err(labels, scores), exact, rtol=1e-11)
    exact = (15 / 16) ** (ranks - 1) @ (1 / 16 / ranks)
    assert_allclose(err(labels * 0 + 1, scores), exact, rtol=1e-12)
    exact = two_grades(500_000, 500_000, 15 / 16, 100)
    assert_allclose(err(labels * 4, scores), exact, rtol=1e-11)
    skrank.metric("err", max_grade=10)(labels, scores)  # users go on for long


def one_by_one(rho, phi):
    """Value of a block whose documents are added in turn: n squared steps."""
    ranks = np.arange(len(rho) + 1.0)
    passes = np.where(ranks == 0, 1.0, 0.0)
    for known, one in enumerate(rho, start=1):
        share = np.minimum(ranks[1:] / known, 1)
        passes[1:] = (1 - share) * passes[1:] + share * (1 - one) * passes[:-1]
    return (passes[:-1] - passes[1:]) @ phi


def value(codes, stop, phi, depth):
    n = len(codes)
    out, tied = np.empty(1), np.r_[0, np.ones(n - 1)].astype(np.uint8)
    lists = Ranked(codes.astype(np.int32), tied, np.array([n]), np.array([1]))
    everyone = Contributing(np.arange(n, dtype=np.uint32), np.array([0]), np.array([n]))
    tables = Cascade(np.asarray(stop, float), phi, depth)
    cascade.values(0, 1, np.array([0, n]), lists, everyone, tables, np.ones(1), out)
    return out[0]


@pytest.mark.parametrize("case", range(30))
def test_short_blocks_with_and_without_a_cut_off(case):
    """Lists of up to 300 tied documents, from few to all relevant."""
    rng = np.random.default_rng(case)
    n, n_codes = rng.integers(2, 300), 5
    stop = np.r_[0.0, rng.random(n_codes - 1) ** rng.integers(1, 8)]
    if case % 3 == 0:
        stop[-1] = 1.0
    codes = rng.choice(n_codes, n, p=rng.dirichlet(np.ones(n_codes)))
    phi = 1 / np.arange(1.0, n + 1) ** rng.random()
    for depth in (n, 1 + n // 3):
        shown = np.where(np.arange(n) < depth, phi, 0.0)
        exact = one_by_one(stop[codes], shown)
        assert_allclose(value(codes, stop, shown, depth), exact, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("counts", "stop"),
    [
        ([5000, 3000], [0, 1 / 1024]),
        ([7000, 1500, 400, 100], [0, 1e-3, 3e-3, 7e-3]),
        ([9000, 9, 2], [1e-4, 0.999, 0]),
        ([8000, 5, 1], [0, 1e-4, 1]),  # the last document stops every user
        ([6000, 1200], [0, 1]),
        ([4000, 3000], [1e-5, 2e-5]),
        ([9000, 2000, 50], [0, 2**-8, 7 * 2**-8]),
        ([9000, 2000, 50], [0, 2**-20, 7 * 2**-20]),
    ],
)
def test_long_blocks_of_few_labels(counts, stop):
    codes = np.repeat(np.arange(len(counts)), counts)
    phi = 1 / np.arange(1.0, len(codes) + 1)
    exact = one_by_one(np.asarray(stop)[codes], phi)
    assert_allclose(value(codes, stop, phi, len(codes)), exact, rtol=1e-9)


def test_documents_worth_nothing():
    assert skrank.metric("err", max_grade=2, empty=0)(np.zeros(30), np.zeros(30)) == 0
