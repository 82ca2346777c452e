"""RankerMean: definition, names of rankers, tools of scikit-learn, and errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import skrank
from skrank import GroupedRanker, LinearRanker, RankerMean
from skrank.datasets import make_ranking
from tests.helpers.rankers import First, lgbm, with_options

DATA = make_ranking(40, n_docs=(5, 15), n_features=6, n_informative=4, random_state=0)
X, LABELS, QID = DATA.X, DATA.relevance, DATA.qid
Y = skrank.with_groups(LABELS, QID)


def boosted(seed=0, **options):
    trees = lgbm(n_estimators=40, extra_trees=True, random_state=seed)
    return with_options(GroupedRanker, trees, objective="gap", **options)


def linear(**options):
    return with_options(LinearRanker, max_iter=20, tol=1e-3, **options)


def spread(scores, groups):
    """Standard deviation inside queries."""
    scores = pd.Series(scores)
    return np.sqrt(((scores - scores.groupby(groups).transform("mean")) ** 2).mean())


@pytest.mark.parametrize("weights", [None, [3, 1]])
def test_scores_are_the_weighted_mean_of_standardised_scores(weights):
    mean = RankerMean([linear(), Ridge()], weights=weights).fit(X, Y)
    parts = [linear().fit(X, Y), Ridge().fit(X, LABELS)]
    shares = [0.5, 0.5] if weights is None else [0.75, 0.25]
    expected = sum(
        share * one.predict(X) / spread(one.predict(X), QID)
        for share, one in zip(shares, parts, strict=True)
    )
    np.testing.assert_allclose(mean.predict(X), expected, rtol=1e-6, atol=1e-6)
    assert mean.weights_.tolist() == shares
    assert mean.max_grade_ == LABELS.max()
    assert mean.score(X, Y) == skrank.metric("ndcg@10")(Y, mean.predict(X))


def test_constant_scores_have_factor_0():
    alone = RankerMean([linear()]).fit(X, Y).predict(X)
    mean = RankerMean([linear(), Ridge(alpha=1e300)]).fit(X, Y)
    assert mean.factors_[1] == 0
    np.testing.assert_allclose(mean.predict(X), alone / 2, rtol=1e-6)


def test_rankers_are_named_as_in_a_pipeline_and_can_be_set_and_replaced():
    names = ["groupedranker-1", "groupedranker-2", "mine", "ridge"]
    mean = RankerMean([boosted(0), boosted(1), ("mine", linear()), Ridge()])
    assert mean.get_params()["groupedranker-2__estimator__random_state"] == 1
    assert list(mean.fit(X, Y).named_estimators_) == names
    mean = RankerMean([boosted(), linear()])
    mean.set_params(groupedranker__estimator__num_leaves=3, scoring="gap")
    assert mean.estimators[0].estimator.num_leaves == 3
    mean.set_params(groupedranker=Ridge(), groupedranker__alpha=7.0)
    assert mean.get_params()["groupedranker__alpha"] == mean.estimators[0][1].alpha == 7.0
    mean.set_params(estimators=[("a", linear())], a__alpha=0.5)
    assert mean.estimators[0][1].alpha == 0.5
    with pytest.raises(ValueError, match="'b'"):
        mean.set_params(b=1)


@pytest.mark.parametrize(
    ("mean", "message"),
    [
        (RankerMean([]), "at least one"),
        (RankerMean([("a", Ridge()), ("a", linear())]), "'a'"),
        (RankerMean([("a__b", Ridge())]), "contains '__'"),
        (RankerMean([lgbm()]), r"GroupedRanker\(LGBMRanker\(.*\)\)"),
        (RankerMean([linear()], weights=[1, 2]), "weights="),
        (RankerMean([linear()], weights=[-1]), "at least 0"),
        (RankerMean([linear()], weights="equal"), "weights="),
        (RankerMean([linear()], scoring="gab"), "gab"),
        (RankerMean([linear(), First(np.inf)]), "scores row 0"),
    ],
)
def test_bad_parameters_raise(mean, message):
    with pytest.raises(ValueError, match=message):
        mean.fit(X, Y)


def test_validation_rows_and_dask_collections_are_refused():
    with pytest.raises(ValueError, match="X_val"):
        RankerMean([linear()]).fit(X, Y, X_val=X, y_val=Y)
    array = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="Dask collection"):
        RankerMean([linear()]).fit(array.from_array(X), Y)


def test_a_ranker_that_returns_too_few_scores_is_named():
    class Short(Ridge):
        def predict(self, X):
            return super().predict(X)[: 1 if len(X) < 20 else None]

    mean = RankerMean([("short", Short()), ("linear", linear())]).fit(X, Y)
    with pytest.raises(ValueError, match="predict of Short"):
        mean.predict(X[:5])
    with pytest.raises(ValueError, match="predict of Short"):
        skrank.scorer("gap")(mean.estimators_[0], X[:5], LABELS[:5], groups=QID[:5])
