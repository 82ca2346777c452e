"""All displays: axes, wrong input, and the import of matplotlib when a display is drawn."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from skrank import informativeness, stats
from skrank.incompleteness import robustness
from skrank.plotting import (
    ASLCurveDisplay,
    ElevenPointDisplay,
    GradedPrecisionRecallDisplay,
    InformativenessDisplay,
    IntervalDisplay,
    MetricScatterDisplay,
    PosteriorDisplay,
    QueryComparisonDisplay,
    RobustnessDisplay,
    TauMatrixDisplay,
)
from tests.helpers.plotting_cases import collection

MATRIX = np.random.default_rng(0).random((9, 3))
POWERS = {alpha: stats.discriminative_power(MATRIX, alpha=alpha) for alpha in (0.01, 0.05)}
FOUND, SAME = (stats.bayesian_comparison(x, 0.1) for x in (MATRIX, np.ones((3, 2))))
TABLE = pd.DataFrame({"value": [1], "low": [0], "high": [2]})


def robust():
    study = robustness(*collection(n_runs=3), "gap", [100, 50], n_resamples=10)
    return RobustnessDisplay(study)


def informative(*thresholds):
    metrics = [*(f"gap(thresholds={one})" for one in thresholds), "ndcg"]
    study = informativeness.study(*collection(n_runs=1), metrics, min_retrieved=1)
    return InformativenessDisplay(study)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ASLCurveDisplay({"x": POWERS[0.05]}),
        lambda: ElevenPointDisplay(np.ones(11)),
        lambda: GradedPrecisionRecallDisplay(np.arange(2), np.ones(2)),
        lambda: informative([0, 1], [1, 0]),
        lambda: IntervalDisplay(TABLE),
        lambda: MetricScatterDisplay([1, 2], [2, 1]),
        lambda: PosteriorDisplay(FOUND),
        lambda: QueryComparisonDisplay([0.1, 0.2], [0.2, 0.1]),
        lambda: robust(),
        lambda: TauMatrixDisplay(pd.DataFrame({"a": [1, 2], "b": [2, 1]})),
    ],
)
def test_plots_again_on_new_and_on_given_axes(make):
    display = make()
    ax = display.plot().ax_
    assert display.plot() is display
    assert display.ax_ is not ax
    assert display.plot(ax).ax_ is ax
    assert display.figure_ is ax.figure


QID, EYE, MODEL = [1, 1, 2, 2], np.eye(4), LinearRegression()
CURVES = [
    case
    for curve in (ElevenPointDisplay, GradedPrecisionRecallDisplay)
    for case in (
        (lambda r, one=curve: one.from_predictions([1, 0, 0, 1], QID), "Display needs the query"),
        (lambda r, one=curve: one.from_predictions([0] * 4, QID, groups=QID), "no query has a rel"),
        (lambda r, one=curve: one.from_predictions([1] * 4, QID, groups=QID, ties="x"), "ties='x'"),
        (
            lambda r, one=curve: one.from_estimator(MODEL, EYE, QID),
            "from_estimator needs the query of each row",
        ),
        (lambda r, one=curve: one.from_estimator(MODEL, EYE, QID, groups=QID), "not fitted"),
    )
]


def compared(scores_b=(1, 2, 3, 4), groups=QID, **how):
    given = {"relevance": [1, 0, 2, 1], "scores_a": [1, 2, 3, 4], "scores_b": scores_b}
    return QueryComparisonDisplay.from_predictions(**given, groups=groups, **how)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        *CURVES,
        (lambda r: ASLCurveDisplay.from_report(r, ["gap@5"]), "unknown metric 'gap@5'"),
        (lambda r: ASLCurveDisplay({}), "powers is empty"),
        (lambda r: ASLCurveDisplay(POWERS), "different alpha"),
        (lambda r: robust().plot(column="queries"), "column='queries'"),
        (lambda r: robust().plot(metrics=["ap"]), "unknown metric 'ap'"),
        (lambda r: robust().plot(metrics=[]), "no metric is chosen: .* 'gap'"),
        (lambda r: TauMatrixDisplay.from_report(r, method="tau"), "method='tau'"),
        (lambda r: TauMatrixDisplay.from_report(r, ["ap"]), "unknown metric 'ap'"),
        (lambda r: TauMatrixDisplay(r.mean[:1]), "means has 1 system"),
        (lambda r: MetricScatterDisplay.from_report(r, "gap", "ap"), "unknown metric 'ap'"),
        (lambda r: MetricScatterDisplay.from_report(r, "gap", "gap", run="r9"), "unknown run 'r9'"),
        (lambda r: MetricScatterDisplay([1, 2], [1, 2, 3]), r"shape \(2,\) and y \(3,\)"),
        (lambda r: MetricScatterDisplay([1, np.nan], [1, 2]), "1 of 2 systems have a value"),
        (lambda r: informative([0, 1], [1, 0]).plot(metrics=["nap"]), "unknown metric 'nap'"),
        (lambda r: informative([0, 1], [1, 0]).plot(rel=[3]), "rel=3 is not in the study"),
        (lambda r: informative([0, 1]), "a line takes at least 2"),
        (lambda r: IntervalDisplay.from_report(r, "ap"), "unknown metric 'ap'"),
        (lambda r: IntervalDisplay(TABLE[:0][["value"]]), r"0 rows and lacks \['high', 'low'\]"),
        (lambda r: IntervalDisplay(TABLE, reference="zero"), "reference='zero' must be a number"),
        (lambda r: PosteriorDisplay(FOUND).plot(pair=3), "pair=3 is not one of the 3"),
        (lambda r: PosteriorDisplay(FOUND, names=["a", "b"]), "names has 2 entries for 3"),
        (lambda r: PosteriorDisplay(FOUND, names=3), "names=3 must be a sequence with a name"),
        (lambda r: PosteriorDisplay(SAME).plot(pair=0), "no density"),
        (lambda r: compared(groups=None), "QueryComparisonDisplay needs the query of each row"),
        (lambda r: compared(scores_b=[1, 2, 3]), "system 'b': scores has 3 rows"),
        (lambda r: compared(names=("a", "a")), "two different names"),
        (lambda r: compared(names="ab"), "two different names"),
        (lambda r: compared(kind="box"), "kind='box'"),
        (lambda r: compared(metric="gapp"), "unknown metric"),
        (lambda r: QueryComparisonDisplay([0.1, 0.2], [0.1]), "of the same queries"),
        (lambda r: QueryComparisonDisplay([np.nan], [0.2]).plot(), "is defined on no query"),
    ],
)
def test_wrong_input(report, draw, message):
    with pytest.raises(ValueError, match=message):
        draw(report)


def test_matplotlib_is_imported_when_a_display_is_drawn(monkeypatch):
    code = "import sys, skrank.plotting; sys.exit('matplotlib' in sys.modules)"
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=root, check=True)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"ElevenPointDisplay .* pip install skrank\[plot\]"):
        ElevenPointDisplay(np.ones(11)).plot()
