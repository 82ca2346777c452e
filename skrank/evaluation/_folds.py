"""Scores over folds, as scikit-learn's cross-validation and searches return them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def fold_scores(results: object) -> pd.DataFrame:
    """Scores of folds x (metric, system), where higher is better.

    Parameters
    ----------
    results : fitted search, its ``cv_results_``, or mapping
        A mapping gives each system's result of `cross_validate` or `cross_val_score`. The systems
        of a search are its candidates, named after their parameters.
    """
    import pandas as pd

    results = getattr(results, "cv_results_", results)
    if not isinstance(results, Mapping):
        raise ValueError(
            f"systems is of type {type(results).__name__}: without relevance, pass a fitted search "
            "or a mapping of names to results of cross_validate."
        )
    found = _of_search(results) if "params" in results else _of_systems(results)
    lengths = {len(scores) for scores in found.values()}
    if len(lengths) > 1:
        raise ValueError(
            f"the systems have different numbers of folds {sorted(lengths)}: validate all of them "
            "on the same folds."
        )
    columns = pd.MultiIndex.from_tuples(found, names=["metric", "system"])
    index = pd.RangeIndex(lengths.pop(), name="fold")
    return pd.DataFrame(np.column_stack(list(found.values())), index, columns)


def _of_search(results: Mapping[str, np.ndarray]) -> dict[tuple[str, Hashable], np.ndarray]:
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


def _of_systems(results: Mapping[Hashable, object]) -> dict[tuple[str, Hashable], np.ndarray]:
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
