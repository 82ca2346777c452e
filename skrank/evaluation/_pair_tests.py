"""Tests of pairs of systems whose values per query, seed or fold are known.

The tests of values over seeds and of folds take pairs of columns, and alpha: their intervals have
the level 1 - alpha.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from skrank import _validation as check
from skrank._typing import Options, Weights
from skrank.evaluation._comparison import TESTS, Comparison
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

Tested: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # p-values, and ends of intervals


def compare_values(
    per_query: pd.DataFrame,
    means: pd.DataFrame,
    metric_of: Mapping[str, Metric],
    *,
    weights: Weights = None,
    baseline: Hashable = None,
    test: str = "max-t",
    confidence: float = 0.95,
    pair_test: Callable[[np.ndarray, float], Tested] | None = None,
    notes: Sequence[str] = (),
    **resampling: Any,
) -> Comparison:
    """Compare systems whose values per query are known.

    The columns of `per_query` are (metric, system), the systems of a metric side by side and in one
    order; `means` are of systems x metrics. `metric_of` has the metric of each column of `means`;
    it is empty for scores of folds, whose greater values are better. `pair_test`, for values over
    seeds or folds, is a function of pairs and 1 - confidence, and `test` is its name then. `notes`
    are lines of the caption. The other parameters are those of `compare`, with `n_resamples`,
    `random_state` and `progress` in `resampling`.
    """
    import pandas as pd

    from skrank import stats

    pairs = system_pairs(list(means.index), baseline)
    confidence, alpha = check.check_confidence(confidence)
    unit = "queries" if metric_of else "folds"
    for (name, system), count in per_query.notna().sum().items():
        if count < 2:
            raise ValueError(
                f"{name} has a value on {count} of {len(per_query)} {unit} for system {system!r}, "
                "and a comparison needs 2: leave the metric or the system out, or let queries "
                "without a relevant document count, with empty=0."
            )
    notes, shares = [*notes], 1.0 if weights is None else weights[:, None]
    not_macro = [name for name, metric in metric_of.items() if metric.average != "macro"]
    if not_macro:  # the tests are of arithmetic means over queries
        notes.append(f"{', '.join(not_macro)}: arithmetic means over queries")
        values = per_query[not_macro]
        tested = (values * shares).sum() / (values.notna() * shares).sum()
        means = means.assign(**{name: tested[name] for name in not_macro})
    defined = per_query.notna().to_numpy().reshape(len(per_query), -1, len(means))
    if np.any(defined.any(axis=2) != defined.all(axis=2)):
        notes.append(f"means are over the {unit} of each system, differences over common ones")
    # the columns of all metrics stand side by side, so that one call tests them all
    columns = np.concatenate([pairs + i * len(means) for i in range(means.shape[1])])
    how: Options = {"pairs": columns, "weights": weights}
    level = alpha / len(columns)  # Bonferroni's
    paired = stats.paired_t(per_query, confidence=1 - level, **how)
    p_value, low, high = paired.p_value, paired.low, paired.high
    if pair_test is not None:
        p_value, low, high = pair_test(columns, level)
    elif check.check_choice("test", test, tuple(TESTS)) == "randomisation":
        p_value = stats.randomisation_test(per_query, **how, **resampling).p_value
    corrected = stats.holm(p_value)
    if test == "max-t":
        largest = stats.max_t(per_query, confidence=confidence, **how, **resampling)
        corrected, low, high = largest.p_value, largest.low, largest.high
    # scikit-learn's scores of folds are better where they are greater
    rises = {name: not metric_of or metric_of[name].greater_is_better for name in means.columns}
    first, second = (per_query.columns[numbers] for numbers in columns.T)
    names, of_system = (first.get_level_values(name) for name in ("metric", "system"))
    effect_size, ahead, behind = paired_effects(per_query, columns, weights)
    rising = np.array([rises[name] for name in names], dtype=bool)
    table = pd.DataFrame({
        "metric": names, "system": of_system, "other": second.get_level_values("system"),
        "difference": paired.difference, "low": low, "high": high, "p_corrected": corrected,
        "p_uncorrected": p_value, "significant": corrected < alpha, "effect_size": effect_size,
        "wins": np.where(rising, ahead, behind), "ties": paired.n_queries - ahead - behind,
        "losses": np.where(rising, behind, ahead), "queries": paired.n_queries,
    })  # fmt: skip
    return Comparison(
        means, per_query, test, confidence, baseline, weights is not None, table, rises, notes
    )


def system_pairs(systems: Sequence[Hashable], baseline: Any) -> np.ndarray:
    """Numbers of the systems to compare, of shape (n_pairs, 2): all pairs, or with baselines."""
    if len(systems) < 2:
        raise ValueError(
            f"systems has {len(systems)} entries: a comparison needs at least two names with "
            'scores, such as {"new": scores_new, "old": scores_old}.'
        )
    if baseline is None:
        return np.array(list(combinations(range(len(systems)), 2)))
    against = []
    for name in dict.fromkeys(baseline if isinstance(baseline, list) else [baseline]):
        if name not in systems:
            raise check.unknown_name("baseline", name, map(str, systems))
        against.append(systems.index(name))
    others = [i for i in range(len(systems)) if i not in against]
    if not others or not against:
        raise ValueError(
            f"baseline={check.brief(baseline)} has {len(against)} of the {len(systems)} systems: "
            "name at least one, and leave at least one to compare it with."
        )
    return np.array([(i, j) for j in against for i in others])


def seed_test(
    by_seed: Sequence[np.ndarray], weights: Weights, pairs: np.ndarray, alpha: float
) -> Tested:
    """t-test of means over seeds, in which queries and seeds vary.

    The variance of a mean difference is that over queries, plus that over the seeds of both
    systems. Systems with one column of scores are regarded as fixed. The values of each column have
    the shape (n_queries, n_seeds).
    """
    mean, error, freedom = np.array(
        [_over_seeds(by_seed[first], by_seed[second], weights) for first, second in pairs]
    ).T
    return _by_t(mean, error, freedom, alpha)


def _over_seeds(
    first: np.ndarray, second: np.ndarray, weights: Weights
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
        # the interaction that `between` lacks has many more degrees of freedom than `total`
        squares += total**2 / max(1, values.shape[1] - 1)
    # at least 1, as for two queries; squares is 0 only where nothing varies
    freedom = max(1.0, variance**2 / squares) if squares else freedom
    return mean[0], np.sqrt(variance), freedom


def _variance_of_seeds(values: np.ndarray, weights: Weights) -> tuple[float, float]:
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
    if not isinstance(results, Mapping) or "fit_time" in results:  # one result of cross_validate
        raise ValueError(
            f"results is {check.brief(results)}: pass a fitted search, or a mapping of names to "
            "results of cross_validate."
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
                f"system {system!r} has the scores {check.brief(list(frame))} of {len(frame)} "
                f"folds, and the first system {check.brief(list(first))} of {len(first)}: pass "
                "results of cross_validate on the same folds with the same scoring. `compare` "
                "takes scores of documents."
            )
    if not frames:
        raise ValueError("results has no scores of folds: pass at least two results.")
    columns = pd.MultiIndex.from_product([first, frames], names=["metric", "system"])
    values = np.transpose([frames[system][name] for name, system in columns])
    return pd.DataFrame(values, pd.RangeIndex(len(first), name="fold"), columns)


def _candidates(results: Mapping[str, Any]) -> dict[str, dict[str, np.ndarray]]:
    """Results of a search by candidate, as `cross_validate` returns them."""
    names = [
        ", ".join(f"{key}={value}" for key, value in params.items()) for params in results["params"]
    ]
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

    from skrank.stats._pairs import standardised, t_p_value

    half = scipy.stats.t.isf(alpha / 2, freedom) * error
    return t_p_value(standardised(mean, error), freedom), mean - half, mean + half


def paired_effects(
    values: pd.DataFrame, pairs: np.ndarray, weights: Weights
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cohen's d of each pair of columns, and the numbers of queries ahead and behind."""
    from skrank.stats._pairs import SystemPairs, moments, standardised

    def effects(z: np.ndarray, w: Weights) -> tuple[np.ndarray, ...]:
        return standardised(*moments(z, w)), (z > 0).sum(axis=1), (z < 0).sum(axis=1)

    size, ahead, behind = SystemPairs(values, pairs, weights=weights).apply(effects, 3)
    return size, ahead.astype(np.int64), behind.astype(np.int64)
