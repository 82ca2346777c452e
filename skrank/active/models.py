"""Label models: classifiers with a probability for each grade."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank import _validation as check
from skrank._typing import Estimator, RandomState
from skrank.extending import restored_on_failure


def expected_grade(model: Estimator, X: ArrayLike) -> np.ndarray:
    """Mean grade under the probabilities of a fitted classifier: a score to rank by.

    Parameters
    ----------
    model : fitted classifier
        Its classes must be numbers.
    X : array-like of shape (n_rows, n_features)

    Returns
    -------
    ndarray of shape (n_rows,)

    References
    ----------
    P. Li, C. Burges, Q. Wu, McRank: Learning to rank using classification and gradient boosting,
    NIPS 2007.

    Examples
    --------
    >>> from skrank.active.models import OrderedLogit, expected_grade
    >>> expected_grade(OrderedLogit().fit([[0], [1], [2], [3]], [0, 0, 1, 2]), [[1]]).round(2)
    array([0.48])
    """
    return model.predict_proba(X) @ np.asarray(model.classes_, dtype=np.float64)


class _OrderedClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier of grades by the probabilities P(label >= grade)."""

    classes_: np.ndarray

    @abstractmethod
    def _reach(self, X: ArrayLike) -> np.ndarray:
        """P(label >= grade) for each grade but the lowest, of shape (n_rows, n_classes - 1)."""

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
        reach = -np.sort(-self._reach(X), axis=1)  # descending
        one, zero = np.ones((len(reach), 1)), np.zeros((len(reach), 1))
        return -np.diff(np.hstack([one, reach, zero]), axis=1)

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


class GradeClassifier(_OrderedClassifier):
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

    See Also
    --------
    OrderedLogit : a single linear model for all thresholds.

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

    def _reach(self, X: ArrayLike) -> np.ndarray:
        features = validate_data(self, X, reset=False, ensure_all_finite=False)
        above = [model.predict_proba(features)[:, 1] for model in self.estimators_]
        return np.reshape(above, (len(above), len(features))).T


class OrderedLogit(_OrderedClassifier):
    r"""Ordered logistic regression: one linear score, one threshold per grade.

    .. math:: P(y \ge k) = \frac1{1 + \exp(\theta_k - w \cdot x)}, \quad
              \theta_1 < \theta_2 < \ldots

    The weights have a normal prior (maximum a posteriori). Scale the features to unit variance
    first, for instance in a pipeline with ``StandardScaler``.

    Parameters
    ----------
    C : float
        Variance of the prior of each weight: the smaller, the stronger the regularisation.
    max_iter : int
        Most iterations of the optimiser (L-BFGS).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Grades, ascending.
    coef_ : ndarray of shape (n_features,)
    thresholds_ : ndarray of shape (n_classes - 1,)
        Ascending.
    n_iter_ : int

    References
    ----------
    P. McCullagh, Regression models for ordinal data, Journal of the Royal Statistical Society B 42,
    1980.

    Examples
    --------
    >>> from skrank.active.models import OrderedLogit
    >>> model = OrderedLogit().fit([[0], [1], [2], [3]], [0, 0, 1, 2])
    >>> model.predict([[0], [3]])
    array([0, 2])
    """

    def __init__(self, C: float = 1.0, *, max_iter: int = 500) -> None:
        self.C = C
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike) -> OrderedLogit:
        """Maximise likelihood times prior.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Grades, of at least two kinds.

        Returns
        -------
        self
        """
        check.check_number("C", self.C, 0, np.inf, open_low=True)
        with restored_on_failure(self):
            features, grades = validate_data(self, X, y, dtype=np.float64)
            check_classification_targets(grades)
            self.classes_, codes = np.unique(grades, return_inverse=True)
            n_thresholds = len(self.classes_) - 1
            if n_thresholds == 0:
                raise ValueError("OrderedLogit needs at least 2 classes: the data has 1 class.")
            shares = 1 - np.cumsum(np.bincount(codes))[:-1] / len(codes)
            theta = -np.log(shares / (1 - shares))
            # Parameters are the first threshold and the logarithms of the differences, so that
            # thresholds ascend.
            n_features = features.shape[1]
            start = np.r_[np.zeros(n_features), theta[0], np.log(np.maximum(np.diff(theta), 1e-3))]
            found = minimize(
                _penalised_loss, start, args=(features, codes, 1 / self.C), jac=True,
                method="L-BFGS-B", options={"maxiter": self.max_iter},
            )  # fmt: skip
            self.coef_ = found.x[:n_features]
            self.thresholds_ = _thresholds(found.x[n_features:])
            self.n_iter_ = int(found.nit)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on unordered classes
        return tags

    def _reach(self, X: ArrayLike) -> np.ndarray:
        scores = validate_data(self, X, dtype=np.float64, reset=False) @ self.coef_
        return expit(scores[:, None] - self.thresholds_)


def _thresholds(free: np.ndarray) -> np.ndarray:
    return free[0] + np.concatenate(([0.0], np.cumsum(np.exp(free[1:]))))


def _penalised_loss(
    parameters: np.ndarray, X: np.ndarray, codes: np.ndarray, penalty: float
) -> tuple[float, np.ndarray]:
    """Negative logarithm of likelihood times prior, and the gradient."""
    n_features = X.shape[1]
    w, free = parameters[:n_features], parameters[n_features:]
    theta = np.concatenate(([-np.inf], _thresholds(free), [np.inf]))
    score = X @ w
    reach, surpass = expit(score - theta[codes]), expit(score - theta[codes + 1])
    p = np.maximum(reach - surpass, 1e-300)
    d_reach, d_surpass = reach * (1 - reach) / p, surpass * (1 - surpass) / p
    d_theta = np.bincount(codes, d_reach, len(theta)) - np.bincount(
        codes + 1, d_surpass, len(theta)
    )
    inner = d_theta[1:-1]
    later = np.cumsum(inner[::-1])[::-1]  # a difference shifts all later thresholds
    gradient = np.concatenate(
        (X.T @ (d_surpass - d_reach) + penalty * w, later[:1], later[1:] * np.exp(free[1:]))
    )
    return float(-np.log(p).sum() + penalty / 2 * (w @ w)), gradient
