"""Tests of pairs of systems for values over seeds, and values of folds.

Each test takes pairs of columns, and alpha: its intervals have the level 1 - alpha.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from skrank import _validation as check

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
            f"results is of type {type(results).__name__}: pass a fitted search, or a mapping of "
            "names to results of cross_validate."
        )
    frames = {}
    for system, result in (_candidates(results) if "params" in results else results).items():
        scores = result if isinstance(result, Mapping) else {"test_score": result}
        numbers = {
            name.removeprefix("test_"): np.asarray(values, dtype=np.float64)
            for name, values in scores.items()
            if name.startswith("test_")
        }
        with check.about(f"system {system!r}"):
            frames[system] = pd.DataFrame(numbers)
    first = next(iter(frames.values()), pd.DataFrame())
    for system, frame in frames.items():
        if not frame.size or len(frame) != len(first) or list(frame) != list(first):
            raise ValueError(
                f"system {system!r} has the scores {list(frame)} of {len(frame)} folds, and the "
                f"first system {list(first)} of {len(first)}: pass results of cross_validate on "
                "the same folds with the same scoring. `compare` takes scores of documents."
            )
    if not frames:
        raise ValueError("results has no scores of folds: pass at least two results.")
    found = {(name, system): frames[system][name] for name in first for system in frames}
    columns = pd.MultiIndex.from_tuples(found, names=["metric", "system"])
    index = pd.RangeIndex(len(first), name="fold")
    return pd.DataFrame(np.column_stack(list(found.values())), index, columns)


def _candidates(results: Mapping[str, Any]) -> dict[str, dict[str, np.ndarray]]:
    """Results of a search by candidate, as `cross_validate` returns them."""
    names = [", ".join(f"{key}={value}" for key, value in one.items()) for one in results["params"]]
    splits: dict[str, list[np.ndarray]] = {}
    for key, scores in results.items():
        if match := re.fullmatch(r"split\d+_(test_.+)", key):
            splits.setdefault(match[1], []).append(scores)
    return {
        name: {metric: np.array([fold[i] for fold in folds]) for metric, folds in splits.items()}
        for i, name in enumerate(names)
    }


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


def paired_effects(
    values: pd.DataFrame, pairs: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cohen's d of each pair of columns, and the numbers of queries ahead and behind."""
    from skrank.stats._pairs import SystemPairs, Weights, moments, ratio

    def effects(z: np.ndarray, w: Weights) -> tuple[np.ndarray, ...]:
        return ratio(*moments(z, w)), (z > 0).sum(axis=1), (z < 0).sum(axis=1)

    size, ahead, behind = SystemPairs(values, pairs, weights=weights).measure(effects, 3)
    return size, ahead.astype(np.int64), behind.astype(np.int64)
