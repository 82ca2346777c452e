"""LinearRanker: unjudged documents, and errors."""

import numpy as np
import pytest

import skrank
from skrank import LinearRanker
from skrank.datasets import make_ranking

DATA = make_ranking(40, n_docs=(5, 20), n_features=5, n_informative=4, random_state=0)
X, LABELS, QID = DATA.X, DATA.relevance, DATA.qid
Y = skrank.with_groups(LABELS, QID)


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
    with pytest.raises(ValueError, match="each of the 5 rows is a query of its own"):
        ranker.fit(X[:5], LABELS[:5], np.arange(5))
    with pytest.raises(ValueError, match="no training query has a relevant document"):
        ranker.fit(X, np.zeros(len(X)), QID)
    with pytest.raises(ValueError, match="labels must be at least 0"):
        ranker.fit(X, LABELS - 1.0, QID)
    with pytest.raises(ValueError, match=r"row \d+ of X is infinite in column \d: replace .* NaN"):
        ranker.fit(np.where(X > 2, np.inf, X), LABELS, QID)
    with pytest.raises(ValueError, match="uses X_val to choose among alphas"):
        ranker.fit(X, LABELS, QID, X_val=X, y_val=Y)


def test_complex_steepness_is_refused():
    with pytest.raises(ValueError, match=r"sigma=.* must be a sequence of numbers"):
        skrank.LinearRanker("softrank:ndcg", sigma=[1j]).fit(np.eye(2), [1, 0], [1, 1])
