"""`skrank.rank` against its definition, `rank` of rankers, and errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import skrank
from skrank.datasets import make_ranking

DATA = make_ranking(12, n_docs=(3, 9), n_features=4, n_informative=3, random_state=0)
X, LABELS, QID = DATA.X, DATA.relevance, DATA.qid
FRAME = pd.DataFrame(X, index=pd.Index(QID, name="qid")).add_prefix("f")
METHODS = {"stable": "first", "average": "average", "best": "min", "worst": "max"}


def by_definition(scores, groups, ids, k, ties):
    """The same table, by pandas."""
    table = pd.DataFrame({"qid": groups, "docid": ids, "score": scores})
    table = table[table["score"] > -np.inf]
    ranks = table.groupby("qid")["score"].rank(method=METHODS[ties], ascending=False)
    table.insert(1, "rank", ranks)
    place = pd.Categorical(table["qid"], categories=pd.unique(groups), ordered=True).codes
    order = np.lexsort((-table["score"], place))
    return table.iloc[order].groupby("qid").head(k).reset_index(drop=True)


@pytest.mark.parametrize("ties", METHODS)
@pytest.mark.parametrize("k", [None, 1, 3])
def test_the_table_equals_the_definition(ties, k):
    rng = np.random.default_rng(0)
    groups = rng.choice(["b", "a", "c"], 40)
    scores = rng.choice([-np.inf, -1.0, 0.0, 0.5, 2.0], 40)
    scores[groups == "c"] = -np.inf  # no document of "c" is listed
    ids = np.array([f"d{row}" for row in range(40)])
    found = skrank.rank(scores, groups, ids=ids, k=k, ties=ties)
    expected = by_definition(scores, groups, ids, 40 if k is None else k, ties)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert found["rank"].dtype == ("float64" if ties == "average" else "int64")


def test_groups_come_from_the_argument_or_the_index():
    scores = np.array([0.1, 0.5, 0.2])
    expected = skrank.rank(scores, ["a", "b", "a"])
    assert expected["docid"].to_list() == [2, 0, 1]  # by default, numbers of rows
    series = pd.Series(scores, index=pd.Index(["a", "b", "a"], name="qid"))
    pd.testing.assert_frame_equal(skrank.rank(series), expected)
    with pytest.raises(ValueError, match="row 2"):
        skrank.rank(series, ["a", "b", "b"])
    assert skrank.rank(scores)["qid"].to_list() == [0, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scores": [0.1, np.nan]}, "score of row 1"),
        ({"scores": [np.inf, 0.1]}, "score of row 0"),
        ({"scores": []}, "scores"),
        ({"groups": ["a"]}, "groups"),
        ({"ids": ["d1"]}, "ids"),
        ({"ids": ["d1", None]}, "ids.*row 1"),
        ({"ids": ["d1", "d1"]}, "row 1.*'d1' of query 0"),
        ({"k": 0}, "k=0"),
        ({"k": 2.5}, "k=2.5"),
        ({"ties": "first"}, "ties='first'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        skrank.rank(**{"scores": [0.3, 0.1]} | arguments)


@pytest.mark.parametrize(
    "ranker",
    [skrank.LinearRanker("gap"), skrank.GroupedRanker(LogisticRegression(max_iter=1000))],
    ids=str,
)
def test_rankers_rank_by_their_predictions(ranker):
    ranker.fit(FRAME, LABELS)
    ids = np.arange(len(X)) + 100
    expected = skrank.rank(ranker.predict(FRAME), QID, ids=ids, k=3)
    for given in ({"groups": QID}, {}):
        pd.testing.assert_frame_equal(ranker.rank(FRAME, ids=ids, k=3, **given), expected)
    assert (ranker.rank(FRAME, ties="best")["rank"] >= 1).all()
    single = ranker.rank(FRAME.reset_index(drop=True))  # one list
    pd.testing.assert_frame_equal(single, skrank.rank(ranker.predict(FRAME)))
    with pytest.raises(ValueError, match="groups"):
        ranker.rank(FRAME, [1, 2, 3])
