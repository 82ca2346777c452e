"""Classifiers of ordered grades."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank.active import ActiveEvaluator
from skrank.active.models import GradeClassifier, OrderedLogit, expected_grade
from skrank.datasets import make_ranking

data = make_ranking(80, n_docs=(5, 20), random_state=0)


@parametrize_with_checks([OrderedLogit(), GradeClassifier(LogisticRegression())])
def test_models_are_scikit_learn_classifiers(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "model", [OrderedLogit(), GradeClassifier(LogisticRegression(max_iter=1000)), GradeClassifier()]
)
def test_probabilities_are_distributions_and_separate_grades(model):
    model = make_pipeline(StandardScaler(), model).fit(data.X, data.relevance)
    probabilities = model.predict_proba(data.X)
    assert probabilities.shape == (len(data.X), 5)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities.min() >= 0
    expected = expected_grade(model, data.X)
    means = [expected[data.relevance == grade].mean() for grade in range(5)]
    assert (np.diff(means) > 0).all()


def test_ordered_logit_maximises_likelihood_times_prior():
    """The gradient of the logarithm of the posterior, by its definition, is 0."""
    random = np.random.default_rng(2)
    X, codes = random.standard_normal((40, 3)), random.integers(0, 4, 40)
    model = OrderedLogit(C=0.3).fit(X, codes)

    def log_posterior(parameters):
        w, theta = parameters[:3], parameters[3:]
        reach = expit((X @ w)[:, None] - np.r_[-np.inf, theta, np.inf])
        rows = np.arange(40)
        return np.log(reach[rows, codes] - reach[rows, codes + 1]).sum() - w @ w / 0.6

    found = np.r_[model.coef_, model.thresholds_]
    np.testing.assert_allclose(approx_fprime(found, log_posterior, 1e-6), 0, atol=0.01)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_a_classifier_that_misses_a_grade_serves_a_campaign():
    few = data.relevance < 4
    model = OrderedLogit().fit(data.X[few], data.relevance[few])

    def probabilities(label_model, **options):
        options = {"metric": "err", "label_model": label_model} | options
        return ActiveEvaluator(data.X[:, 0], data.qid, **options).sampling.probability

    found = pd.DataFrame(model.predict_proba(data.X), columns=model.classes_)
    given = np.column_stack([found, np.zeros(len(data.X))])
    by_name = probabilities(found, grades=range(5))
    np.testing.assert_allclose(by_name, probabilities(given, grades=range(5)))
    with pytest.raises(ValueError, match="grade 3"):
        probabilities(found, grades=range(3))
