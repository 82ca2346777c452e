"""Metrics that users define, compared with sums over their lists; checks of metrics; Dask."""

from dataclasses import dataclass

import dask
import numpy as np
import pytest
from hypothesis import strategies as st

import skrank
import skrank.dask
from skrank import extending, testing
from tests.helpers import odd
from tests.helpers import reference as ref
from tests.helpers.catalogue import CATALOGUE
from tests.helpers.drive import Call, case
from tests.helpers.drive.measures import STABLE, judged, lists_of, literal_mean
from tests.helpers.drive.training import TRAINABLE, Y

WORTH = st.integers(0, 4).map(lambda n: n / 4)
NUMBERS = st.sampled_from((odd.NAN, odd.INF, -odd.INF, -1.0, 2.0, 1e300))  # odd ones


@dataclass(frozen=True, kw_only=True)
class OfTables(skrank.Metric):
    """The metric of tables that a function makes of a scale and a cut-off."""

    make: object = None

    def tables(self, scale, k):
        return self.make(scale, k)


def values_of(draw, make, worth, total, *, judged_only=False):
    """Values per query of a metric of tables, compared with the definition of their sum.

    `worth` is the worth of each label, and `total` a function of the worths of documents in rank
    order. With `judged_only`, the list has no unjudged documents, and the metric has no options.
    """
    labels, scores, groups = judged(draw, most=5)
    options = {} if judged_only else draw.options(k=st.integers(1, 4), empty=st.just(0))

    def literal(ranked, unretrieved=()):
        if not any(worth[int(label or 0)] for label in [*ranked, *unretrieved]):
            return 0.0 if "empty" in options else None
        shown = [label for label in ranked if label is not None or not judged_only]
        return total([worth[int(label or 0)] for label in shown][: options.get("k")])

    def verify(found):
        if draw.is_odd:
            return
        queries = lists_of(labels, scores, groups).queries()
        expected = [ref.tie_expectation(literal, s, y) for s, y in queries]
        expected = [odd.NAN if one is None else one for one in expected]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

    metric = lambda: OfTables(make=make, **options)  # noqa: E731
    return Call(lambda: metric().per_query(labels, scores, groups=groups), verify)


def by_label(draw):
    """Worth of each label, 0 for label 0 and rising; and a function of the worths for a scale."""
    worth = [0.0, *sorted(draw(st.sampled_from((0.25, 0.5, 1.0)), NUMBERS) for _ in range(3))]
    return worth, lambda scale: [worth[min(int(label), 3)] for label in scale.labels]


def cut(weights, scale, k):
    return extending.discounts(lambda rank: np.resize(weights, len(rank)), scale.longest, k)


@case("extending.QuadraticTables")
def _(draw):
    gain, gains = by_label(draw)
    weights = [draw(WORTH, NUMBERS) for _ in range(6)]
    join = draw.of(np.multiply, np.minimum)
    paired = draw.pick(True, False)

    def make(scale, k):
        u, g = cut(weights, scale, k), gains(scale)
        pairs = extending.PairWorth(u, g, g, join) if paired else None
        return extending.QuadraticTables(g, u, pairs)

    def total(ranked):
        found = sum(w * one for w, one in zip(weights, ranked, strict=False))
        if paired:
            for r, one in enumerate(ranked):
                found += weights[r] * sum(join(above, one) for above in ranked[:r])
        return found

    return values_of(draw, make, gain, total)


@case("extending.CascadeTables")
def _(draw):
    stop, stops = by_label(draw)
    phi = sorted((draw(WORTH, NUMBERS) for _ in range(6)), reverse=True)

    def make(scale, k):
        return extending.CascadeTables(stops(scale), cut(phi, scale, k))

    def total(ranked):
        found, reached = 0.0, 1.0
        for chance, weight in zip(ranked, phi, strict=False):
            found += weight * reached * chance
            reached *= 1 - chance
        return found

    return values_of(draw, make, stop, total)


@case("extending.PreferenceTables")
def _(draw):
    share, shares = by_label(draw)
    cost = draw(st.sampled_from((0.0, 0.1, 0.2)), NUMBERS)

    def make(scale, k):
        g = np.array(shares(scale))
        with np.errstate(invalid="ignore"):
            lack = np.where(np.subtract.outer(g, g) > 0, cost, 0.0) * scale.judged
        each = np.ones(scale.n_queries)
        return extending.PreferenceTables(g, lack, each * np.inf, each, "total", scale.unjudged)

    def total(ranked):
        return sum(
            one * (1 - cost * sum(above < one for above in ranked[:r]))
            for r, one in enumerate(ranked)
        )

    return values_of(draw, make, share, total, judged_only=True)


@case("extending.discounts")
def _(draw):
    weights, longest, k = (
        draw(st.just(lambda rank: 1 / rank), odd.anything.filter(lambda one: not callable(one))),
        draw(st.integers(1, 9)),
        draw(st.sampled_from((None, 1, 3))),
    )  # fmt: skip

    def verify(found):
        if not draw.is_odd:
            expected = [1 / r if k is None or r <= k else 0 for r in range(1, longest + 1)]
            np.testing.assert_array_equal(found, expected)

    return Call(lambda: extending.discounts(weights, longest, k), verify)


@case("extending.Judgments")
def _(draw):
    size = draw.size(1, 6)
    labels = draw.vector(odd.grades, size, odd.labels)
    queries = extending.Queries.from_groups(np.arange(size) % 2)

    def call():
        return extending.Judgments(labels, queries)

    def verify(found):
        if not draw.is_odd:
            back = found.queries.scatter(found.graded(np.nan)[found.codes])
            np.testing.assert_array_equal(back, odd.as_floats(labels))

    return Call(call, verify)


# checks of metrics and objectives ----------------------------------------------------------------


@case("testing.make_lists")
def _(draw):
    options = draw.options(
        n_queries=st.integers(1, 5), longest=st.integers(1, 5), grades=st.integers(1, 4),
        unjudged=st.floats(0, 1), missing=st.floats(0, 1), levels=st.integers(1, 3),
        special=st.booleans(), scattered=st.booleans(),
    )  # fmt: skip
    seed = draw(st.integers(0, 99))

    def verify(found):
        labels, scores, groups = found
        assert len(labels) == len(scores) == len(groups)
        assert found.max_grade <= max(3, options.get("grades", 3)) or draw.is_odd
        assert np.isfinite(found.retrieved().scores).all()
        assert sorted(found.reordered(np.arange(len(labels))[::-1]).ids) == sorted(found.ids)

    return Call(lambda: testing.make_lists(seed, **options), verify)


@case("testing.ScoredLists")
def _(draw):
    labels, scores, groups = judged(draw)
    data = lists_of(labels, scores, groups) if not draw.is_odd else testing.make_lists(0)

    def verify(found):
        orders, owners = found
        assert len(orders.ids) == len(owners)
        assert sum(len(one) for one, _ in data.queries()) == len(data.scores)

    call = lambda: testing.ScoredLists(*data).every_order()  # noqa: E731
    return Call(call, verify)


@case("testing.check_metric")
def _(draw):
    point = draw.pick(*CATALOGUE)
    metric = draw(st.just(str(point)))
    return Call(
        lambda: testing.check_metric(metric, monotone=False),
        lambda found: "ties count as the mean over their orders" in found or point.metric.strict,
    )


@case("testing.check_objective")
def _(draw):
    point = draw.pick(*TRAINABLE)
    chosen = draw(st.just(skrank.LambdaRank(point.metric)) | st.just(skrank.Softmax()))
    return Call(
        lambda: testing.check_objective(chosen, random=True),
        lambda found: "rounds repeat" in found or pytest.fail("rounds were not tested"),
    )


# Dask ---------------------------------------------------------------------------------------------


def collections(draw, *arrays):
    """Dask arrays whose partitions hold whole queries."""
    import dask.array as da

    size = len(arrays[0])
    chunks = draw.pick(size, (size - size // 2, size // 2) if size > 1 else (size,))
    return [da.from_array(np.asarray(one), chunks=(chunks,)) for one in arrays]


@case("dask.evaluate")
def _(draw):
    size = draw.size(2, 6)
    labels = np.array([draw.pick(0.0, 1.0, 2.0, odd.NAN) for _ in range(size)])
    scores = np.array([draw.pick(0.0, 1.0, 2.0, -odd.INF, 1e300, -7.5) for _ in range(size)])
    groups = np.arange(size) >= size - size // 2
    metric = draw.of(*map(str, STABLE))
    given = [draw(st.just(one)) for one in collections(draw, labels, scores, groups)]

    def call():
        with dask.config.set(scheduler="synchronous"):
            return skrank.dask.evaluate(*given, metric)

    def verify(found):
        if not draw.is_odd:
            (point,) = [one for one in STABLE if str(one) == metric]
            expected = literal_mean(point, lists_of(labels, scores, groups))
            value = found.mean.iloc[0]
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)

    return Call(call, verify)


class Given:
    """A model whose scores are its first feature."""

    def predict(self, X):
        return np.asarray(X)[:, 0]


@case("dask.scorer")
def _(draw):
    import dask.array as da

    X = np.arange(len(Y), dtype=float)[:, None] % 5
    rows = [X, Y.to_numpy(), Y.index.to_numpy()]
    half = int(np.searchsorted(Y.index, Y.index[len(Y) // 2]))
    chunks = draw.pick((half, len(Y) - half), (len(Y),))
    wide = [(chunks, 1), (chunks,), (chunks,)]
    given = [
        draw(st.just(da.from_array(one, chunks=way))) for one, way in zip(rows, wide, strict=True)
    ]
    metric = draw.of("ap", "ndcg@3", "gap(max_grade=9)")

    def call():
        with dask.config.set(scheduler="synchronous"):
            return skrank.dask.scorer(metric)(Given(), *given[:2], groups=given[2])

    def verify(found):
        if not draw.is_odd:
            assert found == skrank.scorer(metric)(Given(), X, Y)

    return Call(call, verify)
