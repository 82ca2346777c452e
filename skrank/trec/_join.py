"""Read runs, and join them with judgments: labels of retrieved documents, in the order of ranks."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments, encode
from skrank._engine.queries import Queries, RankedCodes, slices
from skrank._engine.ranking import Ranking
from skrank._engine.threads import cached_property
from skrank._progress import Bar
from skrank.trec._columns import Columns, Known, columns_of, is_file, rows_of_memory, table_of
from skrank.trec._data import Qrels, Run, as_run
from skrank.trec._files import Entries, name_of

if TYPE_CHECKING:
    import polars as pl
else:
    from skrank.trec import _polars as pl

MISSING_CHOICES = ("zero", "skip", "raise")
_ROWS_AT_ONCE = 1_000_000  # documents that are measured together, to bound memory

AnyRuns: TypeAlias = object  # what `evaluate` accepts as runs


class Joined(NamedTuple):
    """The judged queries with the documents that one run retrieved.

    Attributes
    ----------
    rows : int32 ndarray
        For each query, rows of the judgments of the retrieved documents, best first, and then of
        the pooled documents that were not retrieved. The row of a document outside of the pool is
        the number of rows.
    sizes, retrieved : int64 ndarrays of shape (n_queries,)
        Number of rows of each query, and of retrieved documents among them, which is 0 if the run
        lacks the query.
    n_judged : int
        Number of retrieved documents with a label.
    """

    rows: np.ndarray
    sizes: np.ndarray
    retrieved: np.ndarray
    n_judged: int


@dataclass(frozen=True, eq=False)
class CodedQrels:
    """Judgments with a small integer code for each label, made once for all runs.

    Attributes
    ----------
    qrels : Qrels
    codes : int ndarray of shape (n_rows,)
    labels : float64 ndarray
        The label of each code. The last two are those of documents without a label, and are 0.
    unjudged : int
        The code of pooled documents without a label. The next code is that of retrieved documents
        outside of the pool.
    """

    qrels: Qrels
    codes: np.ndarray
    labels: np.ndarray
    unjudged: int

    @classmethod
    def of(cls, qrels: Qrels) -> CodedQrels:
        """Give a code to each label."""
        codes, labels, unjudged = encode(qrels.labels, qrels.queries)
        n_labels = len(labels) if unjudged is None else unjudged
        return cls(qrels, codes, np.append(labels[:n_labels], [0.0, 0.0]), n_labels)

    @cached_property
    def _index(self) -> tuple[pl.Enum, np.ndarray, np.ndarray]:
        """A type that numbers the documents, and ascending keys of the rows with their places."""
        numbers = pl.Enum(self.qrels.documents.unique(maintain_order=True))
        documents = self.qrels.documents.cast(numbers).to_physical().to_numpy()
        keys = self.qrels.queries.row_query * np.int64(len(numbers.categories)) + documents
        order = np.argsort(keys)
        return numbers, keys[order], order

    def join(self, run: Run) -> Joined:
        """Join a run to the judged queries."""
        numbers, keys, order = self._index
        ids, n_rows = self.qrels.queries.ids, len(self.codes)
        place_of = dict(zip(ids, range(len(ids)), strict=True))
        place = np.array([place_of.get(query, -1) for query in run.queries.ids], np.int64)
        known = place >= 0
        starts, place = run.queries.indptr[:-1][known], place[known]
        retrieved = np.zeros(len(ids), np.int64)
        retrieved[place] = run.queries.sizes[known]
        edges, mine = slices(starts, retrieved[place])
        documents = run.documents if known.all() else run.documents[mine]
        number = documents.cast(numbers, strict=False).to_physical().cast(pl.Float64).to_numpy()
        key = np.repeat(place, np.diff(edges)) * np.int64(len(numbers.categories))
        key += np.nan_to_num(number).astype(np.int64)  # NaN: a document that no query judges
        at = np.minimum(np.searchsorted(keys, key), n_rows - 1)
        found = (keys[at] == key) & ~np.isnan(number)
        judged = np.where(found, order[at], n_rows).astype(np.int32)

        rest = np.ones(n_rows, bool)
        rest[judged[found]] = False
        sizes = retrieved + np.bincount(self.qrels.queries.row_query[rest], minlength=len(ids))
        starts = np.cumsum(sizes) - sizes
        rows = np.empty(sizes.sum(), np.int32)
        rows[slices(starts[place], retrieved[place])[1]] = judged
        rows[slices(starts + retrieved, sizes - retrieved)[1]] = np.flatnonzero(rest)
        labelled = np.append(self.codes < self.unjudged, False)
        return Joined(rows, sizes, retrieved, int(np.count_nonzero(labelled[judged])))

    def reduced(self, kept: np.ndarray) -> CodedQrels:
        """Judgments in which documents are not judged, but in the pool, unless `kept` (a mask)."""
        unjudged = self.codes.dtype.type(self.unjudged)
        return replace(self, codes=np.where(kept, self.codes, unjudged))


class JoinedJudgments(Judgments):
    """Judgments of some runs, in which each query of each run is a query of its own.

    `retrieved` is the number of documents that the run retrieved for each of these.
    """

    def __init__(self, pool: CodedQrels, joined: Sequence[Joined]) -> None:
        outside = pool.codes.dtype.type(pool.unjudged + 1)
        self.codes = np.append(pool.codes, outside)[np.concatenate([one.rows for one in joined])]
        self.indptr = np.concatenate(([0], np.cumsum([one.sizes for one in joined])))
        self.retrieved = np.concatenate([one.retrieved for one in joined])
        self.queries = Queries(np.tile(pool.qrels.queries.ids, len(joined)), self.indptr)
        self.labels, self.unjudged = pool.labels, pool.unjudged
        self._pool = pool

    def place(self, code: int) -> str:
        """The first document with a code, for messages."""
        row = int(np.flatnonzero(self._pool.codes == code)[0])
        qrels = self._pool.qrels
        query = int(np.searchsorted(qrels.queries.indptr, row, side="right")) - 1
        return f"document {qrels.documents[row]!r} of query {qrels.queries.name(query)}"


class JoinedRanking(Ranking):
    """The ranking of the documents of `JoinedJudgments`: by rank already, and without ties."""

    _deepest = None  # all ranks are known: `Ranking.head` is not used

    def __init__(self, judgments: JoinedJudgments) -> None:
        self.judgments = judgments
        self.tied = np.zeros(len(judgments.codes), np.uint8)
        self.retrieved = judgments.retrieved
        self._seen: dict[tuple[str, bool], RankedCodes] = {}

    def expect(self, depths: object) -> None:
        """Nothing to prepare: all ranks are known."""

    def _settled(self, ties: str) -> RankedCodes:
        judgments = self.judgments
        return RankedCodes.untied(judgments.indptr, judgments.codes, self.retrieved)


# runs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Runs:
    """Sources of runs (a Run, a file, rows or an object), and names if the caller gives them."""

    sources: list[object]
    given: list[str] | None

    @classmethod
    def of(cls, runs: AnyRuns, known: Known | None = None) -> Runs:
        """The runs of the parameter `runs` of `evaluate`."""
        given: list[str] | None = None
        sources: list[object] = [runs]
        columns = None
        if not is_file(runs) and not isinstance(runs, (Run, Qrels)):
            runs = list(runs) if isinstance(runs, Iterator) else runs
            columns = columns_of(runs, "run", known)
            if columns is None and isinstance(runs, Mapping):
                given, sources = list(runs), list(runs.values())
            elif columns is None:
                sources = check.several("runs", runs, ())
                if len(sources) == 1 and not isinstance(sources[0], (Run, Qrels)):
                    columns = columns_of(sources[0], "run", known)
        if columns is not None:
            given, sources = _by_run(columns)
        if not sources:
            raise ValueError("runs is empty: pass at least one.")
        if any(isinstance(source, Qrels) for source in sources):
            raise ValueError("runs holds judgments: judgments (qrels) come first, then runs.")
        return cls(sources, given)

    def names(self, tags: list[str]) -> list[str]:
        """The given names; else the tag of each run, or its path if several runs have the tag."""
        if self.given is not None:
            return self.given
        count = Counter(tags)
        names = [
            name_of(source) if count[tag] > 1 and is_file(source) else tag
            for tag, source in zip(tags, self.sources, strict=True)
        ]
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            raise ValueError(f"{times} runs are called {name!r}: pass a dict from names to runs.")
        return names


def _by_run(columns: Columns) -> tuple[list[str] | None, list[object]]:
    """Names of the runs that rows have, and the rows of each."""
    table = table_of(columns, "run", rows_of_memory("run"))
    if columns.run is None:
        return None, [Entries(table)]
    parts = table.partition_by("run", maintain_order=True)
    return [part[0, "run"] for part in parts], [Entries(part) for part in parts]


@dataclass(eq=False)
class JoinedRuns:
    """Runs that are read and joined with judgments when they are iterated.

    Iteration yields lists of bounded total size, in the order of the runs: a `Joined` of the order
    of double precision, and one of single precision, which is the same without `single`. When the
    iteration ends, `tags` has the tag of each run, and `counts` the columns of ``Report.counts``.
    `bar` counts runs. For the other fields see `evaluate`.
    """

    pool: CodedQrels
    runs: Runs
    missing: str
    bar: Bar | None = None
    depth: int | None = None
    single: bool = False
    exclude_self: bool = False
    tags: list[str] = field(default_factory=list)
    counts: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _lacks: list[str] = field(default_factory=list)
    _unknown: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[list[tuple[Joined, Joined]]]:
        part: list[tuple[Joined, Joined]] = []
        for number, source in enumerate(self.runs.sources):
            run = as_run(source, self.pool.qrels.ids)
            self.tags.append(run.name)
            run = run.without_self() if self.exclude_self else run
            orders = dict.fromkeys([run, run.in_single_precision()] if self.single else [run])
            joined = [self.pool.join(one.top(self.depth)) for one in orders]
            part.append((joined[0], joined[-1]))
            self._check(run, joined[0], number)
            if self.bar is not None:
                self.bar.update(1)
            if sum(len(one.rows) for one, _ in part) >= _ROWS_AT_ONCE:
                yield part
                part = []
        if part:
            yield part

    def _check(self, run: Run, joined: Joined, number: int) -> None:
        """Raise an error or prepare a warning if a run does not fit the judgments."""
        qrels, given = self.pool.qrels, self.runs.given
        queries = qrels.queries
        name = f"run {run.file or run.name if given is None else given[number]!r}"
        fractions = number == 0 and (self.pool.labels % 1).any()
        if fractions and check.look_swapped(qrels.labels, run.scores):
            warnings.warn(
                f"the qrels have many labels that are not whole numbers, and {name} has few small "
                "whole scores, as if they were swapped: qrels come first, then runs.",
                UserWarning,
                stacklevel=1,
            )
        absent = np.flatnonzero(joined.retrieved == 0)
        n_present, n_documents = len(queries) - len(absent), int(joined.retrieved.sum())
        if not n_present:
            raise ValueError(
                f"{name} has no query of the qrels: its first is {run.queries.name(0)}, and that "
                f"of the qrels {queries.name(0)}."
            )
        some = ", ".join(queries.ids[absent[:3]]) + ", ..." * (len(absent) > 3)
        lacks = f"{name} has no documents for {len(absent)} queries of the qrels ({some})"
        if len(absent) and self.missing == "raise":
            raise ValueError(f"{lacks}: choose missing='zero' or 'skip'.")
        if len(absent) and self.missing == "zero":
            self._lacks.append(lacks)
        if not joined.n_judged:
            self._unknown.append(f"{name}, whose first is {run.documents[0]!r}")
        counts = {"queries": n_present, "missing": len(absent)}
        counts |= {"ignored": len(run.queries) - n_present, "documents": n_documents}
        for column, count in {**counts, "judged": joined.n_judged / n_documents}.items():
            self.counts[column].append(count)

    def warn(self) -> None:
        """Warn of what runs lack; the warning points to the caller of `evaluate`."""
        first = self.pool.qrels.documents[0]
        for found, above, below in (
            (self._lacks, "", ": they count as queries for which nothing was retrieved. "
             "missing='skip' leaves them out."),
            (self._unknown, "no retrieved document is judged of ", f", and that of the qrels is "
             f"{first!r}: check that their document ids are spelled alike."),
        ):  # fmt: skip
            if found:
                more = f"; and so on, {len(found)} runs in all" * (len(found) > 3)
                text = f"{above}{'; '.join(found[:3])}{more}{below}"
                warnings.warn(text, UserWarning, stacklevel=3)
