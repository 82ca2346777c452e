"""Long blocks of tied documents have the exact mean value over their orders."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import skrank


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


@pytest.mark.parametrize(
    ("label", "max_grade", "n", "n_ranks"),
    [(4, 4, 1_000_000, 100), (1, 10, 2000, 999)],
)
def test_half_of_the_documents_are_relevant(label, max_grade, n, n_ranks):
    depth = n_ranks if n < 10_000 else None  # else the later ranks add nothing
    err = skrank.metric("err", max_grade=max_grade, k=depth)
    rho = (2**label - 1) / 2**max_grade
    exact = two_grades(n // 2, n // 2, rho, n_ranks)
    found = err(np.arange(n) % 2 * label, np.zeros(n), groups=np.zeros(n))
    assert_allclose(found, exact, rtol=1e-11)
