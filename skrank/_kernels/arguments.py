"""Named tuples of arrays: the arguments that several kernels share.

Tables of one family of metrics are beside their kernels. Compiled code reads the arrays of a named
tuple as fast as single arguments. All arrays are contiguous.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray


# Documents in rank order, for values of metrics.


class RankedRows(NamedTuple):
    """Documents in rank order, as kernels fill them in."""

    codes: Array
    tied: Array
    retrieved: Array


class Ranked(NamedTuple):
    """Documents in rank order."""

    codes: Array  # by row
    tied: Array  # by row: 1 where the score equals that of the rank above
    retrieved: Array  # by query: number of documents with a score above -inf
    first_tie: Array  # by query: first rank that is tied with the rank above, or NO_TIE


NO_TIE = 2**62


class Contributing(NamedTuple):
    """Documents of ranked lists that contribute to a value."""

    ranks: Array  # of all queries, ascending within each
    starts: Array  # by query: place of its first document in `ranks`
    counts: Array  # by query: number of its documents in `ranks`


# Documents with random labels, for moments of metrics.


class RandomLists(NamedTuple):
    """Ranked documents with random labels: see `moments`."""

    order: Array  # by rank: position; a first axis for two rankers
    retrieved: Array  # by query: number of documents with a score above -inf; axis as in `order`
    proba: Array  # by row and code


class RandomGain(NamedTuple):
    """Tables of a metric for random labels: see `moments`."""

    gain: Array  # by code
    square: Array  # of the gain, by code
    weight: Array  # by rank, down to the last that is not 0


class Moments(NamedTuple):
    """Filled in by kernels, by query."""

    mean: Array
    second: Array  # mean of the square


# Documents with scores, for gradients.


class Scored(NamedTuple):
    """Documents with scores."""

    codes: Array  # by row; classes, for quadratic metrics
    order: Array  # by rank: position
    scores: Array  # by row, in double precision
    inverse: Array  # by query: one over the value of the best list; 0 if all orders are equal
    weight: Array  # by query


class PairOptions(NamedTuple):
    """Options of LambdaRank and LambdaLoss."""

    sigma: float  # slope of the logistic loss of a pair
    truncation: int  # one document of a pair must rank above it
    score_norm: bool  # whether the weight of a pair is divided by 0.01 + |s_i - s_j|
    sum_norm: bool  # whether the gradients of a query are scaled from their sum to its logarithm
    widest: float  # largest range of sigma times score whose exponentials fit: see `tiles.Scale`


class Gradients(NamedTuple):
    """Filled in by kernels. Pairs are computed in the precision of `grad`."""

    grad: Array
    hess: Array
    totals: Array  # by query: sum of the absolute gradients of all pairs, unweighted and unscaled


# Distributions of grades.


class Graded(NamedTuple):
    """Numbers of documents of each grade, and a quadratic form of grades: see `entropy`."""

    counts: Array  # by query and column (label)
    gain: Array  # by column
    worth: Array  # by column of the upper and of the lower document
    u: Array  # by rank
    w: Array  # by rank
    starts: Array  # by query: place of its first rank in u and w


class Distributions(NamedTuple):
    """Filled in by kernels, by query except for `p`."""

    p: Array  # by row (query and rank) and column: probability of the label
    mean: Array  # expected sum of the form
    entropy: Array
    steps: Array
    done: Array  # whether the target is reached


# Documents of TREC files: see `trec`.


class Names(NamedTuple):
    """Names of documents, as slices of one text."""

    text: Array
    start: Array
    stop: Array
    hashed: Array


class HashedRun(NamedTuple):
    """Retrieved documents by query, best first, with a hash table for each query."""

    indptr: Array
    names: Names
    slot_ptr: Array  # first slot of each query
    slots: Array  # rows of documents; -1 if the slot is free


class Judged(NamedTuple):
    """Judged documents by query."""

    query_of: Array  # query of the run for each judged query, or -1
    indptr: Array
    names: Names
    codes: Array
