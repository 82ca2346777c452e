"""Which query each row is of: where the groups come from."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skrank._engine.whole import LEVEL, WholeLevel, index_level

if TYPE_CHECKING:
    import pandas as pd


def with_groups(relevance: ArrayLike, qid: Any) -> pd.Series:
    """Put the query of each row on the index of the labels.

    scikit-learn slices `y` together with its index and hands both to estimators, scorers and
    splitters, so that the groups reach every tool of scikit-learn with no further argument.

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
        If the lengths differ, an id is missing, or both are Series with different indexes.

    Examples
    --------
    >>> import skrank
    >>> skrank.with_groups([2, 0, 1], ["a", "a", "b"]).index.to_list()
    ['a', 'a', 'b']
    """
    import pandas as pd

    if (
        isinstance(relevance, pd.Series)
        and isinstance(qid, pd.Series)
        and not relevance.index.equals(qid.index)
    ):
        raise ValueError(
            "relevance and qid are Series with different indexes: align them first, or pass "
            "qid.to_numpy() if their rows already correspond."
        )
    values = relevance.array if isinstance(relevance, pd.Series) else np.asarray(relevance)
    ids = check_ids(qid, len(values), "qid")
    return pd.Series(
        values,
        index=pd.Index(ids, name=WholeLevel(ids, values)),
        name=getattr(relevance, "name", None) or "relevance",
    )


def check_ids(groups: Any, n_rows: int | None, source: str) -> np.ndarray:
    """Query ids as a vector of `n_rows` entries, none missing."""
    import pandas as pd

    if isinstance(groups, str):
        raise ValueError(
            f"{source}={groups!r} is one name, and not the query of each row: pass the column "
            f"itself, such as {source}=frame[{groups!r}]."
        )
    ids = np.asarray(groups)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids.ravel()
    if ids.ndim != 1:
        raise ValueError(f"{source} has shape {ids.shape}: pass one query id per row.")
    if n_rows is not None and len(ids) != n_rows:
        hint = ""
        if ids.dtype.kind in "iu" and ids.sum() == n_rows:
            hint = " They add up to the number of rows, so they look like group sizes: "
            hint += "use numpy.repeat(numpy.arange(len(sizes)), sizes)."
        raise ValueError(
            f"{source} has {len(ids)} entries for {n_rows} rows: pass one query id per row.{hint}"
        )
    if ids.dtype.kind in "fOMm":
        missing = np.flatnonzero(pd.isna(ids))
        if len(missing):
            raise ValueError(f"{source} has no query id in row {missing[0]}: every row needs one.")
    return ids


def show(query_id: Any) -> str:
    """A query id as a user would type it."""
    return repr(query_id.item() if isinstance(query_id, np.generic) else query_id)


def _column(X: Any) -> Any:
    columns = getattr(X, "columns", None)
    return X[LEVEL] if columns is not None and LEVEL in list(columns) else None


def resolve_groups(
    groups: ArrayLike | None = None, y: Any = None, X: Any = None
) -> np.ndarray | None:
    """Query id of each row, from the first source that has them.

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
    n_rows = None
    if sized is not None:
        n_rows = sized.shape[0] if hasattr(sized, "shape") else len(sized)
    found: list[tuple[str, np.ndarray]] = []
    for source, ids in (
        ("groups", groups),
        ('the index level "qid" of y', index_level(y)),
        ('the index level "qid" of X', index_level(X)),
    ):
        if ids is not None:
            found.append((source, check_ids(ids, n_rows, source)))
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
        stacklevel=3,  # beyond `require_groups`
    )
    return check_ids(column, n_rows, 'column "qid" of X')


def require_groups(
    groups: ArrayLike | None = None, y: Any = None, X: Any = None, *, who: str
) -> np.ndarray:
    """`resolve_groups`, or the error that says how to pass groups to `who`."""
    ids = resolve_groups(groups, y, X)
    if ids is None:
        raise ValueError(
            f"{who} needs the query of each row: use y = skrank.with_groups(relevance, qid), "
            "or pass groups= (inside scikit-learn's tools with metadata routing enabled)."
        )
    return ids
