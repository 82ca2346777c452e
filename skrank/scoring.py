"""Scorers of scikit-learn that compute ranking metrics from the query of each row."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import collection_of, require_groups, warn_of_cut_queries
from skrank._engine.judgments import Judgments
from skrank._engine.metric import measure
from skrank._engine.names import unique_metrics
from skrank._engine.queries import Queries
from skrank._engine.ranking import Ranking
from skrank._fitted import RESPONSES, predicted_scores, trained_grade, warn_of_qid_feature
from skrank._typing import Estimator, Table
from skrank.metrics import Metric, metric, registered

if TYPE_CHECKING:
    from sklearn.utils.metadata_routing import MetadataRequest

__all__ = ["RankingScorer", "get_scorer_names", "scorer"]

_NEGATED = "neg_"  # scikit-learn's prefix of negated scores


def scorer(
    *metrics: str | Metric, max_grade: int | None = None, response_method: str = "auto"
) -> RankingScorer:
    """Make a scorer for GridSearchCV, cross_validate and the other tools of scikit-learn.

    Parameters
    ----------
    *metrics : str or Metric
        Metrics, or their names, such as ``"gap@10"``. With one metric, the scorer returns a float;
        with several, a dict of floats. ``refit="gap"`` of a search chooses one of the metrics.
    max_grade : int, optional
        Highest grade of the collection, for metrics such as err that depend on it. Default: the
        highest label that was passed to `skrank.with_groups`, if `y` is a part of its result;
        otherwise the highest label that the model was trained on (`max_grade_` of
        `skrank.GroupedRanker`, also inside ensembles, or the highest class of a classifier). All
        folds thus share one scale. If neither is known, such a metric raises an error.
    response_method : {"auto", "predict", "predict_proba", "decision_function"}
        Method that gives the scores; with `predict_proba`, the score is the expected grade. "auto":
        `predict` of a regressor; else the first of `predict_proba`, `decision_function` and
        `predict` that the model has.

    Returns
    -------
    RankingScorer

    Raises
    ------
    ValueError
        If no metric is given, one is unknown, or one is given twice.

    Examples
    --------
    >>> import skrank
    >>> from skrank.datasets import make_ranking
    >>> from skrank.scoring import scorer
    >>> from skrank.model_selection import QueryKFold
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import cross_validate
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> y = skrank.with_groups(data.relevance, data.qid)
    >>> scores = cross_validate(
    ...     Ridge(), data.X, y, cv=QueryKFold(3), scoring=scorer("gap", "ndcg@10")
    ... )
    >>> sorted(scores)
    ['fit_time', 'score_time', 'test_gap', 'test_ndcg@10']
    """
    return RankingScorer(metrics, max_grade=max_grade, response_method=response_method)


def get_scorer_names() -> list[str]:
    """Names of metrics that `scorer` accepts; a cut-off and parameters may be added to them.

    Returns
    -------
    list of str
        Sorted, aliases included. A metric for which lower is better has the prefix ``"neg_"``.

    Examples
    --------
    >>> from skrank.scoring import get_scorer_names
    >>> "gap" in get_scorer_names()
    True
    """
    classes = registered().values()
    return sorted(
        name if cls.greater_is_better else _NEGATED + name for cls in classes for name in cls.names
    )


class RankingScorer:
    """Scorer of one or more metrics; `skrank.scorer` makes it.

    The groups come from the first source that has them: `groups=` (passed by scikit-learn when
    metadata routing is enabled), the index level "qid" of `y` (see `skrank.with_groups`), the index
    level "qid" of `X`, the column "qid" of `X`. Higher scores are better: a metric for which lower
    is better is negated and, in a dict, has the prefix ``neg_``.

    Parameters
    ----------
    metrics : sequence of str or Metric
    max_grade, response_method
        See `skrank.scorer`.

    Notes
    -----
    The scorer ranks only the rows that it gets. A splitter such as `KFold` puts rows of one query
    into the training and the test part; the scorer then measures shortened lists of training
    queries, and warns (see `skrank.CutQueryWarning`). `skrank.QueryKFold` keeps queries whole.
    """

    def __init__(
        self,
        metrics: Sequence[str | Metric],
        *,
        max_grade: int | None = None,
        response_method: str = "auto",
    ) -> None:
        chosen = check.several("metrics", metrics, (str, Metric))
        plain = [
            _without_prefix(item) if isinstance(item, str) and item.startswith(_NEGATED) else item
            for item in chosen
        ]
        self.metrics = tuple(unique_metrics(plain).values())
        self.max_grade = check.check_max_grade(max_grade)
        self.response_method = check.check_choice(
            "response_method", response_method, ("auto", *RESPONSES)
        )
        self._bound_groups: np.ndarray | None = None  # see `bind`
        self._requests: dict[str, object] = {"groups": True, "sample_weight": None}  # of metadata

    def __call__(
        self,
        estimator: Estimator,
        X: Table,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float | dict[str, float]:
        """Score a fitted model.

        Parameters
        ----------
        estimator : fitted model
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels, at least 0; NaN = not judged.
        groups : array-like of shape (n_rows,), optional
            Query of each row.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row's query, constant inside a query.

        Returns
        -------
        float, or dict of str to float
            Mean over queries; a dict if there is more than one metric.

        Raises
        ------
        ValueError
            If groups are missing, have the wrong length, or differ between two sources; if a metric
            depends on the highest grade of the collection, and this grade is not known.

        Warns
        -----
        CutQueryWarning
            If a query has fewer rows than in the call of `skrank.with_groups`.
        """
        if groups is None and self._bound_groups is not None:
            groups, n_rows = self._bound_groups, np.shape(y)[0]
            if len(groups) != n_rows:
                raise ValueError(
                    f"this scorer is bound to the groups of {len(groups)} rows, and y has {n_rows} "
                    "rows. To score other rows, use y = skrank.with_groups(relevance, groups)."
                )
        check.check_same_index(X=X, y=y, groups=groups, sample_weight=sample_weight)
        ids = require_groups(groups, y, X, who="the scorer")
        if len(ids) == 0:
            raise ValueError("y is empty: there is no document to rank.")
        queries = Queries.from_groups(ids)
        judgments = Judgments(check.without_index(y), queries, collection=collection_of(y))
        weights = check.query_weights(sample_weight, queries)
        check.warn_single_rows(queries)
        warn_of_cut_queries(y, queries.ids, queries.sizes, "rows that are scored")
        warn_of_qid_feature(X, estimator)
        ranking = Ranking(judgments, predicted_scores(estimator, X, self.response_method, ids))
        max_grade = None
        if any(metric.needs_scale for metric in self.metrics):
            max_grade = judgments.collection_grade or trained_grade(estimator)
        # a given grade bounds the labels of all metrics, as in `evaluate`
        plans = [
            metric.bind_part(judgments, max_grade=max_grade)
            if self.max_grade is None
            else metric.bind(judgments, max_grade=self.max_grade)
            for metric in self.metrics
        ]
        means = measure(judgments, [ranking], plans, weights).means()[0].tolist()
        return _as_scores(dict(zip(self.metrics, means, strict=True)))

    def bind(self, groups: ArrayLike | None) -> RankingScorer:
        """A copy of the scorer that stores the groups of one data set.

        For tools that do not pass groups, such as `permutation_importance` on arrays. Each call of
        the copy must score all rows of the data set, in the order of `groups`.

        Parameters
        ----------
        groups : array-like of shape (n_rows,)

        Returns
        -------
        RankingScorer
        """
        bound = copy.copy(self)
        bound._bound_groups = require_groups(groups, who="bind")
        return bound

    # methods that scikit-learn calls --------------------------------------------------------------

    def set_score_request(self, **requests: bool | str | None) -> RankingScorer:
        """Choose the metadata that scikit-learn passes where metadata routing is enabled.

        Parameters
        ----------
        **requests : bool, None or str
            For `groups` (default: True) and `sample_weight` (default: None). True: passed. False:
            not passed. None: an error if the user passes it. A str: passed from this name.

        Returns
        -------
        RankingScorer
            The scorer itself.

        Examples
        --------
        >>> from skrank.scoring import scorer
        >>> scorer("gap").set_score_request(groups="session")
        scorer('gap')
        """
        check.check_known("metadata of a scorer", requests, self._requests)
        self._requests = self._requests | requests
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """The metadata that the scorer requests.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        routing = MetadataRequest(owner=type(self).__name__)
        for name, alias in self._requests.items():
            routing.score.add_request(param=name, alias=alias)
        return routing

    def _accept_sample_weight(self) -> bool:
        """Return True, so that searches without metadata routing pass `sample_weight`."""
        return True

    def __sklearn_clone__(self) -> RankingScorer:
        """A copy that shares the bound groups."""
        return copy.copy(self)

    @property
    def __name__(self) -> str:
        """Names of the metrics, for displays of scikit-learn."""
        return ", ".join(map(str, self.metrics))

    def __repr__(self) -> str:
        parts = [repr(str(metric)) for metric in self.metrics]
        if self.max_grade is not None:
            parts.append(f"max_grade={self.max_grade}")
        if self.response_method != "auto":
            parts.append(f"response_method={self.response_method!r}")
        bound = "" if self._bound_groups is None else f".bind(<{len(self._bound_groups)} rows>)"
        return f"scorer({', '.join(parts)}){bound}"


def _without_prefix(item: str) -> Metric:
    """The metric of a name with the prefix "neg_"."""
    chosen = metric(item.removeprefix(_NEGATED))
    if chosen.greater_is_better:
        raise ValueError(
            f"{item!r} is not a scorer: higher values of {chosen} are better. Write '{chosen}'."
        )
    return chosen


def _as_scores(means: Mapping[Metric, float]) -> float | dict[str, float]:
    """Scores from means of metrics, negated if lower is better; a dict if there are several."""
    scores: dict[str, float] = {}
    for measured, mean in means.items():
        name = str(measured)
        scores |= {name: mean} if measured.greater_is_better else {_NEGATED + name: -mean}
    return scores if len(scores) > 1 else next(iter(scores.values()))
