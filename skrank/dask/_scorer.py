"""Scorers and predictions of models on Dask collections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._fitted import chain_of, predicted_scores, trained_grade
from skrank._typing import DaskColumn, DaskTable, Estimator, Table
from skrank.dask._evaluate import joined_report
from skrank.dask._partitions import aligned_partitions
from skrank.metrics import Metric
from skrank.scoring import RankingScorer, as_scores

if TYPE_CHECKING:
    import pandas as pd

_DASK_MODELS = ("lightgbm.dask", "xgboost.dask", "dask_ml")  # modules


def scorer(
    *metrics: str | Metric, max_grade: int | None = None, response_method: str = "auto"
) -> DaskScorer:
    """Make a scorer of models on Dask collections, as `skrank.scorer` makes one for arrays.

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
    DaskScorer

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
    return DaskScorer(RankingScorer(metrics, max_grade=max_grade, response_method=response_method))


class DaskScorer:
    """Scorer of one or more metrics for models on Dask; `skrank.dask.scorer` makes it.

    Models of LightGBM's and XGBoost's Dask interfaces, of dask-ml, and rankers of skrank around
    them, predict whole collections. All other models predict each partition on its worker. Higher
    scores are better, as with `skrank.scorer`.
    """

    def __init__(self, local: RankingScorer) -> None:
        self._local = local  # the scorer of arrays with the same parameters

    def __call__(
        self,
        estimator: Estimator,
        X: DaskTable,
        y: DaskColumn,
        *,
        groups: DaskColumn | None = None,
        sample_weight: DaskColumn | None = None,
    ) -> float | dict[str, float]:
        """Score a fitted model.

        Parameters
        ----------
        estimator : fitted model
        X : dask Array or DataFrame of shape (n_rows, n_features)
        y : dask Array or Series of shape (n_rows,)
            Labels, at least 0; NaN = not judged.
        groups : dask Array or Series of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `y`.
        sample_weight : dask Array or Series of shape (n_rows,), optional
            Weight of each row's query, constant inside a query.

        Returns
        -------
        float, or dict of str to float
            Mean over queries; a dict if there is more than one metric.

        Raises
        ------
        ValueError
            As `skrank.dask.evaluate`; and if a metric depends on the highest grade of the
            collection, and this grade is not known.
        """
        metrics = {str(one): one for one in self._local.metrics}
        max_grade = self._local.max_grade or trained_grade(estimator)
        for metric in metrics.values():
            if metric.needs_scale and max_grade is None:
                raise check.missing_scale(metric)
        on_collections = predicts_collections(estimator)
        scores = estimator.predict(X) if on_collections else X
        pieces = aligned_partitions(X=scores, y=y, groups=groups, sample_weight=sample_weight)
        if not on_collections:
            import dask

            model = dask.delayed(estimator, traverse=False)
            predict = dask.delayed(_predicted_scores, pure=False)
            method = self._local.response_method
            pieces = [(predict(model, part, method), *rest) for part, *rest in pieces]
        pieces = [(labels, scores, *rest) for scores, labels, *rest in pieces]
        report = joined_report(pieces, metrics, max_grade)
        return as_scores(dict(zip(metrics.values(), report.averages[0].tolist(), strict=True)))

    def __repr__(self) -> str:
        return f"skrank.dask.{self._local!r}"


def predicts_collections(estimator: Estimator) -> bool:
    """True if `predict` of a model gets and returns Dask collections."""
    names = [cls.__module__ for model in chain_of(estimator) for cls in type(model).__mro__]
    return any(name == own or name.startswith(f"{own}.") for name in names for own in _DASK_MODELS)


def _predicted_scores(estimator: Estimator, X: Table, response_method: str) -> ArrayLike:
    """Scores of a partition, which may be empty."""
    return predicted_scores(estimator, X, response_method) if X.shape[0] else []


def head_of(X: DaskTable) -> Table:
    """A table with the columns of a collection and no rows."""
    if not hasattr(X, "columns"):
        return np.empty((0, X.shape[1]))
    import pandas as pd

    return pd.DataFrame(columns=X.columns).astype(X.dtypes)


def predict_collection(ranker: Estimator, X: DaskTable) -> DaskTable:
    """Scores of a dask Array or DataFrame by a fitted ranker, partition by partition."""
    import dask

    if hasattr(X, "columns"):
        model = dask.delayed(ranker, traverse=False)
        return X.map_partitions(_series, model, meta=("score", "f8"))
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return X.map_blocks(_scores, ranker, dtype=np.float64, drop_axis=1, meta=np.empty(0))


def _scores(X: Table, ranker: Estimator) -> np.ndarray:
    """Scores of a partition, of the dtype in the metadata of the collection."""
    return np.asarray(ranker.predict(X) if X.shape[0] else (), dtype=np.float64)


def _series(X: pd.DataFrame, ranker: Estimator) -> pd.Series:
    import pandas as pd

    return pd.Series(_scores(X, ranker), X.index, name="score", dtype=np.float64)
