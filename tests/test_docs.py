"""The pages made from the code are current."""

import runpy
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[1] / "docs" / "build.py"


@pytest.mark.parametrize("name", ["build.py", "scikit_learn.py"])
def test_pages_are_current(name):
    built = runpy.run_path(str(BUILD.with_name(name)))
    assert built["PAGE"].read_text() == built["page"](), "run python docs/build.py"


def test_each_metric_has_a_function_and_a_range():
    built = runpy.run_path(str(BUILD))
    from skrank.metrics import registered

    functions = built["functions"]()
    for cls in registered().values():
        assert cls.__name__ in functions
        assert built["value_range"](cls), f"{cls.__name__} states no range"
