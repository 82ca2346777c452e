"""Displays, drawn without a screen."""

from functools import cache

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
COLOURS = ("red", "0.5")  # never odd: matplotlib checks them


def drawn(make):
    """The display that a call makes, after its figure was drawn and closed."""
    import matplotlib.pyplot as plt

    try:
        display = make()
        display.figure_.canvas.draw()
        return display
    finally:
        plt.close("all")


@cache
def report(n_runs):
    """An evaluation of a few runs."""
    random = np.random.default_rng(0)
    qid, docid = np.repeat(np.arange(6), 8), np.tile(np.arange(8), 6)
    label = random.integers(0, 3, len(qid))
    runs = [
        trec.Run.from_arrays(qid, docid, label + random.normal(size=len(qid)), name=f"run{run}")
        for run in range(n_runs)
    ]
    qrels = trec.Qrels.from_arrays(qid, docid, label)
    return trec.evaluate(qrels, runs, ["gap", "ap"]), qrels, runs


def matrix(draw):
    """Values of two or three systems."""
    return draw.matrix(VALUES, draw.size(4, 6), draw.size(2, 3))


@case("plotting.ASLCurveDisplay")
def _(draw):
    scores = np.random.default_rng(draw.size(0, 9)).random((6, 3))
    power = stats.discriminative_power(scores, n_resamples=20)
    powers = draw(st.just({"gap": power}))
    options = {"color": draw.pick(*COLOURS)}
    return Call(lambda: drawn(lambda: plotting.ASLCurveDisplay(powers).plot(**options)))


@case("plotting.CampaignDisplay")
def _(draw):
    size = draw.size(1, 5)
    value = np.array([draw.pick(0.1, 0.5, 0.9) for _ in range(size)])
    progress = pd.DataFrame(
        {"cost": np.arange(1.0, size + 1), "value": value, "low": value - 0.1, "high": value + 0.1}
    )
    given, options = draw(st.just(progress)), draw.options(budget=st.floats(1, 9))
    return Call(lambda: drawn(lambda: plotting.CampaignDisplay(given, **options).plot()))


def from_predictions(draw, display, **usual):
    labels, scores, groups = judged(draw)
    if not draw.is_odd:
        labels, scores = [2.0] * len(groups), np.arange(float(len(groups)))
    options = draw.options(**usual)
    return Call(
        lambda: drawn(lambda: display.from_predictions(labels, scores, groups=groups, **options))
    )


@case("plotting.ElevenPointDisplay")
def _(draw):
    return from_predictions(draw, plotting.ElevenPointDisplay, name=st.just("run"))


@case("plotting.GradedPrecisionRecallDisplay")
def _(draw):
    display = plotting.GradedPrecisionRecallDisplay
    return from_predictions(draw, display, name=st.just("run"), n_levels=st.integers(2, 20))


@case("plotting.QueryComparisonDisplay")
def _(draw):
    size = draw.size(1, 5)
    a, b = (draw.vector(VALUES, size, containers=odd.PLAIN) for _ in range(2))
    names, kind = draw(st.just(("new", "old"))), draw.of("bars", "scatter")

    def verify(found):
        if not draw.is_odd:
            assert found.wins == (odd.as_floats(a) > odd.as_floats(b)).sum()

    return Call(
        lambda: drawn(
            lambda: plotting.QueryComparisonDisplay(a, b, metric="gap", names=names).plot(kind=kind)
        ),
        verify,
    )


@case("plotting.MetricScatterDisplay")
def _(draw):
    size = draw.size(2, 5)
    x, y = (draw.vector(VALUES, size, containers=odd.PLAIN) for _ in range(2))
    options = draw.options(names=st.just(("gap", "ap")), what=st.just("queries"))

    def verify(found):
        expected = stats.tau_b(found.x, found.y)
        np.testing.assert_equal(found.tau, expected)

    return Call(
        lambda: drawn(lambda: plotting.MetricScatterDisplay(x, y, **options).plot()), verify
    )


@case("plotting.TauMatrixDisplay")
def _(draw):
    cells = matrix(draw)
    means = draw(st.just(pd.DataFrame(cells))) if isinstance(cells, np.ndarray) else cells
    options = draw.options(method=st.sampled_from(("tau_b", "tau_ap")))
    return Call(lambda: drawn(lambda: plotting.TauMatrixDisplay(means, **options).plot()))


@case("plotting.IntervalDisplay")
def _(draw):
    size = draw.size(1, 5)
    value = np.array([draw.pick(0.1, 0.5, 0.9) for _ in range(size)])
    table = pd.DataFrame({"value": value, "low": value - 0.1, "high": value + 0.1})
    given, options = draw(st.just(table)), draw.options(label=st.just("x"), reference=VALUES)
    return Call(lambda: drawn(lambda: plotting.IntervalDisplay(given, **options).plot()))


@case("plotting.PosteriorDisplay")
def _(draw):
    scores = np.random.default_rng(draw.size(0, 9)).random((6, 3))
    found = draw(st.just(stats.bayesian_comparison(scores, 0.1)))
    options, pair = draw.options(names=st.just(["a", "b", "c"])), draw.of(None, 0, 2)
    return Call(lambda: drawn(lambda: plotting.PosteriorDisplay(found, **options).plot(pair=pair)))


@cache
def study():
    _, qrels, runs = report(3)
    metrics = ["gap(thresholds=[0.5,0.5])", "gap(thresholds=[1,0])", "gap(thresholds=[0,1])"]
    return skrank.informativeness.study(qrels, runs, metrics, min_retrieved=1)


@case("plotting.InformativenessDisplay")
def _(draw):
    found, options = draw(st.just(study())), draw.options(rel=st.sampled_from((None, [1], [1, 2])))
    return Call(lambda: drawn(lambda: plotting.InformativenessDisplay(found).plot(**options)))


@cache
def robustness():
    _, qrels, runs = report(3)
    return skrank.incompleteness.robustness(qrels, runs, ["ap", "bpref"], [100, 50], n_resamples=9)


@case("plotting.RobustnessDisplay")
def _(draw):
    found = draw(st.just(robustness()))
    options = draw.options(
        column=st.sampled_from(("tau_b", "power", "mean")), metrics=st.just(["ap"])
    )
    return Call(lambda: drawn(lambda: plotting.RobustnessDisplay(found).plot(**options)))
