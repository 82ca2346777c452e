"""What the kernels take, by name.

Compiled functions read named tuples as they read single arguments, and their machine code is kept
for the next process alike. This file imports nothing compiled: callers may build what they pass
before anything is compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

Array: TypeAlias = Any  # a contiguous ndarray; numba infers the rest, per call


class Ranked(NamedTuple):
    """Documents in rank order."""

    codes: Array  # by row
    tied: Array  # by row: 1 where the score is that of the rank above
    retrieved: Array  # documents of each query with a score above -inf
    tie: Array  # by query: the first rank that is tied with the one above; NO_TIE if there is none


NO_TIE = 2**62


class Kept(NamedTuple):
    """The documents of ranked lists that count."""

    ranks: Array  # ascending in each query
    start: Array  # place of the first one of each query
    count: Array  # documents of each query


class Quadratic(NamedTuple):
    """``sum_r u_r g(y_r) + sum_{s<r} w_r K(y_s, y_r)``: see `quadratic`."""

    gain: Array  # g by code
    classes: Array  # row and column in K by code
    kernel: Array  # K by class
    reached: Array  # by class: 1 if a document of it is worth something below others, else 0
    alone: bool  # K(y_s, y_r) is a worth of y_s, that of the top class, or 0
    u: Array  # by rank
    w: Array  # by rank
    offset: Array  # place of the first rank of each query in u and w
    depth: int  # u and w vanish from this rank on


class QuadraticSwaps(NamedTuple):
    """A quadratic form of classes alone, whose gain rises from class to class."""

    gain: Array  # g by class
    kernel: Array
    u: Array
    w: Array
    offset: Array


class Cascade(NamedTuple):
    """``sum_r phi_r rho(y_r) prod_{s<r} (1 - rho(y_s))``: see `cascade`."""

    stop: Array  # rho by code
    phi: Array  # by rank
    depth: int  # phi vanishes from this rank on


class Bound(NamedTuple):
    """Weights of pairs that bound what discounted gain loses: see `lambdaloss`."""

    gain: Array  # by code
    fall: Array  # by rank
    step: Array  # by distance
    stretch: Array  # by rank
    even: Array  # by rank


class Preference(NamedTuple):
    """``sum of share (1 - penalty)`` over relevant documents: see `preference`."""

    share: Array  # by code
    lack: Array  # by code of the document and of one above it
    cap: Array  # by query
    divisor: Array  # by query
    divide_by: int
    unjudged: int  # this code and higher ones are of documents not judged


class Strict(NamedTuple):
    """Which documents are relevant, for metrics of one order: see `strict`."""

    relevant: Array  # by code
    unjudged: int  # this code and higher ones are of documents not judged
    needed: Array  # by query: relevant documents from which on precision counts


class Reader(NamedTuple):
    """A user whose reading depends on the gains seen, for metrics of one order: see `readers`."""

    gain: Array  # by code: share of the highest gain, in [0, 1]
    limit: int  # ranks that the user reads at most
    goal: float  # gain that the user wants in all
    reach: Array  # by rank and one more: probability to come there if no document satisfies
    rest: Array  # by rank and one more: the sum of `reach` from there on
    full: bool  # whether the ranks below the list have the highest gain, else none


class Overlap(NamedTuple):
    """The ideal ranking and the weights of depths, for compatibility: see `overlap`."""

    relevant: Array  # by code
    better: Array  # by query and code: relevant documents of a higher label
    total: Array  # by query: relevant documents
    share: Array  # by depth, from 0: sum of p**(d-1)/d over depths of at most that
    weight: Array  # by depth, from 0: sum of p**(d-1)
    normalize: bool


class Blend(NamedTuple):
    """Weights of the ranks of the Q-measure: see `labels`."""

    gain: Array  # by code
    beta: float
    depth: int  # weights vanish from this rank on


class RandomLists(NamedTuple):
    """Ranked documents whose labels are random: see `moments`."""

    order: Array  # position by rank; of two rankers, one line each
    retrieved: Array  # documents of each query with a score above -inf, as many lines
    proba: Array  # of each code, by row


class RandomWorth(NamedTuple):
    """What random labels are worth: see `moments`."""

    worth: Array  # by code
    square: Array  # of it
    weight: Array  # by rank, down to the last that counts


class TwoMoments(NamedTuple):
    """What is filled, by query."""

    mean: Array
    second: Array  # mean of the square


class Lists(NamedTuple):
    """Documents that pull at each other."""

    codes: Array  # by row; where a form knows classes alone, these
    order: Array  # position by rank
    scores: Array  # double precision
    inverse: Array  # one over the best sum of each query; 0 where there is nothing to learn
    weight: Array  # of each query


class Pairs(NamedTuple):
    """Which pairs count, and what for."""

    sigma: float  # slope of the cost of a pair
    truncation: int  # ranks that one document of a pair must reach
    score_norm: bool  # whether the weight of a pair is divided by 0.01 + |s_i - s_j|
    sum_norm: bool  # whether the gradients of a query are scaled from their sum to its logarithm
    widest: float  # range of sigma times score up to which exponentials fit: see `tiles.is_wide`


class Gradients(NamedTuple):
    """What is filled; arithmetic on pairs has the precision of `grad`."""

    grad: Array
    hess: Array
    totals: Array  # by query: twice the sum of all pulls, before weights and `sum_norm`


class Clicks(NamedTuple):
    """Position bias of clicks: see `debiased`."""

    click: Array  # 1 / t+ by row
    skip: Array  # 1 / t- by row
    clicked: Array  # filled: cost of each row as the clicked document of pairs
    skipped: Array  # filled: as the other one


class Soft(NamedTuple):
    """Scores as normal variables: see `softrank`."""

    codes: Array
    scores: Array
    gain: Array  # by code
    inverse: Array  # by query
    weight: Array  # by query
    sigma: float
    relative: bool  # whether sigma is in units of the spread of scores


class SoftGradients(NamedTuple):
    """What is filled; arithmetic on pairs has the precision of `grad`."""

    grad: Array
    hess: Array
    values: Array  # by query


class Graded(NamedTuple):
    """Lists whose grades are counted, and a quadratic form of their grades: see `entropy`."""

    counts: Array  # documents of each column (label) in each query
    gain: Array  # by column
    worth: Array  # by column of the upper and of the lower document
    u: Array
    w: Array
    starts: Array  # place of the first rank of each query in u and w


class Distributions(NamedTuple):
    """What is filled; all but the first by query."""

    p: Array  # chance of each column at each rank
    mean: Array  # sum of the form
    entropy: Array
    steps: Array
    done: Array  # whether the target is met
