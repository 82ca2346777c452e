"""Compiled loops over documents: numba and NumPy only, one file per family of metrics.

Vocabulary
----------
row       index of a document in the caller's arrays, in which the rows of a query are contiguous
query     rows ``indptr[q] .. indptr[q + 1] - 1``
position  index of a document inside its query, before sorting (0-based)
rank      index of a document inside its query after sorting by score, best first (0-based)
code      small integer that stands for a label; tables of a metric are indexed by code
class     codes with the same entries in all tables of a metric
tied      ``tied[row]``, by rank inside a query, is 1 if the score equals that one rank above
retrieved number of documents with a score above -inf; they have the first ranks
slot      index of a document in a workspace
tile      buffer of documents that are compared with one document in SIMD: see `tiles`

Rules
-----
A kernel is a function ``kernel(first, last, indptr, ...)``. It works on the queries ``first .. last
- 1``, writes only rows of these queries, and has no state. So threads can work on different
queries, with the same bits as one thread. Kernels check nothing: `skrank._validation` has checked
arguments.

`jit` has the decorators and the cache. A kernel with ``plain=True`` also runs as plain Python, with
the same bits. In plain Python, NumPy integers of less than 64 bits wrap around, and compiled ones
do not: write ``n += tied[row] != 0``, not ``n += tied[row]``.

Compilation takes seconds at the first use, so many functions avoid code that compiles slowly:
slice assignments, numba's `min` and `max` in large kernels, and more than a few `np.empty` in
compiled code (plain Python allocates large workspaces).

numba counts references to arrays, which takes time in short lists. It omits an increment and its
decrement if it can prove that the array is alive in between. Therefore,
- take arrays out of a named tuple before a loop over documents, not inside it,
- pass arrays rather than named tuples to functions that a loop calls,
- write steps on the documents of a query as subroutines of few loops,
- end loops by their condition, not by ``break``.

Floating-point numbers are added in the order of the code, with the same bits on every processor. So
a loop that adds them does not run in SIMD: store the terms, and add them by `sums.sum_lanes`.
"""
