"""LinearRanker on Dask collections equals that of arrays; errors."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import StandardScaler

from skrank import LinearRanker, RankerMean
from skrank.datasets import make_ranking
from tests.helpers import dask_runs as runs
from tests.helpers.dask_runs import dask
from tests.helpers.rankers import fit_with

DATA = make_ranking(60, n_docs=(5, 25), n_features=6, n_informative=4, random_state=0)
LABELS, QID = DATA.relevance, DATA.qid
RNG = np.random.default_rng(0)
WEIGHT = RNG.choice([0.0, 0.5, 2.0], 60)[QID]
GAPS = np.where(RNG.random(DATA.X.shape) < 0.1, np.nan, DATA.X)
GAPS[LABELS > 0, 5] = np.nan  # NaN correlates with the grade
HEAVY = DATA.X * [1, 1e5, 1, 1, 1, 1]
HEAVY[:, 0] = np.sinh(4 * HEAVY[:, 0])
FRAME = pd.DataFrame(GAPS, columns=list("abcdef")).assign(
    few=pd.Categorical(RNG.choice(["x", "y", "z"], len(QID))),
    many=pd.Categorical(RNG.integers(0, 30, len(QID))),
)
CUT = int(np.searchsorted(QID, 20)), int(np.searchsorted(QID, 50))
on_dask = partial(runs.on_dask, cuts=CUT)  # three partitions of whole queries


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def both_linear(X=DATA.X, y=LABELS, qid=QID, sample_weight=None, **parameters):
    """Rankers that are trained on one machine, and on Dask."""
    alone = LinearRanker(**parameters).fit(X, y, qid, sample_weight=sample_weight)
    weight = None if sample_weight is None else on_dask(sample_weight)
    spread = LinearRanker(**parameters)
    spread.fit(on_dask(X), on_dask(y), on_dask(qid), sample_weight=weight)
    return alone, spread


@pytest.mark.parametrize(
    ("X", "objective", "weight"),
    [
        (GAPS, "gap", WEIGHT),
        (GAPS.astype(np.float32), "err@5", None),
        (HEAVY, "ndcg@10", None),
        (FRAME, "softmax", None),
        (FRAME, "gap", WEIGHT),
        (csr_matrix(np.where(DATA.X > 0, DATA.X, 0)), "gap", None),
    ],
    ids=["gaps", "single", "heavy", "frame", "weighted frame", "sparse"],
)
def test_weights_equal_those_of_one_machine(X, objective, weight):
    alone, spread = both_linear(X, objective=objective, sample_weight=weight)
    np.testing.assert_allclose(spread.coef_, alone.coef_, rtol=1e-6, atol=1e-6)
    lazy = spread.predict(on_dask(X))
    assert dask.is_dask_collection(lazy)
    np.testing.assert_allclose(lazy.compute(), alone.predict(X), rtol=1e-6, atol=1e-6)
    assert isinstance(spread.predict(X), np.ndarray)
    for name in ("n_iter_", "alpha_", "max_grade_", "n_features_in_"):
        assert getattr(spread, name) == getattr(alone, name)


def test_whole_queries_are_drawn_up_to_max_rows():
    rows = [DATA.X, np.where(LABELS == 4, 3, LABELS), QID]
    rows[1][-1] = 4  # the highest grade, of a query that may not be drawn
    how = {"options": {"max_rows": 300}, "random_state": 0}
    with pytest.warns(UserWarning, match="max_rows=300"):
        spread = LinearRanker(**how).fit(*map(on_dask, rows))
    assert spread.max_grade_ == 4
    order = np.random.RandomState(0).permutation(60)
    drawn = order[np.cumsum(np.bincount(QID)[order]) <= 300]
    alone = LinearRanker().fit(*(one[np.isin(QID, drawn)] for one in rows))
    np.testing.assert_allclose(spread.coef_, alone.coef_, rtol=0.2, atol=0.05)
    with pytest.warns(UserWarning, match="max_rows=1 "):  # at least one query
        LinearRanker(options={"max_rows": 1}).fit(*map(on_dask, rows))


@pytest.mark.filterwarnings("ignore:.*queries are drawn")
def test_rows_that_scale_a_mean_do_not_depend_on_the_generator_of_numpy():
    """They are drawn from more than 1,000,000 rows."""
    n_rows, cut = 1_000_200, (500_000,)
    features, qid = RNG.integers(0, 5, (n_rows, 1)), np.arange(n_rows) // 1000
    rows = [runs.on_dask(column, cut) for column in (features, features[:, 0], qid)]
    mean = RankerMean([LinearRanker(options={"max_rows": 2000}, random_state=0)])
    first, again = (mean.fit(*rows).factors_ for _ in range(2))
    assert first == again


def test_choices_of_queries_and_transformers_are_those_of_one_machine():
    """Rows are interleaved, and a partition is empty."""
    rng = np.random.default_rng(2)
    order = np.concatenate([rng.permutation(CUT[0]), CUT[0] + rng.permutation(len(QID) - CUT[0])])
    given = [one[order] for one in (DATA.X, LABELS, QID)]
    for how in (
        {"alpha": [1e-3, 1e-1], "validation_fraction": 0.2, "random_state": 0},
        {"max_queries": 40, "random_state": 0, "positive": True},
        {"features": StandardScaler()},
    ):
        spread = LinearRanker(**how).fit(*(runs.on_dask(one, (CUT[0], CUT[0])) for one in given))
        alone = LinearRanker(**how).fit(*given)
        np.testing.assert_allclose(spread.coef_, alone.coef_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": np.roll(QID, 3)}, "query 19 lies in partitions 0 and 1"),
        ({"y": np.where(np.arange(len(QID)) == CUT[0], -1, LABELS)}, "partition 1: .*row 0"),
        ({"y": np.where(np.arange(len(QID)) == CUT[1], np.nan, LABELS)}, "partition 2: .*row 0"),
        ({"y": np.zeros(len(QID))}, "no training query"),
        ({"X": np.where(DATA.X[CUT[1], 2] == DATA.X, np.inf, DATA.X)}, "infinite in column 2"),
        ({"sample_weight": np.arange(len(QID))}, "sample_weight varies"),
        ({"sample_weight": np.zeros(len(QID))}, "all weights"),
        ({"groups": np.arange(len(QID))}, "a query of its own"),
        ({"y": LABELS[:-1]}, "partition 2"),
        ({"options": {"unjudged": "drop"}}, "unjudged"),  # parameters that need all rows
        ({"options": {"max_rows": 0}}, "max_rows=0"),
    ],
)
def test_bad_collections_and_parameters(changes, message):
    given = {"groups": QID} | changes
    arrays = {name: on_dask(one) for name, one in given.items() if isinstance(one, np.ndarray)}
    with pytest.raises(ValueError, match=message):
        fit_with(LinearRanker(), on_dask(DATA.X), on_dask(LABELS), given | arrays)
