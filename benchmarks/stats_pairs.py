"""Time the statistics of all pairs of many systems.

    python benchmarks/stats_pairs.py [SCORES.csv]

SCORES.csv has one row per query, one column per system, and a header of names. The default is
synthetic scores of 143 systems on 30 queries: 10,153 pairs. The target for their discriminative
power, with 1000 resamples, is less than 10 s on two cores.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import scipy.stats

from skrank import stats


def synthetic_scores(n_queries: int = 30, n_systems: int = 143) -> np.ndarray:
    """Scores in [0, 1]: the logistic function of effects of queries, of systems, and noise."""
    random = np.random.default_rng(0)
    queries, systems = random.normal(size=(n_queries, 1)), 0.5 * random.normal(size=n_systems)
    noise = 0.8 * random.normal(size=(n_queries, n_systems))
    return 1 / (1 + np.exp(-(queries + systems + noise - 0.5)))


def clock(name: str, call: Callable[[], object]) -> object:
    start = time.perf_counter()
    found = call()
    print(f"{name:32s} {time.perf_counter() - start:7.2f} s")
    return found


def per_call(call: Callable[[], object], repeats: int = 50) -> float:
    """Median processor time of a call, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return float(np.median(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scores", nargs="?", help="CSV of queries x systems")
    path = parser.parse_args().scores
    scores = pd.read_csv(path).to_numpy(np.float64) if path else synthetic_scores()
    n_queries, n_systems = scores.shape
    n_pairs = n_systems * (n_systems - 1) // 2
    print(f"{n_queries} queries, {n_systems} systems: {n_pairs} pairs, {os.cpu_count()} cores")
    power = clock("discriminative power, B=10,000", lambda: stats.discriminative_power(scores))
    bootstrap = clock("paired bootstrap, B=10,000", lambda: stats.paired_bootstrap(scores))
    t = clock("paired t", lambda: stats.paired_t(scores))
    clock("Wilcoxon", lambda: stats.wilcoxon(scores))
    flips = clock("randomisation, B=10,000", lambda: stats.randomisation_test(scores))
    tukey = clock("Tukey HSD, B=10,000", lambda: stats.tukey_hsd(scores))
    most = clock("max-t, B=10,000", lambda: stats.max_t(scores))
    few = scores[:, :2]
    ours = per_call(lambda: stats.paired_t(few))
    theirs = per_call(lambda: scipy.stats.ttest_rel(*few.T))
    print(f"paired t of one pair: {1000 * ours:.2f} ms, {ours / theirs:.1f} of scipy's time")
    tied = few[:12].round(1)
    ours = per_call(lambda: stats.wilcoxon(tied))
    theirs = per_call(lambda: scipy.stats.wilcoxon(*tied.T), repeats=5)
    print(f"Wilcoxon of 12 queries with ties: {1000 * ours:.2f} ms, {ours / theirs:.4f} of scipy's")
    print(power)
    print(f"median required difference: {np.median(power.required):.4f}")
    print(f"Tukey's critical difference: {tukey.critical_value:.4f}")
    print("share of the pairs below .05:")
    for name, p_values in (
        ("paired t", t.p_value),
        ("paired bootstrap", bootstrap.p_value),
        ("randomisation", flips.p_value),
        ("paired t, Benjamini-Hochberg", scipy.stats.false_discovery_control(t.p_value)),
        ("Tukey HSD", tukey.p_value),
        ("max-t", most.p_value),
        ("paired t, Holm", stats.holm(t.p_value)),
    ):
        print(f"    {name:30s} {np.mean(p_values < 0.05):.4f}")
    print(f"largest |ASL - p of t|: {np.max(np.abs(bootstrap.p_value - t.p_value)):.4f}")


if __name__ == "__main__":
    main()
