"""The bar of long work, on standard error."""

from functools import partial

import numpy as np

from skrank.active import simulate

CAMPAIGNS = partial(simulate, [0.0, 1.0, 0.5, 0.2], np.full(4, 0.25), budgets=[2], n_campaigns=20)


def test_campaigns_are_counted(capsys):
    shown = CAMPAIGNS(progress=True)
    written = capsys.readouterr()
    assert "20.0/20.0" in written.err
    assert "campaigns" in written.err
    assert written.out == ""
    for progress in (None, False):  # not on a terminal
        np.testing.assert_array_equal(shown.values, CAMPAIGNS(progress=progress).values)
        assert capsys.readouterr().err == ""
