"""Named tuples of arrays: the arguments that several kernels share.

Named tuples of one family of metrics are in the file of its kernels. Compiled code reads the arrays
of a named tuple as fast as single arguments. All arrays are contiguous.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray


class RankedRows(NamedTuple):
    """The arrays of `Ranked` that sorting kernels fill in."""

    codes: Array
    tied: Array
    retrieved: Array


class Ranked(NamedTuple):
    """Documents in rank order."""

    codes: Array  # by row
    tied: Array  # by row: 1 if the score equals the score of the rank above
    retrieved: Array  # by query: number of documents with a score above -inf
    first_tie: Array  # by query: first rank that is tied with the rank above, or NO_TIE


NO_TIE = 2**62


class Contributing(NamedTuple):
    """Documents of ranked lists that contribute to a value."""

    ranks: Array  # of all queries, ascending within each
    starts: Array  # by query: index in `ranks` of its first document
    counts: Array  # by query: number of its documents in `ranks`


class RandomLists(NamedTuple):
    """Ranked documents with random labels: see `moments`."""

    order: Array  # position by rank; for two rankers, one row each
    retrieved: Array  # by query: documents with a score above -inf; for two rankers, one row each
    proba: Array  # probability of each code (column) for each row


class RandomGain(NamedTuple):
    """Tables of a metric for random labels: see `moments`."""

    gain: Array  # by code
    square: Array  # squared gain by code
    weight: Array  # by rank; later ranks have the weight 0


class Moments(NamedTuple):
    """Output of kernels, by query."""

    mean: Array
    second: Array  # mean of the square


class Scored(NamedTuple):
    """Documents with scores."""

    codes: Array  # by row: code; for quadratic metrics, class
    order: Array  # position by rank
    scores: Array  # by row, in double precision
    inverse: Array  # by query: one over the value of the best list; 0 if all orders are equal
    weight: Array  # by query


class PairOptions(NamedTuple):
    """Options of LambdaRank and LambdaLoss."""

    sigma: float  # slope of the logistic loss of a pair
    truncation: int  # a pair counts if one of its ranks, from 0, is less
    score_norm: bool  # whether the weight of a pair is divided by 0.01 + |s_i - s_j|
    sum_norm: bool  # whether gradients are multiplied by log2(1 + total) / total: see `Gradients`
    widest: float  # largest range of sigma * score without overflow of exp: see `tiles.Scale`


class Gradients(NamedTuple):
    """Output of kernels. Pairs are computed in the precision of `grad`."""

    grad: Array
    hess: Array
    totals: Array  # by query: sum of the absolute gradients of all pairs, unweighted and unscaled


class Names(NamedTuple):
    """Names of documents of TREC files, ``text[start[row] : stop[row]]``: see `trec`."""

    text: Array  # bytes
    start: Array
    stop: Array
    hashed: Array  # hash of each name


class HashedRun(NamedTuple):
    """Retrieved documents by query, best first, with a hash table for each query."""

    indptr: Array
    names: Names
    slot_ptr: Array  # first slot of each query
    slots: Array  # row of the document in each slot; -1 if the slot is free


class Judged(NamedTuple):
    """Judged documents of a TREC file by query."""

    query_of: Array  # query of the run for each judged query, or -1
    indptr: Array
    names: Names
    codes: Array
