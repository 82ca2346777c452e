"""Fusion: one run from several, by ranks, by normalised scores, or with trained weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skrank import _validation as check
from skrank._engine.queries import Queries
from skrank.metrics import Metric
from skrank.trec._data import Qrels, Run, as_qrels, as_run
from skrank.trec._join import AnyRuns, Runs

_PAIRS_AT_ONCE = 1 << 22  # pairs of documents that Condorcet compares at once, to bound memory


@dataclass(frozen=True, eq=False, repr=False)
class FusedRun(Run):
    """The result of `fuse`: a run.

    Attributes
    ----------
    name, queries, documents, scores, slots
        See `Run`.
    weights : dict of str to float, or None
        Weight of each run; those of "linear" are trained on all judged queries and add up to 1.
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
    documents : object ndarray of shape (n_rows,)
        Ids.
    scores, ranks : float64 ndarrays of shape (n_rows, n_runs)
        Score and rank (from 1) of each document in each run; NaN where a run did not retrieve it.
    """

    names: list[str]
    queries: Queries
    documents: np.ndarray
    scores: np.ndarray
    ranks: np.ndarray

    @classmethod
    def of(cls, named: Mapping[str, Run]) -> Candidates:
        """The candidates of runs."""
        import pandas as pd

        runs = list(named.values())
        ids = np.concatenate([np.repeat(run.queries.ids, run.queries.sizes) for run in runs])
        names = np.array([name for run in runs for name in run.documents.names()], dtype=object)
        query, queries = pd.factorize(ids)
        document, documents = pd.factorize(names)
        cells, row = np.unique(query * len(documents) + document, return_inverse=True)
        query, document = np.divmod(cells, len(documents))
        column = np.repeat(np.arange(len(runs)), [len(run.scores) for run in runs])
        scores, ranks = np.full((2, len(cells), len(runs)), np.nan)
        scores[row, column] = np.concatenate([run.scores for run in runs])
        ranks[row, column] = np.concatenate([_ranks(run.queries) for run in runs])
        edges = np.searchsorted(query, np.arange(len(queries) + 1))
        return cls(list(named), Queries(queries, edges), documents[document], scores, ranks)

    @property
    def row_query(self) -> np.ndarray:
        """Query id of each row."""
        return np.repeat(self.queries.ids, self.queries.sizes)

    def per_query(self, reduction: np.ufunc, table: np.ndarray) -> np.ndarray:
        """A reduction over the rows of each query, repeated for each row of the query."""
        found = reduction.reduceat(table, self.queries.indptr[:-1], axis=0)
        return np.repeat(found, self.queries.sizes, axis=0)

    def n_retrieved(self) -> np.ndarray:
        """Number of documents that each run retrieved for the query of each row."""
        return self.per_query(np.add, 1.0 - np.isnan(self.ranks))

    def n_candidates(self) -> np.ndarray:
        """Number of candidates of the query of each row, of shape (n_rows, 1)."""
        return np.repeat(self.queries.sizes, self.queries.sizes)[:, None]

    def shifted(self) -> np.ndarray:
        """Scores less the lowest score of the query: exactly 0 where all are equal."""
        return self.scores - self.per_query(np.fmin, self.scores)


def _ranks(queries: Queries) -> np.ndarray:
    """Rank of each row of a run, from 1."""
    return np.arange(1, queries.n_rows + 1) - np.repeat(queries.indptr[:-1], queries.sizes)


# normalisation ------------------------------------------------------------------------------------


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient, or 0 where the denominator is 0: the numerator is 0 there, too."""
    return np.divide(numerator, denominator, out=numerator.copy(), where=denominator != 0)


def _min_max(found: Candidates) -> np.ndarray:
    shifted = found.shifted()
    return _ratio(shifted, found.per_query(np.fmax, shifted))


def _max(found: Candidates) -> np.ndarray:
    highest = found.per_query(np.fmax, found.scores)
    if np.any(highest <= 0):
        row, run = np.argwhere(highest <= 0)[0]
        raise ValueError(
            f"norm='max' divides by the highest score, which is {highest[row, run]:g} for query "
            f"{found.row_query[row]} of run {found.names[run]!r}: choose norm='min_max'."
        )
    return found.scores / highest


def _sum(found: Candidates) -> np.ndarray:
    shifted = found.shifted()
    return _ratio(shifted, found.per_query(np.add, np.nan_to_num(shifted)))


def _zscore(found: Candidates) -> np.ndarray:
    shifted, n = found.shifted(), found.n_retrieved()
    centered = shifted - _ratio(found.per_query(np.add, np.nan_to_num(shifted)), n)
    squares = found.per_query(np.add, np.nan_to_num(centered) ** 2)
    return _ratio(centered, np.sqrt(_ratio(squares, n)))


def _rank(found: Candidates) -> np.ndarray:
    return 1 - (found.ranks - 1) / found.n_retrieved()


def _borda(found: Candidates) -> np.ndarray:
    """Points of a Borda count; documents that a run did not retrieve share the remaining points."""
    n = found.n_candidates()
    rest = (n - found.n_retrieved() + 1) / 2
    return np.where(np.isnan(found.ranks), rest, n - found.ranks + 1) / n


NORMS = {"min_max": _min_max, "max": _max, "sum": _sum, "zscore": _zscore, "rank": _rank,
         "borda": _borda}  # fmt: skip


def _normalised(found: Candidates, norm: str | None, k: float) -> np.ndarray:
    if norm is None:
        return found.scores
    return 1 / (k + found.ranks) if norm == "reciprocal_rank" else NORMS[norm](found)


# methods ------------------------------------------------------------------------------------------


def _count(table: np.ndarray) -> np.ndarray:
    """Number of runs that retrieved each document."""
    return np.count_nonzero(~np.isnan(table), axis=1)


def _condorcet(found: Candidates) -> np.ndarray:
    """Number of candidates that a majority of runs ranks lower; ties count half."""
    ranks = np.where(np.isnan(found.ranks), np.inf, found.ranks)
    margins = np.empty(len(ranks))
    for start, stop in zip(found.queries.indptr[:-1], found.queries.indptr[1:], strict=True):
        step = max(1, _PAIRS_AT_ONCE // int(stop - start))
        for first in range(start, stop, step):
            rows = slice(first, min(first + step, stop))
            votes = np.zeros((rows.stop - first, stop - start), np.int32)
            for column in ranks.T:
                mine, others = column[rows, None], column[start:stop]
                votes += (mine < others).view(np.int8) - (mine > others).view(np.int8)
            margins[rows] = np.sign(votes).sum(axis=1)
    return (margins + found.n_candidates()[:, 0] - 1) / 2


BY_SCORES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "combsum": lambda table: np.nansum(table, axis=1),
    "combmnz": lambda table: np.nansum(table, axis=1) * _count(table),
    "combanz": lambda table: np.nansum(table, axis=1) / _count(table),
    "combmax": lambda table: np.nanmax(table, axis=1),
    "combmin": lambda table: np.nanmin(table, axis=1),
    "combmed": lambda table: np.nanmedian(table, axis=1),
}
BY_RANKS: dict[str, Callable[[Candidates], np.ndarray]] = {
    "isr": lambda found: np.nansum(found.ranks**-2, axis=1) * _count(found.ranks),
    "log_isr": lambda found: np.nansum(found.ranks**-2, axis=1) * np.log(_count(found.ranks)),
    "borda": lambda found: (_borda(found) * found.n_candidates()).sum(axis=1),
    "condorcet": _condorcet,
}
METHODS = ("rrf", *BY_RANKS, *BY_SCORES, "weighted_sum", "linear")


def load(runs: AnyRuns) -> dict[str, Run]:
    """Runs by name; those in files are read."""
    sources = Runs.of(runs)
    loaded = [as_run(source) for source in sources.sources]
    names = sources.names([run.name for run in loaded])
    return dict(zip(map(str, names), loaded, strict=True))


def fuse(
    runs: AnyRuns,
    method: str = "rrf",
    *,
    norm: str | None = "auto",
    k: float = 60,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    qrels: object = None,
    metric: str | Metric = "ndcg@10",
    n_splits: int = 5,
    name: str = "fused",
) -> FusedRun:
    """Fuse runs into one.

    The candidates of a query are all documents that at least one run retrieved. A run that lacks a
    query adds nothing to it. Ranks and ties of the runs are those of trec_eval.

    Parameters
    ----------
    runs : sequence of runs, dict from names to runs, or a table with a column "run"
        At least two, as `evaluate` accepts them.
    method : str
        By ranks r: "rrf" (reciprocal rank fusion: the sum of 1 / (k + r)), "isr" (the sum of
        1 / r^2, times the number n of runs that retrieved the document), "log_isr" (times log n),
        "borda", "condorcet" (the number of candidates that a majority of runs ranks lower; ties
        count half). By scores of the runs that retrieved the document: "combsum", "combmnz" (the
        sum times n), "combanz" (the mean), "combmax", "combmin", "combmed" (the median),
        "weighted_sum" (with `weights`), and "linear", whose weights are trained on `qrels`.
    norm : {"auto", "min_max", "max", "sum", "zscore", "rank", "borda", "reciprocal_rank", None}
        How the scores of each query of each run are normalised. "min_max": to the range from 0 to
        1. "max": divided by the highest. "sum": shifted to 0 and divided by the sum. "zscore": to
        mean 0 and variance 1. "rank": replaced by 1 - (r - 1) / n, where n is the number of
        retrieved documents. "borda": by (c - r + 1) / c, where c is the number of candidates;
        candidates that the run did not retrieve get the mean of the remaining points, and count as
        retrieved. "reciprocal_rank": by 1 / (k + r). None: not at all. "auto": "reciprocal_rank"
        for "linear", otherwise "min_max". Methods by ranks ignore it.
    k : float
        Constant of "rrf" and of "reciprocal_rank".
    weights : sequence of float, or dict of str to float
        Weights of "weighted_sum", in the order of the runs or by name.
    qrels : Qrels, path, file object, or judgments in memory
        Judgments to train "linear" on. Documents without a judgment count as not relevant.
    metric : str or Metric
        The metric that "linear" maximises.
    n_splits : int
        Number of folds of "linear".
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
    "linear" trains a `LinearRanker` with weights of at least 0 on the normalised scores, with 0
    where a run did not retrieve the document. Each fold of the judged queries is scored with
    weights that are trained on the other folds, so that `evaluate` on `qrels` measures weights on
    queries that they were not trained on. Queries without judgments are scored with weights that
    are trained on all judged queries.

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
    check.check_choice("norm", norm, ("auto", *NORMS, "reciprocal_rank", None))
    k = check.check_number("k", k, 0, 1e9)
    name = check.check_text("name", name, "the name of the fused run")
    if (weights is None) != (method != "weighted_sum"):
        raise ValueError("method='weighted_sum' needs weights, and other methods take none.")
    if (qrels is None) != (method != "linear"):
        raise ValueError("method='linear' needs qrels, and other methods take none.")
    found = Candidates.of(load(runs))
    _check_runs(found, name)
    if norm == "auto":
        norm = "reciprocal_rank" if method == "linear" else "min_max"
    if method == "rrf":
        method, norm = "combsum", "reciprocal_rank"
    used = None
    if method in BY_RANKS:
        scores = BY_RANKS[method](found)
    else:
        table = _normalised(found, norm, k)
        if method == "linear":
            scores, used = _cross_fitted(found, table, as_qrels(qrels), metric, n_splits)
        elif method == "weighted_sum":
            used = _given_weights(weights, found.names)
            scores = np.nan_to_num(table) @ used
        else:
            scores = BY_SCORES[method](table)
    run = Run.from_arrays(found.row_query, found.documents, scores, name=name)
    given = None if used is None else dict(zip(found.names, used.tolist(), strict=True))
    return FusedRun(**vars(run), weights=given)


def _cross_fitted(
    found: Candidates, table: np.ndarray, qrels: Qrels, metric: str | Metric, n_splits: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scores by weights that are trained on other queries, and weights trained on all queries."""
    from skrank.model_selection import QueryKFold
    from skrank.rankers import LinearRanker

    X, groups = np.nan_to_num(table), found.row_query
    judged = np.flatnonzero(np.isin(groups, qrels.queries.ids))
    if not len(judged):
        first = found.queries.name(0), qrels.queries.name(0)
        raise ValueError(
            f"the runs have no query of the qrels: their first is {first[0]}, and that of the "
            f"qrels {first[1]}."
        )
    labels = _labels(found, qrels)

    def trained(rows: np.ndarray) -> np.ndarray:
        ranker = LinearRanker(metric, positive=True, unjudged="zero")
        weights = ranker.fit(X[rows], labels[rows], groups=groups[rows]).coef_
        if not weights.any():  # no run ranks relevant documents above others
            weights = np.ones_like(weights)
        return weights / weights.sum()

    weights = trained(judged)
    scores = X @ weights
    for train, test in QueryKFold(n_splits).split(X[judged], groups=groups[judged]):
        scores[judged[test]] = X[judged[test]] @ trained(judged[train])
    return scores, weights


def _labels(found: Candidates, qrels: Qrels) -> np.ndarray:
    """Label of each candidate; NaN without a judgment."""
    import pandas as pd

    rows = pd.DataFrame({"qid": found.row_query, "docid": found.documents}, dtype=object)
    labels = rows.merge(qrels.to_frame().astype({"qid": object, "docid": object}), how="left")
    return labels["label"].to_numpy()


# checks -------------------------------------------------------------------------------------------


def _given_weights(
    weights: Sequence[float] | Mapping[str, float] | None, names: list[str]
) -> np.ndarray:
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
