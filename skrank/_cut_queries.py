"""Warnings of splits that cut queries, which no number shows.

Two things are known without being told. scikit-learn's tools call estimators and scorers from
functions that hold all rows and the two parts: these functions are found among the callers, in
every process and for groups from any source. And labels from one call of `with_groups` know each
other: a ranker remembers the queries it was trained on, and a scorer meets them again. What neither
shows is let pass, for a false alarm is worse than a miss.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank._callers import splitting_tools
from skrank._engine.groups import show
from skrank._engine.queries import Queries
from skrank._engine.whole import LEVEL, WholeLevel, index_level, whole_of
from skrank._typing import Estimator
from skrank.model_selection._parts import query_codes


class CutQueryWarning(UserWarning):
    """Rows of one query are in the training and in the test part, or in neither.

    Splits of rows, such as `KFold`, `train_test_split`, `learning_curve` and halving over
    ``"n_samples"``, cut through queries: models are then trained and measured on parts of lists,
    and measured on queries that they know, so that scores are too high or belong to another task.
    `skrank.GroupedRanker` and `skrank.scorer` warn when they see it.

    `skrank.QueryKFold` and the other splitters keep queries whole; `max_queries` of
    `skrank.GroupedRanker` takes the place of the number of rows in learning curves and halving.
    Where parts of queries are meant, silence the warning:
    ``warnings.simplefilter("ignore", skrank.CutQueryWarning)``. Documents that were left out before
    a tool got the rows are no cut.
    """


_REMEDY = (
    "Keep queries whole: split with skrank.QueryKFold or skrank.query_train_test_split, and vary "
    "max_queries of GroupedRanker instead of the number of rows (validation_curve for "
    "learning_curve, resource='max_queries' for halving). If parts of queries are meant, ignore "
    "skrank.CutQueryWarning."
)


def _warn(text: str) -> None:
    # from this line, not the caller's: a search, which calls from many lines, then warns once
    warnings.warn(f"{text}. {_REMEDY}", CutQueryWarning, stacklevel=1)


# what a tool of scikit-learn splits --------------------------------------------------------------


def warn_of_split(groups: np.ndarray) -> bool:
    """Warn if the tool that is at work cuts queries.

    Parameters
    ----------
    groups : ndarray of shape (n_rows,)
        Query of each row of the training or the test part.

    Returns
    -------
    bool
        Whether there is such a tool, and its parts are known.
    """
    for variables in splitting_tools():
        for whole, train, test in _splits(variables, groups):
            text = _describe(whole, train, test)
            if text:
                _warn(text)
            return True
    return False


def _splits(
    variables: Mapping[str, object], groups: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Groups of all rows, and the rows of the parts, one of which has the given groups."""
    parts = [np.asarray(variables.get(name, ())) for name in ("train", "test")]
    if any(part.ndim != 1 or part.dtype.kind not in "iub" for part in parts):
        return
    train, test = (np.flatnonzero(part) if part.dtype == bool else part for part in parts)
    for whole in _sources(variables):
        for rows in (train, test):
            if len(rows) == len(groups) and np.array_equal(whole[rows], groups):
                yield whole, train, test


def _sources(variables: Mapping[str, Any]) -> Iterator[np.ndarray]:
    """Whatever may be the query of each of all rows."""
    X: Any = variables.get("X")
    for data in (variables.get("y"), X):
        ids = index_level(data)
        if ids is not None:
            yield np.asarray(ids)
    for name in ("fit_params", "score_params", "params", "routed_params"):
        for values in _values(variables.get(name), depth=3):
            if _shape(values) == _shape(X)[:1]:
                yield np.asarray(values)
    if LEVEL in list(getattr(X, "columns", ())):
        yield np.asarray(X[LEVEL])


def _values(params: object, depth: int) -> Iterator[object]:
    """What is passed by name, also in dicts in a dict."""
    for value in params.values() if isinstance(params, dict) else ():
        if isinstance(value, dict) and depth:
            yield from _values(value, depth - 1)
        else:
            yield value


def _shape(values: object) -> tuple[int, ...]:
    if isinstance(values, (list, tuple)):
        return (len(values),)
    return getattr(values, "shape", ())


def _describe(groups: np.ndarray, train: np.ndarray, test: np.ndarray) -> str:
    """What is wrong with a split of rows, if anything is."""
    codes, ids = query_codes(groups, sort=False)
    sizes = np.bincount(codes)
    in_train, in_test = (_count(codes, rows, len(ids)) for rows in (train, test))
    both = np.flatnonzero((in_train > 0) & (in_test > 0))
    if len(both):
        return (
            f"{len(both)} of {len(ids)} queries have rows in the training and in the test part of "
            f"this split, first query {show(ids[both[0]])}: it measures shortened lists of queries "
            "that the model knows"
        )
    for part, kept in (("training", in_train), ("test", in_test)):
        cut = np.flatnonzero((kept > 0) & (kept < sizes))
        if len(cut):
            first = cut[0]
            return (
                f"{len(cut)} of {np.count_nonzero(kept)} queries are cut in the {part} part of "
                f"this split, first query {show(ids[first])}, of which it has {kept[first]} of "
                f"{sizes[first]} rows"
            )
    return ""


def _count(codes: np.ndarray, rows: np.ndarray, n_queries: int) -> np.ndarray:
    """Rows of each query, those that were drawn twice counted once."""
    return np.bincount(codes[np.unique(rows)], minlength=n_queries)


# what a ranker was trained on --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TrainedOn:
    """The queries that a ranker was trained on.

    Attributes
    ----------
    whole : weak reference to the WholeLevel of the labels
    ids : ndarray of shape (n_queries,)
    sizes : ndarray of shape (n_queries,)
        Rows of each query that were given.
    """

    whole: weakref.ref[WholeLevel]
    ids: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, y: ArrayLike, ids: np.ndarray, sizes: np.ndarray) -> TrainedOn | None:
        """What is known about labels; None if they did not get their groups by `with_groups`."""
        whole = whole_of(y)
        return None if whole is None else cls(weakref.ref(whole), ids, sizes)

    def warn_of(self, y: ArrayLike, queries: Queries, part: str) -> None:
        """Warn if labels have other rows of the same queries.

        Queries all of whose rows were given here or there, and parts of one size, are taken for the
        training rows themselves.
        """
        import pandas as pd

        whole = whole_of(y)
        if whole is None or whole is not self.whole():
            return
        ids = queries.ids
        place = pd.Index(self.ids).get_indexer(ids)
        known = np.flatnonzero(place >= 0)
        before, now = self.sizes[place[known]], queries.sizes[known]
        both = known[before + now <= whole.sizes_of(ids[known])]
        if len(both) and np.any(before != now):
            _warn(
                f"{len(both)} of the {len(ids)} queries {part} have other rows in the training "
                f"part, first query {show(ids[both[0]])}: this measures shortened lists of queries "
                "that the model knows"
            )


def warn_of_scored(
    models: list[Estimator], groups: np.ndarray, y: ArrayLike, queries: Queries
) -> None:
    """Warn if these rows are no lists, are cut, or have their queries from the training rows.

    Parameters
    ----------
    models : list
        A model and those inside it.
    groups : ndarray of shape (n_rows,)
    y : labels
    queries : Queries
        Of the groups.
    """
    if len(queries) == queries.n_rows > 1:
        warnings.warn(
            f"each of the {len(queries)} rows is a query of its own, and every ranking of one row "
            "is perfect: give the id of the query, not of the document, as groups.",
            UserWarning,
            stacklevel=3,  # where the scorer, or fit, is called
        )
    if any(getattr(model, "_split_seen", False) for model in models) or warn_of_split(groups):
        return
    known = (getattr(model, "_trained_on", None) for model in models)
    trained_on = next((one for one in known if one is not None), None)
    if trained_on is not None:
        trained_on.warn_of(y, queries, "scored")


# a feature that is the query ---------------------------------------------------------------------


def warn_of_feature(models: list[Estimator]) -> None:
    """Warn if the column of the queries is a feature of a model, or of one inside it."""
    if any(LEVEL in _features(model) for model in models):
        warnings.warn(
            'the column "qid" of X is a feature of the model: move the queries to the index, '
            "X.set_index('qid'), or use skrank.with_groups(y, qid) and drop the column.",
            UserWarning,
            stacklevel=3,  # where the scorer, or fit, is called
        )


def _features(model: Estimator) -> list[str]:
    """Names of the features of a model; of a pipeline, those that its last step gets."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and hasattr(model, "steps"):
        try:
            names = model[:-1].get_feature_names_out() if len(model.steps) > 1 else None
        except (AttributeError, ValueError):  # a step that does not say
            names = None
    return [] if names is None else [str(name).rpartition("__")[2] for name in names]
