"""Read runs, and join them with judgments: labels of retrieved documents, in the order of ranks."""

from __future__ import annotations

import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from operator import attrgetter, itemgetter
from typing import TypeAlias, TypeVar

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments, encode
from skrank._engine.queries import Queries, RankedCodes, slices
from skrank._engine.ranking import Ranking
from skrank._engine.threads import cached_property, limit_threads, thread_count
from skrank._kernels.trec import HashedRun, Judged
from skrank._progress import Bar
from skrank.trec._columns import RUNS, columns_of, frame_of, is_nested, is_record
from skrank.trec._data import Qrels, Run, as_run
from skrank.trec._files import Piece, is_file, name_of, pieces_of
from skrank.trec._table import Table

MISSING_CHOICES = ("zero", "skip", "raise")
_ROWS_AT_ONCE = 1_000_000  # documents that one thread measures together, to bound memory

AnyRuns: TypeAlias = object  # what `evaluate` accepts as runs
_Reading: TypeAlias = "tuple[int, Run, Joined, Table | None]"  # the number of a run comes first
_T = TypeVar("_T")
_R = TypeVar("_R")


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
    def place_of(self) -> dict[str, int]:
        """Place of each query among all queries, by its id."""
        ids = self.qrels.queries.ids
        return dict(zip(ids, range(len(ids)), strict=True))

    def join(self, run: Run, number: int, places: np.ndarray | None = None) -> Joined:
        """Join a run to the judged queries at ascending places (default: all).

        `number` is the place of the run among the runs.
        """
        from skrank._kernels import trec

        judged = self if places is None else self._only(places)
        number_of = dict(zip(run.queries.ids, range(len(run.queries)), strict=True))
        found = [number_of.get(query, -1) for query in judged.qrels.queries.ids]
        query_of = np.array(found, np.int64)
        retrieved = np.append(run.queries.sizes, 0)[query_of]  # 0 for -1, a query that is missing
        codes = np.empty(retrieved.sum() + len(judged.codes), judged.codes.dtype)
        indptr = np.empty(len(query_of) + 1, np.int64)
        queries, documents = judged.qrels.queries, judged.qrels.documents
        n_judged = trec.join.for_rows(len(judged.codes))(
            HashedRun(run.queries.indptr, run.documents, run.slots.first, run.slots.rows),
            Judged(query_of, queries.indptr, documents, judged.codes),
            judged.unjudged,
            codes,
            indptr,
        )
        return Joined(
            np.full(len(query_of), number),
            np.arange(len(query_of)) if places is None else places,
            codes[: indptr[-1]],
            np.diff(indptr),
            retrieved,
            int(n_judged),
        )

    def _only(self, places: np.ndarray) -> CodedQrels:
        """The judgments of some queries, with the codes of all queries."""
        all_queries = self.qrels.queries
        indptr, rows = slices(all_queries.indptr[places], all_queries.sizes[places])
        queries = Queries(all_queries.ids[places], indptr)
        qrels = Qrels(queries, self.qrels.documents.take(rows), self.qrels.labels[rows])
        return replace(self, qrels=qrels, codes=self.codes[rows])

    def numbered(self) -> CodedQrels:
        """Judgments whose codes are the numbers of the rows.

        A run that is joined with them serves for other labels of the same documents, too: see
        `Joined.coded`.
        """
        n_rows = len(self.codes)
        return replace(self, codes=np.arange(n_rows, dtype=np.int32), unjudged=n_rows)

    def reduced(self, kept: np.ndarray) -> CodedQrels:
        """Judgments in which documents are not judged, but in the pool, unless `kept` (a mask)."""
        unjudged = self.codes.dtype.type(self.unjudged)
        return replace(self, codes=np.where(kept, self.codes, unjudged))


@dataclass(frozen=True, eq=False)
class Joined:
    """Some judged queries with the documents that one run retrieved.

    Attributes
    ----------
    run, places : int64 ndarrays of shape (n_queries,)
        Number of the run, the same for all queries, and places of the queries in the judgments,
        ascending.
    codes : int ndarray of shape (n_rows,)
        For each query, codes of the retrieved documents, best first, and then of the pooled
        documents that were not retrieved.
    sizes, retrieved : int64 ndarrays of shape (n_queries,)
        Number of rows of each query, and of retrieved documents among them, which is 0 if the run
        lacks the query.
    n_judged : int
        Number of retrieved documents with a label.
    """

    run: np.ndarray
    places: np.ndarray
    codes: np.ndarray
    sizes: np.ndarray
    retrieved: np.ndarray
    n_judged: int

    def coded(self, pool: CodedQrels) -> Joined:
        """The same with the codes of `pool`, if the run was joined with ``pool.numbered()``."""
        outside = np.array([pool.unjudged, pool.unjudged + 1], pool.codes.dtype)
        return replace(self, codes=np.append(pool.codes, outside)[self.codes])


class JoinedJudgments(Judgments):
    """Judgments of some runs, in which each query of each run is a query of its own.

    `run`, `places` and `retrieved` are those of `Joined`, for each of these queries.
    """

    def __init__(self, pool: CodedQrels, joined: Sequence[Joined]) -> None:
        arrays = map(attrgetter("run", "places", "codes", "sizes", "retrieved"), joined)
        self.run, self.places, self.codes, sizes, self.retrieved = map(
            np.concatenate, zip(*arrays, strict=True)
        )
        self.indptr = np.concatenate(([0], np.cumsum(sizes)))
        self.queries = Queries(pool.qrels.queries.ids[self.places], self.indptr)
        self.labels, self.unjudged = pool.labels, pool.unjudged
        self._pool = pool

    def place(self, code: int) -> str:
        """The first document with a code, for messages."""
        row = int(np.flatnonzero(self._pool.codes == code)[0])
        qrels = self._pool.qrels
        query = int(np.searchsorted(qrels.queries.indptr, row, side="right")) - 1
        (name,) = qrels.documents.take(slice(row, row + 1)).names()
        return f"document {name!r} of query {qrels.queries.name(query)}"


class JoinedRanking(Ranking):
    """The ranking of the documents of `JoinedJudgments`: by rank already, and without ties."""

    _deepest = None  # all ranks are known: `Ranking.head` is not used

    def __init__(self, judgments: JoinedJudgments) -> None:
        self.judgments = judgments
        self.tied = np.zeros(len(judgments.codes), np.uint8)
        self.retrieved = judgments.retrieved
        self._seen: dict[tuple[str, bool], RankedCodes] = {}

    def _settled(self, ties: str) -> RankedCodes:
        judgments = self.judgments
        return RankedCodes.untied(judgments.indptr, judgments.codes, self.retrieved)


# runs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Runs:
    """Sources of runs (a Run, a file or a run in memory), and names if the caller gives them."""

    sources: list[object]
    given: list[str] | None

    @classmethod
    def of(cls, runs: AnyRuns) -> Runs:
        """The runs of the parameter `runs` of `evaluate`."""
        given: list[str] | None = None
        sources: list[object]
        in_memory = isinstance(runs, (Run, Qrels, Mapping)) or hasattr(runs, "to_dict")
        if isinstance(runs, Mapping) and not is_nested(runs):
            given, sources = list(runs), list(runs.values())
        elif in_memory or is_file(runs) or frame_of(runs) is not None:
            sources = [runs]
        else:
            sources = check.several("runs", runs, ())
            if sources and is_record(sources[0], RUNS):
                sources = [sources]
        if given is None and len(sources) == 1 and not isinstance(sources[0], (Run, Qrels)):
            columns = None if is_file(sources[0]) else columns_of(sources[0], RUNS)
            if columns is not None:
                tags = columns.tags()
                sources = [columns.of_run(tag) for tag in tags] if len(tags) > 1 else [columns]
                given = tags or None
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
        if len(count) == len(tags):
            return tags
        names = [
            name_of(source) if count[tag] > 1 and is_file(source) else tag
            for tag, source in zip(tags, self.sources, strict=True)
        ]
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            raise ValueError(f"{times} runs are called {name!r}: pass a dict from names to runs.")
        return names


@dataclass(eq=False)
class JoinedRuns:
    """Runs that are read and joined with judgments when they are iterated.

    Iteration yields lists of `Joined` of bounded total size, in the order of the runs. Each judged
    query of each run is in one of the lists. When the iteration ends, `tags` has the tag of each
    run, `facts` its row of ``TrecReport.runs``, and `lacks`, with ``missing="zero"``, a clause for
    each run that lacks queries. `bar` counts runs, or with `chunksize` the rows of runs. For the
    other fields see `evaluate`.
    """

    pool: CodedQrels
    runs: Runs
    missing: str
    bar: Bar | None = None
    depth: int | None = None
    precision: str = "single"
    chunksize: int | None = None
    exclude_self: bool = False
    tags: list[str] = field(default_factory=list)
    facts: list[dict[str, float]] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[list[Joined]]:
        part: list[Joined] = []
        n_rows, most = 0, min(self.chunksize or _ROWS_AT_ONCE, _ROWS_AT_ONCE)
        sources = enumerate(self.runs.sources) if self.chunksize is None else self._in_pieces()
        for number, of_run in groupby(ahead(self._read, sources), key=itemgetter(0)):
            for joined in self._joined(number, of_run):
                part.append(joined)
                n_rows += len(joined.codes)
                if n_rows >= most:
                    yield part
                    part, n_rows = [], 0
        if part:
            yield part

    def _in_pieces(self) -> Iterator[tuple[int, object]]:
        """Yield the number of a run, and a piece of its file, or the run if it is in memory."""
        assert self.chunksize is not None
        for number, source in enumerate(self.runs.sources):
            for part in pieces_of(source, self.chunksize) if is_file(source) else [source]:
                yield number, part

    def _read(self, item: tuple[int, object]) -> _Reading:
        """Parse and join a run or a piece; of a piece, the result has the table, too."""
        number, source = item
        piece, places = None, None
        if isinstance(source, Piece):
            piece = source.parse()
            piece.check_contiguous()
            run = Run.of_table(piece, self.precision)
            found = [self.pool.place_of.get(query, -1) for query in run.queries.ids]
            places = np.array(sorted(place for place in found if place >= 0), np.int64)
        else:
            run = as_run(source, self.precision)
        if self.exclude_self:
            run = run.without_self()
        if self.depth is not None:
            run = run.top(self.depth)
        return number, run, self.pool.join(run, number, places), piece

    def _joined(self, number: int, readings: Iterable[_Reading]) -> Iterator[Joined]:
        """Yield the judged queries of one run. In pieces, those that it lacks come last."""
        seen: set[str] = set()
        queries = self.pool.qrels.queries
        present = np.zeros(len(queries), bool)
        n_documents = n_judged = 0
        name = None if self.runs.given is None else self.runs.given[number]
        for _, run, joined, piece in readings:
            if not seen:
                first, name = run, name or run.name
                fractions = (self.pool.labels % 1).any()
                if fractions and check.look_swapped(self.pool.qrels.labels, run.scores):
                    warnings.warn(
                        "the qrels have many labels that are not whole numbers, and run "
                        f"{name!r} has few small whole scores, as if they were swapped: qrels "
                        "come first, then runs.",
                        UserWarning,
                        stacklevel=1,
                    )
            if piece is not None and not seen.isdisjoint(run.queries.ids):
                again = next(i for i, query in enumerate(run.queries.ids) if query in seen)
                raise piece.not_contiguous(int(piece.queries.indptr[again]))
            seen.update(run.queries.ids)
            present[joined.places[joined.retrieved > 0]] = True
            n_documents += int(joined.retrieved.sum())
            n_judged += joined.n_judged
            if len(joined.places):
                yield joined
            if self.bar is not None:
                self.bar.update(1 if self.chunksize is None else len(run.scores))
        absent = np.flatnonzero(~present)
        n_present = len(present) - len(absent)
        if not n_present:
            raise ValueError(
                f"run {name!r} has no query of the qrels: its first is "
                f"{first.queries.name(0)}, and that of the qrels {queries.name(0)}."
            )
        if len(absent):
            some = ", ".join(queries.ids[absent[:3]]) + ", ..." * (len(absent) > 3)
            lacks = f"run {name!r} has no documents for {len(absent)} queries of the qrels"
            if self.missing == "raise":
                raise ValueError(f"{lacks} ({some}): choose missing='zero' or 'skip'.")
            if self.missing == "zero":
                self.lacks.append(f"{lacks} ({some})")
            if piece is not None:  # any piece will do, as none has these queries
                yield self.pool.join(run, number, absent)
        self.tags.append(first.name)
        self.facts.append(
            {
                "queries": n_present,
                "missing": len(absent),
                "ignored": len(seen) - n_present,
                "documents": n_documents,
                "judged": n_judged / n_documents,
            }
        )

    def warn(self) -> None:
        """Warn of queries that runs lack; the warning points to the caller of `evaluate`."""
        if self.lacks:
            more = f"; and so on, {len(self.lacks)} runs in all" * (len(self.lacks) > 3)
            warnings.warn(
                f"{'; '.join(self.lacks[:3])}{more}: they count as queries for which nothing was "
                "retrieved. missing='skip' leaves them out.",
                UserWarning,
                stacklevel=3,
            )


def ahead(work: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R]:
    """Yield ``work(item)`` of each item, in order. Threads work on the next items meanwhile."""
    rest = iter(items)
    first = list(islice(rest, 2))
    n_threads = thread_count() if len(first) > 1 else 1
    if n_threads == 1:
        yield from map(work, chain(first, rest))
        return

    def in_one_thread(item: _T) -> _R:
        with limit_threads(1):  # as each item has a thread already
            return work(item)

    with ThreadPoolExecutor(n_threads, thread_name_prefix="skrank-trec") as pool:
        waiting: deque[Future[_R]] = deque()
        for item in chain(first, rest):
            waiting.append(pool.submit(in_one_thread, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
