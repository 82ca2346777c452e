"""make_ranking: generate rankings with the frequencies of grades of web search."""

from __future__ import annotations

import math

import numpy as np
from sklearn.utils import Bunch

from skrank import _validation as check
from skrank._engine.elementwise import elementwise
from skrank._typing import RandomState

# Share of documents with at least grade 1, 2, 3, 4 in MSLR-WEB. The numbers in the functions below
# are free choices. They and the draws stay as they are, so that a seed gives the same data.
_AT_LEAST = (0.48, 0.16, 0.03, 0.01)


def make_ranking(
    n_queries: int = 100,
    *,
    n_docs: int | tuple[int, int] = (10, 120),
    n_features: int = 20,
    n_informative: int = 8,
    max_grade: int = 4,
    noise: float = 0.7,
    empty_fraction: float = 0.05,
    random_state: RandomState = None,
) -> Bunch:
    """Make a collection of queries whose documents have graded relevance.

    The latent relevance of a document is a weighted sum of the informative features, the product of
    the first two, tanh of the third, and the product of the last with a random number per query. To
    this are added noise, whose standard deviation varies between queries, and a shift per query, so
    that numbers of relevant documents vary. Thresholds give grades in the proportions of MSLR-WEB:
    about 52, 32, 13, 2 and 1 % for grades 0 to 4.

    Parameters
    ----------
    n_queries : int, default=100
        Number of queries.
    n_docs : int or (int, int), default=(10, 120)
        Documents per query: one number for all, or the smallest and the largest number. Sizes are
        distributed on a logarithmic scale, so that long lists are rarer than short lists.
    n_features : int, default=20
        Number of columns of `X`. A third each of the features that are not informative are noisy
        copies of informative features, query features (constant in a query) and pure noise.
    n_informative : int, default=8
        Number of features that the latent relevance depends on, at least 3.
    max_grade : int, default=4
        Highest grade. Below 4, higher grades become `max_grade`; above 4, the share of documents of
        at least grade g halves with each further g.
    noise : float, default=0.7
        Standard deviation of the noise in a query of average difficulty, in units of the standard
        deviation of the noiseless latent relevance.
    empty_fraction : float, default=0.05
        Share of the queries, from 0 to 1, whose labels are all set to 0: the queries of the lowest
        shift. Other queries may have no relevant document by chance.
    random_state : int, RandomState instance or None, default=None
        Seed. The same integer gives the same collection.

    Returns
    -------
    data : Bunch
        With the attributes

        X : ndarray of shape (n_rows, n_features), float64
            Features, in random order. Odd-numbered informative features are log-normal, all
            other features normal.
        relevance : ndarray of shape (n_rows,), int64
            Grades from 0 to `max_grade`.
        qid : ndarray of shape (n_rows,), int64
            Query of each row, from 0 to `n_queries - 1`. The rows of a query are contiguous, in
            random order.
        feature_names : list of str
            Kind and number of each feature, as in ``"informative_0"``, ``"noisy_0"``,
            ``"query_0"``, ``"noise_0"``.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> data.X.shape[1], sorted(set(data.relevance.tolist()))
    (20, [0, 1, 2, 3, 4])
    """
    bounds = n_docs if isinstance(n_docs, (tuple, list)) else (n_docs, n_docs)
    if len(bounds) != 2:
        raise ValueError(f"n_docs={check.brief(n_docs)}: give one size or two bounds")
    low, high = bounds
    check.check_count("n_queries", n_queries, "the number of queries")
    check.check_count("n_docs", low, "documents per query")
    check.check_count("n_docs", high, "most documents per query", low)
    check.check_count("n_informative", n_informative, "features that decide the relevance", 3)
    check.check_count("n_features", n_features, "all, with n_informative", n_informative)
    check.check_count("max_grade", max_grade, "the highest grade", most=check.MOST_GRADES)
    noise = check.check_number("noise", noise, 0, 1e100)
    check.check_number("empty_fraction", empty_fraction, 0, 1)

    rng = check.as_random_state("random_state", random_state)
    # numbers of documents from low to high, beta-distributed on a logarithmic scale
    sizes = np.floor(low * ((high + 1) / low) ** rng.beta(2, 2.5, n_queries)).astype(np.int64)
    qid = np.repeat(np.arange(n_queries), sizes)
    signals = rng.standard_normal((qid.size, n_informative))
    # of queries; the first also shifts relevance, and up to a third of them are features
    traits = rng.standard_normal((n_queries, max(1, n_features - n_informative)))
    shift = 0.5 * rng.standard_normal(n_queries) + 0.3 * traits[:, 0]
    difficulty = rng.lognormal(-0.1, 0.45, n_queries)  # of mean 1

    latent = _relevance_signal(signals, traits[qid, 0])
    latent += noise * difficulty[qid] * rng.standard_normal(qid.size) + shift[qid]
    relevance = _cut(latent, max_grade)
    empty = np.argsort(shift, kind="stable")[: round(empty_fraction * n_queries)]
    relevance[np.isin(qid, empty)] = 0

    X, feature_names = _features(rng, signals, traits[qid], n_features)
    return Bunch(X=X, relevance=relevance, qid=qid, feature_names=feature_names)


def _relevance_signal(signals: np.ndarray, trait: np.ndarray) -> np.ndarray:
    """Noiseless latent relevance of each row, scaled to a standard deviation of 1."""
    weights = np.linspace(1, 0.3, signals.shape[1])
    signal = (signals * weights).sum(axis=1)  # not by BLAS, whose bits depend on the processor
    signal += 0.8 * signals[:, 0] * signals[:, 1]
    signal += 1.2 * elementwise(math.tanh, 2 * signals[:, 2])
    signal += 0.8 * trait * signals[:, -1]
    return signal / (np.std(signal) or 1.0)  # the deviation of a single row is 0


def _cut(latent: np.ndarray, max_grade: int) -> np.ndarray:
    """Grades from quantiles of the latent relevance; few rows may lack the highest grade."""
    grades = np.arange(1, max_grade + 1)
    at_least = np.interp(grades, [1, 2, 3, 4], _AT_LEAST) * 0.5 ** np.maximum(grades - 4, 0)
    thresholds = np.quantile(latent, 1 - at_least, method="inverted_cdf")
    return np.searchsorted(thresholds, latent, side="left")


def _features(
    rng: np.random.RandomState, signals: np.ndarray, traits: np.ndarray, n_features: int
) -> tuple[np.ndarray, list[str]]:
    """Columns in random order, and their names."""
    n_rows, n_informative = signals.shape
    thirds = np.array_split(np.arange(n_features - n_informative), 3)
    n_noise, n_noisy, n_query = map(len, thirds)
    informative = signals.copy()
    informative[:, 1::2] = elementwise(math.exp, informative[:, 1::2])
    copied = signals[:, np.arange(n_noisy) % n_informative]
    columns = {
        "informative": informative,
        "noisy": copied + 1.5 * rng.standard_normal((n_rows, n_noisy)),
        "query": traits[:, :n_query],
        "noise": rng.standard_normal((n_rows, n_noise)),
    }
    names = [f"{kind}_{i}" for kind, group in columns.items() for i in range(group.shape[1])]
    order = rng.permutation(n_features)
    return np.hstack(list(columns.values()))[:, order], [names[i] for i in order]
