"""Training of a LinearRanker on Dask: rows stay on the workers, which send sums to the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank._typing import DaskColumn, Estimator
from skrank.dask._evaluate import evaluate
from skrank.dask._partitions import Partition, PartitionSummary, current_client, loaded_partitions
from skrank.dask._scorer import head_of, predict_collection
from skrank.metrics import Metric
from skrank.model_selection._parts import QueryRows
from skrank.rankers._feature_map import FeatureMap
from skrank.rankers._linear_rows import RowParts, TrainingRows
from skrank.rankers._rows import Rows, check_several_rows_per_query, features

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")


def collection_rows(ranker: Estimator, train: Rows, valid: Rows | None) -> OnWorkers:
    """`TrainingRows` of a LinearRanker, on the workers.

    Sets `feature_map_`, not yet fitted, `max_grade_`, `n_features_in_` and `feature_names_in_`.
    """
    _check_parameters(ranker, train, validates=valid is not None)
    client, head = current_client(), head_of(train.X)
    validate_data(ranker, head, skip_check_array=True)
    feature_map = FeatureMap(ranker.features, ranker.categorical_features)
    feature_map.set_columns(head, np.empty(0))
    pieces = loaded_partitions(client, train.X, train.y, train.groups, train.sample_weight)
    summaries = [summary for _, summary in pieces]
    labels = np.unique(np.concatenate([summary.labels for summary in summaries]))
    ranker.max_grade_ = check.highest_grade(labels)
    if valid is not None:
        top = cast(DaskColumn, valid.y).max().compute()
        ranker.max_grade_ = max(ranker.max_grade_, check.highest_grade(top))
    offsets = _offsets(summaries, Judgments(labels, Queries.single(len(labels))))
    ranker.feature_map_ = feature_map
    rows = [
        client.submit(_training_rows, piece, offset, feature_map, pure=False)
        for (piece, _), offset in zip(pieces, offsets, strict=True)
        if len(offset.codes)
    ]
    return OnWorkers(rows, client)


def _check_parameters(ranker: Estimator, train: Rows, *, validates: bool) -> None:
    """Raise if a parameter needs all rows on one machine."""
    if train.groups is None:
        raise ValueError("LinearRanker.fit needs groups=, the query of each row, beside X of Dask.")
    refuse_choice_of_rows(ranker, {"max_queries": None, "unjudged": "raise"})
    if ranker.alphas is not None and not validates:
        raise ValueError(
            "alphas are compared on validation rows, and validation_fraction does not apply to "
            "Dask collections: give other collections to fit as X_val, y_val and groups_val."
        )
    if not isinstance(ranker.features, str):
        raise ValueError(
            f"features={ranker.features!r} is fitted on one machine, and X is a Dask collection: "
            "transform the partitions before fit, X.map_partitions(transformer.transform), and "
            'leave features="auto".'
        )


def refuse_choice_of_rows(ranker: Estimator, defaults: Mapping[str, object]) -> None:
    """Raise if a parameter that chooses rows in memory differs from its default."""
    for name, default in defaults.items():
        if getattr(ranker, name) != default:
            raise ValueError(
                f"{name} is for data in memory: choose the rows of Dask collections before fit, "
                "and give validation rows as X_val, y_val and groups_val."
            )


def validation_values(
    ranker: Estimator,
    valid: Rows,
    name: str,
    metric: Metric,
    tried: Sequence[np.ndarray],
) -> list[float]:
    """Values of a metric on collections, for each of the `coef_` tried; `coef_` is overwritten."""
    values = []
    for coef in tried:
        ranker.coef_ = coef
        report = evaluate(valid.y, predict_collection(ranker, valid.X), valid.groups, metric)
        values.append(float(report.averages[0, 0]))
    if np.isnan(values).any():
        raise ValueError(
            f"no validation query has a relevant document, so {name} cannot choose among alphas: "
            "give other queries as X_val."
        )
    return values


@dataclass(frozen=True, eq=False)
class OnWorkers(RowParts):
    """RowParts on the workers, one per partition: `parts` are futures."""

    client: Client

    def collect(self, function: Callable[..., T], *arguments: object) -> list[T]:
        return self.client.gather(self._submitted(function, arguments))

    def map(self, function: Callable[..., object], *arguments: object) -> OnWorkers:
        return OnWorkers(self._submitted(function, arguments), self.client)

    def _submitted(self, function: Callable[..., object], arguments: object) -> list[Future]:
        given = {"function": function, "arguments": arguments}
        return self.client.map(_call, self.parts, pure=False, **given)


def _call(part: object, function: Callable[..., T], arguments: Sequence[object]) -> T:
    return function(part, *arguments)


class Offsets(NamedTuple):
    """What a partition needs to know of the others. Queries of weight 0 do not count.

    Attributes
    ----------
    first_query, first_row : int
        Numbers of queries and of rows in previous partitions.
    codes : ndarray of shape (n_queries,)
        Number of each query, by ascending query id of all partitions.
    heaviest : float
        The highest query weight of all partitions.
    labels : Judgments
        The distinct labels of all partitions, as one query. The tables of a metric have an entry
        for each label, and their order decides on the last bit of gradients.
    """

    first_query: int
    first_row: int
    codes: np.ndarray
    heaviest: float
    labels: Judgments


def _offsets(summaries: Sequence[PartitionSummary], labels: Judgments) -> list[Offsets]:
    weights = [np.ones(len(one.ids)) if one.weights is None else one.weights for one in summaries]
    heaviest = max(float(one.max()) for one in weights)
    check.check_weights(np.array([heaviest]), str)
    used = [
        (one.ids[mass > 0], one.sizes[mass > 0])
        for one, mass in zip(summaries, weights, strict=True)
    ]
    codes, ids, *_ = QueryRows.of(
        np.concatenate([ids for ids, _ in used]), None, "rows that are given to fit"
    )
    check_several_rows_per_query(ids, sum(int(sizes.sum()) for _, sizes in used))
    offsets, query, row = [], 0, 0
    for _, sizes in used:
        last = query + len(sizes)
        offsets.append(Offsets(query, row, codes[query:last], heaviest, labels))
        query, row = last, row + int(sizes.sum())
    return offsets


def _training_rows(piece: Partition, offsets: Offsets, feature_map: FeatureMap) -> TrainingRows:
    """Training rows of a partition, which `loaded_partitions` has checked; runs on a worker."""
    X, y, groups, weights = piece
    X = features(X, keep_polars=False)
    ids, labels = check.as_ids("groups", groups, X.shape[0]), check.check_labels(y, X.shape[0])
    if weights is not None:
        weights = check.as_vector("sample_weight", weights)
        used = np.flatnonzero(weights)
        if len(used) < len(ids):
            X, ids, labels = _safe_indexing(X, used), ids[used], labels[used]
        weights = weights[used]
    queries = replace(
        Queries.from_groups(ids), first_query=offsets.first_query, first_row=offsets.first_row
    )
    shares = np.ones(len(queries))
    if weights is not None:
        shares = queries.gather(weights)[queries.indptr[:-1]] / offsets.heaviest
    judgments = Judgments(labels, queries).coded_as(offsets.labels)
    return TrainingRows(
        *feature_map.split(X), judgments, labels, shares, offsets.codes, offsets.first_row
    )
