"""Groups: the query of each row, and the sources that may have it."""

from __future__ import annotations

import warnings
from collections.abc import Sized
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.collection import ATTRS_KEY, LEVEL, Collection, index_level
from skrank._typing import Table

if TYPE_CHECKING:
    import pandas as pd


def with_groups(relevance: ArrayLike, qid: ArrayLike) -> pd.Series:
    """Put the query of each row on the index of the labels.

    scikit-learn slices `y` together with its index and hands both to estimators, scorers and
    splitters, so that the groups reach every tool of scikit-learn with no further argument.

    The labels are a collection: ``attrs["skrank"]`` has the numbers of rows and the highest grades
    of its queries. pandas keeps attrs in slices, and so do pickles and the workers of a search.
    Parts of the labels are measured on the scale of grades of the collection, and parts that cut a
    query are warned of (see `skrank.CutQueryWarning`). After documents are left out on purpose,
    call `with_groups` again: ``y = skrank.with_groups(y[some], y.index[some])``.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels, 0 = not relevant, higher is better.
    qid : array-like of shape (n_rows,)
        Query id of each row. Rows of a query need not be neighbours.

    Returns
    -------
    pandas.Series
        The labels, with an index named "qid". An index that `relevance` had is replaced.

    Raises
    ------
    ValueError
        If the lengths differ, an id is missing, labels are strings, or both are Series with
        different indexes.

    Warns
    -----
    UserWarning
        If the labels look like query ids and the ids like grades: they may be swapped.

    Examples
    --------
    >>> import skrank
    >>> skrank.with_groups([2, 0, 1], ["a", "a", "b"]).index.to_list()
    ['a', 'a', 'b']
    """
    import pandas as pd

    indexes = [one.index for one in (relevance, qid) if isinstance(one, pd.Series)]
    if len(indexes) == 2 and not indexes[0].equals(indexes[1]):
        raise ValueError(
            "relevance and qid are Series with different indexes: align them first, or pass "
            "qid.to_numpy() if their rows already correspond."
        )
    values = check.as_column("relevance", relevance)
    ids = check.as_ids("qid", qid, len(values))
    check.check_labels_first(values, ids)
    labels = pd.Series(
        relevance.array if isinstance(relevance, pd.Series) else values,
        index=pd.Index(ids, name=LEVEL),
        name=getattr(relevance, "name", None) or "relevance",
    )
    labels.attrs[ATTRS_KEY] = Collection.of(ids, values)
    return labels


def show(query_id: object) -> str:
    """A query id as a user would type it."""
    return repr(query_id.item() if isinstance(query_id, np.generic) else query_id)


def _column(X: Table) -> np.ndarray | None:
    columns = getattr(X, "columns", None)
    return X[LEVEL] if columns is not None and LEVEL in list(columns) else None


def resolve_groups(
    groups: ArrayLike | None = None, y: ArrayLike | None = None, X: Table | None = None
) -> np.ndarray | None:
    """Query id of each row, from the first source that has ids.

    In this order: explicit `groups`, index level "qid" of `y`, index level "qid" of `X`, column
    "qid" of `X` (with a warning: the column is also a feature).

    Parameters
    ----------
    groups : array-like of shape (n_rows,), optional
    y : labels, optional
    X : features, optional

    Returns
    -------
    ndarray of shape (n_rows,), or None when no source has groups

    Raises
    ------
    ValueError
        If lengths are wrong, an id is missing, or two sources disagree.
    """
    sized = y if y is not None else X
    n_rows = _length(sized)
    found: list[tuple[str, np.ndarray]] = []
    for source, ids in (
        ("groups", groups),
        ('the index level "qid" of y', index_level(y)),
        ('the index level "qid" of X', index_level(X)),
    ):
        if ids is not None:
            found.append((source, check.as_ids(source, ids, n_rows)))
    for source, ids in found[1:]:
        differ = np.flatnonzero(ids != found[0][1])
        if len(differ):
            row = differ[0]
            raise ValueError(
                f"{found[0][0]} and {source} disagree: row {row} is of query "
                f"{show(found[0][1][row])} in one and {show(ids[row])} in the other. Keep one."
            )
    if found:
        return found[0][1]
    column = _column(X)
    if column is None:
        return None
    warnings.warn(
        'groups are taken from the column "qid" of X, which a model also sees as a feature: '
        "move it to the index, X.set_index('qid'), or use skrank.with_groups(y, qid).",
        UserWarning,
        stacklevel=3,  # the caller of `require_groups`
    )
    return check.as_ids('column "qid" of X', column, n_rows)


def _length(data: object) -> int | None:
    """Number of rows; None where it is unknown: other checks refuse such data."""
    shape = getattr(data, "shape", None)
    return shape[0] if shape else len(data) if isinstance(data, Sized) else None


def require_groups(
    groups: ArrayLike | None = None, y: ArrayLike | None = None, X: Table | None = None, *, who: str
) -> np.ndarray:
    """`resolve_groups`; raises if no source has ids, with the ways to pass groups to `who`."""
    ids = resolve_groups(groups, y, X)
    if ids is None:
        raise ValueError(
            f"{who} needs the query of each row: use y = skrank.with_groups(relevance, qid), "
            "or pass groups= (inside scikit-learn's tools with metadata routing enabled)."
        )
    return ids


def groups_of_features(groups: ArrayLike | None, X: Table, *, who: str) -> np.ndarray:
    """`resolve_groups` where there are no labels; raises with the ways to pass groups to `who`."""
    ids = resolve_groups(groups, X=X)
    if ids is None:
        raise ValueError(
            f"{who} needs the query of each row: pass groups= (inside scikit-learn's tools with "
            'metadata routing enabled), or a DataFrame X whose index is named "qid".'
        )
    return ids
