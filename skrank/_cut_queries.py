"""Warnings of rows that are no complete queries, and of queries among the features."""

from __future__ import annotations

import warnings

import numpy as np

from skrank._engine.collection import LEVEL, collection_of
from skrank._engine.groups import show
from skrank._fitted import chain_of
from skrank._typing import Estimator, Table


class CutQueryWarning(UserWarning):
    """Some rows of a query are missing.

    Splits of rows, such as `KFold`, `train_test_split`, `learning_curve` and halving over
    ``"n_samples"``, cut through queries: models are then trained and measured on parts of lists,
    and measured on queries that they know, so that scores are too high or belong to another task.

    skrank's rankers, scorers and splitters compare the rows that they get with all rows of the call
    of `skrank.with_groups` that made the labels. They cannot see a cut where groups are passed by
    metadata routing or on the index of `X`, or where labels have become a NumPy array.

    `skrank.QueryKFold` and the other splitters keep queries whole; `max_queries` of
    `skrank.GroupedRanker` takes the place of the number of rows in learning curves and halving.
    If documents are left out on purpose, call `skrank.with_groups` on the others:
    ``y = skrank.with_groups(y[some], y.index[some])``. Where parts of queries are meant, silence
    the warning: ``warnings.simplefilter("ignore", skrank.CutQueryWarning)``.
    """


def warn_of_cut_queries(y: object, ids: np.ndarray, sizes: np.ndarray, where: str) -> None:
    """Warn if queries have fewer rows than in the collection that the labels are a part of.

    Parameters
    ----------
    y : labels
    ids, sizes : ndarray of shape (n_queries,)
        Queries of the labels and their numbers of rows.
    where : str
        Name of the rows in the message.
    """
    collection = collection_of(y)
    if collection is None:
        return
    complete = collection.sizes_of(ids)
    cut = np.flatnonzero(sizes < complete)
    if len(cut):
        first = cut[0]
        warnings.warn(
            f"{len(cut)} of {len(ids)} queries are cut in the {where}, first query "
            f"{show(ids[first])}, of which there are {sizes[first]} of {complete[first]} rows. "
            "Keep queries whole: split with skrank.QueryKFold or skrank.query_train_test_split, "
            "and vary max_queries of GroupedRanker instead of the number of rows "
            "(validation_curve for learning_curve, resource='max_queries' for halving). If "
            "documents are left out on purpose, call skrank.with_groups on the others, or ignore "
            "skrank.CutQueryWarning.",
            CutQueryWarning,
            stacklevel=1,  # one line for all callers, so that a search repeats no message
        )


def warn_of_feature(X: Table, estimator: Estimator) -> None:
    """Warn if the column "qid" of X is a feature of a model, or of one inside it."""
    if LEVEL not in list(getattr(X, "columns", ())):
        return
    if any(LEVEL in _features(model) for model in chain_of(estimator)):
        warnings.warn(
            'the column "qid" of X is a feature of the model: move the queries to the index, '
            "X.set_index('qid'), or use skrank.with_groups(y, qid).",
            UserWarning,
            stacklevel=3,  # the line that calls the scorer, or fit
        )


def _features(model: Estimator) -> list[str]:
    """Names of the features of a model; of a pipeline, those that its last step gets."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and hasattr(model, "steps"):
        try:
            names = model[:-1].get_feature_names_out() if len(model.steps) > 1 else None
        except (AttributeError, ValueError):  # a step without names of features
            names = None
    return [] if names is None else [str(name).rpartition("__")[2] for name in names]
