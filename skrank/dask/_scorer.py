"""Scorers and predictions of models on Dask collections."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._fitted import predicted_scores, trained_grade
from skrank._typing import DaskColumn, DaskTable, Estimator
from skrank.dask._evaluate import evaluate
from skrank.dask._partitions import unsplit_columns
from skrank.metrics import Metric
from skrank.scoring import RankingScorer, _as_scores


def scorer(
    *metrics: str | Metric, max_grade: int | None = None, response_method: str = "auto"
) -> Callable[..., float | dict[str, float]]:
    """Make a scorer of models on Dask collections, as `skrank.scorer` makes one for arrays.

    The model predicts each partition on its worker. For models that predict whole collections, such
    as those of dask-ml, use ``skrank.dask.evaluate(y, model.predict(X), groups)``.

    Parameters
    ----------
    *metrics : str or Metric
        With one metric, the scorer returns a float; with several, a dict of floats.
    max_grade : int, optional
        Highest grade of the collection, for metrics that depend on it. Default: the highest
        training label of the model, if it is known.
    response_method : {"auto", "predict", "predict_proba", "decision_function"}
        Method that gives the scores, for models that predict arrays: see `skrank.scorer`.

    Returns
    -------
    callable
        ``score(model, X, y, *, groups=None, sample_weight=None)`` of Dask collections returns the
        mean over queries, as in `skrank.dask.evaluate`; a dict if there is more than one metric.
        Higher scores are better. It raises if a metric depends on the highest grade of the
        collection, and this grade is not known.

    Raises
    ------
    ValueError
        If no metric is given, one is unknown, or one is given twice.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import skrank.dask
    >>> from sklearn.linear_model import Ridge
    >>> X, y = np.arange(6.0).reshape(6, 1), np.array([0, 1, 2, 1, 0, 1])
    >>> model = Ridge().fit(X, y)
    >>> X, y, groups = (da.from_array(one, chunks=3) for one in (X, y, np.repeat([1, 2], 3)))
    >>> round(skrank.dask.scorer("ndcg@2")(model, X, y, groups=groups), 4)
    0.8066
    """
    local = RankingScorer(metrics, max_grade=max_grade, response_method=response_method)
    return partial(_score, local)


def _score(
    local: RankingScorer,
    estimator: Estimator,
    X: DaskTable,
    y: DaskColumn,
    *,
    groups: DaskColumn | None = None,
    sample_weight: DaskColumn | None = None,
) -> float | dict[str, float]:
    max_grade = local.max_grade or trained_grade(estimator)
    for metric in local.metrics:
        if metric.needs_scale and max_grade is None:
            raise check.missing_scale(metric)
    scores = predict_collection(estimator, X, local.response_method)
    report = evaluate(
        y, scores, groups, local.metrics, max_grade=max_grade, sample_weight=sample_weight
    )
    return _as_scores(dict(zip(local.metrics, report.averages[0].tolist(), strict=True)))


def predict_collection(model: Estimator, X: DaskTable, method: str = "predict") -> DaskTable:
    """Scores of a dask Array or DataFrame by a fitted model, partition by partition."""
    import dask

    if hasattr(X, "columns"):
        sent = dask.delayed(model, traverse=False)  # to each worker once
        return X.map_partitions(_scores, sent, method, meta=("score", "f8"))
    return unsplit_columns(X).map_blocks(_scores, model, method, drop_axis=1, meta=np.empty(0))


def _scores(X: Any, model: Estimator, method: str) -> Any:
    """Scores of a partition, of the dtype in the metadata of the collection."""
    scores: Any = np.asarray(predicted_scores(model, X, method) if X.shape[0] else (), np.float64)
    if hasattr(X, "iloc"):
        import pandas as pd

        scores = pd.Series(scores, X.index, name="score")
    return scores
