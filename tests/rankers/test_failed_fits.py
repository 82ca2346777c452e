"""A `fit` that raises an error does not change the attributes of a ranker."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.validation import check_is_fitted

from skrank import GroupedRanker, LinearRanker, RankerMean
from skrank.active.models import GradeClassifier, OrderedLogit
from skrank.datasets import make_ranking

DATA = make_ranking(40, n_docs=(5, 12), n_features=6, n_informative=4, random_state=0)
LABELS, QID = DATA.relevance, DATA.qid
OLD = pd.DataFrame(DATA.X[:, :5], columns=list("abcde"))
NEW = pd.DataFrame(DATA.X, columns=list("uvwxyz"))
VARYING = np.arange(len(LABELS)) + 1.0
FRACTION = {"validation_fraction": 0.3, "random_state": 0}


def trees(**parameters):
    return lightgbm.LGBMRanker(n_estimators=5, verbosity=-1, n_jobs=1, **parameters)


class Interrupted(Ridge):
    """Raises KeyboardInterrupt in a training on six features."""

    def fit(self, X, y, sample_weight=None):
        if X.shape[1] == 6:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


RANKERS = {
    "lightgbm": GroupedRanker(trees()),
    "stopping": GroupedRanker(trees(), objective="gap", **FRACTION),
    "xgboost": GroupedRanker(xgboost.XGBRanker(n_estimators=5, n_jobs=1), objective="gap"),
    "start": GroupedRanker(trees(), init="linear"),
    "linear": LinearRanker(),
    "alphas": LinearRanker(alphas=[0.1, 1.0], random_state=0),
    "mean": RankerMean([LinearRanker(), GroupedRanker(trees())]),
}
every = pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)


FAILURES = {
    "weights": {"y": LABELS, "groups": QID, "sample_weight": VARYING},
    "labels": {"y": LABELS - 1, "groups": QID},
    "length": {"y": LABELS[1:], "groups": QID[1:]},
    "validation": {"y": LABELS, "groups": QID, "X_val": OLD, "y_val": LABELS, "groups_val": QID},
}


@every
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_fit_changes_nothing(ranker, failure):
    model = clone(ranker)
    before = dict(vars(model))
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        model.fit(NEW, **FAILURES[failure])
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    model.fit(OLD, LABELS, groups=QID)
    before, scores = dict(vars(model)), model.predict(OLD)
    with pytest.raises(ValueError):  # noqa: PT011
        model.fit(NEW, **FAILURES[failure])
    after = vars(model)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    assert_array_equal(model.predict(OLD), scores)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(NEW)
    model.fit(DATA.X, LABELS, groups=QID)
    assert model.n_features_in_ == 6
    assert not hasattr(model, "feature_names_in_")


def test_a_training_that_is_interrupted_changes_nothing():
    model = GroupedRanker(Interrupted()).fit(OLD, LABELS)
    scores = model.predict(OLD)
    with pytest.raises(KeyboardInterrupt):
        model.fit(NEW, LABELS)
    assert model.n_features_in_ == 5
    assert_array_equal(model.predict(OLD), scores)


@pytest.mark.parametrize("failing", [{"y": 0 * LABELS}, {"y": LABELS + 0.5}])
@pytest.mark.parametrize("model", [GradeClassifier(LogisticRegression()), OrderedLogit()], ids=str)
def test_failed_fits_of_classifiers_change_nothing(model, failing):
    model = model.fit(OLD, LABELS)
    classes = model.classes_
    probabilities = model.predict_proba(OLD)
    try:
        model.fit(NEW, **failing)
    except ValueError:
        assert model.classes_ is classes
        assert model.n_features_in_ == 5
        assert_array_equal(model.predict_proba(OLD), probabilities)
    else:
        assert model.n_features_in_ == 6


def test_failed_fits_on_dask_collections_change_nothing():
    dask_array = pytest.importorskip("dask.array")
    pytest.importorskip("distributed")
    from lightgbm import DaskLGBMRanker

    model = GroupedRanker(trees()).fit(OLD, LABELS, groups=QID)
    scores = model.predict(OLD)
    model.set_params(estimator=DaskLGBMRanker(), unjudged="raise")
    X, y, groups = (dask_array.from_array(one) for one in (NEW.to_numpy(), LABELS, QID))
    with pytest.raises(ValueError):  # noqa: PT011 - no client, whatever distributed says
        model.fit(X, y, groups=groups)
    assert model.n_features_in_ == 5
    assert_array_equal(model.predict(OLD), scores)
