"""Plain Python takes the place of compiled loops where there is little to do: the same bits."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import skrank
from skrank._kernels import forms, labels
from skrank.active import label_moments
from skrank.metrics import registered

ROOT = Path(__file__).resolve().parents[2]
SIZES = [7, 1, 20, 12, 16, 257]


def lists():
    """Labels and scores: apart, tied (257 in one block), not judged, not retrieved."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(len(SIZES)), SIZES)
    grades = rng.choice(5, len(groups), p=[0.5, 0.3, 0.1, 0.05, 0.05]) * 1.0
    grades[groups == 3] = 0
    scores = rng.normal(size=len(groups))
    tied = np.where(groups == 5, 0.0, scores.round(1))
    judged = np.where(rng.random(len(groups)) < 0.8, grades, np.nan)
    shown = np.where(rng.random(len(groups)) < 0.8, tied, -np.inf)
    return groups, [(grades, scores), (grades, tied), (judged, tied), (judged, shown)]


def values(metric):
    """Values of queries, or what is refused."""
    groups, pairs = lists()
    found = []
    for relevance, scores in pairs:
        try:
            found += metric.per_query(relevance, scores, groups=groups).to_list()
        except ValueError as error:
            found.append(str(error))
    return found


def variants(name):
    """A metric with a cut-off, and with what it may do about ties and judgments that lack."""
    for options in ({}, {"k": 5}, {"ties": "worst"}, {"ties": "stable"}, {"condensed": True}):
        try:
            yield skrank.metric(name, **options)
        except ValueError:
            continue


@pytest.mark.parametrize("name", sorted(registered()))
def test_both_forms_give_the_same_bits(name, monkeypatch):
    for metric in variants(name):
        compiled = values(metric)
        with monkeypatch.context() as patch:
            patch.setattr(forms.Kernel, "form", lambda kernel, n_rows: kernel.plain)
            plain = values(metric)
        assert_array_equal(plain, compiled, strict=True)


@pytest.mark.parametrize("name", ["dcg@5", "rbp", "err", "pfound@3", "ap", "gap@4"])
@pytest.mark.parametrize("empty", ["skip", 0])
def test_moments_have_the_same_bits(name, empty, monkeypatch):
    groups, [_, (_, tied), *_, (_, shown)] = lists()
    shown[0] = 7.0  # of each query something is retrieved
    proba = np.random.default_rng(0).dirichlet(np.ones(5), len(groups))
    proba[groups == 4] = [1, 0, 0, 0, 0]
    metric = dataclasses.replace(skrank.metric(name), empty=empty)
    options = {"grades": range(5), "label_model": proba}
    if name in ("dcg@5", "rbp", "err", "pfound@3"):
        options["other"] = tied

    def found():
        moments = label_moments(metric, shown, groups, **options)
        return moments.mass, moments.first, moments.second

    compiled = found()
    with monkeypatch.context() as patch:
        patch.setattr(forms.Kernel, "form", lambda kernel, n_rows: kernel.plain or kernel.compiled)
        plain = found()
    assert_array_equal(plain, compiled, strict=True)


def test_many_rows_are_worth_compiling(monkeypatch):
    monkeypatch.setenv("SKRANK_COMPILE", "0")
    kernel = forms.njit(exact=True)(labels.count.__wrapped__)
    assert [kernel.form(9000) is kernel.plain for _ in range(5)] == [True] * 3 + [False] * 2
    kernel = forms.njit(exact=True)(labels.count.__wrapped__)
    assert kernel.form(1_000_000) is kernel.compiled
    assert forms.njit()(labels.count.__wrapped__).form(1).py_func is labels.count.__wrapped__


def test_compilation_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("SKRANK_COMPILE", "1")
    kernel = forms.njit(exact=True)(labels.count.__wrapped__)
    assert kernel.form(1) is kernel.compiled


def test_a_small_value_needs_no_compiler():
    code = (
        "import sys, skrank\n"
        "skrank.metric('gap')([2, 0, 1], [3, 2, 2], groups=[1, 1, 1])\n"
        "print('numba' in sys.modules)\n"
    )
    environment = os.environ | {"SKRANK_COMPILE": "0"}
    command = [sys.executable, "-c", code]
    assert subprocess.check_output(command, cwd=ROOT, env=environment, text=True) == "False\n"
