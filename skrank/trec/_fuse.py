"""Fusion: one run from several, by ranks, by normalised scores, or with weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank._engine.queries import Queries
from skrank.trec._columns import Columns, rows_of_memory, table_of
from skrank.trec._data import Qrels, Run, as_qrels, as_run
from skrank.trec._files import Rows
from skrank.trec._join import AnyRuns, Runs

if TYPE_CHECKING:
    import polars as pl
else:
    from skrank.trec import _polars as pl

METHODS = ("rrf", "combsum", "combmnz", "weighted_sum")
NORMS = ("min_max", "zscore", "reciprocal_rank")


@dataclass(frozen=True, eq=False, repr=False)
class FusedRun(Run):
    """The result of `fuse`: a run.

    Attributes
    ----------
    name, queries, documents, scores, ranks, file
        See `Run`.
    weights : dict of str to float, or None
        Weight of each run; those of a ranker are trained on all judged queries and add up to 1.
        None for methods without weights.
    """

    weights: dict[str, float] | None = None


@dataclass(frozen=True, eq=False)
class Candidates:
    """The documents that at least one run retrieved, by query.

    Attributes
    ----------
    names : list of str
        Names of the runs.
    queries : Queries
    documents : polars.Series of shape (n_rows,)
        Ids.
    scores, ranks : float64 ndarrays of shape (n_rows, n_runs)
        Score and rank (from 1) of each document in each run; NaN where a run did not retrieve it.
    """

    names: list[str]
    queries: Queries
    documents: pl.Series
    scores: np.ndarray
    ranks: np.ndarray

    @classmethod
    def of(cls, named: Mapping[str, Run], *, from_file: bool) -> Candidates:
        """The candidates of runs, with the ranks of scores, or those of files."""
        runs = list(named.values())
        if from_file:
            lacks = next((name for name, run in named.items() if run.ranks is None), None)
            if lacks is not None:
                raise ValueError(f"run {lacks!r} has no column of ranks: choose ranks='score'.")
        ids = pl.Series(
            [one for run in runs for one in np.repeat(run.queries.ids, run.queries.sizes)]
        )
        names = pl.concat([run.documents for run in runs])
        queries, documents = (one.unique(maintain_order=True) for one in (ids, names))
        query, document = (
            one.cast(pl.Enum(all_ids)).to_physical().to_numpy().astype(np.int64)
            for one, all_ids in ((ids, queries), (names, documents))
        )
        cells, row = np.unique(query * len(documents) + document, return_inverse=True)
        query, document = np.divmod(cells, len(documents))
        column = np.repeat(np.arange(len(runs)), [len(run.scores) for run in runs])
        scores, ranks = np.full((2, len(cells), len(runs)), np.nan)
        scores[row, column] = np.concatenate([run.scores for run in runs])
        ranks[row, column] = np.concatenate(
            [run.ranks if from_file else _ranks(run.queries) for run in runs]
        )
        edges = np.searchsorted(query, np.arange(len(queries) + 1))
        by_query = Queries(np.array(queries.to_list(), dtype=object), edges)
        return cls(list(named), by_query, documents[document], scores, ranks)

    @property
    def row_query(self) -> np.ndarray:
        """Query id of each row."""
        return np.repeat(self.queries.ids, self.queries.sizes)

    def per_query(self, reduction: np.ufunc, table: np.ndarray) -> np.ndarray:
        """A reduction over the rows of each query, repeated for each row of the query."""
        found = reduction.reduceat(table, self.queries.indptr[:-1], axis=0)
        return np.repeat(found, self.queries.sizes, axis=0)

    def normalised(self, norm: str | None, k: float) -> np.ndarray:
        """The scores of each query of each run, normalised."""
        if norm is None:
            return self.scores
        if norm == "reciprocal_rank":
            return 1 / (k + self.ranks)
        # Scores near the limits of double precision: the norms do not depend on the scale, and a
        # power of 2 changes no digit.
        _, exponent = np.frexp(self.per_query(np.fmax, np.abs(self.scores)))
        scaled = np.ldexp(self.scores, -exponent)
        shifted = scaled - self.per_query(np.fmin, scaled)  # exactly 0 where all are equal
        if norm == "min_max":
            return _ratio(shifted, self.per_query(np.fmax, shifted))
        n = self.per_query(np.add, 1.0 - np.isnan(self.ranks))
        centered = shifted - _ratio(self.per_query(np.add, np.nan_to_num(shifted)), n)
        squares = self.per_query(np.add, np.nan_to_num(centered) ** 2)
        return _ratio(centered, np.sqrt(_ratio(squares, n)))


def _ranks(queries: Queries) -> np.ndarray:
    """Rank of each row of a run, from 1."""
    return np.arange(1, queries.n_rows + 1) - np.repeat(queries.indptr[:-1], queries.sizes)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient, or 0 where the denominator is 0: the numerator is 0 there, too."""
    return np.divide(numerator, denominator, out=numerator.copy(), where=denominator != 0)


def load(runs: AnyRuns, *, ranks: bool = False) -> dict[str, Run]:
    """Runs by name; those in files are read, with their ranks if these are wanted."""
    sources = Runs.of(runs)
    loaded = [as_run(source, ranks=ranks) for source in sources.sources]
    names = sources.names([run.name for run in loaded])
    return dict(zip(map(str, names), loaded, strict=True))


def fuse(
    runs: AnyRuns,
    method: str = "rrf",
    *,
    norm: str | None = "auto",
    k: float = 60,
    ranks: str = "score",
    weights: Sequence[float] | Mapping[str, float] | Any = None,
    qrels: object = None,
    n_splits: int = 5,
    name: str = "fused",
) -> FusedRun:
    """Fuse runs into one.

    Parameters
    ----------
    runs
        At least two, as in `evaluate`.
    method : {"rrf", "combsum", "combmnz", "weighted_sum"}
        "rrf": the sum of 1 / (k + r), where r is the rank in a run. By scores of the runs that
        retrieved the document: "combsum", the sum; "combmnz", the sum times the number of these
        runs; "weighted_sum", with `weights`.
    norm : {"auto", "min_max", "zscore", "reciprocal_rank", None}
        How the scores of each query of each run are normalised. "min_max": to the range from 0 to
        1. "zscore": to mean 0 and variance 1. "reciprocal_rank": replaced by 1 / (k + r). None: not
        at all. "auto": "reciprocal_rank" if `weights` is a ranker, otherwise "min_max". "rrf"
        ignores it.
    k : float
        Constant of "rrf" and of "reciprocal_rank".
    ranks : {"score", "file"}
        Where ranks come from. "score": from the order of `Run`. "file": from the column of ranks
        that files, tables and records of all runs have.
    weights : sequence of float, dict of str to float, or ranker
        Weights of "weighted_sum", in the order of the runs or by name; or a linear ranker that
        learns them from `qrels`, such as ``LinearRanker("ndcg@10", positive=True)``: it has
        ``fit(X, y, groups=)`` and then ``coef_``.
    qrels : Qrels, path, file object, or judgments in memory
        Judgments for the ranker. Documents without a judgment count as not relevant.
    n_splits : int
        Number of folds of the judged queries for the ranker.
    name : str
        Name of the fused run.

    Returns
    -------
    FusedRun
        `evaluate` takes it, and `run_lines` writes it.

    Raises
    ------
    ValueError
        If there are fewer than two runs, two runs are equal, or a run shares no query with the
        others; if an argument is missing or does not belong to the method.

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
    check.check_choice("ranks", ranks, ("score", "file"))
    k = check.check_number("k", k, 0, 1e9)
    name = check.check_text("name", name, "the name of the fused run")
    if (weights is None) != (method != "weighted_sum"):
        raise ValueError("method='weighted_sum' needs weights, and other methods take none.")
    learned = hasattr(weights, "fit")
    if learned != (qrels is not None):
        raise ValueError("a ranker as weights= needs qrels=, and other weights take none.")
    from_file = ranks == "file"
    found = Candidates.of(load(runs, ranks=from_file), from_file=from_file)
    _check_runs(found, name)
    if norm == "auto":
        norm = "reciprocal_rank" if learned else "min_max"
    table = found.normalised("reciprocal_rank" if method == "rrf" else norm, k)
    used = None
    if learned:
        scores, used = _cross_fitted(
            found, np.nan_to_num(table), as_qrels(qrels), weights, n_splits
        )
    elif method == "weighted_sum":
        used = _given_weights(weights, found.names)
        scores = np.nan_to_num(table) @ used
    else:
        with np.errstate(over="ignore"):  # infinite scores are refused below
            scores = np.nansum(table, axis=1)
        if method == "combmnz":
            scores = scores * np.count_nonzero(~np.isnan(table), axis=1)
    where = rows_of_memory("run")
    columns = Columns(pl.Series(found.row_query.tolist()), found.documents, scores)
    run = Run.of_rows(Rows(table_of(columns, "run", where), where), name)
    given = None if used is None else dict(zip(found.names, used.tolist(), strict=True))
    return FusedRun(**vars(run), weights=given)


def _cross_fitted(
    found: Candidates, X: np.ndarray, qrels: Qrels, ranker: Any, n_splits: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scores by weights that are trained on other queries, and weights trained on all queries."""
    from sklearn.base import clone

    from skrank.model_selection import QueryKFold

    groups = found.row_query
    judged = np.flatnonzero(np.isin(groups, qrels.queries.ids))
    if not len(judged):
        first = found.queries.name(0), qrels.queries.name(0)
        raise ValueError(
            f"the runs have no query of the qrels: their first is {first[0]}, and that of the "
            f"qrels {first[1]}."
        )
    ids = {"qid": np.repeat(qrels.queries.ids, qrels.queries.sizes), "docid": qrels.documents}
    known = pl.DataFrame({**ids, "label": qrels.labels})
    rows = pl.DataFrame({"qid": pl.Series(groups.tolist()), "docid": found.documents})
    labels = np.nan_to_num(
        rows.join(known, on=["qid", "docid"], how="left", maintain_order="left")["label"].to_numpy()
    )

    def trained(rows: np.ndarray) -> np.ndarray:
        weights = clone(ranker).fit(X[rows], labels[rows], groups=groups[rows]).coef_
        if not weights.any():  # no run ranks relevant documents above others
            weights = np.ones_like(weights)
        return weights / np.abs(weights).sum()

    weights = trained(judged)
    scores = X @ weights
    for train, test in QueryKFold(n_splits).split(X[judged], groups=groups[judged]):
        scores[judged[test]] = X[judged[test]] @ trained(judged[train])
    return scores, weights


# checks -------------------------------------------------------------------------------------------


def _given_weights(weights: Any, names: list[str]) -> np.ndarray:
    """Weights in the order of the runs."""
    if isinstance(weights, Mapping) and set(weights) == set(names):
        weights = [weights[name] for name in names]
    numbers = check.check_numbers("weights", weights)
    if len(numbers) != len(names):
        raise ValueError(f"weights has {len(numbers)} numbers, and there are {len(names)} runs.")
    return np.array(numbers)


def _check_runs(found: Candidates, name: str) -> None:
    """Raise ValueError unless the runs are several, differ, and share queries."""
    names = found.names
    if len(names) < 2:
        raise ValueError(f"fusion needs at least two runs, and {names[0]!r} is the only one.")
    if name in names:
        raise ValueError(f"name={name!r} is the name of one of the runs: choose another.")
    for first, second in combinations(range(len(names)), 2):
        if np.array_equal(found.scores[:, first], found.scores[:, second], equal_nan=True):
            raise ValueError(
                f"runs {names[first]!r} and {names[second]!r} are equal: leave one of them out, or "
                "give it more weight by method='weighted_sum'."
            )
    starts = found.queries.indptr[:-1]
    has = np.maximum.reduceat(~np.isnan(found.ranks), starts, axis=0)
    alone = ~(has & (has.sum(axis=1) > 1)[:, None]).any(axis=0)
    if alone.any():
        raise ValueError(
            f"run {names[int(np.argmax(alone))]!r} shares no query with the other runs: check that "
            "their query ids are spelled alike."
        )
