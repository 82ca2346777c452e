"""Displays, drawn without a screen."""

from functools import cache, partial

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import skrank
from skrank import plotting, stats, trec
from tests.helpers import odd
from tests.helpers.drive import Call, case
from tests.helpers.drive.measures import judged

VALUES = st.floats(0, 1)
COLOURS = ("red", "0.5")  # options of matplotlib are its own


def drawn(make):
    """The display that a call makes, and its figure, which is closed."""
    import matplotlib.pyplot as plt

    try:
        display = make()
        display.figure_.canvas.draw()
        return display
    finally:
        plt.close("all")


def drive(name, arguments, verify=lambda found: None, plotted=lambda draw: {}, **usual):
    """Make a display with drawn arguments and options, and draw it with the options `plotted`."""

    @case(f"plotting.{name}")
    def _(draw):
        given, options = arguments(draw), draw.options(**usual) if usual else {}
        how = plotted(draw)

        def make():
            return getattr(plotting, name)(*given, **options).plot(**how)

        return Call(lambda: drawn(make), lambda found: draw.is_odd or verify(found))


@cache
def collection():
    """Judgments and three runs."""
    random = np.random.default_rng(0)
    qid, docid = np.repeat(np.arange(6), 8), np.tile(np.arange(8), 6)
    label = random.integers(0, 3, len(qid))
    runs = [
        trec.Run.from_arrays(qid, docid, label + random.normal(size=len(qid)), name=f"run{run}")
        for run in range(3)
    ]
    return trec.Qrels.from_arrays(qid, docid, label), runs


@cache
def study():
    metrics = ["gap(thresholds=[0.5,0.5])", "gap(thresholds=[1,0])", "gap(thresholds=[0,1])"]
    return skrank.informativeness.study(*collection(), metrics, min_retrieved=1)


@cache
def robustness():
    metrics = ["ap", "bpref"]
    return skrank.incompleteness.robustness(*collection(), metrics, [100, 50], n_resamples=9)


def powers(draw):
    scores = np.random.default_rng(draw.size(0, 9)).random((6, 3))
    return (draw(st.just({"gap": stats.discriminative_power(scores, n_resamples=20)})),)


def posterior(draw):
    scores = np.random.default_rng(draw.size(0, 9)).random((6, 3))
    return (draw(st.just(stats.bayesian_comparison(scores, 0.1))),)


def intervals(draw):
    size = draw.size(1, 5)
    value = np.array([draw.pick(0.1, 0.5, 0.9) for _ in range(size)])
    table = {"cost": np.arange(1.0, size + 1), "value": value}
    return (draw(st.just(pd.DataFrame(table | {"low": value - 0.1, "high": value + 0.1}))),)


def means(draw):
    cells = draw.matrix(VALUES, draw.size(4, 6), draw.size(2, 3))
    return (draw(st.just(pd.DataFrame(cells))) if isinstance(cells, np.ndarray) else cells,)


def vectors(low):
    def arguments(draw):
        size = draw.size(low, 5)
        return tuple(draw.vector(VALUES, size, containers=odd.PLAIN) for _ in range(2))

    return arguments


def counts_wins(found):
    assert found.wins == (found.values_a > found.values_b).sum()


def has_tau(found):
    np.testing.assert_equal(found.tau, stats.tau_b(found.x, found.y))


drive("ASLCurveDisplay", powers, plotted=lambda draw: {"color": draw.pick(*COLOURS)})
drive("CampaignDisplay", intervals, budget=st.floats(1, 9))
drive("IntervalDisplay", intervals, label=st.just("x"), reference=VALUES)
drive("TauMatrixDisplay", means, method=st.sampled_from(("tau_b", "tau_ap")))
drive(
    "MetricScatterDisplay", vectors(2), has_tau, names=st.just(("gap", "ap")),
    what=st.just("queries"),
)  # fmt: skip
drive(
    "QueryComparisonDisplay", vectors(1), counts_wins,
    lambda draw: {"kind": draw.of("bars", "scatter")}, names=st.just(("new", "old")),
)  # fmt: skip
drive(
    "PosteriorDisplay", posterior, plotted=lambda draw: {"pair": draw.of(None, 0, 2)},
    names=st.just(["a", "b", "c"]),
)  # fmt: skip
drive(
    "InformativenessDisplay", lambda draw: (draw(st.just(study())),),
    plotted=lambda draw: draw.options(rel=st.sampled_from((None, [1], [1, 2]))),
)  # fmt: skip
drive(
    "RobustnessDisplay", lambda draw: (draw(st.just(robustness())),),
    plotted=lambda draw: draw.options(
        column=st.sampled_from(("tau_b", "power", "mean")), metrics=st.just(["ap"])
    ),
)  # fmt: skip


def drive_curve(kind, **usual):
    @case(f"plotting.{kind}")
    def _(draw):
        labels, scores, groups = judged(draw)
        if not draw.is_odd:
            labels, scores = [2.0] * len(groups), np.arange(float(len(groups)))
        options, display = draw.options(**usual), getattr(plotting, kind)
        make = partial(display.from_predictions, labels, scores, groups=groups, **options)
        return Call(lambda: drawn(make))


drive_curve("ElevenPointDisplay", name=st.just("run"))
drive_curve("GradedPrecisionRecallDisplay", name=st.just("run"), n_levels=st.integers(2, 20))
