"""Fixtures of tests of displays: a backend without windows, and data."""

import matplotlib
import numpy as np
import pytest

from skrank import trec
from skrank.datasets import make_ranking
from tests.helpers.plotting_cases import collection

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def data():
    """Labels, scores and query ids; some documents are not judged, some not retrieved."""
    rng = np.random.default_rng(0)
    made = make_ranking(n_queries=40, n_docs=(3, 40), random_state=0)
    order = rng.permutation(len(made.qid))
    relevance = made.relevance[order].astype(float)
    scores = relevance + 2 * rng.normal(size=len(order))
    relevance[rng.random(len(order)) < 0.1] = np.nan
    scores[rng.random(len(order)) < 0.1] = -np.inf
    return relevance, scores, made.qid[order]


@pytest.fixture(scope="session")
def report():
    return trec.evaluate(*collection(), ["gap", "gap(condensed=True)", "ndcg@10", "error@5"])
