"""GroupedRanker with DaskLGBMRanker and DaskXGBRanker.

These rankers train on the workers of a cluster. The fitted estimator is an LGBMRanker or XGBRanker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.validation import validate_data

import skrank.lightgbm
from skrank import _validation as check
from skrank._boosters.adapters import import_booster
from skrank._engine.groups import require_groups, without_queries
from skrank._typing import DaskTable, Estimator
from skrank._warnings import warn
from skrank.dask._partitions import aligned_partitions, check_unsplit_queries, head_of
from skrank.rankers._fit import Fit
from skrank.rankers._lightgbm import LightGBM
from skrank.rankers._rows import VALIDATION_ROWS, Part, Rows
from skrank.rankers._xgboost import XGBoost, declare_categories, take_booster, train_options

if TYPE_CHECKING:
    from distributed import Client


# collections --------------------------------------------------------------------------------------


def refuse_unjudged(ranker: Estimator) -> None:
    """Raise if the option `unjudged`, which is for rows in memory, is set."""
    if (unjudged := ranker._options()["unjudged"]) != "raise":
        raise ValueError(
            f"unjudged={unjudged!r} is for data in memory: leave out the unjudged rows of Dask "
            "collections before fit."
        )


def _refuse_unknown_categories(X: DaskTable) -> None:
    """Refuse categories whose levels, and so the numbers of levels, may differ by partition."""
    for name, dtype in getattr(X, "dtypes", {}).items():
        if str(dtype) == "category" and not X[name].cat.known:
            raise ValueError(
                f"the levels of the category {name!r} of X are unknown, and may differ between "
                f"partitions: X = X.categorize(columns=[{name!r}])."
            )


class Loaded(NamedTuple):
    """Rows in parts: each attribute is a sequence with one entry per part.

    Attributes
    ----------
    parts : sequence of Part, or of dask Delayed of a Part in the memory of a worker
        Rows, sorted by query.
    ids, sizes : sequence of ndarray of shape (n_queries,)
        Query ids and numbers of rows of the queries.
    tops : sequence of float
        Highest label of the partition that the part is taken from.
    weighted : sequence of bool
        True if there are weights.
    """

    parts: Sequence[Any]
    ids: Sequence[np.ndarray]
    sizes: Sequence[np.ndarray]
    tops: Sequence[float]
    weighted: Sequence[bool]


def loaded(rows: Rows, what: str = "training rows") -> Loaded:
    """Load the partitions of collections into the memory of the workers, and check them.

    Errors begin with `what`.
    """
    import dask

    with check.about(what):
        partitions = aligned_partitions(
            X=rows.X, y=rows.y, groups=rows.groups, sample_weight=rows.sample_weight
        )
        make, summarise = dask.delayed(_part), dask.delayed(_summary)
        parts = dask.persist(*(make(i, *columns.values()) for i, columns in enumerate(partitions)))
        summaries = dask.compute(*map(summarise, parts))
        check_unsplit_queries([ids for ids, *_ in summaries])
        pairs = zip(parts, summaries, strict=True)
        entries = [(part, *summary) for part, summary in pairs if len(summary[0])]
        if not entries:
            raise ValueError("X has no rows.")
    return Loaded(*zip(*entries, strict=True))


def _part(number: int, X: Any, y: Any, groups: Any, weights: Any) -> Part | None:
    """The rows of a partition, sorted by query; runs on a worker, like `_summary`."""
    if X.shape[0] == 0:
        return None
    with check.about(f"partition {number}"):
        check.check_same_index(X=X, y=y, groups=groups, sample_weight=weights)
        check_consistent_length(X, y)
        ids = require_groups(groups, y, X, who="fit")
        part = Rows(without_queries(X), y, ids, weights).check().part()
        check.query_weights(part.weights, part.queries, part=True)
    return part


def _summary(part: Part | None) -> tuple[Any, ...]:
    """The entries of a part in the fields of `Loaded` after `parts`."""
    if part is None:
        return np.empty(0, object), np.empty(0, np.int64), 0.0, False
    return part.queries.ids, part.queries.sizes, float(part.y.max()), part.weights is not None


def highest_grade(*collections: Loaded | None) -> int:
    """The highest grade of several collections; None stands for an absent collection."""
    tops = [top for rows in collections if rows is not None for top in rows.tops]
    return check.highest_grade(np.array(tops))


def chosen_ids(rows: Loaded, ranker: Estimator) -> tuple[np.ndarray, np.ndarray]:
    """Ids of the queries to train on, and of the queries that a GroupedRanker holds out.

    The same rows in memory give the same queries.
    """
    import dask

    labels = dask.compute(*map(dask.delayed(_labels), rows.parts))
    groups = np.repeat(np.concatenate(rows.ids), np.concatenate(rows.sizes))
    all_rows = Rows(np.empty(0), np.concatenate(labels), groups).check()  # without features
    train, held_out = all_rows.choose(
        ranker.max_queries, ranker.validation_fraction, ranker.random_state
    )
    return all_rows.ids[train], all_rows.ids[held_out]


def _cut(rows: Loaded, query_ids: np.ndarray) -> Loaded:
    """The rows of the queries with `query_ids`, which stay on the workers."""
    import dask

    join = dask.delayed(_joined)
    entries = []
    for part, ids, sizes, *others in zip(*rows, strict=True):
        if (mask := np.isin(ids, query_ids)).any():
            entries.append((join([(part, mask)]), ids[mask], sizes[mask], *others))
    return Loaded(*zip(*entries, strict=True))


def drawn(rows: Loaded, ranker: Estimator) -> Rows:
    """Random queries of at most `max_rows` rows in all, but at least one query, in memory.

    `random_state` and the option "max_rows" are those of the ranker, if it has them, else 0 and
    1,000,000. The draw depends on the query ids, not on the order of rows and partitions.
    """
    import dask

    options = ranker._options() if hasattr(ranker, "_options") else {}
    max_rows = options.get("max_rows", 1_000_000)
    rng = check.as_random_state("random_state", getattr(ranker, "random_state", 0))
    ids, sizes = np.concatenate(rows.ids), np.concatenate(rows.sizes)
    used = np.ones(len(ids), dtype=bool)
    if sizes.sum() > max_rows:
        order = rng.permutation(np.argsort(ids))
        used[order[np.cumsum(sizes[order]) > max_rows]] = False
        used[order[0]] = True
        warn(
            f"{used.sum()} of {len(ids)} queries are drawn at random, since the collection has "
            f"more than max_rows={max_rows} rows, an option of LinearRanker.",
        )
    masks = np.split(used, np.cumsum(list(map(len, rows.ids)))[:-1])
    return _stacked(dask.compute(*map(dask.delayed(_taken), rows.parts, masks)))


def _taken(part: Part, used: np.ndarray) -> Rows:
    """The rows of some queries of a part, given by a mask."""
    number = part.queries.row_query
    rows: Any = slice(0, len(number)) if used.all() else np.flatnonzero(used[number])
    weights = None if part.weights is None else part.weights[rows]
    return Rows(_safe_indexing(part.X, rows), part.y[rows], part.queries.ids[number[rows]], weights)


def _joined(parts: list[tuple[Part, np.ndarray]]) -> Part:
    """The rows of some queries of each part, given by masks."""
    return _stacked([_taken(part, mask) for part, mask in parts]).check().part()


def _stacked(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, in the order of the parts."""
    if len(parts) == 1:
        return parts[0]
    tables: list[Any] = [rows.X for rows in parts]
    if hasattr(tables[0], "iloc"):
        from dask.dataframe.dispatch import concat

        X = concat(tables, ignore_index=True)  # unites the categories of the parts
    else:
        X = sparse.vstack(tables, "csr") if sparse.issparse(tables[0]) else np.concatenate(tables)
    columns: Any = zip(*((rows.y, rows.groups, rows.sample_weight) for rows in parts), strict=True)
    stacked: list[Any] = [
        None if column[0] is None else np.concatenate(column) for column in columns
    ]
    return Rows(X, *stacked)


# training -----------------------------------------------------------------------------------------


class Spread:
    """Rows of whole queries, one Part per worker; its methods return Dask collections."""

    def __init__(self, client: Client, rows: Loaded, workers: list[str]) -> None:
        """Send about the same number of queries, at least 1, to each of the `workers`."""
        import dask

        counts = list(map(len, rows.ids))
        owners = np.arange(sum(counts)) * len(workers) // sum(counts)  # worker by query
        owners_by_part = np.split(owners, np.cumsum(counts)[:-1])
        self.client, self.weighted, self.parts = client, rows.weighted[0], {}
        for number, worker in enumerate(workers):
            masks = zip(rows.parts, (owners == number for owners in owners_by_part), strict=True)
            cuts = [(part, mask) for part, mask in masks if mask.any()]
            self.parts[worker] = (
                client.scatter(_joined(cuts), workers=[worker], hash=False)  # a hash takes time
                if isinstance(rows.parts[0], Part)
                else client.compute(dask.delayed(_joined)(cuts), workers=[worker])
            )

    def table(self) -> DaskTable:
        """Features of the rows."""
        first = next(iter(self.parts.values()))
        like = self.client.submit(lambda part: _safe_indexing(part.X, slice(0, 0)), first)
        return self.column(lambda part: part.X, like.result())

    def column(self, function: Callable[[Part], Any], like: Any = np.empty(0)) -> Any:  # noqa: B008
        """The results of a function for each part, as a collection with the type of `like`.

        Results are pinned to the workers: the scheduler may move tasks to an idle worker, and
        XGBoost fails if a worker has no rows of a frame with categories.
        """
        import dask.array as da
        import dask.dataframe as dd

        name, graph, is_frame = f"rows-{uuid4().hex}", {}, hasattr(like, "iloc")
        for number, (worker, part) in enumerate(self.parts.items()):
            key = (name, number) if is_frame or like.ndim == 1 else (name, number, 0)
            graph[key] = self.client.submit(function, part, workers=[worker], key=key)
        if is_frame:
            return dd.from_graph(graph, like, (None,) * (len(graph) + 1), list(graph), name)
        chunks = (np.nan,) * len(graph), *((size,) for size in like.shape[1:])  # unknown sizes
        return da.Array(graph, name, chunks, meta=like, dtype=like.dtype)


def _spread(client: Client, *parts: Part) -> list[Spread]:
    """Send rows of each part to each worker: XGBoost needs training and validation rows there."""
    collections = [part.loaded or Loaded(*zip((part, *_summary(part)))) for part in parts]
    fewest = min(sum(map(len, rows.ids)) for rows in collections)  # queries
    workers = sorted(client.nthreads())[:fewest]
    if not workers:
        raise ValueError("the cluster has no workers yet: call client.wait_for_workers(n) first.")
    return [Spread(client, rows, workers) for rows in collections]


class DaskLightGBMRanker(LightGBM):
    """DaskLGBMRanker.

    Workers of LightGBM do not exchange values of metrics. They train all rounds; then the rounds
    are measured on the validation rows, and the rounds after the best round are not used.
    """

    classes = ("lightgbm.dask", "DaskLGBMRanker", "DaskLGBMRanker")
    on_workers = True

    def train(self, fit: Fit) -> None:
        estimator = fit.estimator
        kinds = check.boosting_kinds(estimator.get_params())
        if fit.valid is not None and (not fit.metrics or "dart" in kinds):
            raise ValueError(
                "DaskLGBMRanker is validated after training: set eval_metric of GroupedRanker, and "
                'another boosting_type than "dart".'
            )
        if fit.objective is not None:  # nDCG of LightGBM refuses labels that are not integers
            estimator.set_params(objective=skrank.lightgbm.objective(fit.objective), metric="None")
        client = client_of(estimator)
        with client.as_current():
            (train,) = _spread(client, fit.train)
            weights = train.column(lambda part: part.weights) if train.weighted else None
            estimator.fit(
                train.table(), train.column(_labels), sample_weight=weights,
                group=train.column(lambda part: part.queries.sizes),
                init_score=_start_scores(fit, train), **fit.arguments,
            )  # fmt: skip
        fit.estimator = estimator.to_local()
        fit.best_iteration = fit.estimator.booster_.current_iteration()
        if fit.valid is not None:
            best = fit.stop_early(_scores_of_rounds(fit, fit.valid))
            fit.estimator.booster_.best_iteration = fit.best_iteration = best


def _scores_of_rounds(fit: Fit, valid: Part) -> Iterator[np.ndarray]:
    """Scores of the validation rows after each round."""
    booster = fit.estimator.booster_
    scores = np.zeros(valid.X.shape[0]) if valid.start is None else valid.start
    for number in range(booster.current_iteration()):
        scores = scores + booster.predict(valid.X, number, 1, raw_score=True)
        yield scores


class DaskXGBoostRanker(XGBoost):
    """DaskXGBRanker. All workers stop in the same round."""

    classes = ("xgboost.dask", "DaskXGBRanker", "DaskXGBRanker")
    on_workers = True

    def train(self, fit: Fit) -> None:
        import dask

        estimator, xgboost = fit.estimator, import_booster("xgboost.dask")
        feature_weights = dask.delayed(self._feature_weights(fit))  # it takes collections only
        declare_categories(fit)
        if fit.start.factor:
            estimator.set_params(base_score=0.0)  # so that the model predicts the sum of its rounds
        client = client_of(estimator)

        def matrix(spread: Spread) -> Any:
            return xgboost.DaskDMatrix(
                client, spread.table(), spread.column(_labels),
                qid=spread.column(lambda part: part.queries.row_query),
                base_margin=_start_scores(fit, spread),
                missing=estimator.missing, feature_types=estimator.feature_types,
                enable_categorical=estimator.enable_categorical, feature_weights=feature_weights,
            )  # fmt: skip

        with client.as_current():
            train, *valid = _spread(client, *filter(None, (fit.train, fit.valid)))
            if train.weighted:
                raise ValueError(
                    "XGBoost takes no weights of queries on Dask: fit without sample_weight."
                )
            options = train_options(fit, [(matrix(spread), fit.valid_name) for spread in valid])
            if "coll_cfg" in options["params"]:  # an argument, not a parameter of the booster
                options["coll_cfg"] = options["params"].pop("coll_cfg")
            options |= {"verbose_eval": fit.arguments.pop("verbose", False)} | fit.arguments
            result = xgboost.train(client, dtrain=matrix(train), **options)
        ranker = import_booster("xgboost").XGBRanker()
        params, names = estimator.get_params(deep=False), ranker.get_params(deep=False)
        shared = {name: params[name] for name in names if name in params}
        fit.estimator = ranker.set_params(**shared)
        take_booster(fit, result["booster"], result["history"])


def _labels(part: Part) -> np.ndarray:
    return part.y.astype(np.float64)


def _start_scores(fit: Fit, rows: Spread) -> Any:
    """The scores that boosting starts from, computed on the workers; None without a start."""
    start = fit.start
    return rows.column(lambda part: start.finite_scores(part.X)) if start.factor else None


def parts_of(
    ranker: Estimator, rows: Rows, validation: Rows | None
) -> tuple[Part, Part | None, Part | None, int, Loaded]:
    """The rows of collections that the parameters of a GroupedRanker choose.

    Returns
    -------
    train : Part
        Rows to train on, on the workers.
    valid : Part or None
        Validation rows, in memory.
    refit : Part or None
        The rows of both, on the workers, if `validation_fraction` holds out queries.
    max_grade : int
        Highest label.
    loaded : Loaded
        All rows to choose from; the workers drop these rows when nothing refers to them.
    """

    def on_workers(collection: Loaded) -> Part:
        return Part(without_queries(rows.X), np.empty(0), params=rows.params, loaded=collection)

    refuse_unjudged(ranker)
    _refuse_unknown_categories(rows.X)
    validate_data(ranker, without_queries(head_of(rows.X)), skip_check_array=True)
    with client_of(ranker.estimator).as_current():
        all_rows = train = loaded(rows)
        valid = None if validation is None else loaded(validation, VALIDATION_ROWS)
        max_grade, refit = highest_grade(all_rows, valid), None
        if ranker.max_queries is not None or ranker.validation_fraction is not None:
            used, held_out = chosen_ids(all_rows, ranker)
            train = _cut(all_rows, used)
            if len(held_out):
                valid, refit = _cut(all_rows, held_out), _cut(all_rows, np.append(used, held_out))
        in_memory = None if valid is None else drawn(valid, ranker).check().part()
        return on_workers(train), in_memory, refit and on_workers(refit), max_grade, all_rows


def client_of(estimator: Estimator) -> Client:
    """The client of an estimator, or the current one."""
    from distributed import get_client

    return estimator.client or get_client()
