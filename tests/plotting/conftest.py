"""Fixtures of tests of displays: a backend without windows, and data."""

import matplotlib
import pytest

from tests.helpers.plotting_cases import shuffled_rows

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def data():
    return shuffled_rows()
