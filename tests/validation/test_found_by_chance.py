"""What random arguments have found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import skrank


def test_labels_of_no_row_with_groups():
    assert len(skrank.with_groups([], [])) == 0


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_whole_numbers_that_no_float_holds(value):
    for name in ("f1(beta=1)", "ap(rel=1)", "rbp(p=0.5)", "ndcg(gain=[0,1])"):
        metric, _, parameter = name.partition("(")
        parameter = parameter.partition("=")[0]
        with pytest.raises(ValueError, match=f"{parameter}="):
            skrank.metric(metric, **{parameter: [0, value] if parameter == "gain" else value})


@pytest.mark.parametrize("value", [pd.NA, np.array(["skip", "skip"]), ["skip"], 1j, b"skip"])
def test_values_that_cannot_be_compared_are_no_choice(value):
    with pytest.raises(ValueError, match="is not a choice"):
        skrank.metric("gap", empty=value)
    assert skrank.metric("gap", empty=np.int8(1)).empty == 1


def test_single_precision_parameters():
    assert skrank.metric("ap", rel=np.float32(0.5)).rel == 0.5


def test_labels_too_high_for_romip_are_refused_without_overflow():
    with pytest.raises(ValueError, match="above 1: choose a scale"):
        skrank.metric("pfound")([2**31, 0], [2, 1])


def test_splitting_no_row():
    with pytest.raises(ValueError, match="groups is empty: there is no query to split"):
        list(skrank.QueryKFold(2).split(np.zeros((0, 1)), [], []))
