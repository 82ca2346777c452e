"""Fusion: one run from several, by ranks, by normalised scores, or with weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank.trec import _polars as pl
from skrank.trec._data import Qrels, Run, by_query
from skrank.trec._sources import read_qrels, read_runs

METHODS = ("rrf", "combsum", "combmnz", "weighted_sum")  # the last needs weights
NORMS = ("min_max", "zscore", "reciprocal_rank")


def _normalised(run: Run, norm: str | None, rrf_k: float) -> np.ndarray:
    """The scores of a run, normalised in each query."""
    starts, sizes = run.queries.indptr[:-1], run.queries.sizes

    def per_query(reduction: np.ufunc, values: np.ndarray) -> np.ndarray:
        return np.repeat(reduction.reduceat(values, starts), sizes)

    if norm is None:
        return run.scores
    if norm == "reciprocal_rank":
        return np.divide(1, rrf_k + run.rank_in_query)
    # Squares of scores near the limits of double precision would be 0 or inf. Scores are therefore
    # divided by a power of 2, which is exact and does not change the normalised scores.
    _, exponent = np.frexp(per_query(np.maximum, np.abs(run.scores)))
    scaled = np.ldexp(run.scores, -exponent)
    shifted = scaled - per_query(np.minimum, scaled)  # exactly 0 if all scores of a query are equal
    if norm == "min_max":
        highest = per_query(np.maximum, shifted)
        return np.divide(shifted, highest, out=np.ones_like(shifted), where=highest > 0)
    count = np.repeat(sizes, sizes)
    centered = shifted - per_query(np.add, shifted) / count
    deviation = np.sqrt(per_query(np.add, centered**2) / count)
    return np.divide(centered, deviation, out=np.zeros_like(centered), where=deviation > 0)


def fuse(
    runs: object,
    method: str = "rrf",
    *,
    norm: str | None = "auto",
    rrf_k: float = 60,
    weights: Sequence[float] | Mapping[str, float] | Any = None,
    qrels: object = None,
    n_splits: int = 5,
    name: str = "fused",
) -> Run:
    """Fuse runs into one.

    Parameters
    ----------
    runs
        At least two, as in `evaluate`.
    method : {"rrf", "combsum", "combmnz", "weighted_sum"}
        "rrf": the sum of 1 / (k + r), where r is the rank in a run, perhaps with `weights`. By
        scores of the runs that retrieved the document: "combsum", the sum; "combmnz", the sum times
        the number of these runs; "weighted_sum", with `weights`.
    norm : {"auto", "min_max", "zscore", "reciprocal_rank", None}
        How the scores of each query of each run are normalised. "min_max": to the range from 0 to
        1; equal scores become 1. "zscore": to mean 0 and variance 1; equal scores become 0.
        "reciprocal_rank": replaced by 1 / (k + r). None: not at all. "auto": "reciprocal_rank" if
        `weights` is a ranker, otherwise "min_max". "rrf" ignores it.
    rrf_k : float
        Constant k of "rrf" and of "reciprocal_rank".
    weights : sequence of float, dict of str to float, or ranker
        Weights of "weighted_sum" and "rrf", in the order of the runs or by name; or a linear ranker
        that learns them from `qrels`, such as ``LinearRanker("ndcg@10", positive=True)``: it has
        ``fit(X, y, groups=)`` and then ``coef_``.
    qrels : Qrels, path, file object, or judgments in memory
        Judgments for the ranker. Documents without a judgment count as not relevant.
    n_splits : int
        Number of folds of the judged queries for the ranker.
    name : str
        Name of the fused run.

    Returns
    -------
    Run
        The fused run, with `weights` if any were given or learned. `evaluate` accepts the run, and
        `run_lines` writes it.

    Raises
    ------
    ValueError
        If there are fewer than two runs, or a run shares no query with the others; if an argument
        is missing or does not belong to the method.

    Notes
    -----
    A ranker is trained on the normalised scores, with 0 where a run did not retrieve the document.
    Each fold of the judged queries is scored with weights that are trained on the other folds, so
    that `evaluate` on `qrels` measures weights on queries that they were not trained on. Queries
    without judgments are scored with weights that are trained on all judged queries.

    Examples
    --------
    >>> from skrank import trec
    >>> lexical = {"1": {"a": 12.0, "b": 9.0, "c": 3.0}}
    >>> dense = {"1": {"c": 0.9, "a": 0.8, "d": 0.5}}
    >>> trec.fuse({"lexical": lexical, "dense": dense}).to_frame().round(4)
      qid docid  score
    0   1     a 0.0325
    1   1     c 0.0323
    2   1     b 0.0161
    3   1     d 0.0159
    """
    check.check_choice("method", method, METHODS)
    check.check_choice("norm", norm, ("auto", *NORMS, None))
    rrf_k = check.check_number("rrf_k", rrf_k, 0, 1e9)  # a free choice
    name = check.check_text("name", name, "the name of the fused run")
    if method not in (METHODS[:-1] if weights is None else ("rrf", "weighted_sum")):
        raise ValueError("weights belong to 'weighted_sum', which needs them, and to 'rrf'.")
    learned = hasattr(weights, "fit")
    if learned != (qrels is not None):
        raise ValueError("a ranker as weights= needs qrels=, and other weights take none.")
    named = read_runs(runs)
    check.check_fusion({system: run.queries.ids.tolist() for system, run in named.items()}, name)
    if norm == "auto" or method == "rrf":
        norm = "reciprocal_rank" if learned or method == "rrf" else "min_max"
    rows = [
        _table(run, value=_normalised(run, norm, rrf_k), run=number)
        for number, run in enumerate(named.values())
    ]
    # a row for each document that a run retrieved, and a column for each run
    wide = pl.concat(rows).pivot("run", index=["qid", "docid"], values="value", maintain_order=True)
    queries, wide = by_query(wide)
    values = wide.drop("qid", "docid").to_numpy()
    X, run_weights = np.nan_to_num(values), None
    if learned:
        groups = np.repeat(queries.ids, queries.sizes)
        scores, run_weights = _cross_fitted(X, wide, groups, read_qrels(qrels), weights, n_splits)
    elif weights is not None:
        run_weights = np.array(check.check_run_weights(weights, list(named)))
        scores = X @ run_weights
    else:
        with np.errstate(over="ignore"):  # infinite scores are refused below
            scores = X.sum(axis=1)
        scores *= np.count_nonzero(~np.isnan(values), axis=1) if method == "combmnz" else 1
    with check.about("the fused run"):
        fused = Run.from_arrays(wide["qid"], wide["docid"], scores, name=name)
    by_run = None if run_weights is None else dict(zip(named, run_weights.tolist(), strict=True))
    return dataclasses.replace(fused, weights=by_run)


def _table(source: Run | Qrels, **columns: object) -> pl.DataFrame:
    ids = pl.Series(np.repeat(source.queries.ids, source.queries.sizes).tolist(), dtype=pl.String)
    return pl.DataFrame({"qid": ids, "docid": source.documents}).with_columns(**columns)


def _cross_fitted(
    X: np.ndarray, table: pl.DataFrame, groups: np.ndarray, qrels: Qrels, ranker: Any, n_splits: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scores by weights trained on other queries; the weights trained on all judged queries."""
    from sklearn.base import clone

    from skrank.model_selection import QueryKFold

    judged = np.flatnonzero(np.isin(groups, qrels.queries.ids))
    if not len(judged):
        raise ValueError(f"no query of the runs, such as {groups[0]!r}, is in the qrels.")
    judgments, keys = _table(qrels, label=qrels.labels), ["qid", "docid"]
    labels = table.join(judgments, on=keys, how="left", maintain_order="left")["label"]
    y = np.nan_to_num(labels.to_numpy())

    def trained_weights(rows: np.ndarray) -> np.ndarray:
        weights = clone(ranker).fit(X[rows], y[rows], groups=groups[rows]).coef_
        # weights are all 0 if no run ranks relevant documents above others: runs then count equally
        weights = weights if weights.any() else np.ones_like(weights)
        return weights / np.abs(weights).sum()

    weights = trained_weights(judged)
    scores = X @ weights
    for train, test in QueryKFold(n_splits).split(X[judged], groups=groups[judged]):
        scores[judged[test]] = X[judged[test]] @ trained_weights(judged[train])
    return scores, weights
