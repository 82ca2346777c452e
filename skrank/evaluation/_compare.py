"""Compare rankers on the same queries, or on the same folds: intervals and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._typing import Options, RandomState
from skrank.evaluation import _pair_tests
from skrank.evaluation._comparison import Comparison
from skrank.evaluation._evaluate import DEFAULT_METRICS, report_of_arrays
from skrank.evaluation._report import Report, value_notes
from skrank.metrics import Metric


def compare(
    relevance: ArrayLike,
    systems: Mapping[Hashable, ArrayLike] | None = None,
    *,
    groups: ArrayLike | None = None,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    baseline: Hashable = None,
    test: str = "max-t",
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    max_grade: int | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = 0,
    progress: bool | None = None,
) -> Comparison:
    """Compare systems that rank the same documents.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    systems : mapping of name to array-like of shape (n_rows,) or (n_rows, n_seeds)
        Scores of each system, at least two of them. Higher ranks first; -inf = not retrieved. A
        system that was trained with several random seeds has a column of scores for each.
    groups : array-like of shape (n_rows,), optional
        Query of each row, in any order. Default: the index level "qid" of `relevance`.
    metrics : names or Metrics
    baseline : name of a system or list of names, optional
        Compare the other systems with these only. Default: all with all.
    test : {"max-t", "t", "randomisation"}
        Test of the differences, corrected for all pairs and metrics together. "max-t":
        `skrank.stats.max_t`, whose p-values and intervals agree, and gain from how systems and
        metrics depend on each other. "t": `skrank.stats.paired_t`, and "randomisation":
        `skrank.stats.randomisation_test`, both with Holm's correction of p-values and Bonferroni's
        of Student's intervals.
    confidence : float
        Level of the intervals. A difference is significant if its corrected p-value is below one
        minus it.
    n_resamples : int
        Resamples of the max-t test, and random assignments of the randomisation test.
    max_grade : int, optional
        Highest grade of the collection, for metrics that do not fix it. Default: the highest label.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query: how much it counts in means and tests.
    random_state : int, Generator, RandomState or None
    progress : bool, optional
        Show a bar on standard error. Default: after two seconds, if standard error is a terminal.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If there are fewer than two systems, the baseline is not one of them, groups are missing, or
        a metric is defined on fewer than two queries; a message about scores names the system.

    See Also
    --------
    compare_cv : compares results of cross-validation.
    skrank.stats : the tests themselves, and more of them.

    Notes
    -----
    A query on which a metric is not defined, such as one without a relevant document, is left out
    of its comparisons and counted in none of their columns. Every other query counts the same,
    also where the means are geometric or micro-averaged.

    Other seeds would give other rankers. With several seeds, values are means over seeds, and the
    test is a t-test whose variance is that over queries plus that over the seeds of both systems,
    corrected by Holm's method; `test` and `n_resamples` have no effect. A system with one column of
    scores counts as fixed.

    References
    ----------
    D. D. Dorfman, K. S. Berbaum, C. E. Metz, Receiver Operating Characteristic Rating Analysis,
    Investigative Radiology 27(9), 1992.

    Examples
    --------
    >>> from skrank import compare
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> systems = {"new": data.X[:, 5], "other": data.X[:, 1], "old": data.X[:, 0]}
    >>> found = compare(data.relevance, systems, groups=data.qid, metrics="gap", baseline="old")
    >>> found.to_frame()[["system", "difference", "low", "high", "p_corrected"]].round(3)
      system  difference    low   high  p_corrected
    0    new       0.075  0.028  0.122        0.004
    1  other       0.012 -0.021  0.045        0.597
    """
    if not isinstance(systems, Mapping):
        raise ValueError(
            f"systems is of type {type(systems).__name__} and must be a mapping of names to "
            'scores: compare(relevance, {"new": scores_new, "old": scores_old}), labels first. '
            "Results of cross-validation are compared by skrank.compare_cv(results)."
        )
    # raises for fewer than two systems, or an unknown baseline
    _pair_tests.system_pairs(list(systems), baseline)
    report = report_of_arrays(
        relevance, systems, groups, sample_weight, metrics, max_grade, who="compare"
    )
    how: Options = {"baseline": baseline, "confidence": confidence}
    if len(report.systems) == len(systems):
        return report.compare(
            test=test, n_resamples=n_resamples, random_state=random_state, progress=progress, **how
        )
    check.check_draws(n_resamples, random_state)
    if test != "max-t":
        raise ValueError(f"test={test!r} does not count seeds: leave test out.")
    return _compare_seeds(report, how)


def compare_cv(
    results: Any,
    *,
    baseline: Hashable = None,
    confidence: float = 0.95,
    test_share: float | None = None,
) -> Comparison:
    """Compare results of cross-validation on the same folds.

    The test is the corrected resampled t-test (Nadeau and Bengio 2003), because models of different
    folds share training queries. Holm's method corrects p-values for the number of comparisons, and
    Bonferroni's the intervals.

    Parameters
    ----------
    results : mapping of name to result, or fitted search
        Results of `cross_validate` or `cross_val_score` of each system. Or a fitted search such as
        GridSearchCV, or its ``cv_results_``: its candidates are the systems.
    baseline : name of a system or list of names, optional
        Compare the other systems with these only. Default: all with all.
    confidence : float
        Level of the intervals. A difference is significant if its corrected p-value is below one
        minus it.
    test_share : float, optional
        Share of the queries in the test part of each fold. Default: one over the number of folds.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If there are fewer than two systems, or they have other folds or scores than the first.

    See Also
    --------
    compare : compares the scores of systems on the same documents.

    References
    ----------
    C. Nadeau, Y. Bengio, Inference for the Generalization Error, Machine Learning 52, 2003.

    Examples
    --------
    >>> from skrank import compare_cv
    >>> folds = {"new": [0.52, 0.48, 0.55, 0.51], "old": [0.47, 0.44, 0.52, 0.45]}
    >>> compare_cv(folds).to_frame()[["difference", "low", "high", "p_corrected"]].round(3)
       difference    low   high  p_corrected
    0       0.045  0.014  0.076         0.02
    """
    folds = _pair_tests.fold_scores(results)
    share = 1 / len(folds) if test_share is None else test_share
    test = partial(_pair_tests.fold_test, folds, check.check_share("test_share", share))
    means = folds.mean().unstack("metric", sort=False)
    return _pair_tests.compare_values(
        folds, means, {}, baseline=baseline, test="corrected resampled t-test",
        confidence=confidence, pair_test=test,
    )  # fmt: skip


def _compare_seeds(report: Report, how: Options) -> Comparison:
    """Compare means over seeds, by a test in which queries and seeds vary.

    The systems of the report are repeated, once for each of their seeds.
    """
    import pandas as pd

    metrics, weights = report.metric_of, report.query_weights
    n_seeds = Counter(report.systems)
    ends = np.cumsum([*n_seeds.values()])[:-1]
    # sum, not a method of NumPy, whose order of additions depends on the number of seeds
    means = [sum(rows / len(rows)) for rows in np.split(report.averages, ends)]
    columns = [
        np.ascontiguousarray(values.T)  # of shape (n_queries, n_seeds)
        for of_metric in report.values.transpose(2, 0, 1)
        for values in np.split(of_metric, ends)
    ]
    names = pd.MultiIndex.from_product([metrics, n_seeds], names=["metric", "system"])
    per_query = np.column_stack([values.mean(axis=1) for values in columns])
    return _pair_tests.compare_values(
        pd.DataFrame(per_query, pd.Index(report.queries, name="qid"), names),
        pd.DataFrame(means, pd.Index(n_seeds, name="system", tupleize_cols=False), [*metrics]),
        metrics, weights=weights, test="t-test over queries and seeds",
        pair_test=partial(_pair_tests.seed_test, columns, weights),
        notes=value_notes(metrics, report.max_grade), **how,
    )  # fmt: skip
