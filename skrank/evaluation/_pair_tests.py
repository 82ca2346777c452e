"""Tests of pairs of systems for values over seeds, values of folds, and any number of looks.

Each test takes pairs of columns, and alpha: its intervals have the level 1 - alpha.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

Tested: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # p-values, and ends of intervals


def seed_test(
    by_seed: Sequence[np.ndarray], weights: np.ndarray | None, pairs: np.ndarray, alpha: float
) -> Tested:
    """t-test of means over seeds, in which queries and seeds vary.

    The variance of a mean difference is that over queries, plus that over the seeds of both
    systems. Systems with one column of scores are regarded as fixed. The values of each column have
    the shape (n_queries, n_seeds).
    """
    found = [_over_seeds(by_seed[a], by_seed[b], weights) for a, b in pairs]
    mean, error, freedom = np.array(found).T
    return _by_t(mean, error, freedom, alpha)


def _over_seeds(
    first: np.ndarray, second: np.ndarray, weights: np.ndarray | None
) -> tuple[float, float, float]:
    """Mean difference, its standard error, and Satterthwaite's degrees of freedom."""
    from skrank.stats._pairs import student_t

    kept = ~np.isnan(np.hstack([first, second])).any(axis=1)
    if weights is not None:
        kept &= weights > 0
        weights = weights[kept]
    first, second = first[kept], second[kept]
    z = first.mean(axis=1) - second.mean(axis=1)
    mean, error, _, freedom = student_t(z[None], weights)
    variance, squares = error[0] ** 2, error[0] ** 4 / freedom
    for values in (first, second):
        between, total = _variance_of_seeds(values, weights)
        variance += between
        squares += total**2 / max(1, values.shape[1] - 1)
    # at least 1, as for two queries; squares is 0 only where nothing varies
    freedom = max(1.0, variance**2 / squares) if squares else freedom
    return mean[0], np.sqrt(variance), freedom


def _variance_of_seeds(values: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    """Variance of the mean over seeds, without and with the interaction of seeds and queries.

    A seed may suit some queries more than others. The variance over queries contains that
    interaction, so it is subtracted here (Dorfman, Berbaum and Metz 1992, with seeds as readers).
    """
    n_queries, n_seeds = values.shape
    if n_seeds == 1:
        return 0.0, 0.0
    share = np.full(n_queries, 1 / n_queries) if weights is None else weights / weights.sum()
    total = (share @ values).var(ddof=1) / n_seeds
    rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    interaction = (rest**2).sum() / ((n_queries - 1) * (n_seeds - 1)) * (share**2).sum() / n_seeds
    return max(0.0, total - interaction), total


def fold_scores(results: object) -> pd.DataFrame:
    """Scores of folds x (metric, system), where higher is better.

    `results` is a fitted search or its ``cv_results_``, whose candidates are the systems, named
    after their parameters; or a mapping of systems to results of `cross_validate` or
    `cross_val_score`.
    """
    import pandas as pd

    results = getattr(results, "cv_results_", results)
    if not isinstance(results, Mapping):
        raise ValueError(
            f"systems is of type {type(results).__name__}: without relevance, pass a fitted search "
            "or a mapping of names to results of cross_validate."
        )
    found = _search_scores(results) if "params" in results else _system_scores(results)
    lengths = {len(scores) for scores in found.values()}
    if not lengths:
        raise ValueError("systems has no scores of folds: pass at least two results.")
    if len(lengths) > 1:
        raise ValueError(
            f"the systems have different numbers of folds {sorted(lengths)}: validate all of them "
            "on the same folds."
        )
    columns = pd.MultiIndex.from_tuples(found, names=["metric", "system"])
    index = pd.RangeIndex(lengths.pop(), name="fold")
    return pd.DataFrame(np.column_stack(list(found.values())), index, columns)


def _search_scores(results: Mapping[str, np.ndarray]) -> dict[tuple[str, Hashable], np.ndarray]:
    names = [", ".join(f"{key}={value}" for key, value in one.items()) for one in results["params"]]
    splits: dict[str, list[np.ndarray]] = {}
    for key, scores in results.items():
        if match := re.fullmatch(r"split\d+_test_(.+)", key):
            splits.setdefault(match[1], []).append(scores)
    return {
        (metric, system): scores
        for metric, by_fold in splits.items()
        for system, scores in zip(names, np.transpose(by_fold), strict=True)
    }


def _system_scores(results: Mapping[Hashable, object]) -> dict[tuple[str, Hashable], np.ndarray]:
    by_system: dict[Hashable, dict[str, np.ndarray]] = {}
    for system, result in results.items():
        scores = result if isinstance(result, Mapping) else {"test_score": result}
        by_system[system] = {
            key.removeprefix("test_"): np.asarray(values, dtype=np.float64)
            for key, values in scores.items()
            if key.startswith("test_")
        }
    metrics = list(next(iter(by_system.values()), {}))
    for system, found in by_system.items():
        if not found or list(found) != metrics or any(one.ndim != 1 for one in found.values()):
            raise ValueError(
                f"system {system!r} has the scores {list(found)} of folds, and the first system "
                f"{metrics}: pass results of cross_validate with the same scoring for all. Scores "
                "of documents need relevance, too."
            )
    return {(metric, system): by_system[system][metric] for metric in metrics for system in results}


def fold_test(values: pd.DataFrame, test_share: float, pairs: np.ndarray, alpha: float) -> Tested:
    """Corrected resampled t-test of values of folds (Nadeau and Bengio 2003).

    Models of different folds share training queries, so the variance of the mean over k folds is
    (1 / k + n_test / n_train) times that of the values.
    """
    matrix = values.to_numpy()
    z = matrix[:, pairs[:, 0]] - matrix[:, pairs[:, 1]]
    n_folds = (~np.isnan(z)).sum(axis=0)
    variance = np.nanvar(z, axis=0, ddof=1) * (1 / n_folds + test_share / (1 - test_share))
    return _by_t(np.nanmean(z, axis=0), np.sqrt(variance), n_folds - 1, alpha)


def _by_t(mean: np.ndarray, error: np.ndarray, freedom: np.ndarray, alpha: float) -> Tested:
    import scipy.stats

    from skrank.stats._pairs import ratio, t_p_value

    half = scipy.stats.t.isf(alpha / 2, freedom) * error
    return t_p_value(ratio(mean, error), freedom), mean - half, mean + half


def anytime_test(
    values: pd.DataFrame, metric_of: Mapping[str, Metric], pairs: np.ndarray, alpha: float
) -> Tested:
    """A test by bets on the sign of the mean difference, valid at any number of looks.

    The p-value is one over the highest wealth so far, and the interval is the confidence sequence
    of `skrank.stats.Bets`, in the order of the rows.
    """
    from skrank.stats import Bets

    for name, one in metric_of.items():
        if one.value_range not in ("[0, 1]", "[0, 1)"):
            raise ValueError(
                f'test="anytime" needs values between 0 and 1, and those of {name} have the range '
                f"{one.value_range}: leave the metric out, or choose another test."
            )
    matrix, out = values.to_numpy(), np.empty((3, len(pairs)))
    for row, (first, second) in enumerate(pairs):
        z = matrix[:, first] - matrix[:, second]
        z = z[~np.isnan(z)]
        ones, even = np.ones(len(z)), np.full(len(z), 1 / len(z))
        bets = Bets(z, even, even, range(len(z)), (-ones, ones), with_replacement=True)
        out[:, row] = 1 - bets.certainty(), *bets.interval(1 - alpha)
    return out[0], out[1], out[2]
