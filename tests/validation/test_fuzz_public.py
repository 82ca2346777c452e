"""All that is public, called with random arguments: what is right, or an error of ours."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import drive, odd
from tests.helpers.drive import (  # noqa: F401
    campaigns,
    displays,
    files,
    measures,
    statistics,
    training,
)

EXAMPLES = int(os.environ.get("SKRANK_EXAMPLES", "40"))


def test_all_that_is_public_is_driven():
    assert drive.public() == set(drive.CASES)


@pytest.mark.parametrize("name", drive.CASES)
def test_any_arguments(name):
    """Usual arguments are never refused; most calls end in a value."""
    ends = Counter()

    @settings(derandomize=True, deadline=None, database=None, max_examples=EXAMPLES)
    @given(st.data())
    def run(data):
        draw = drive.Draw(data)
        call, right = drive.CASES[name](draw)
        found = odd.outcome(call)
        if isinstance(found, Exception):
            if not draw.is_odd:
                raise found
            ends["refused"] += 1
        else:
            right(found)
            ends["value"] += 1

    run()
    assert ends["value"] >= ends["refused"]
