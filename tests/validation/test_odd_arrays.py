"""Arrays whose conversion would change numbers or merge queries."""

import numpy as np
import pandas as pd
import pytest

import skrank
from skrank import metrics, trec
from skrank.datasets import make_ranking

GAP = skrank.metric("gap")
FAR = [2.0, 1.0, 0.0]


# memory does not depend on the size of a label


def test_high_labels_do_not_allocate_memory():
    for labels in ([1, 0, 2**31], [1, 0, 1e18], [1e30, 0, 1]):
        row = int(np.argmax(labels))
        message = rf"label .* \(row {row}\) is above 1000, the highest grade that gap takes: bin"
        with pytest.raises(ValueError, match=message):
            GAP(labels, FAR)
    for name in ("err", "nerr", "rbp", "rpref(variant=n)"):
        with pytest.raises(ValueError, match=r"\(row 2\) is above 1000, the highest .* that .*bin"):
            skrank.metric(name)([1, 0, 2**31], FAR)
    for name in ("ndcg", "dcg", "cg", "q(gain=exp2)"):
        with pytest.raises(ValueError, match=r"\(row 2\) is too high for gain=exp2.*gain=linear"):
            skrank.metric(name)([1, 0, 2**31], FAR)
    assert skrank.metric("ap")([1, 0, 2**31], FAR) == pytest.approx((1 + 2 / 3) / 2)
    assert skrank.metric("ndcg(gain=linear)@1")([1, 0, 2**31], FAR) == 2**-31


@pytest.mark.parametrize(
    "name", ["gap", "ndcg(gain=linear)", "ap", "err", "q", "pfound(p_rel=raw)"]
)
@pytest.mark.parametrize("label", [1e308, 1.1e100, 1e-101, 5e-324])
def test_labels_whose_sums_overflow_or_vanish_are_refused(name, label):
    with pytest.raises(ValueError, match=r"label of row 1 is .*between 1e-100 and 1e\+100.*bin"):
        skrank.metric(name)([1, label, 0], FAR)


def test_labels_of_files_are_named_by_document(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("q 0 a 1\nq 0 b 4294967296\n")
    run = trec.Run.from_arrays(["q", "q"], ["a", "b"], [2, 1])
    with pytest.raises(ValueError, match=r"document 'b' of query 'q'\) is above 1000"):
        trec.evaluate(path, run, "gap")
    with pytest.raises(ValueError, match=r"row 1 .*'b' .* 1e\+308"):
        trec.Qrels.from_arrays(["q", "q"], ["a", "b"], [1, 1e308])


# fractional labels


@pytest.mark.parametrize(
    "call",
    [
        lambda y, s: GAP(y, s),
        lambda y, s: GAP.per_query(y, s),
        lambda y, s: metrics.graded_precision_recall_curve(y, s),
        lambda y, s: skrank.evaluate(y, s, groups=[1] * 4, metrics="gap"),
        lambda y, s: skrank.LambdaRank("gap")(y, s),
        lambda y, s: skrank.metric("0.5*gap+0.5*ndcg")(y, s),
    ],
)
def test_fractional_labels_ask_for_a_rule(call):
    message = r"label 0\.1 \(row 2\) stands between two grades.*labels=\"step\".*labels=\"interp\""
    with pytest.raises(ValueError, match=message):
        call([0.9, 0.8, 0.1, 1.0], [4, 3, 2, 1])
    call([1.0, 0.0, 2.0, np.nan], [4, 3, 2, 1])


def test_fractional_labels_by_either_rule():
    labels, scores = [0.9, 0.8, 0.1, 1.0], [4, 3, 2, 1]
    assert skrank.metric("gap(labels=step)")(labels, scores) == 0.25
    assert skrank.metric("gap(labels=interp)")(labels, scores) == pytest.approx(0.89, abs=0.005)


# arrays of odd kinds


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.ma.array([1, 0, 2], mask=[0, 1, 0]), "row 1 of relevance is masked: fill it"),
        (np.array(["2020", "NaT", "2021"], dtype="M8[Y]"), "not dates or times"),
        ([1, 0, 2**53], r"row 2 of relevance is a whole number of 2\*\*53 or more"),
        (1, r"relevance has shape \(\)"),
        (iter([1, 0, 2]), "relevance must be numbers"),
        ([[1], [0, 2], [1]], "relevance must be one value per row"),
    ],
)
def test_labels_of_odd_kinds(labels, message):
    with pytest.raises(ValueError, match=message):
        GAP(labels, FAR)


@pytest.mark.parametrize(
    "scores",
    [
        np.array([2**53, 2**53 + 1, 0]),
        np.array([-(2**53) - 1, -(2**53), 0]),
        np.array([2**63, 2**63 + 1, 0], dtype=np.uint64),
        [2**53, 2**53 + 1, 0],
        [2**53, 2**53 + 1, 0.5],
        (2**70, 2**70 + 1, 0),
        pd.Series([2**53, 2**53 + 1, 0]),
        pd.Series([2**53, 2**53 + 1, 0], dtype="Int64"),
    ],
)
def test_whole_scores_that_double_precision_would_tie(scores):
    with pytest.raises(ValueError, match=r"row 0 of scores is a whole number of 2\*\*53 or more"):
        GAP([0, 1, 0], scores)
    assert GAP([0, 1, 0], np.array([2**53 - 2, 2**53 - 1, 0])) == 1


def test_masked_arrays_without_a_mask_are_taken():
    assert GAP(np.ma.array([1, 0, 2]), np.ma.array(FAR)) == GAP([1, 0, 2], FAR)
    with pytest.raises(ValueError, match="row 0 of scores is masked"):
        GAP([1, 0, 2], np.ma.array(FAR, mask=[1, 0, 0]))
    with pytest.raises(ValueError, match="row 0 of groups is masked"):
        GAP([1, 0, 2], FAR, groups=np.ma.array([1, 1, 2], mask=[1, 0, 0]))
    with pytest.raises(ValueError, match="row 1 of relevance is masked"):
        skrank.with_groups(np.ma.array([1, 0, 2], mask=[0, 1, 0]), [1, 1, 1])


@pytest.mark.parametrize(
    "groups",
    [
        ["a", float("nan"), "b"],
        ["a", None, "b"],
        np.array(["a", None, "b"], dtype=object),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Categorical(["a", None, "b"]),
        pd.to_datetime(["2020-01-01", None, "2020-01-02"]),
        np.array(["2020", "NaT", "2021"], dtype="M8[D]"),
        np.array([1, np.nan, 2]),
    ],
)
def test_missing_query_ids(groups):
    with pytest.raises(ValueError, match="groups has no query id in row 1"):
        GAP([1, 0, 2], FAR, groups=groups)
    with pytest.raises(ValueError, match="qid has no query id in row 1"):
        skrank.with_groups([1, 0, 2], groups)
    with pytest.raises(ValueError, match="qid has no query id in row 1"):
        trec.Qrels.from_arrays(groups, ["a", "b", "c"], [1, 0, 2])
    with pytest.raises(ValueError, match="docid has no document id in row 1"):
        trec.Run.from_arrays(["a", "b", "c"], groups, [1, 0, 2])


@pytest.mark.parametrize("one", [[1, 2], np.array([1, 2]), {}])
def test_objects_that_cannot_be_query_ids(one):
    with pytest.raises(ValueError, match=r"row 1 of groups is of type .* cannot be query ids"):
        GAP([1, 0, 2], FAR, groups=pd.Series(["a", one, one], dtype=object))


@pytest.mark.parametrize("dtype", [">i2", ">i4", ">i8", ">f4", ">f8", ">U3", "S3", "f2", bool])
def test_groups_of_any_byte_order_and_width(dtype):
    groups = np.array([0, 1, 0, 1], dtype=dtype)
    expected = GAP.per_query([0, 2, 1, 0], [4, 3, 2, 1], groups=[0, 1, 0, 1])
    found = GAP.per_query([0, 2, 1, 0], [4, 3, 2, 1], groups=groups)
    assert found.tolist() == expected.tolist()
    y = skrank.with_groups(np.array([0, 2, 1, 0]), groups)
    assert GAP.per_query(y, [4, 3, 2, 1]).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "groups", [["1", 1, "1", 1], [1.5, "1.5", 1.5, "1.5"], [-1, 2**63, -1, 2**63 + 1][::-1]]
)
def test_ids_of_a_list_that_one_dtype_would_merge(groups):
    found = GAP.per_query([1, 1, 0, 0], [4, 3, 2, 1], groups=groups)
    assert len(found) == len(set(groups))


# labels and ids that are swapped


@pytest.mark.parametrize("seed", range(3))
def test_labels_and_ids_that_are_swapped(seed):
    data = make_ranking(n_queries=40, random_state=seed)
    skrank.with_groups(data.relevance, data.qid)  # without a warning
    skrank.with_groups(data.relevance, data.qid + 1000.0)
    with pytest.warns(UserWarning, match="40 different values and qid 5 .* labels first"):
        skrank.with_groups(data.qid, data.relevance)
    rows = np.random.default_rng(seed).permutation(len(data.qid))
    with pytest.warns(UserWarning, match="as if they were swapped"):
        skrank.with_groups(data.qid[rows], data.relevance[rows])
    with pytest.raises(ValueError, match=r"relevance holds strings.* labels, .* first"):
        skrank.with_groups(data.qid.astype(str), data.relevance)
    with pytest.raises(ValueError, match="relevance holds strings"):
        skrank.with_groups([f"q{i}" for i in data.qid], data.relevance)


@pytest.mark.parametrize(
    ("relevance", "qid"),
    [
        ([0, 1, 2, 3, 4] * 4, [1] * 10 + [2] * 10),
        (np.arange(200) % 7, np.repeat(np.arange(5), 40)),
        (np.random.default_rng(0).integers(0, 500, 300), np.repeat([1, 2, 3], 100)),  # clicks
        (np.linspace(0, 1, 90), np.repeat([0, 1, 2], 30)),  # measured relevance
        (np.sort(np.arange(200) % 5)[::-1], np.arange(200) % 4),  # rows in the order of relevance
        (np.zeros(50), np.repeat(np.arange(10), 5)),
        ([np.nan, 1, 0], [0, 0, 1]),
        (np.arange(12), np.zeros(12, int)),
        (pd.Series([1, 0, None], dtype="Int64"), ["a", "a", "b"]),
        ([], []),
    ],
)
def test_labels_and_ids_that_are_not_swapped(relevance, qid):
    assert len(skrank.with_groups(relevance, qid)) == len(qid)
