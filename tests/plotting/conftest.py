"""Fixtures of tests of displays: a backend without windows, and data."""

import matplotlib
import pytest

from skrank import trec
from skrank.testing import make_lists
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
    return make_lists(0, n_queries=40, longest=40, grades=4, special=False)


@pytest.fixture(scope="session")
def report():
    return trec.evaluate(*collection(), ["gap", "gap(condensed=True)", "ndcg@10", "error@5"])
