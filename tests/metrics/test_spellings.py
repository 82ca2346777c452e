"""Names of metrics in any case of letters, except those with two meanings."""

from __future__ import annotations

import pytest

import skrank
from skrank.metrics import registered

TWO_MEANINGS = {"nDCG", "NDCG", "ERR", "Accuracy"}
NAMES = [name for cls in registered().values() for name in cls.names]


@pytest.mark.parametrize("name", NAMES)
def test_names_in_any_case_of_letters(name):
    expected = skrank.metric(name)
    for text in (name.upper(), name.capitalize(), name.title()):
        if text not in TWO_MEANINGS:
            assert skrank.metric(text) == expected


def test_names_in_a_sum_in_any_case_of_letters():
    assert str(skrank.metric("0.5*GAP@3 + 0.5*Ndcg")) == "0.5*gap@3+0.5*ndcg"
    assert skrank.scorer("GAP").metrics == skrank.scorer("gap").metrics


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("nDCG@10", ("'ndcg@10'", "of ir_measures, 'ndcg(gain=linear)@10'")),
        ("nDCG", ("'ndcg'", "'ndcg(gain=linear)'")),
        ("0.5*nDCG+0.5*gap", ("'ndcg'", "'ndcg(gain=linear)'")),
        ("NDCG@5", ("'ndcg@5' of skrank", "of ir_measures, 'ndcg(gain=linear)@5'")),
        ("ERR@20", ("'err@20'", "of ir_measures, 'err(max_grade=4)@20'")),
        ("Accuracy", ("'accuracy'", "of ir_measures, which is not read: it is the share")),
    ],
)
def test_a_spelling_with_two_meanings_is_refused_with_both_ways_to_write_it(text, both):
    with pytest.raises(ValueError, match="Write the one that you mean") as error:
        skrank.metric(text)
    assert all(one in str(error.value) for one in both)
