"""Which rows belong to which query: where the groups come from, and their order in memory."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

LEVEL = "qid"  # name of the index level (or column) that carries the groups


class WholeLevel(str):
    """The name "qid" of an index level, that knows how many rows each query has in all.

    Slices of labels share the name of their index, so that parts of the same labels know each other
    (`is`) and what they are parts of. A copy in another process is a plain name.
    """

    ids: np.ndarray

    def __new__(cls, ids: np.ndarray) -> WholeLevel:
        name = super().__new__(cls, LEVEL)
        name.ids = ids
        return name

    def sizes_of(self, ids: np.ndarray) -> np.ndarray:
        """Rows of queries in all."""
        if self._counts is None:
            import pandas as pd

            self._counts = pd.Series(self.ids).value_counts()
        return self._counts.reindex(ids, fill_value=0).to_numpy()

    _counts: pd.Series | None = None

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (LEVEL,)

    def __deepcopy__(self, _: Any) -> WholeLevel:
        return self


def with_groups(relevance: Any, qid: Any) -> pd.Series:
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

    both_series = isinstance(relevance, pd.Series) and isinstance(qid, pd.Series)
    if both_series and not relevance.index.equals(qid.index):
        raise ValueError(
            "relevance and qid are Series with different indexes: align them first, or pass "
            "qid.to_numpy() if their rows already correspond."
        )
    values = relevance.array if isinstance(relevance, pd.Series) else np.asarray(relevance)
    ids = check_ids(qid, len(values), "qid")
    return pd.Series(
        values,
        index=pd.Index(ids, name=WholeLevel(ids)),
        name=getattr(relevance, "name", None) or "relevance",
    )


def check_ids(groups: Any, n_rows: int | None, source: str) -> np.ndarray:
    """Query ids as a vector of `n_rows` entries, none missing."""
    import pandas as pd

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


def _index_level(data: Any) -> Any:
    """The index level that carries the groups, if `data` has one."""
    index: Any = getattr(data, "index", None)
    if LEVEL in (getattr(index, "names", None) or ()):
        return index.get_level_values(LEVEL)
    return None


def whole_of(y: Any) -> WholeLevel | None:
    """What labels are a part of, if `with_groups` in this process gave them their groups."""
    names = getattr(getattr(y, "index", None), "names", None) or ()
    return next((name for name in names if isinstance(name, WholeLevel)), None)


def _column(X: Any) -> Any:
    columns = getattr(X, "columns", None)
    return X[LEVEL] if columns is not None and LEVEL in list(columns) else None


def resolve_groups(groups: Any = None, y: Any = None, X: Any = None) -> np.ndarray | None:
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
        ('the index level "qid" of y', _index_level(y)),
        ('the index level "qid" of X', _index_level(X)),
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
        stacklevel=3,
    )
    return check_ids(column, n_rows, 'column "qid" of X')


def require_groups(groups: Any = None, y: Any = None, X: Any = None, *, who: str) -> np.ndarray:
    """`resolve_groups`, or the error that says how to pass groups to `who`."""
    ids = resolve_groups(groups, y, X)
    if ids is None:
        raise ValueError(
            f"{who} needs the query of each row: use y = skrank.with_groups(relevance, qid), "
            "or pass groups= (inside scikit-learn's tools with metadata routing enabled)."
        )
    return ids


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows of each query, made contiguous.

    Attributes
    ----------
    ids : ndarray of shape (n_queries,)
        Query ids in the order of their first row.
    indptr : int64 ndarray of shape (n_queries + 1,)
        First row of each query, in contiguous order, and the end.
    order : int64 ndarray of shape (n_rows,) or None
        Caller's row of each contiguous row; None when they are the same.
    """

    ids: np.ndarray
    indptr: np.ndarray
    order: np.ndarray | None = None

    @classmethod
    def from_groups(cls, groups: np.ndarray) -> Queries:
        """Queries of per-row ids, in any order; one stable sort unless already contiguous."""
        import pandas as pd

        changes = np.flatnonzero(groups[1:] != groups[:-1]) + 1
        starts = np.concatenate(([0], changes)).astype(np.int64)
        ids = groups[starts]
        indptr = np.append(starts, len(groups)).astype(np.int64)
        if len(pd.unique(ids)) == len(ids):
            return cls(ids, indptr)
        codes, ids = pd.factorize(groups)
        order = np.argsort(codes, kind="stable").astype(np.int64)
        indptr = np.concatenate(([0], np.cumsum(np.bincount(codes)))).astype(np.int64)
        return cls(np.asarray(ids), indptr, order)

    @classmethod
    def from_sizes(cls, sizes: np.ndarray) -> Queries:
        """Queries of consecutive rows, numbered from 0."""
        indptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        return cls(np.arange(len(sizes)), indptr)

    @classmethod
    def single(cls, n_rows: int) -> Queries:
        """All rows as one query."""
        return cls.from_sizes(np.array([n_rows]))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr[-1])

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each query."""
        return np.diff(self.indptr)

    def gather(self, values: np.ndarray) -> np.ndarray:
        """Values per row in contiguous order."""
        return values if self.order is None else values[self.order]

    def scatter(self, values: np.ndarray) -> np.ndarray:
        """Values per contiguous row in the caller's order."""
        if self.order is None:
            return values
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def name(self, query: int) -> str:
        """The id of a query by its number, for messages."""
        return show(self.ids[query])

    def caller_row(self, row: int) -> int:
        """The caller's number of a contiguous row."""
        return int(row if self.order is None else self.order[row])

    @property
    def row_query(self) -> np.ndarray:
        """Number of the query of each contiguous row."""
        return np.repeat(np.arange(len(self)), self.sizes)
