"""Kernels run as plain Python on few rows, with the same bits as compiled."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import skrank
from skrank.extending import plain_up_to
from skrank.metrics import registered

ROOT = Path(__file__).resolve().parents[2]
SIZES = [7, 1, 20, 12, 16, 257]  # the last is too long for sorting by counting


def lists(sizes):
    """Query ids, and labels with scores: distinct, with ties, not judged, not retrieved.

    Query 3 has nothing relevant; the scores of query 5 are equal.
    """
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    grades = rng.choice(5, len(groups), p=[0.5, 0.3, 0.1, 0.05, 0.05]) * 1.0
    grades[groups == 3] = 0
    scores = rng.normal(size=len(groups))
    tied = np.where(groups == 5, 0.0, scores.round(1))
    judged = np.where(rng.random(len(groups)) < 0.8, grades, np.nan)
    shown = np.where(rng.random(len(groups)) < 0.8, tied, -np.inf)
    return groups, [(grades, scores), (grades, tied), (judged, tied), (judged, shown)]


def values(metric):
    """Values of queries, or the text of the error."""
    groups, pairs = lists(SIZES)
    found = []
    for relevance, scores in pairs:
        try:
            found += metric.per_query(relevance, scores, groups=groups).to_list()
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
