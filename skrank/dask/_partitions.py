"""Dask collections whose partitions hold whole queries, for training and evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from skrank import _validation as check
from skrank._engine.groups import require_groups, show
from skrank._engine.queries import Queries
from skrank._typing import DaskColumn, DaskTable, Table

if TYPE_CHECKING:
    import dask.array as da
    from dask.delayed import Delayed
    from distributed import Client, Future


def aligned_partitions(**collections: DaskTable | None) -> list[tuple[Delayed | None, ...]]:
    """The i-th partitions of all collections, for each i; None for a collection that is None.

    Parameters
    ----------
    **collections : dask Array, Series or DataFrame, or None
        By name, for messages. Only "groups" and "sample_weight" may be None.

    Raises
    ------
    ValueError
        If a value is not a collection or is chunked by columns, or numbers of partitions differ.
    """
    for name, one in collections.items():
        if one is None and name not in ("groups", "sample_weight"):
            raise ValueError(f"{name} is None: it must be a Dask collection.")
    first = next(iter(collections))
    columns = {
        name: _pieces(name, one, first) for name, one in collections.items() if one is not None
    }
    counts = [len(column) for column in columns.values()]
    if len(set(counts)) > 1:
        *names, last = columns
        raise ValueError(
            f"{', '.join(names)} and {last} have {counts} partitions: take all collections from "
            "one frame, or rechunk them to the same numbers of rows."
        )
    absent = [None] * counts[0]
    return list(zip(*(columns.get(name, absent) for name in collections), strict=True))


def _pieces(name: str, collection: DaskTable, first: str) -> list[Delayed]:
    """The partitions of a collection."""
    if not hasattr(collection, "to_delayed"):
        raise ValueError(f"{name} must be a Dask collection{f', as {first} is' * (name != first)}.")
    pieces = np.asarray(collection.to_delayed(), dtype=object)
    if pieces.ndim == 2 and pieces.shape[1] > 1:
        raise ValueError(f"{name} is cut by columns: rechunk it, {name}.rechunk((-1, None)) first.")
    return pieces.ravel().tolist()


def check_unsplit_queries(ids_of_partitions: Sequence[np.ndarray]) -> None:
    """Raise if a query lies in two partitions, so that no worker has all of its rows."""
    seen: dict[object, int] = {}
    for number, ids in enumerate(ids_of_partitions):
        for one in ids.tolist():
            if one in seen:
                raise ValueError(
                    f"query {show(one)} lies in partitions {seen[one]} and {number}: keep queries "
                    'whole, with frame = frame.shuffle("qid").persist() before you take labels, '
                    "scores, features and groups from the frame. Without persist, each column is "
                    "shuffled again, and the orders of rows may differ."
                )
            seen[one] = number


@dataclass(frozen=True, eq=False)
class Partitions:
    """Dask collections with the same partitions; a partition has whole, contiguous queries.

    Attributes
    ----------
    X : dask Array or DataFrame of shape (n_rows, n_features)
    y : dask Array of shape (n_rows,)
        Labels.
    qid : dask Array of shape (n_rows,)
        Number of the query of each row, ascending: for ``xgboost.dask.DaskDMatrix(qid=)``.
    group : dask Array of shape (n_queries,)
        Rows of each query: for ``lightgbm.DaskLGBMRanker.fit(group=)``.
    weight : dask Array of shape (n_rows,) or None
        Weight of each row's query: for ``DaskLGBMRanker.fit(sample_weight=)``.
    queries : ndarray of shape (n_queries,)
        Query ids: ``queries[i]`` is the id of the query with the number i in `qid`.
    """

    X: DaskTable
    y: da.Array
    qid: da.Array
    group: da.Array
    weight: da.Array | None
    queries: np.ndarray

    def per_row(self, function: Callable[[Table], np.ndarray]) -> da.Array:
        """The results of a function of the features of a partition, which has a number per row."""
        from dask import delayed

        call = delayed(function, traverse=False)
        pieces = [call(piece) for piece in np.ravel(self.X.to_delayed())]
        return _stacked(pieces, self.y.chunks[0], dtype=np.float64)


def partition_queries(
    X: Table | DaskTable,
    y: ArrayLike | DaskColumn,
    groups: ArrayLike | DaskColumn | None = None,
    *,
    sample_weight: ArrayLike | DaskColumn | None = None,
    n_partitions: int | None = None,
    client: Client | None = None,
) -> Partitions:
    """Put whole queries into the partitions of Dask collections, on the workers.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features), or dask Array or DataFrame
        Features. Data in memory are split into partitions of about equal numbers of rows, which are
        sent to the workers in turn. The partitions of a Dask collection do not change.
    y : array-like of shape (n_rows,), or dask Array or Series
        Labels.
    groups : array-like of shape (n_rows,), or dask Array or Series, optional
        Query id of each row. Rows of a query need not be contiguous, but must lie in one partition
        of a Dask collection. Default, for data in memory: the index level "qid" of `y`, or `X`.
    sample_weight : array-like of shape (n_rows,), or dask Array or Series, optional
        Weights, the same for all rows of a query.
    n_partitions : int, optional
        For data in memory. Default: the number of workers.
    client : distributed.Client, optional
        Default: the current one.

    Returns
    -------
    Partitions
        The rows of a query are contiguous and keep their order. The data stay in the memory of the
        workers until the result is deleted.

    Raises
    ------
    ImportError
        If Dask is not installed.
    ValueError
        If a query lies in two partitions, if there are fewer queries than partitions, labels are
        negative or missing, weights vary inside a query, lengths or partitions differ, or there is
        no client.

    Examples
    --------
    >>> import numpy as np
    >>> import skrank.dask
    >>> from distributed import Client
    >>> with Client(processes=False, n_workers=2, dashboard_address=":0") as client:
    ...     X, y, qid = np.zeros((6, 1)), [0, 1, 2, 0, 1, 1], ["a", "b", "a", "c", "c", "c"]
    ...     parts = skrank.dask.partition_queries(X, y, qid)
    ...     parts.group.chunks, parts.group.compute().tolist(), parts.qid.compute().tolist()
    (((2, 1),), [2, 1, 3], [0, 0, 1, 2, 2, 2])
    """
    client = current_client() if client is None else client
    from dask import is_dask_collection

    if is_dask_collection(X):
        if n_partitions is not None:
            raise ValueError("n_partitions= is for data in memory: repartition the collection.")
        parts = _of_collections(client, X, y, groups, sample_weight)
    else:
        X = X if hasattr(X, "iloc") or hasattr(X, "tocsr") else np.asarray(X)
        parts = _of_memory(client, X, y, groups, sample_weight, n_partitions)
    return _collect(parts, X, weighted=sample_weight is not None)


def current_client() -> Client:
    """The current Dask client."""
    try:
        from distributed import get_client
    except ImportError as error:
        raise ImportError(
            "skrank.dask needs dask and distributed: pip install skrank[dask]"
        ) from error
    return get_client()


# X, labels, number of the query of each row, sizes of queries, and weights, sorted by query.
SortedRows: TypeAlias = tuple[Table, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]

# Future of SortedRows, query ids, and number of rows.
LoadedPartition: TypeAlias = "tuple[Future, np.ndarray, int]"

# X, y, groups and weights of a partition, as the caller gave them.
Partition: TypeAlias = tuple[Table, ArrayLike, ArrayLike, ArrayLike | None]


def _in_order(
    X: Table, y: ArrayLike, weights: ArrayLike | None, queries: Queries, first: int
) -> SortedRows:
    """Rows sorted by query; query numbers start at `first`."""
    if queries.order is not None:
        X = _safe_indexing(X, queries.order)
    labels = queries.gather(np.asarray(y, np.float64))
    weights = None if weights is None else queries.gather(np.asarray(weights, np.float64))
    return X, labels, first + queries.row_query, queries.sizes, weights


# Data in memory


def _of_memory(
    client: Client,
    X: Table,
    y: ArrayLike,
    groups: ArrayLike | None,
    weights: ArrayLike | None,
    n_partitions: int | None,
) -> list[LoadedPartition]:
    groups = require_groups(groups, y, X, who="partition_queries")
    workers = sorted(client.nthreads())
    if not workers:
        raise ValueError("the cluster has no workers yet: client.wait_for_workers(n) first.")
    count = len(workers) if n_partitions is None else n_partitions
    count = check.check_count("n_partitions", count, "the number of partitions")
    queries = Queries.from_groups(groups)
    check.query_weights(weights, queries)
    labels = check.check_labels(y, len(groups))
    if len(queries) < count:
        raise ValueError(
            f"{len(queries)} queries do not fill {count} partitions: lower n_partitions."
        )
    X, labels, numbers, sizes, weights = _in_order(X, labels, weights, queries, 0)
    parts = []
    for number, (first, last) in enumerate(_even_cuts(sizes, count)):
        rows = np.arange(queries.indptr[first], queries.indptr[last])
        weight = None if weights is None else weights[rows]
        data = _safe_indexing(X, rows), labels[rows], numbers[rows], sizes[first:last], weight
        worker = workers[number % len(workers)]
        future = client.scatter([data], workers=[worker], hash=False)[0]
        parts.append((future, queries.ids[first:last], len(rows)))
    return parts


def _even_cuts(sizes: np.ndarray, count: int) -> list[tuple[int, int]]:
    """Query ranges [first, last) of `count` parts with about equal numbers of rows."""
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, count) / count) + 1
    least = np.arange(1, count)
    cuts = np.maximum.accumulate(cuts - least) + least  # at least one query for each part
    cuts = np.minimum(cuts, len(sizes) - count + least)  # and for each of the following parts
    return list(zip([0, *cuts.tolist()], [*cuts.tolist(), len(sizes)], strict=True))


# Dask collections


def _of_collections(
    client: Client,
    X: DaskTable,
    y: DaskColumn,
    groups: DaskColumn | None,
    weights: DaskColumn | None,
) -> list[LoadedPartition]:
    from dask import delayed

    if groups is None:
        raise ValueError(
            "partition_queries needs groups=, the query of each row, beside X of Dask."
        )
    parts, first = [], 0
    for piece, found in loaded_partitions(client, X, y, groups, weights):
        data = client.persist(delayed(_ordered)(piece, first))
        parts.append((data, found.ids, found.n_rows))
        first += len(found.ids)
    return parts


class PartitionSummary(NamedTuple):
    """Ids, sizes and weights (or None) of the queries of a partition, and its distinct labels."""

    ids: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray | None
    labels: np.ndarray

    @property
    def n_rows(self) -> int:
        return int(self.sizes.sum())


def loaded_partitions(
    client: Client, X: DaskTable, y: DaskColumn, groups: DaskColumn, weights: DaskColumn | None
) -> list[tuple[Future, PartitionSummary]]:
    """Load the partitions into the memory of the workers, and check them; omits empty partitions.

    Each future is of Partition.
    """
    from dask import delayed
    from distributed import futures_of

    rows = aligned_partitions(X=X, y=y, groups=groups, sample_weight=weights)
    pieces = futures_of(client.persist([delayed(tuple)(row) for row in rows]))
    found = client.gather(
        [client.submit(_summary, piece, number) for number, piece in enumerate(pieces)]
    )
    check_unsplit_queries([one.ids for one in found])
    if not any(one.n_rows for one in found):
        raise ValueError("X has no rows.")
    return [(piece, one) for piece, one in zip(pieces, found, strict=True) if one.n_rows]


def _summary(piece: Partition, number: int) -> PartitionSummary:
    """Check a partition, and summarise its queries; runs on a worker."""
    X, y, groups, weights = piece
    n_rows = X.shape[0]
    if n_rows == 0:
        return PartitionSummary(np.empty(0, object), np.empty(0, np.int64), None, np.empty(0))
    with check.about(f"partition {number}"):
        check.check_same_index(X=X, y=y, groups=groups, sample_weight=weights)
        queries = Queries.from_groups(check.as_ids("groups", groups, n_rows))
        labels = check.check_labels(y, n_rows)
        query_weights = check.query_weights(weights, queries, part=True)
    return PartitionSummary(queries.ids, queries.sizes, query_weights, np.unique(labels))


def _ordered(piece: Partition, first: int) -> SortedRows:
    X, y, groups, weights = piece
    queries = Queries.from_groups(check.as_ids("groups", groups, X.shape[0]))
    return _in_order(X, y, weights, queries, first)


# The result


def _collect(
    parts: Sequence[LoadedPartition], like: Table | DaskTable, *, weighted: bool
) -> Partitions:
    """Collections of partitions that are on workers; `like` has the type of their features."""
    from dask import delayed

    futures, ids, rows = zip(*parts, strict=True)
    data = [delayed(future) for future in futures]

    def vector(field: int, dtype: type[np.number], lengths: Sequence[int]) -> da.Array:
        return _stacked([one[field] for one in data], lengths, dtype=dtype)

    counts = [len(one) for one in ids]
    return Partitions(
        X=_features([one[0] for one in data], rows, like),
        y=vector(1, np.float64, rows),
        qid=vector(2, np.int64, rows),
        group=vector(3, np.int64, counts),
        weight=vector(4, np.float64, rows) if weighted else None,
        queries=np.concatenate(ids),
    )


def _features(pieces: Sequence[Delayed], rows: Sequence[int], like: Table | DaskTable) -> DaskTable:
    """The features as a collection of the type of `like`."""
    if hasattr(like, "iloc"):
        import dask.dataframe as dd

        return dd.from_delayed(pieces, meta=like._meta if hasattr(like, "_meta") else like.iloc[:0])
    meta = like[:0] if hasattr(like, "tocsr") else None
    return _stacked(pieces, rows, like.shape[1], dtype=like.dtype, meta=meta)


def _stacked(
    pieces: Sequence[Delayed], lengths: Sequence[int], *width: int, **kind: object
) -> da.Array:
    """The concatenation of pieces of these lengths."""
    import dask.array as da

    shapes = [(length, *width) for length in lengths]
    return da.concatenate(list(map(partial(da.from_delayed, **kind), pieces, shapes)))
