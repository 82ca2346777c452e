"""Metrics, their score functions and curves, compared with their literal definitions."""

from collections import defaultdict
from dataclasses import dataclass, fields

import numpy as np
import pytest
from hypothesis import strategies as st

import skrank
from skrank import metrics
from tests.helpers import odd
from tests.helpers import reference as ref
from tests.helpers.catalogue import CATALOGUE, MIXTURES, STRICT, Lists
from tests.helpers.drive import Call, case, within

NAN, INF = odd.NAN, odd.INF
POINTS = defaultdict(list)
for _point in CATALOGUE:
    POINTS[type(_point.metric)].append(_point)
METRICS = ("gap", "ap", "ndcg@2", "err", "rr", "precision@1", "q", "bpref", "0.5*gap+0.5*ndcg")


def judged(draw, least=1, most=6):
    """Labels, scores and queries of some rows."""
    size = draw.size(least, most)
    scores = st.integers(-2, 2).map(float) | st.just(-INF)
    return (
        draw.vector(odd.grades, size, odd.labels),
        draw.vector(scores, size, odd.scores),
        draw.groups(size),
    )


def lists_of(labels, scores, groups):
    """Labels, scores and queries as the lists that literal definitions take."""
    ids = np.array(np.asarray(groups).tolist(), dtype=object)
    return Lists(odd.as_floats(labels), odd.as_floats(scores), ids)


def changed(metric):
    """The parameters of a metric that differ from their defaults."""
    named = {field.name: getattr(metric, field.name) for field in fields(metric) if field.init}
    default = type(metric)() if type(metric) is not metrics.Mixture else None
    return {name: value for name, value in named.items() if value != getattr(default, name, None)}


def literal_mean(point, data):
    """Literal mean over queries, or the sum for metrics with average "sum"."""
    values = point.expected(data)
    values = values[~np.isnan(values)]
    if point.metric.average == "sum":
        return values.sum()
    return values.mean() if len(values) else NAN


def drive_class(cls):
    @case(f"metrics.{cls.__name__}")
    def _(draw):
        point = draw.pick(*POINTS[cls])
        labels, scores, groups = judged(draw)
        given = draw.replaced(changed(point.settled))

        def call():
            metric = cls(**given)
            assert skrank.metric(str(metric)) == metric
            return metric.per_query(labels, scores, groups=groups)

        def verify(found):
            if not draw.is_odd:
                expected = point.expected(lists_of(labels, scores, groups))
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

        return Call(call, verify)


def drive_function(cls):
    @case(f"metrics.{cls.function}")
    def _(draw):
        point = draw.pick(*POINTS[cls])
        labels, scores, groups = judged(draw)
        given = draw.replaced(changed(point.settled)) | {"groups": groups}

        def verify(found):
            assert isinstance(found, float)
            if not draw.is_odd:
                expected = literal_mean(point, lists_of(labels, scores, groups))
                assert found == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)

        return Call(lambda: getattr(metrics, cls.function)(labels, scores, **given), verify)


for _cls in metrics.registered().values():
    drive_class(_cls)
    if _cls.function:
        drive_function(_cls)


@case("metrics.Mixture")
def _(draw):
    point = draw.pick(*MIXTURES)
    labels, scores, groups = judged(draw)
    parts = draw(st.just([(weight, str(part)) for weight, part in point.parts]))

    def verify(found):
        if not draw.is_odd:
            expected = literal_mean(point, lists_of(labels, scores, groups))
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)

    return Call(lambda: metrics.Mixture(parts=parts)(labels, scores, groups=groups), verify)


@case("metrics.metric")
def _(draw):
    point = draw.pick(*CATALOGUE)
    text = draw(st.just(str(point)), st.text("gapndcG@10()=,.+*'[]{}: -_xé\n\0", max_size=14))
    return Call(lambda: skrank.metric(text), lambda found: skrank.metric(str(found)) == found)


@case("metrics.registered")
def _(draw):
    return Call(metrics.registered)


@case("metrics.metric_from_function")
def _(draw):
    labels, scores, groups = judged(draw)
    options = draw.options(
        needs_relevant=st.just(True), value_range=st.just("[0, 1]"), greater_is_better=st.just(True)
    )
    function, name = draw(st.just(first_relevant)), draw(st.just("first_relevant"))

    def verify(found):
        if not draw.is_odd:
            (point,) = [one for one in POINTS[metrics.RR] if str(one) == "rr"]
            expected = point.expected(lists_of(labels, scores, groups))
            np.testing.assert_allclose(found, expected, rtol=1e-9)

    return Call(
        lambda: metrics.metric_from_function(function, name, **options).per_query(
            labels, scores, groups=groups
        ),
        verify,
    )


def first_relevant(ranked):
    return 1 / (1 + np.argmax(ranked > 0)) if (ranked > 0).any() else 0.0


@dataclass(frozen=True, kw_only=True)
class Renamed(metrics.AP):
    """AP by another name."""


def registered(names):
    """Register a class, look up its name, and unregister it."""
    cls = skrank.register(*names)(Renamed)
    try:
        return skrank.metric(names[0])
    finally:
        skrank.unregister(cls.names[0])


@case("metrics.register")
def _(draw):
    names = [draw(st.sampled_from(("renamed", "another", "third_1")), odd.anything)]
    return Call(lambda: registered(names), lambda found: isinstance(found, Renamed) or 1 / 0)


@case("metrics.unregister")
def _(draw):
    name = draw(st.just("renamed"), odd.anything | st.just("gap"))

    def call():
        skrank.register("renamed")(Renamed)
        try:
            skrank.unregister(name)
        finally:
            if "renamed" in metrics.registered():
                skrank.unregister("renamed")

    return Call(call, lambda found: "renamed" not in metrics.registered() or 1 / 0)


@case("metrics.aggregate_judgments")
def _(draw):
    rows, columns = draw.size(1, 4), draw.size(1, 3)
    table = draw.matrix(odd.grades, rows, columns)
    method = draw.of("mean", "and", "or")

    def verify(found):
        known = odd.as_floats(table)
        known = known[~np.isnan(known)]
        if method == "mean" and len(known):
            within(known.min(), known.max())(found)

    return Call(lambda: metrics.aggregate_judgments(table, method=method), verify)


@case("metrics.eleven_point_curve")
def _(draw):
    labels, scores, groups = judged(draw)

    def verify(found):
        assert found.shape == (11,)
        if draw.is_odd:
            return
        curves = [
            ref.stable(ref.eleven_points, *query)
            for query in lists_of(labels, scores, groups).queries()
        ]
        defined = [curve for curve in curves if curve[0] is not None]
        expected = np.mean(defined, axis=0) if defined else np.full(11, NAN)
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    return Call(lambda: metrics.eleven_point_curve(labels, scores, groups=groups), verify)


@case("metrics.graded_precision_recall_curve")
def _(draw):
    size = draw.size(1, 6)
    labels = draw.vector(odd.grades, size, odd.labels)
    scores = draw.vector(st.integers(-2, 2).map(float), size, odd.scores)
    if not draw.is_odd and not (odd.as_floats(labels) > 0).any():
        labels = [3.0] * size

    def verify(found):
        area = found.precision @ np.diff(found.recall, prepend=0)
        assert found.gap == pytest.approx(area)
        if not draw.is_odd:
            assert found.gap == pytest.approx(skrank.metric("gap(ties=stable)")(labels, scores))

    return Call(lambda: metrics.graded_precision_recall_curve(labels, scores), verify)


STABLE = [point for point in CATALOGUE if point.name not in STRICT]


@case("evaluation.evaluate")
def _(draw):
    labels, scores, groups = judged(draw)
    point = draw.pick(*STABLE)
    names = draw(st.just([str(point)]))

    def verify(found):
        if not draw.is_odd:
            expected = literal_mean(point, lists_of(labels, scores, groups))
            value = found.mean.iloc[0]
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)

    return Call(lambda: skrank.evaluate(labels, scores, groups=groups, metrics=names), verify)


@case("evaluation.compare")
def _(draw):
    n_queries = draw.size(2, 5)
    size = 3 * n_queries
    labels = draw.vector(st.sampled_from((0.0, 1.0, 2.0)), size, odd.labels)
    systems = {name: draw.vector(st.floats(-9, 9, width=32), size, odd.scores) for name in "ab"}
    groups = draw(st.just(np.repeat(np.arange(n_queries), 3)))
    metric = draw.of(
        "precision(empty=0)@2", "dcg(empty=0)", "rr(empty=0)"
    )  # of which all queries have a value
    options = draw.options(
        alpha=st.sampled_from((0.05, 0.5)),
        correction=st.sampled_from(("holm", "none")),
        test=st.sampled_from(("resampled-t", "t", "randomisation")),
    )
    return Call(
        lambda: skrank.compare(
            systems, labels, groups=groups, metrics=metric, n_resamples=50, **options
        ),
        lambda found: within(0, 1)(found.to_frame().filter(regex="^p")),
    )
