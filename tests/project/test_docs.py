"""The pages made from the code are current."""

import runpy
from pathlib import Path

import pytest

from skrank import metrics
from skrank.metrics import registered

BUILD = Path(__file__).resolve().parents[2] / "docs" / "build.py"


@pytest.mark.parametrize(
    "name", ["build.py", "objective_tables.py", "scikit_learn.py", "peer_names.py"]
)
def test_pages_are_current(name):
    built = runpy.run_path(str(BUILD.with_name(name)))
    pages = built["pages"]() if "pages" in built else {built["PAGE"]: built["page"]()}
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, "run python docs/build.py"


def test_the_picture_of_the_gain_is_current():
    built = runpy.run_path(str(BUILD.with_name("figures.py")))
    assert str(built["shown"]()).encode() in built["PICTURE"].read_bytes(), (
        "the contest has other numbers than its picture: run python docs/figures.py"
    )


def test_each_metric_has_a_function_and_a_range():
    for cls in registered().values():
        assert callable(getattr(metrics, cls.function))
        assert f"Range {cls.value_range}" in (cls.__doc__ or "")
        assert cls.strict == ("no closed form" in (cls.__doc__ or ""))
