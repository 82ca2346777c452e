"""All public names, called with random arguments: a correct result, or an error of skrank.

The environment variable SKRANK_EXAMPLES is the number of calls with usual arguments per case, and
a third of that with odd ones: `SKRANK_EXAMPLES=2000 pytest tests/validation/test_fuzz_public.py`.
"""

import os
from collections import Counter
from importlib.util import find_spec

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.helpers import drive, odd
from tests.helpers.drive import (  # noqa: F401
    campaigns,
    commands,
    displays,
    extensions,
    features,
    files,
    measures,
    statistics,
    training,
)

if find_spec("torch"):
    from tests.helpers.drive import networks  # noqa: F401

# a failure is reported with its arguments, without shrinking, which would take minutes
SETTINGS = settings(derandomize=True, deadline=None, database=None, phases=[Phase.generate])
EXAMPLES = int(os.environ.get("SKRANK_EXAMPLES", "24"))


def test_all_that_is_public_is_driven():
    assert drive.public() == {name.split()[0] for name in drive.CASES}


def ends_of(name, examples, is_odd):
    """Number of calls that return, and number of calls that raise an error of skrank."""
    ends = Counter()

    @settings(SETTINGS, max_examples=examples)
    @given(st.data())
    def run(data):
        draw = drive.Draw(data, is_odd)
        call, right = drive.CASES[name](draw)
        found = odd.outcome(call)
        if isinstance(found, Exception):
            if not is_odd:
                raise found
            ends["refused"] += 1
        else:
            right(found)
            ends["value"] += 1

    run()
    return ends


@pytest.mark.parametrize("name", drive.CASES)
def test_any_arguments(name):
    """Calls with usual arguments return; calls with odd arguments return or raise an error."""
    slow = {
        "plotting": 3, "testing.check_metric": 12, "testing.check_objective": 12, "tune": 12,
        "save_onnx": 6,
    }  # fmt: skip
    examples = EXAMPLES // slow.get(name, slow.get(name.split(".")[0], 1))
    usual = ends_of(name, examples, is_odd=False)
    strange = ends_of(name, min(-(-examples // 3), usual["value"]), is_odd=True)
    assert usual["value"] > 0
    assert usual["value"] + strange["value"] >= strange["refused"]
