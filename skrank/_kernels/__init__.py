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
chunks of queries may run in any threads and give the same bits. Nothing is checked here. Arguments
travel in the named tuples of `arguments`. Room to work in is made anew for each call, mostly by
Python: many entry points are functions that make it and call the loop. A kernel that allocates
itself takes arrays out of a tuple before it loops over documents: taking one out counts a
reference, which costs as much as a pair.

What only kernels call is a `part`. A kernel that is `exact` has two forms of the same bits: see
`forms`. In plain Python small integers wrap around where compiled ones are widened: add up
``tied[row] != 0``, never ``tied[row]``.

Compiling takes seconds of a first use. What makes it long is numpy inside: `np.empty` takes as long
as twenty lines of loops, once for each type, and so do the assignment to a slice, `arange` and
`view`; numba's `min` and `max` take as long as a loop. Every array that is passed on costs, and a
named tuple is so many arrays. A function is compiled once more for each literal number among its
arguments. Rare paths are compiled by themselves: where an argument is None, the branches for
something else are left out. Without the counting of references a kernel is a third shorter.

Clipping is ``zero if x < zero else x``: what is no number stays so, and is refused later.

A file may call compiled functions of another file. numba keys what it keeps by the file of the
caller alone; `cache` keys it by all files of this room, so that no edit runs old machine code.
"""
