"""Blocks of ties as long as a collection: the work does not grow with their square."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import skrank
from skrank._kernels import cascade
from skrank._kernels.arguments import Cascade, Ranked

ROOT = Path(__file__).resolve().parents[2]


def two_grades(worthless, relevant, rho, ranks):
    """Expected ERR of a random order of documents of two grades, summed over the first ranks.

    Among the first j documents there are K relevant ones, K being hypergeometric; a user passes
    them with the mean chance of (1 - rho)^K.
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
    """Chances of passing random sets of documents, by the means of products over all of them."""
    sums = np.r_[1.0, np.zeros(len(rho))]
    for n, one in enumerate(rho):
        sums[1 : n + 2] += (1 - one) * sums[: n + 1]
    sizes = np.arange(len(rho) + 1)
    choices = np.cumprod(np.r_[1.0, (len(rho) - sizes[:-1]) / (sizes[:-1] + 1.0)])
    passes = sums / choices
    return (passes[:-1] - passes[1:]) @ phi


@pytest.mark.parametrize("case", range(30))
def test_the_cut_changes_nothing(case):
    """Lists of up to 300 tied documents, from hardly any relevance to nothing else."""
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
        lists = Ranked(codes.astype(np.int32), tied, np.array([n]))
        form = Cascade(stop, shown, depth)
        cascade.values(0, 1, np.array([0, n]), lists, form, np.ones(1), out)
        assert_allclose(out[0], literal(stop[codes], shown), rtol=1e-12, atol=1e-15)


def test_documents_worth_nothing():
    assert skrank.metric("err", max_grade=2, empty=0)(np.zeros(30), np.zeros(30)) == 0
