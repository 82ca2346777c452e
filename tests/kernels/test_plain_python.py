"""Kernels run as plain Python on few rows, with the same bits as compiled."""

import subprocess
import sys
from pathlib import Path

import pytest
from numpy.testing import assert_array_equal

import skrank
from skrank.extending import plain_up_to
from skrank.metrics import registered
from skrank.testing import make_lists
from tests.helpers.engine import per_query

ROOT = Path(__file__).resolve().parents[2]
LISTS = [  # the last has a query that is too long for sorting by counting
    make_lists(0, n_queries=5), make_lists(1, n_queries=5, levels=3),
    make_lists(0, n_queries=1, longest=400, special=False),
]  # fmt: skip


def values(metric):
    """Values of queries, or the text of the error."""
    found = []
    for data in LISTS:
        try:
            found += per_query(metric, data).tolist()
        except ValueError as error:
            found.append(str(error))
    return found


def variants(name):
    """A metric with a cut-off, and with each treatment of ties and of missing judgments."""
    for options in ({}, {"k": 5}, {"ties": "worst"}, {"ties": "stable"}, {"condensed": True}):
        try:
            yield skrank.metric(name, **options)
        except ValueError:
            continue


@pytest.mark.parametrize("name", sorted(registered()))
def test_both_forms_give_the_same_bits(name):
    for metric in variants(name):
        with plain_up_to(-1):
            compiled = values(metric)
        with plain_up_to(10**9):
            plain = values(metric)
        assert_array_equal(plain, compiled, strict=True)


def test_a_small_value_needs_no_compiler():
    code = (
        "import sys, skrank\n"
        "skrank.metric('gap')([2, 0, 1], [3, 2, 2], groups=[1, 1, 1])\n"
        "print('numba' in sys.modules)\n"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.check_output(command, cwd=ROOT, text=True) == "False\n"
