"""The bar of long work."""

import sys

import numpy as np
import pytest

from skrank._progress import progress, tracked
from skrank.active import simulate

pytest.importorskip("tqdm")


def test_items_are_counted_on_standard_error(capsys):
    assert list(tracked([3, 1, 2], True, "things")) == [3, 1, 2]
    shown = capsys.readouterr()
    assert "3.00/3.00" in shown.err
    assert "things" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("show", [None, False])
def test_nothing_is_shown_where_nobody_looks(capsys, show):
    assert list(tracked([1, 2], show, "things")) == [1, 2]
    assert capsys.readouterr().err == ""


def test_without_tqdm(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress(None, 3, "things") as bar:
        bar.update(1)
    assert capsys.readouterr().err == ""
    with pytest.raises(ImportError, match="progress=True needs tqdm"), progress(True, 3, "things"):
        pass


def test_campaigns_are_counted(capsys):
    how = {"budgets": [2], "n_campaigns": 20}
    values, q = [0.0, 1.0, 0.5, 0.2], np.full(4, 0.25)
    shown = simulate(values, q, **how, progress=True)
    assert "campaigns" in capsys.readouterr().err
    np.testing.assert_array_equal(shown.values, simulate(values, q, **how).values)
