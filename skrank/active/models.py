"""Label models: a classifier of ordered grades, with a probability for each grade."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank import _renamed
from skrank._typing import Estimator, RandomState
from skrank.extending import restored_on_failure

__all__ = ["GradeClassifier"]


class GradeClassifier(ClassifierMixin, BaseEstimator):
    """Probabilities of ordered grades from one binary classifier per threshold.

    For every grade but the lowest, a classifier learns P(label >= grade). Differences of these
    probabilities are the probabilities of the grades. If P(label >= grade) increases with the grade
    in a row, the probabilities of the row are sorted first.

    Parameters
    ----------
    estimator : classifier with predict_proba, optional
        Fitted once per threshold. Default: a random forest of 200 trees with leaves of at least 5
        rows, whose probabilities are smoother than those of a full forest.
    random_state : int, RandomState instance or None
        Seed of the default forest.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Grades, ascending.
    estimators_ : list of classifiers
        Classifiers of the grades ``classes_[1:]``.

    References
    ----------
    C. Sawade et al., Active evaluation of ranking functions based on graded relevance, Machine
    Learning 92, 2013, section 5.1. P. Li, C. Burges, Q. Wu, McRank, NIPS 2007, section 4.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skrank.active.models import GradeClassifier
    >>> model = GradeClassifier(LogisticRegression()).fit([[0], [1], [2], [3]], [0, 0, 1, 2])
    >>> model.predict([[0], [3]])
    array([0, 2])
    """

    def __init__(
        self, estimator: Estimator | None = None, *, random_state: RandomState = None
    ) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> GradeClassifier:
        """Fit one classifier per threshold.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Grades.

        Returns
        -------
        self
        """
        with restored_on_failure(self):
            features, grades = validate_data(self, X, y, ensure_all_finite=False)
            check_classification_targets(grades)
            self.classes_, codes = np.unique(grades, return_inverse=True)
            base = self.estimator
            if base is None:
                base = RandomForestClassifier(
                    n_estimators=200, min_samples_leaf=5, random_state=self.random_state
                )
            self.estimators_ = [
                clone(base).fit(features, (codes >= code).astype(int))
                for code in range(1, len(self.classes_))
            ]
        return self

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probability of each grade.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        check_is_fitted(self)
        features = validate_data(self, X, reset=False, ensure_all_finite=False)
        above = [model.predict_proba(features)[:, 1] for model in self.estimators_]
        descending = -np.sort(-np.reshape(above, (len(above), len(features))), axis=0)
        return -np.diff(descending, axis=0, prepend=1.0, append=0.0).T

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The most probable grade.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]


_renamed.refuse_old_names(__name__)
