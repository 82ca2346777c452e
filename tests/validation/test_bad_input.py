"""Bad input: errors name the row, query, parameter or file."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import skrank
from skrank import active, extending, metrics, stats, trec
from tests.helpers import odd

NAN, INF = np.nan, np.inf
Y, SCORES, GROUPS = [1, 0, 2, 0], [4.0, 3, 2, 1], ["a", "a", "b", "b"]
OF_A = skrank.with_groups(Y, ["a", "a", "a", "b"])
ONES = np.ones((4, 2))

# functions that take labels, scores and query ids
CALLS = {
    "metric": skrank.metric("ndcg"),
    "evaluate": partial(skrank.evaluate, metrics="ndcg"),
    "objective": skrank.LambdaRank("ndcg"),
    "per_query": skrank.metric("ndcg@2").per_query,
}


@pytest.fixture(params=CALLS)
def call(request):
    def call(y=Y, scores=SCORES, groups=GROUPS, **more):
        return CALLS[request.param](y, scores, groups=groups, **more)

    assert call() is not None
    return call


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"groups": ["a"] * 5}, "groups has 5"),
        ({"groups": [2, 2]}, "groups.*numpy.repeat"),
        ({"groups": ["a", "a", None, "b"]}, "groups.*row 2"),
        ({"y": OF_A}, "groups and .*of y.*row 2 has query 'b'"),
        *(({"scores": [4, 3, bad, 1]}, f"score of row 2 is {bad}") for bad in (NAN, INF)),
        # skrank sorts rows by query: errors name rows of the caller
        ({"groups": ["b", "a", "b", "a"], "scores": [4, NAN, 2, 1]}, "score of row 1"),
        ({"groups": ["b", "a", "b", "a"], "y": [1, 0, -1, 0]}, "label of row 2"),
        ({"scores": [None, {}, 1, 2]}, "^scores must be numbers"),
        ({"scores": [1.0] * 5}, "^scores has 5 rows"),
        *(({"scores": np.ones(shape)}, "^scores has shape") for shape in ((2, 2), (1, 4), (4, 2))),
        *(({"y": [1, 0, 2, bad]}, "label of row 3") for bad in (-1, -0.5, -INF, INF, 1e-101)),
        ({"y": ["good", "bad", "ugly", "bad"]}, "^relevance must be numbers"),
        ({"y": {"q1": {"d1": 2}}, "groups": ["a"]}, "^relevance.*skrank.trec.evaluate"),
        ({"y": np.ones((2, 2)), "groups": [1, 2]}, "^relevance.*groups="),
        ({"y": [], "scores": [], "groups": []}, "^relevance is empty"),
    ],
)
def test_arrays_that_are_refused(call, changes, named):
    with pytest.raises(ValueError, match=named):
        call(**changes)


WEIGHTS = [
    ([1, 2, 3, 3], "sample_weight.*query 'a'"),
    *(([1, 1, bad, bad], f"weight of query 'b' is {bad}") for bad in (-1.0, INF, NAN)),
    ([0, 0, 0, 0], "sample_weight"),
    ([1, 1], "^sample_weight has 2 rows"),
    (ONES, "^sample_weight has shape"),
]


@pytest.mark.parametrize("call", list(CALLS)[:-1], indirect=True)
@pytest.mark.parametrize(("weights", "named"), WEIGHTS)
def test_weights(call, weights, named):
    with pytest.raises(ValueError, match=named):
        call(sample_weight=weights)
    scattered = ["a", "b", "a", "b"]
    call(groups=scattered, sample_weight=[1, 2, 1, 2])
    with pytest.raises(ValueError, match=r"sample_weight.*query 'b'"):
        call(groups=scattered, sample_weight=[1, 1, 1, 2])


# one call each

MASKED = np.ma.array([[1.0, 2.0], [2.0, 1.0]], mask=[[0, 0], [0, 1]])
FAR = [2.0, 1.0, 0.0]
CHANCES = np.random.default_rng(0).uniform(size=60)


def gap(labels, **given):
    return skrank.metric("gap")(labels, FAR, **given)


def masked(values):
    return np.ma.array(values, mask=[0, 1, 0])


def in_sum(thresholds):
    return lambda: metrics.GAP(thresholds=thresholds)(Y, SCORES, groups=GROUPS)


REFUSED = [
    (lambda: skrank.evaluate(Y, SCORES), "evaluate.*with_groups"),
    *((in_sum(g), "^thresholds=") for g in
      ([0.5, -0.5, 1], [0.5, 0.6], [0, 0], [], [NAN, 1], ["a"], 1.0, {0: 0.5, 1: 0.5}, "01",
       {0.3, 0.7}, pd.DataFrame([[0.5, 0.5]]))),
    (lambda: skrank.metric("gap", thresholds=[0.5, 0.5], max_grade=3), "2 thresholds"),
    (in_sum([1]), r"label 2 \(row 2\).*max_grade=1 of gap"),
    *((lambda m=name: skrank.metric(m, max_grade=1)(Y, SCORES), r"label 2 \(row 2\).*max_grade=1")
      for name in ("gap", "err")),
    # high labels would allocate memory; sums of very high or low ones overflow or vanish
    *((lambda y=y: gap(y), rf"\(row {np.argmax(y)}\).*1000")
      for y in ([1, 0, 2**31], [1, 0, 1e18], [1e30, 0, 1])),
    *((lambda m=name: skrank.metric(m)([1, 0, 2**31], FAR), r"\(row 2\)") for name in
      ("err", "nerr", "rbp", "rpref(variant=n)", "ndcg", "dcg", "cg", "q(gain=exp2)")),
    *((lambda m=name, y=y: skrank.metric(m)([1, y, 0], FAR), "label of row 1") for name in
      ("gap", "ndcg(gain=linear)", "ap", "err") for y in (1e308, 1.1e100, 1e-101, 5e-324)),
    (lambda: skrank.metric("pfound")([2**31, 0], [2, 1]), "label 2.*above 1"),
    (lambda: trec.Qrels.from_arrays(["q", "q"], ["a", "b"], [1, 1e308]), "row 1 .*'b'"),
    # fractional labels ask for a rule
    *((lambda f=f: f([0.9, 0.8, 0.1], FAR), r"label 0\.1 \(row 2\).*fractional=") for f in
      (skrank.metric("gap"), skrank.metric("gap").per_query, skrank.LambdaRank("gap"),
       metrics.graded_precision_recall_curve)),
    # arrays of other kinds
    (lambda: gap(masked([1, 0, 2])), "row 1 of relevance"),
    (lambda: gap([1, 0, 2], groups=masked([1, 1, 2])), "row 1 of groups"),
    (lambda: gap([1, 0, 2**53]), "row 2 of relevance"),
    *((lambda s=s: skrank.metric("gap")([0, 1, 0], s), r"row 0 of scores.*2\*\*53") for s in
      (np.array([2**53, 2**53 + 1, 0]), np.array([-(2**53) - 1, -(2**53), 0]),
       np.array([2**63, 2**63 + 1, 0], dtype=np.uint64), [2**53, 2**53 + 1, 0.5],
       (2**70, 2**70 + 1, 0), pd.Series([2**53, 2**53 + 1, 0], dtype="Int64"))),
    *((lambda one=one: gap([1, 0, 2], groups=pd.Series(["a", one, one], dtype=object)),
       "row 1 of groups is of type") for one in ([1, 2], np.array([1, 2]), {}, (1, 2))),
    *((lambda q=q: skrank.with_groups(q, CHANCES > 0.5), "^relevance holds")
      for q in (np.arange(60).astype(str), [f"q{i}" for i in range(60)])),
    # other functions
    (lambda: stats.paired_t(MASKED), "row 1 of scores"),
    *((lambda ranker=ranker, X=X: ranker.fit(X, [1, 0], groups=[1, 1]), named)
      for ranker in (skrank.LinearRanker(), skrank.GroupedRanker(Ridge()))
      for X, named in ((MASKED, "row 1 of X"), ([[1.0], [2.0, 3.0]], "^X must"))),
    *((lambda f=f: f.fit([[1.0, "2"]] * 2, [1, 0], groups=[1, 1]), "column 1 of X")
      for f in (skrank.LinearRanker(), skrank.QueryFeatures())),
    (lambda: skrank.metric("rbp", p=10**400), "^p="),
    (lambda: skrank.metric("bpm", T=1e-10), "^T="),
    (lambda: stats.t_interval([]), "values"),
    (lambda: stats.t_interval(FAR, confidence=1.5), r"^confidence=1.5.*1\)"),
    (lambda: stats.paired_t({"a": FAR, "b": FAR}), "^scores.*DataFrame"),
    (lambda: stats.max_t(ONES, pairs=[(0, 1), (1,)]), "^pairs"),
    *((lambda q=q, i=i: trec.Run.from_top_k(q, i, None), "indices") for q, i in
      ((["q"], 5), (["q"], [[5], [1, 2]]), ("q", [[5]]), (["q"], np.ma.array([[5]], mask=True)))),
    *((lambda test=test: test(skrank.evaluate(Y, SCORES, groups=GROUPS).per_query), "unstack")
      for test in (stats.discriminative_power, stats.max_t, stats.tukey_hsd)),
    (lambda: stats.t_interval(
        skrank.evaluate(Y, {"a": SCORES, "b": SCORES}, groups=GROUPS).per_query), "unstack"),
    (lambda: skrank.evaluate("qrels.txt", "a.run"), "trec.evaluate"),
    (lambda: skrank.compare({"q": {"d": 1}}, {"a": {}, "b": {}}), "trec.evaluate"),
    (lambda: active.simulate([1, 2], [1, 1], 5, costs=np.ma.array([1, 2], mask=[0, 1])),
     "row 1 of costs"),
    (lambda: extending.PairWorth(np.ones(2), [0, 1e300], [0, 1e300], np.multiply),
     "PairWorth.upper times PairWorth.lower"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "named"), REFUSED)
def test_errors_name_the_argument(call, named):
    """skrank raises the errors, not NumPy; masks are not ignored."""
    with pytest.raises((ValueError, TypeError), match=named) as error:
        call()
    assert odd.is_ours(error.value)


@pytest.mark.parametrize(
    "groups",
    [
        ["a", NAN, "b"],
        pd.Categorical(["a", None, "b"]),
        np.array(["2020", "NaT", "2021"], dtype="M8[D]"),
        np.array([1, NAN, 2]),
    ],
)
def test_missing_query_ids(groups):
    with pytest.raises(ValueError, match=r"groups.*row 1"):
        gap([1, 0, 2], groups=groups)
    with pytest.raises(ValueError, match=r"groups.*row 1"):
        skrank.with_groups([1, 0, 2], groups)
    with pytest.raises(ValueError, match=r"docid.*row 1"):
        trec.Run.from_arrays(["a", "b", "c"], groups, [1, 0, 2])


# flags, and scorers

TABLE = np.random.default_rng(0).random((8, 3))
QRELS = trec.Qrels.from_arrays(["1", "1"], ["a", "b"], [1, 0])
RUN = trec.Run.from_arrays(["1", "1"], ["a", "b"], [1, 0])
FLAGS = {
    "shuffle": lambda given: skrank.QueryKFold(shuffle=given),
    "judged_only": lambda given: trec.evaluate(QRELS, RUN, "ap", judged_only=given),
    "refit": lambda given: skrank.GroupedRanker(Ridge(), options={"refit": given}).fit(
        TABLE, [1, 0] * 4
    ),
}


@pytest.mark.parametrize("given", ["no", pd.NA, 2])
@pytest.mark.parametrize("name", FLAGS)
def test_flags_are_true_or_false(name, given):
    with pytest.raises(ValueError, match=f"^{name}={given!r}"):
        FLAGS[name](given)


@pytest.mark.parametrize("of", [list, np.array, pd.Series])
@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda values: skrank.metrics.GAP(k=values), "k="),
        (lambda values: stats.max_t(ONES, pairs=values), "pairs="),
    ],
)
def test_messages_do_not_have_all_values_of_an_array(call, named, of):
    with pytest.raises(ValueError, match=named) as error:
        call(of(range(3000)))
    assert len(str(error.value)) < 300
