"""LinearRanker in scikit-learn: groups, tools, checks, pickles, and what it refuses."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.utils.estimator_checks import parametrize_with_checks

import skrank
from skrank import LinearRanker
from skrank.datasets import make_ranking

DATA = make_ranking(40, n_docs=(5, 20), n_features=5, n_informative=4, random_state=0)
X, LABELS, QID = DATA.X, DATA.relevance, DATA.qid
Y = skrank.with_groups(LABELS, QID)
CV = skrank.QueryKFold(3)


def test_groups_from_every_source_give_one_model():
    frame = pd.DataFrame(X, index=pd.Index(QID, name="qid"))
    models = [
        LinearRanker().fit(X, Y),
        LinearRanker().fit(X, LABELS, QID),
        LinearRanker().fit(X, LABELS, qid=QID),
        LinearRanker().fit(frame, LABELS),
    ]
    for model in models:
        assert model.coef_.tolist() == models[0].coef_.tolist()
        assert model.score(X, Y) == pytest.approx(skrank.metric("ndcg@10")(Y, model.predict(X)))


def test_searches_and_cross_validation_in_both_modes():
    ranker = LinearRanker(random_state=0)
    grid = {"alpha": [1e-3, 10.0], "objective": ["gap", "ndcg"]}
    found = GridSearchCV(ranker, grid, scoring=skrank.scorer("gap"), cv=CV).fit(X, Y)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = GridSearchCV(ranker, grid, scoring=skrank.scorer("gap"), cv=CV)
        routed.fit(X, LABELS, groups=QID)
    means = found.cv_results_["mean_test_score"]
    assert routed.cv_results_["mean_test_score"].tolist() == means.tolist()
    assert len(set(means)) == 4
    scores = cross_validate(found.best_estimator_, X, Y, cv=CV, scoring=skrank.scorer("gap"))
    assert scores["test_score"].mean() == pytest.approx(found.best_score_)


def test_score_measures_scoring_and_not_what_is_trained():
    model = LinearRanker("gap", scoring="err@5").fit(X, Y)
    assert model.score(X, Y) == skrank.scorer("err@5")(model, X, Y)


def test_clones_and_pickles():
    ranker = LinearRanker(skrank.SoftRank("gap"), alphas=[0.1, 1e-3], random_state=0)
    before = repr(ranker)
    model = clone(ranker).fit(X, Y)
    assert repr(ranker) == before
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.predict(X).tolist() == model.predict(X).tolist()
    assert clone(model).fit(X, Y).coef_.tolist() == model.coef_.tolist()


def test_unjudged_documents():
    labels = LABELS.astype(float)
    labels[::7] = np.nan
    judged = ~np.isnan(labels)
    with pytest.raises(ValueError, match=r'row 0 was not judged.*unjudged="drop"'):
        LinearRanker().fit(X, labels, QID)
    dropped = LinearRanker(unjudged="drop").fit(X, labels, QID)
    expected = LinearRanker().fit(X[judged], LABELS[judged], QID[judged])
    np.testing.assert_allclose(dropped.coef_, expected.coef_)
    zero = LinearRanker(unjudged="zero").fit(X, labels, QID)
    expected = LinearRanker().fit(X, np.nan_to_num(labels), QID)
    np.testing.assert_allclose(zero.coef_, expected.coef_)


def test_a_split_that_cuts_queries_warns():
    with pytest.warns(skrank.CutQueryWarning):
        cross_validate(LinearRanker(), X, Y, cv=3, scoring=skrank.scorer("gap"))


# refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1}, "alpha=-1 must be"),
        ({"alphas": []}, "alphas=.* at least one number"),
        ({"alphas": [1.0, -1.0]}, "each of alphas=-1"),
        ({"alphas": [1.0], "validation_fraction": 1.0}, "validation_fraction=1.0 must be below 1"),
        ({"sigma": 0}, "sigma=0.0 must be"),
        ({"sigma": []}, "sigma=.* at least one number"),
        ({"max_iter": 0}, "max_iter=0 must be at least 1"),
        ({"tol": -1}, "tol=-1 must be"),
        ({"objective": "gapp"}, "did you mean 'gap'"),
        ({"objective": skrank.Softmax(random_gains=True)}, "LinearRanker cannot train on softmax"),
        ({"objective": skrank.AdditivePositionBias("gap")}, "LinearRanker cannot train on"),
        ({"unjudged": "maybe"}, "unjudged='maybe'"),
        ({"max_queries": 0}, "max_queries=0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        LinearRanker(**parameters).fit(X, Y)


def test_bad_data():
    ranker = LinearRanker()
    with pytest.raises(ValueError, match=r"LinearRanker\.fit needs the query of each row"):
        ranker.fit(X, LABELS)
    with pytest.raises(ValueError, match="two names"):
        ranker.fit(X, LABELS, QID, qid=QID)
    with pytest.raises(ValueError, match="each of the 5 rows is a query of its own"):
        ranker.fit(X[:5], LABELS[:5], np.arange(5))
    with pytest.raises(ValueError, match="no training query has a relevant document"):
        ranker.fit(X, np.zeros(len(X)), QID)
    with pytest.raises(ValueError, match="labels must be at least 0"):
        ranker.fit(X, LABELS - 1.0, QID)
    with pytest.raises(ValueError, match="varies inside query"):
        ranker.fit(X, LABELS, QID, sample_weight=np.arange(len(X)) + 1.0)
    with pytest.raises(ValueError, match=r"row \d+ of X is infinite in column \d: replace .* NaN"):
        ranker.fit(np.where(X > 2, np.inf, X), LABELS, QID)
    with pytest.raises(ValueError, match="X_val and y_val belong together"):
        ranker.fit(X, LABELS, QID, X_val=X)
    with pytest.raises(ValueError, match="X_val chooses among alphas"):
        ranker.fit(X, LABELS, QID, X_val=X, y_val=Y)
    with pytest.raises(NotFittedError):
        LinearRanker().predict(X)
    with pytest.raises(ValueError, match="4 features"):
        ranker.fit(X, LABELS, QID).predict(X[:, 1:])


# scikit-learn's own checks ------------------------------------------------------------------------


class OneQuery(LinearRanker):
    """Takes all rows for one query: scikit-learn's checks know no groups."""

    def fit(self, X, y, groups=None):
        if groups is None and y is not None:
            groups = np.zeros(len(y), int)
        return super().fit(X, y, groups)

    def score(self, X, y, groups=None, sample_weight=None):
        return super().score(X, y, np.zeros(len(y), int), sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = tags.regressor_tags = None  # whose checks have labels below 0
        return tags


@parametrize_with_checks([OneQuery(max_iter=1000), OneQuery("err@5", max_iter=1000)])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
