"""Dask collections whose partitions hold whole queries, for training and evaluation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
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
    workers : list of str
        Addresses of the workers that hold the partitions.
    """

    X: DaskTable
    y: da.Array
    qid: da.Array
    group: da.Array
    weight: da.Array | None
    queries: np.ndarray
    workers: list[str]

    def per_row(self, function: Callable[[Table], np.ndarray]) -> da.Array:
        """The results of a function of the features of a partition, which has a number per row."""
        import dask.array as da
        from dask import delayed

        call = delayed(function, traverse=False)
        pieces = [call(piece) for piece in np.ravel(self.X.to_delayed())]
        shapes = [(length,) for length in self.y.chunks[0]]
        return da.concatenate(list(map(partial(da.from_delayed, dtype=np.float64), pieces, shapes)))


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
        For data in memory. Default: the number of workers, or of queries if there are fewer.
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
    return placed_queries(client, X, y, groups, sample_weight, n_partitions=n_partitions)


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

# Future of SortedRows, the worker that holds it, query ids, and number of rows.
PlacedRows: TypeAlias = "tuple[Future, str, np.ndarray, int]"

# X, y, groups and weights of a partition, as the caller gave them.
Partition: TypeAlias = tuple[Table, ArrayLike, ArrayLike, ArrayLike | None]


def placed_queries(
    client: Client,
    X: Table | DaskTable,
    y: ArrayLike | DaskColumn,
    groups: ArrayLike | DaskColumn | None,
    weights: ArrayLike | DaskColumn | None,
    *,
    n_partitions: int | None = None,
    workers: Sequence[str] = (),
    fill_workers: bool = False,
) -> Partitions:
    """Partitions of `workers` (all by default); see `partition_queries`.

    With `fill_workers`, partitions of collections are cut if there are fewer than workers.
    """
    from dask import is_dask_collection

    workers = sorted(workers or client.nthreads())
    if not workers:
        raise ValueError("the cluster has no workers yet: client.wait_for_workers(n) first.")
    if is_dask_collection(X):
        if n_partitions is not None:
            raise ValueError("n_partitions= is for data in memory: repartition the collection.")
        if groups is None:
            raise ValueError(
                "partition_queries needs groups=, the query of each row, beside X of Dask."
            )
        loaded = loaded_partitions(client, X, y, groups, weights)
        parts = _of_collections(client, loaded, workers, fill_workers=fill_workers)
    else:
        X = X if hasattr(X, "iloc") or hasattr(X, "tocsr") else np.asarray(X)
        parts = _of_memory(client, X, y, groups, weights, workers, n_partitions)
    return _collect(client, parts, X, weighted=weights is not None)


def _of_memory(
    client: Client,
    X: Table,
    y: ArrayLike,
    groups: ArrayLike | None,
    weights: ArrayLike | None,
    workers: Sequence[str],
    n_partitions: int | None,
) -> list[PlacedRows]:
    groups = require_groups(groups, y, X, who="partition_queries")
    queries = Queries.from_groups(groups)
    count = min(len(workers), len(queries)) if n_partitions is None else n_partitions
    count = check.check_count("n_partitions", count, "the number of partitions")
    check.query_weights(weights, queries)
    piece = X, check.check_labels(y, len(groups)), groups, weights
    if len(queries) < count:
        raise ValueError(
            f"{len(queries)} queries do not fill {count} partitions: lower n_partitions."
        )
    parts = []
    for number, cut in enumerate(_even_cuts(queries.sizes, count)):
        rows, worker = _sorted_rows(piece, 0, cut, queries), workers[number % len(workers)]
        (future,) = client.scatter([rows], workers=[worker], hash=False)
        parts.append((future, worker, queries.ids[slice(*cut)], len(rows[1])))
    return parts


def _of_collections(
    client: Client,
    loaded: Sequence[tuple[Future, PartitionSummary]],
    workers: Sequence[str],
    *,
    fill_workers: bool,
) -> list[PlacedRows]:
    n_cuts = -(-len(workers) // len(loaded)) if fill_workers else 1
    cuts = [
        (piece, found, cut)
        for piece, found in loaded
        for cut in _even_cuts(found.sizes, min(n_cuts, len(found.sizes)))
    ]
    chosen = _spread(client, [piece for piece, *_ in cuts], workers)
    starts = np.cumsum([0, *(len(found.ids) for _, found in loaded)])
    parts, first = [], dict(zip((piece.key for piece, _ in loaded), starts.tolist(), strict=False))
    for (piece, found, cut), worker in zip(cuts, chosen, strict=True):
        future = client.submit(_sorted_rows, piece, first[piece.key], cut, workers=[worker])
        n_rows = int(found.sizes[slice(*cut)].sum())
        parts.append((future, worker, found.ids[slice(*cut)], n_rows))
    return parts


def _spread(client: Client, pieces: Sequence[Future], workers: Sequence[str]) -> list[str]:
    """A worker for each piece: the one that holds it, or one that would have no piece.

    XGBoost fails if a worker has no rows of a frame.
    """
    holders = client.who_has(pieces)
    held = [next(iter(holders[piece.key]), "") for piece in pieces]
    chosen = [one if one in workers else workers[n % len(workers)] for n, one in enumerate(held)]
    for idle in sorted(set(workers) - set(chosen)):
        busiest = max(chosen, key=chosen.count)
        if chosen.count(busiest) > 1:
            chosen[chosen.index(busiest)] = idle
    return chosen


def _even_cuts(sizes: np.ndarray, count: int) -> list[tuple[int, int]]:
    """Query ranges [first, last) of `count` parts with about equal numbers of rows."""
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, count) / count) + 1
    least = np.arange(1, count)
    cuts = np.maximum.accumulate(cuts - least) + least  # at least one query for each part
    cuts = np.minimum(cuts, len(sizes) - count + least)  # and for each of the following parts
    return list(zip([0, *cuts.tolist()], [*cuts.tolist(), len(sizes)], strict=True))


def _sorted_rows(
    piece: Partition, start: int, cut: tuple[int, int], queries: Queries | None = None
) -> SortedRows:
    """Rows of a range of the queries of a partition, sorted by query.

    `start` is the number of the first query of the partition.
    """
    X, y, groups, weights = piece
    if queries is None:
        queries = Queries.from_groups(check.as_ids("groups", groups, X.shape[0]))
    rows = np.arange(*queries.indptr[list(cut)])
    numbers = start + queries.row_query[rows]
    if queries.order is not None:
        rows = queries.order[rows]
    if queries.order is not None or len(rows) < X.shape[0]:
        X = _safe_indexing(X, rows)
    labels = np.asarray(y, np.float64)[rows]
    weights = None if weights is None else np.asarray(weights, np.float64)[rows]
    return X, labels, numbers, queries.sizes[slice(*cut)], weights


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


def gathered_queries(
    X: DaskTable,
    y: DaskColumn,
    groups: DaskColumn,
    weights: DaskColumn | None,
    max_rows: int,
    rng: np.random.RandomState,
) -> tuple[Table, np.ndarray, np.ndarray, np.ndarray | None, float]:
    """Rows of random queries, at most `max_rows` in all, in memory; and the highest label of all.

    The draw depends on the query ids, not on the order of rows and partitions.
    """
    client = current_client()
    pieces, found = zip(*loaded_partitions(client, X, y, groups, weights), strict=True)
    ids, sizes = (np.concatenate(one) for one in zip(*(one[:2] for one in found), strict=True))
    used = np.ones(len(ids), dtype=bool)
    if sizes.sum() > max_rows:
        order = rng.permutation(np.argsort(ids))
        used[order[np.cumsum(sizes[order]) > max_rows]] = False
        used[order[0]] = True
        warnings.warn(
            f"LinearRanker trains on {used.sum()} of {len(ids)} queries, drawn at random, since "
            f"the collection has more than max_rows={max_rows} rows: raise max_rows for more.",
            UserWarning,
            stacklevel=6,  # where fit is called
        )
    parts = np.split(used, np.cumsum([len(one.ids) for one in found])[:-1])
    drawn = [client.submit(_of_queries, *one) for one in zip(pieces, parts, strict=True)]
    *tables, given = zip(*client.gather(drawn), strict=True)
    table, labels, qid = (stacked(one) for one in tables)
    top = max(float(one.labels.max()) for one in found)
    return table, labels, qid, None if weights is None else stacked(given), top


def _of_queries(piece: Partition, used: np.ndarray) -> Partition:
    """The rows of some queries of a partition."""
    X, y, groups, weights = piece
    ids = check.as_ids("groups", groups, X.shape[0])
    queries = Queries.from_groups(ids)
    rows = np.flatnonzero(queries.scatter(used[queries.row_query]))
    weights = None if weights is None else np.asarray(weights)[rows]
    return _safe_indexing(X, rows), np.asarray(y)[rows], ids[rows], weights


def stacked(parts: Sequence[Any]) -> Any:
    """Frames, arrays or matrices, one below the other."""
    if hasattr(parts[0], "iloc"):
        from dask.dataframe.dispatch import concat

        return concat(parts, ignore_index=True)  # unites the categories of the parts
    return (
        sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    )


# The result


def _collect(
    client: Client, parts: Sequence[PlacedRows], like: Table | DaskTable, *, weighted: bool
) -> Partitions:
    """Collections of partitions that are on workers; `like` has the type of their features."""
    import dask.array as da

    data, workers, ids, rows = zip(*parts, strict=True)
    name = f"rows-{uuid4().hex}"

    def pieces(field: int, ndim: int) -> dict[tuple[object, ...], Future]:
        """A field of each partition, on its worker: the scheduler might move it to an idle one."""
        zeros = (0,) * (ndim - 1)
        keys = [(f"{name}-{field}", number, *zeros) for number in range(len(parts))]
        places = zip(keys, data, workers, strict=True)
        take = partial(client.submit, itemgetter(field))
        return {key: take(part, workers=[worker], key=key) for key, part, worker in places}

    def array(field: int, lengths: Sequence[int], *width: int, **kind: Any) -> da.Array:
        chunks = tuple(lengths), *((size,) for size in width)
        return da.Array(pieces(field, len(chunks)), f"{name}-{field}", chunks, **kind)

    if hasattr(like, "iloc"):
        import dask.dataframe as dd

        X = pieces(0, 1)
        meta = like._meta if hasattr(like, "_meta") else like.iloc[:0]
        features = dd.from_graph(X, meta, (None,) * (len(X) + 1), list(X), name)
    else:
        meta = like[:0] if hasattr(like, "tocsr") else None
        features = array(0, rows, like.shape[1], dtype=like.dtype, meta=meta)
    return Partitions(
        X=features,
        y=array(1, rows, dtype=np.float64),
        qid=array(2, rows, dtype=np.int64),
        group=array(3, [len(one) for one in ids], dtype=np.int64),
        weight=array(4, rows, dtype=np.float64) if weighted else None,
        queries=np.concatenate(ids),
        workers=sorted(set(workers)),
    )
