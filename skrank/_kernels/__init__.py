"""Compiled loops: numba only, one file per family.

Vocabulary
----------
row       position of a document in the caller's arrays, queries made contiguous
query     rows ``indptr[q] .. indptr[q + 1] - 1``
position  place of a document inside its query, before sorting (0-based)
rank      place of a document after sorting by score, best first (0-based)
code      small integer that stands for a label; a table per metric says what it is worth
class     codes that a metric cannot tell apart
tied      ``tied[rank]`` is 1 where the score equals the score one rank above
retrieved number of documents with a score above -inf; they fill the first ranks

Contract
--------
Every entry point is ``kernel(first, last, indptr, ...)``: it works on queries ``first .. last -
1``, reads contiguous arrays, writes only rows of those queries, holds no lock and no state, so that
chunks of queries may run in any threads and give the same bits. Nothing is checked here. A file
imports no compiled function of another file: numba would serve a stale caller after an edit of the
callee.
"""
