"""LinearRanker on Dask collections: weights equal those of one machine; errors."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, issparse
from sklearn.preprocessing import StandardScaler

import skrank
from skrank import LinearRanker
from skrank.datasets import make_ranking

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

import skrank.dask  # noqa: E402
from tests.helpers.rankers import fit_with  # noqa: E402

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


@pytest.fixture(scope="module", autouse=True)
def client():
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        yield client


def on_dask(values, cuts=CUT):
    """A collection of three partitions, of whole queries by default."""
    parts = [values[first:last] for first, last in zip((0, *cuts), (*cuts, None), strict=True)]
    if issparse(values):
        meta = csr_matrix((0, values.shape[1]))
        lazy = [da.from_delayed(dask.delayed(part), part.shape, meta=meta) for part in parts]
        return da.concatenate(lazy)
    if hasattr(values, "iloc"):
        return dd.concat([dd.from_pandas(part, npartitions=1, sort=False) for part in parts])
    chunks = (tuple(map(len, parts)), *((size,) for size in values.shape[1:]))
    return da.from_array(values, chunks=chunks)


def both(X=DATA.X, y=LABELS, qid=QID, sample_weight=None, **parameters):
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
        (HEAVY, "0.5*ap+0.5*ndcg@10", None),
        (FRAME, "softmax", None),
        (FRAME, "gap", WEIGHT),
        (csr_matrix(np.where(DATA.X > 0, DATA.X, 0)), "gap", None),
    ],
    ids=["gaps", "single", "heavy", "frame", "weighted frame", "sparse"],
)
def test_weights_equal_those_of_one_machine(X, objective, weight):
    alone, spread = both(X, objective=objective, sample_weight=weight)
    np.testing.assert_allclose(spread.coef_, alone.coef_, rtol=1e-6)
    pd.testing.assert_frame_equal(spread.feature_map_.table, alone.feature_map_.table)
    lazy = spread.predict(on_dask(X))
    assert dask.is_dask_collection(lazy)
    np.testing.assert_allclose(lazy.compute(), alone.predict(X), rtol=1e-6, atol=1e-9)
    assert isinstance(spread.predict(X), np.ndarray)
    for name in ("n_iter_", "alpha_", "max_grade_", "n_features_in_"):
        assert getattr(spread, name) == getattr(alone, name)


@pytest.mark.filterwarnings("ignore:LinearRanker did not converge")
def test_samples_of_rows_equal_those_of_one_machine():
    """Maps of columns are chosen from at most 8192 rows, here from every third row."""
    times = 40
    rng = np.random.default_rng(1)
    X = np.tile(HEAVY, (times, 1)) * rng.lognormal(size=(times * len(QID), 1))
    y = np.tile(LABELS, times)
    qid = np.tile(QID, times) + np.repeat(60 * np.arange(times), len(QID))
    cuts = np.searchsorted(qid, [700, 1501])
    alone = LinearRanker(max_iter=5).fit(X, y, qid)
    spread = LinearRanker(max_iter=5).fit(*(on_dask(one, tuple(cuts)) for one in (X, y, qid)))
    np.testing.assert_array_equal(spread.feature_map_.center_, alone.feature_map_.center_)
    np.testing.assert_allclose(spread.coef_, alone.coef_, rtol=1e-6)


def test_rows_of_a_query_need_not_be_contiguous():
    rng = np.random.default_rng(2)
    order = np.concatenate([rng.permutation(CUT[0]), CUT[0] + rng.permutation(len(QID) - CUT[0])])
    given = [one[order] for one in (GAPS, LABELS, QID)]
    spread = LinearRanker().fit(*(on_dask(one, (CUT[0], CUT[0])) for one in given))  # one is empty
    np.testing.assert_allclose(spread.coef_, LinearRanker().fit(*given).coef_, rtol=1e-6)


def test_alphas_are_chosen_on_validation_collections():
    train = QID < 50
    how = {"alphas": [1e-4, 1e-2, 1.0], "eval_metric": "ndcg@5"}
    last = [one[~train] for one in (GAPS, LABELS, QID)]
    first = [one[train] for one in (GAPS, LABELS, QID)]
    names = ("X_val", "y_val", "groups_val")
    alone = LinearRanker(**how).fit(*first, **dict(zip(names, last, strict=True)))
    lazy = [on_dask(one, (int(np.searchsorted(last[2], 55)),)) for one in last]
    spread = LinearRanker(**how).fit(
        *(on_dask(one, CUT[:1]) for one in first), **dict(zip(names, lazy, strict=True))
    )
    assert spread.alpha_ == alone.alpha_
    np.testing.assert_allclose(spread.coef_, alone.coef_, rtol=1e-6)
    np.testing.assert_allclose(
        spread.evals_result_["validation"]["ndcg@5"], alone.evals_result_["validation"]["ndcg@5"]
    )


@pytest.mark.filterwarnings("ignore:LinearRanker did not converge")
def test_warm_start_and_positive():
    alone, spread = both(GAPS, positive=True, max_iter=3, warm_start=True, tol=0)
    np.testing.assert_allclose(spread.coef_, alone.coef_, rtol=1e-6)
    alone.fit(GAPS, LABELS, QID)
    spread.fit(on_dask(GAPS), on_dask(LABELS), on_dask(QID))
    np.testing.assert_allclose(spread.coef_, alone.coef_, rtol=1e-6)


def test_names_of_columns_are_stored_and_checked():
    spread = LinearRanker().fit(on_dask(FRAME), on_dask(pd.Series(LABELS)), on_dask(pd.Series(QID)))
    assert spread.feature_names_in_.tolist() == FRAME.columns.tolist()
    assert spread.predict(on_dask(FRAME)).compute().index.equals(FRAME.index)
    with pytest.raises(ValueError, match="feature names should match"):
        spread.predict(on_dask(FRAME[list("ab")]))
    value = skrank.dask.scorer("gap")(spread, on_dask(FRAME), on_dask(LABELS), groups=on_dask(QID))
    assert value == skrank.scorer("gap")(spread, FRAME, LABELS, groups=QID)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": np.roll(QID, 3)}, "query 19 lies in partitions 0 and 1: keep queries whole"),
        ({"y": np.where(np.arange(len(QID)) == CUT[0], -1, LABELS)}, "partition 1: .*row 0"),
        ({"y": np.where(np.arange(len(QID)) == CUT[1], np.nan, LABELS)}, "partition 2: .*row 0"),
        ({"y": np.zeros(len(QID))}, "no training query has a relevant document"),
        ({"X": np.where(DATA.X[CUT[1], 2] == DATA.X, np.inf, DATA.X)}, "infinite in column 2"),
        ({"sample_weight": np.arange(len(QID))}, "sample_weight varies inside query"),
        ({"sample_weight": np.zeros(len(QID))}, "all weights are 0"),
        ({"groups": np.arange(len(QID))}, "is a query of its own"),
        ({"groups": None}, r"LinearRanker\.fit needs groups="),
        ({"y": LABELS.tolist()}, "y must be a Dask collection, as X is"),
        # parameters that need all rows
        ({"max_queries": 3}, "max_queries is for data in memory"),
        ({"unjudged": "drop"}, "unjudged is for data in memory"),
        ({"alphas": [1e-3, 1e-2]}, "give other collections to fit as X_val"),
        ({"features": StandardScaler()}, "is fitted on one machine"),
    ],
)
def test_bad_collections_and_parameters(changes, message):
    given = {"groups": QID} | changes
    arrays = {name: on_dask(one) for name, one in given.items() if isinstance(one, np.ndarray)}
    with pytest.raises(ValueError, match=message):
        fit_with(LinearRanker(), on_dask(DATA.X), on_dask(LABELS), given | arrays)
