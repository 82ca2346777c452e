"""Classifiers of ordered grades."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank.active import ActiveEvaluator, Design
from skrank.active.models import GradeClassifier
from skrank.datasets import make_ranking

data = make_ranking(80, n_docs=(5, 20), random_state=0)


@parametrize_with_checks([GradeClassifier(LogisticRegression())])
def test_models_are_scikit_learn_classifiers(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "model", [GradeClassifier(LogisticRegression(max_iter=1000)), GradeClassifier()]
)
def test_probabilities_are_distributions_and_separate_grades(model):
    model = make_pipeline(StandardScaler(), model).fit(data.X, data.relevance)
    probabilities = model.predict_proba(data.X)
    assert probabilities.shape == (len(data.X), 5)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities.min() >= 0
    expected = probabilities @ np.arange(5)
    means = [expected[data.relevance == grade].mean() for grade in range(5)]
    assert (np.diff(means) > 0).all()


def test_a_classifier_that_misses_a_grade_serves_a_campaign():
    few = data.relevance < 4
    model = LogisticRegression(max_iter=1000).fit(data.X[few], data.relevance[few])

    def probabilities(label_model, grades):
        options = {"metric": "err", "label_model": label_model, "design": Design(grades=grades)}
        return ActiveEvaluator(data.X[:, 0], data.qid, **options).sampling.probability

    found = pd.DataFrame(model.predict_proba(data.X), columns=model.classes_)
    given = np.column_stack([found, np.zeros(len(data.X))])
    by_name = probabilities(found, range(5))
    np.testing.assert_allclose(by_name, probabilities(given, range(5)))
    with pytest.raises(ValueError, match="grade 3"):
        probabilities(found, range(3))
