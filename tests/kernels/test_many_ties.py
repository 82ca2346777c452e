"""Blocks of ties as long as a collection: the time does not grow with the square of the length."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import skrank
from skrank._kernels import cascade, passing
from skrank._kernels.arguments import Contributing, Ranked
from skrank._kernels.cascade import Cascade

ROOT = Path(__file__).resolve().parents[2]


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
    code = """
import numpy as np, skrank
labels = np.arange(1_000_000) % 2
print(skrank.metric("err", max_grade=4)(labels, np.zeros(1_000_000)))
print(skrank.metric("err", max_grade=4)(labels * 0 + 1, np.zeros(1_000_000)))
print(skrank.metric("err", max_grade=4)(labels * 4, np.zeros(1_000_000)))
for top in (10, 20):  # users who go on for long
    skrank.metric("err", max_grade=top)(labels, np.zeros(1_000_000))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, cwd=ROOT, check=True, env=os.environ, timeout=300,
    )  # fmt: skip
    half, ones, best = map(float, done.stdout.split())
    assert_allclose(half, two_grades(500_000, 500_000, 1 / 16, 1500), rtol=1e-11)
    ranks = np.arange(1.0, 2000)
    assert_allclose(ones, (15 / 16) ** (ranks - 1) @ (1 / 16 / ranks), rtol=1e-12)
    assert_allclose(best, two_grades(500_000, 500_000, 15 / 16, 100), rtol=1e-11)


def literal(rho, phi):
    """Probability of passing j random documents: mean over all sets of j of prod (1 - rho)."""
    sums = np.r_[1.0, np.zeros(len(rho))]
    for n, one in enumerate(rho):
        sums[1 : n + 2] += (1 - one) * sums[: n + 1]
    sizes = np.arange(len(rho) + 1)
    choices = np.cumprod(np.r_[1.0, (len(rho) - sizes[:-1]) / (sizes[:-1] + 1.0)])
    passes = sums / choices
    return (passes[:-1] - passes[1:]) @ phi


@pytest.mark.parametrize("case", range(30))
def test_the_cut_changes_nothing(case):
    """Lists of up to 300 tied documents, from few to all relevant."""
    rng = np.random.default_rng(case)
    n, n_codes = rng.integers(2, 300), 5
    stop = np.r_[0.0, rng.random(n_codes - 1) ** rng.integers(1, 8)]
    if case % 3 == 0:
        stop[-1] = 1.0
    codes = rng.choice(n_codes, n, p=rng.dirichlet(np.ones(n_codes)))
    phi = 1 / np.arange(1.0, n + 1) ** rng.random()
    tied = np.r_[0, np.ones(n - 1)].astype(np.uint8)
    for depth in (n, 1 + n // 3):
        shown = np.where(np.arange(n) < depth, phi, 0.0)
        out = np.empty(1)
        lists = Ranked(codes.astype(np.int32), tied, np.array([n]), np.array([1]))
        everyone = Contributing(np.arange(n, dtype=np.uint32), np.array([0]), np.array([n]))
        tables = Cascade(stop, shown, depth)
        cascade.mean_values(0, 1, np.array([0, n]), lists, everyone, tables, np.ones(1), out)
        assert_allclose(out[0], literal(stop[codes], shown), rtol=1e-12, atol=1e-15)


def in_turn(counts, rhos, shown):
    """Probabilities of passing, with documents added one by one: n squared steps."""
    n = np.arange(shown + 1.0)
    passes, known = np.where(n == 0, 1.0, 0.0), 0
    for count, rho in zip(counts, rhos, strict=True):
        for _ in range(count):
            known += 1
            share = np.minimum(n / known, 1)
            passes[1:] = (1 - share[1:]) * passes[1:] + share[1:] * (1 - rho) * passes[:-1]
    return passes


@pytest.mark.parametrize(
    ("counts", "rhos"),
    [
        ([5000, 3000], [0, 1 / 1024]),
        ([7000, 1500, 400, 100], [0, 1e-3, 3e-3, 7e-3]),
        ([9000, 9, 2], [1e-4, 0.999, 0]),
        ([8000, 5, 1], [0, 1e-4, 1]),  # the last document stops every user
        ([6000, 1200], [0, 1]),
        ([4000, 3000], [1e-5, 2e-5]),
    ],
)
def test_groups_of_ties_that_are_put_together(counts, rhos):
    """The same as one by one, up to rounding; long intervals are interpolated."""
    shown = sum(counts)
    exact = in_turn(counts, rhos, shown)
    passes, known = (1 - rhos[0]) ** np.arange(shown + 1.0), counts[0]
    powers = np.empty(shown + 1)
    for count, rho in zip(counts[1:], rhos[1:], strict=True):
        joined = np.empty(shown + 1)
        passing.join(known, count, 1 - rho, known + count, passes, powers, joined)
        passes, known = joined, known + count
    assert_allclose(passes, exact, rtol=1e-11, atol=1e-18)


@pytest.mark.parametrize("top", [8, 12, 20])
def test_a_long_block_is_worth_what_its_documents_are(top):
    """Joined groups, and documents one by one, give the same value of a block."""
    labels = np.repeat([0, 1, 3], [9000, 2000, 50])
    stop = (2.0 ** np.arange(top + 1) - 1) / 2.0**top
    counts, rhos = [9000, 2000, 50], stop[[0, 1, 3]]
    passes = in_turn(counts, rhos, len(labels))
    worth = (passes[:-1] - passes[1:]) @ (1 / np.arange(1.0, len(labels) + 1))
    found = skrank.metric("err", max_grade=top)(labels, np.zeros(len(labels)))
    assert_allclose(found, worth, rtol=1e-9)


def test_documents_worth_nothing():
    assert skrank.metric("err", max_grade=2, empty=0)(np.zeros(30), np.zeros(30)) == 0
