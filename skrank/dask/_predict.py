"""Predictions of models on Dask collections."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._fitted import predicted_scores
from skrank._typing import DaskTable, Estimator
from skrank.dask._partitions import unsplit_columns


def predict_collection(model: Estimator, X: DaskTable) -> DaskTable:
    """Scores of a dask Array or DataFrame by a fitted model, partition by partition."""
    import dask

    sent = dask.delayed(model, traverse=False)  # to each worker once
    if hasattr(X, "columns"):
        return X.map_partitions(_scores, sent, meta=("score", "f8"))
    return unsplit_columns(X).map_blocks(_scores, sent, drop_axis=1, meta=np.empty(0))


def _scores(X: Any, model: Estimator) -> Any:
    """Scores of a partition, of the dtype in the metadata of the collection."""
    values = predicted_scores(model, X, "predict") if X.shape[0] else ()
    scores: Any = np.asarray(values, np.float64)
    if hasattr(X, "iloc"):
        import pandas as pd

        scores = pd.Series(scores, X.index, name="score")
    return scores
