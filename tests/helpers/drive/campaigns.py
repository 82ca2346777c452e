"""Calls of the public functions of `skrank.active`, with campaigns from first draw to file."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

import skrank
from skrank import active
from tests.helpers import odd
from tests.helpers.drive import Call, case

METRICS = ("ap", "gap", "ndcg@2", "dcg@2", "rr", "err(max_grade=2)", "precision@1", "bpref")
GRADES = np.arange(3.0)
SHARES = st.floats(0.05, 0.99)
ESTIMATORS = st.sampled_from(("importance", "assisted", "lure"))
SCORES = st.integers(-3, 3).map(float)


class Pool:
    """Documents of a few queries, and their true labels."""

    def __init__(self, draw):
        n_queries = draw.size(2, 5)
        self.groups = np.repeat(np.arange(n_queries), 3)
        self.truth = np.array([draw.pick(*GRADES) for _ in self.groups])
        self.truth[::3] = np.maximum(self.truth[::3], 1)  # no query without a relevant document
        self.n_queries = n_queries

    def scores(self, draw):
        return draw.vector(SCORES, len(self.groups), odd.scores, containers=odd.FLAT)


def construction(draw, pool, **more):
    """Parameters that an evaluator and a comparator share."""
    known = np.where(np.arange(len(pool.truth)) == 1, pool.truth, np.nan)
    beliefs = np.full((len(pool.groups), 3), 1 / 3)
    costs = {query: 1.0 + query for query in range(pool.n_queries)}
    return draw.options(
        label_model=st.sampled_from(("uniform", "array")).map(
            lambda kind: beliefs if kind == "array" else kind
        ),
        labels=st.just(known),
        items=st.just(np.arange(len(pool.groups))),
        costs=st.sampled_from(("items", costs)) | st.just(np.full(len(pool.groups), 0.5)),
        cost_aware=st.booleans(),
        frequencies=st.just({query: 2.0 - query % 2 for query in range(pool.n_queries)}),
        mixing=st.floats(0.05, 1),
        n_label_draws=st.integers(1, 5),
        **more,
    ) | {
        "groups": draw(st.just(pool.groups)),
        "metric": draw.of(*METRICS),
        "grades": draw(st.just(GRADES)),
        "random_state": draw(st.integers(0, 9)),
    }  # fmt: skip


def label_all(campaign, draw, pool):
    """Take random steps of a campaign, then label all remaining queries."""
    for step in draw.pick(("ask", "draws"), ("waiting", "save"), ("ask", "save"), ()):
        if step == "ask":
            for request in campaign.ask(draw(st.integers(1, 3))):
                campaign.tell(request, draw(st.just(pool.truth[request.rows])))
            campaign.estimate(draw(SHARES))
        elif step == "draws":
            assert (campaign.draws(draw(st.integers(1, 9))) > 0).all()
        elif step == "waiting":
            request = campaign.next_query()
            assert [one.query for one in campaign.waiting] == [request.query]
            assert campaign.items_of(request.query) == request.items.tolist()
        else:
            with tempfile.TemporaryDirectory() as folder:
                campaign.save(Path(folder) / "campaign.npz")
                campaign = type(campaign).load(Path(folder) / "campaign.npz")
    while (request := campaign.next_query()) is not None:
        named = dict(zip(request.items.tolist(), pool.truth[request.rows], strict=True))
        campaign.tell(request.query, named)
    assert len(campaign.progress(draw(SHARES), estimator=draw(ESTIMATORS)))
    return campaign


def truth(pool, scores, metric, given):
    """The mean over the pool, from all true labels."""
    measure = skrank.metric(metric, max_grade=2) if metric == "gap" else skrank.metric(metric)
    values = measure.per_query(pool.truth, scores, groups=pool.groups).to_numpy()
    shares = given.get("frequencies", dict.fromkeys(range(pool.n_queries), 1.0))
    return np.average(values, weights=[shares[query] for query in range(pool.n_queries)])


@case("active.ActiveEvaluator")
def _(draw):
    pool = Pool(draw)
    scores = pool.scores(draw)
    given = construction(draw, pool)

    def call():
        campaign = label_all(active.ActiveEvaluator(scores, **given), draw, pool)
        return campaign.estimate(estimator=draw(ESTIMATORS), anytime=draw(st.booleans()))

    def verify(found):
        assert found.complete
        if not draw.is_odd:
            assert found.value == pytest.approx(truth(pool, scores, given["metric"], given))

    return Call(call, verify)


@case("active.ActiveComparator")
def _(draw):
    pool = Pool(draw)
    scores = {name: pool.scores(draw) for name in "ab"}
    given = construction(draw, pool, center=st.just(0.0))
    given.setdefault("center", 0.0)  # avoids the ContestantWarning

    def call():
        campaign = label_all(active.ActiveComparator(scores, **given), draw, pool)
        assert campaign.decision(draw(SHARES)).leader in ("a", "b", None)
        return campaign.estimate(between=draw(st.just(("a", "b"))))

    def verify(found):
        if not draw.is_odd:
            one, other = (truth(pool, scores[name], given["metric"], given) for name in "ab")
            assert found.value == pytest.approx(one - other, abs=1e-12)

    return Call(call, verify)


@case("active.estimate")
def _(draw):
    size = draw.size(1, 6)
    values = draw.vector(st.floats(0, 1), size, odd.scores, containers=odd.PLAIN)
    weights = draw.vector(st.floats(0.1, 3), size, odd.scores, containers=odd.PLAIN)
    options = draw.options(confidence=SHARES)

    def verify(found):
        if not draw.is_odd:
            expected = np.average(odd.as_floats(values), weights=odd.as_floats(weights))
            assert found.value == pytest.approx(expected)

    return Call(lambda: active.estimate(values, weights, **options), verify)


@case("active.label_moments")
def _(draw):
    pool = Pool(draw)
    scores = pool.scores(draw)
    sure = (pool.truth[:, None] == GRADES).astype(float)  # probability 1 for the true label
    if not draw.is_odd:
        scores = (
            np.unique(odd.as_floats(scores), return_inverse=True)[1] + np.arange(len(sure)) / 99
        )
    options = draw.options(
        method=st.sampled_from(("auto", "monte-carlo")), n_draws=st.integers(1, 9),
        random_state=st.integers(0, 9),
    )  # fmt: skip
    metric, model = draw.of(*METRICS), draw(st.just(sure))

    def verify(found):
        assert (found.second >= found.first**2 / np.maximum(found.mass, 1e-300) - 1e-9).all()
        if not draw.is_odd and found.method == "exact":
            assert found.center() == pytest.approx(truth(pool, scores, metric, {}))

    return Call(
        lambda: active.label_moments(
            metric, scores, draw(st.just(pool.groups)), label_model=model, **options
        ),
        verify,
    )


@case("active.sampling_distribution")
def _(draw):
    pool = Pool(draw)
    moments = active.label_moments("dcg", pool.truth, pool.groups, grades=GRADES)
    size = pool.n_queries
    options = {
        "costs": draw.vector(st.floats(0.1, 9), size, odd.scores, containers=odd.FLAT),
        "frequencies": draw.vector(st.floats(0.1, 9), size, odd.scores, containers=odd.FLAT),
    } | draw.options(mixing=st.floats(0.05, 1), center=st.floats(-1, 1))

    def verify(found):
        assert found.sum() == pytest.approx(1)
        assert (found >= 0).all()
        if not draw.is_odd:
            p = odd.as_floats(options["frequencies"])
            error = moments.squared_error(options.get("center", moments.center(p / p.sum())))
            mixing, p = options.get("mixing", 0.3 if len(p) >= 100 else 0.8), p / p.sum()
            error = (1 - mixing) * error + mixing * (p @ error)
            best = p * np.sqrt(error / odd.as_floats(options["costs"]))
            expected = (1 - mixing) * best / best.sum() + mixing * p
            np.testing.assert_allclose(found, expected, rtol=1e-9)

    return Call(lambda: active.sampling_distribution(moments, **options), verify)


@case("active.simulate")
def _(draw):
    size = draw.size(2, 5)
    values = draw.vector(st.floats(0, 1), size, odd.scores)
    q = draw.vector(st.floats(0.1, 1), size, odd.scores, containers=odd.FLAT)
    budgets = draw(st.sampled_from(([2.0], [1, 3], 2.0, [1e9])))
    options = draw.options(
        costs=st.just([1.0] * size), frequencies=st.just([2.0] * size),
        estimator=ESTIMATORS, random_state=st.integers(0, 9),
    ) | {"n_campaigns": draw(st.integers(1, 4))}  # fmt: skip

    def verify(found):
        if not draw.is_odd:
            assert found.truth == pytest.approx(np.mean(odd.as_floats(values)))
            if np.max(budgets) == 1e9:
                np.testing.assert_allclose(found.values, found.truth)

    return Call(lambda: active.simulate(values, q, budgets, **options), verify)
