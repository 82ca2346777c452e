"""What all statistics have in common: weights of queries, names of systems, and wrong input."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank import stats
from tests.helpers.system_scores import PAIRED, SCORES, scores, weights

RESAMPLED = [*PAIRED[3:], stats.tukey_hsd]


def field(name, statistic, *args, **options):
    return lambda x, **how: getattr(statistic(x, *args, **options, **how), name)


WEIGHTED = {
    "paired_t": field("p_value", stats.paired_t),
    **{test.__name__: field("p_value", test, n_resamples=60) for test in RESAMPLED},
    "paired_t_interval": field("low", stats.paired_t),
    "discriminative_power": field("required", stats.discriminative_power, n_resamples=60),
    "t_interval": field("low", stats.t_interval),
    "bootstrap_t": field("low", stats.bootstrap_interval, method="bootstrap-t", n_resamples=60),
}


@pytest.mark.parametrize("name", WEIGHTED)
class TestWeights:
    @pytest.mark.parametrize("n_queries", [5, 20])
    def test_nearly_equal_weights_give_nearly_equal_results(self, name, n_queries):
        x, nearly = scores(n_queries, 3), np.append(np.ones(n_queries - 1), 1 + 1e-13)
        assert_allclose(WEIGHTED[name](x, weights=nearly), WEIGHTED[name](x), rtol=1e-9)

    def test_a_weight_of_zero_leaves_a_query_out(self, name):
        x, w = scores(12, 3), weights(12)
        w[[2, 7]] = 0
        found, kept = WEIGHTED[name](x, weights=w), w > 0
        assert_allclose(found, WEIGHTED[name](x[kept], weights=w[kept]), rtol=1e-12)

    def test_the_scale_of_weights_does_not_matter(self, name):
        x, w = scores(20, 3), weights()
        found = WEIGHTED[name](x, weights=w / 7)
        assert_allclose(found, WEIGHTED[name](x, weights=w), rtol=1e-12)
        assert_array_equal(WEIGHTED[name](x, weights=np.full(20, 3.0)), WEIGHTED[name](x))

    @pytest.mark.parametrize(
        ("w", "message"),
        [
            (np.full(20, -1.0), "query 0"),
            (np.append(np.ones(19), np.nan), "query 19"),
            (pd.Series(weights()).iloc[::-1], "another order"),
        ],
    )
    def test_wrong_weights(self, name, w, message):
        with pytest.raises(ValueError, match=message):
            WEIGHTED[name](pd.DataFrame(scores(20, 3)), weights=w)


SYSTEMS = ["a", "b", "<c>"]
FRAME = pd.DataFrame(scores(8, 3), columns=SYSTEMS)


@pytest.mark.parametrize("test", [*PAIRED, stats.tukey_hsd, stats.discriminative_power])
def test_results_name_the_columns_of_a_frame(test):
    found = test(FRAME)
    table, corrected = found.to_frame(), test in (stats.max_t, stats.tukey_hsd)
    pairs = [["a", "b"], ["a", "<c>"], ["b", "<c>"]]
    assert table[["system", "other"]].to_numpy().tolist() == pairs
    assert_array_equal(table["p_corrected" if corrected else "p_uncorrected"], found.p_value)
    assert "3 pairs of systems on 8 queries" in repr(found)
    assert "&lt;c&gt;" in found._repr_html_()
    assert test(FRAME.to_numpy()).systems == [0, 1, 2]


@pytest.mark.parametrize("test", [*RESAMPLED, stats.discriminative_power, stats.bootstrap_interval])
def test_bars(test, capsys):
    quiet = test(FRAME, n_resamples=300, progress=False)
    assert not capsys.readouterr().err
    shown = test(FRAME, n_resamples=300, progress=True)
    assert re.search("100%|300", capsys.readouterr().err)
    assert repr(shown) == repr(quiet)


NAN = np.nan
NO_VALUES = np.array([[0.1, 0.2, NAN], [0.2, NAN, 0.3], [0.3, 0.4, 0.5]])


@pytest.mark.parametrize("test", [*PAIRED, stats.tukey_hsd, stats.discriminative_power])
def test_two_arrays_are_no_matrix_of_queries_and_systems(test):
    a, b = scores(50, 2).T
    with pytest.raises(TypeError, match=re.escape("numpy.column_stack([a, b])")):
        test(a, b)
    with pytest.raises(ValueError, match=r"numpy.column_stack\(scores\)"):
        test([a, b])
    with pytest.warns(UserWarning, match=r"2 queries.*50 systems.*numpy.transpose"):
        test([[*a], [*b]])


@pytest.mark.parametrize("test", [stats.paired_t, stats.max_t])
@pytest.mark.parametrize(
    ("matrix", "how", "message"),
    [
        ([1.0, 2.0], {}, r"shape \(2,\).*numpy.column_stack"),
        (np.zeros((1, 2)), {}, "scores has shape"),
        ([[0.0, np.inf], [0.0, 1.0]], {}, "system 1 on query 0"),
        ([[1, 1e200], [1, 2]], {}, "system 1 on query 0"),
        (NO_VALUES, {"nan": "raise"}, "system 2 on query 0 is nan.*nan="),
        (NO_VALUES, {}, "systems 1 and 2"),
        (scores(), {"pairs": 4}, "pairs="),
        (scores(), {"pairs": [(0, -1)]}, "pairs="),
        (scores(), {"pairs": [(0, 1), (1, 1)]}, "pairs="),
        (scores(), {"pairs": "first"}, "pairs="),
        (scores(), {"pairs": np.empty((0, 2), int)}, "pairs="),
        # weights that are negligible beside other weights count as 0
        ([[1, 2], [2, 3], [4, 1]], {"weights": [1e300, 1, 1]}, "at least 2"),
    ],
)
def test_wrong_scores_and_pairs(test, matrix, how, message):
    with pytest.raises(ValueError, match=message):
        test(matrix, **how)


X, Y = [1, 2, 3], [1, 3, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *((lambda level=level: stats.discriminative_power(SCORES, confidence=level), "confidence=")
          for level in (0, 5, "a", NAN)),
        (lambda: stats.bootstrap_interval([0.1]), "column 0"),
        (lambda: stats.bootstrap_interval([0.1, np.inf]), "values of query 1"),
        (lambda: stats.bootstrap_interval([0.1, 0.2], weights=[1, 0]), "column 0"),
        (lambda: stats.bootstrap_interval([0.1, 0.2], method="t"), "method='t'"),
        (lambda: stats.tau_ap(X, Y, ties="c"), "ties='c'"),
        (lambda: stats.tau_ap([1, 1, 2], [1, 2, 3]), "ties="),
        *((lambda p=p: stats.holm(p), "p_values") for p in ([0.1, 1.2], [0.1, NAN], ["a"])),
    ],
)  # fmt: skip
def test_wrong_parameters(call, message):
    with pytest.raises(ValueError, match=message):
        call()
