"""Levels of tests, and coverage of intervals, on matrices of real scores and synthetic scores.

    python benchmarks/levels.py DATA [--parts two many power weights means seeds]

prints the tables of docs/evidence/tests_and_intervals.md in their order. DATA is a folder of
collections: trec-pertopic-scores holds matrices of queries x systems (CSV with a header of names);
trec-covid and trec-dl hold judgments and runs. The queries of a matrix are the population, from
which samples are drawn with replacement. For null hypotheses, the columns of the matrix are centred
to equal means, which keeps their skewness, ties and dependence. Synthetic populations are symmetric
or skewed.

The number after the title of a table is the largest standard error, in percentage points, of a
value of 5 or 95.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from thresholds import submitted

import skrank
from skrank import stats, trec

SIZES = (10, 25, 50)
N_SYSTEMS = 5
PARTS = ("two", "many", "power", "weights", "means", "seeds")
RUNS = (("trec-covid", "ap"), ("trec-covid", "ndcg@10"), ("trec-dl", "ap"))
CHUNK = 50  # samples whose pairs are tested in one call
# (random, n_queries, n_systems) -> scores of systems with equal means
Population = Callable[[np.random.Generator, int, int], np.ndarray]
Rows = dict[str, float]


def one_of_five(random: np.random.Generator, n: int, k: int) -> np.ndarray:
    return random.normal(size=(n, k)) * np.where(np.arange(k) == k - 1, 5.0, 1.0)


def zeros(random: np.random.Generator, n: int, k: int) -> np.ndarray:
    return np.where(random.random((n, k)) < 0.8, 0.0, random.random((n, k)))


def skewed(random: np.random.Generator, n: int, k: int) -> np.ndarray:
    """A nearly constant system, and systems with an exponential distribution."""
    return np.c_[0.1 * random.normal(size=n), random.exponential(size=(n, k - 1)) - 1]


def alternating(random: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Nearly constant systems in turn with systems with an exponential distribution."""
    varied = random.exponential(size=(n, k)) - 1
    return np.where(np.arange(k) % 2, varied, 0.1 * random.normal(size=(n, k)))


SYNTHETIC: dict[str, Population] = {
    "normal": lambda random, n, k: random.normal(size=(n, k)),
    "normal, one of five times the spread": one_of_five,
    "P@10": lambda random, n, k: random.binomial(10, random.beta(1, 2, (n, k))) / 10,
    "80 % zeros": zeros,
    "skewed": skewed,
    "alternating": alternating,
}


def centred(table: np.ndarray) -> Population:
    population = table - table.mean(axis=0)

    def draw(random: np.random.Generator, n: int, k: int) -> np.ndarray:
        systems = random.choice(population.shape[1], k, replace=False)
        return population[random.integers(len(population), size=n)][:, systems]

    return draw


def chunks(population: Population, n: int, k: int, repeats: int) -> Iterator[np.ndarray]:
    """Samples as arrays of shape (n_queries, n_samples * n_systems)."""
    random = np.random.default_rng(n)
    for start in range(0, repeats, CHUNK):
        size = min(CHUNK, repeats - start)
        yield np.concatenate([population(random, n, k) for _ in range(size)], axis=1)


def pair_p_values(scores: np.ndarray, k: int, n_resamples: int, **how: object) -> dict:
    """P-values of each sample and pair, by test."""
    pairs = np.stack(np.triu_indices(k, 1), axis=1)
    pairs = np.concatenate([pairs + start for start in range(0, scores.shape[1], k)])
    how = {"pairs": pairs} | how
    drawn = how | {"n_resamples": n_resamples}
    p_values = {"t": stats.paired_t(scores, **how).p_value}
    if k == 2:  # half of the resamples of max_t change signs, half draw queries
        given = how | {"n_resamples": 2 * n_resamples}
        each = [stats.max_t(scores, **given | {"pairs": [pair]}).p_value for pair in pairs]
        p_values["max-t"] = np.concatenate(each)
    p_values["randomisation"] = stats.randomisation_test(scores, **drawn).p_value
    p_values["bootstrap"] = stats.paired_bootstrap(scores, **drawn).p_value
    return {name: p.reshape(scores.shape[1] // k, -1) for name, p in p_values.items()}


def many(population: Population, n: int, repeats: int, n_resamples: int) -> Rows:
    """Percent of samples with any p-value below .05, of five systems with equal means."""
    how = {"n_resamples": n_resamples}
    found: dict[str, list[float]] = {}
    for scores in chunks(population, n, N_SYSTEMS, repeats):
        samples = np.split(scores, scores.shape[1] // N_SYSTEMS, axis=1)
        p_values = {"max-t": [stats.max_t(one, **how).p_value.min() for one in samples]}
        for name, pairs in pair_p_values(scores, N_SYSTEMS, n_resamples).items():
            p_values[f"{name}, Holm"] = [stats.holm(row).min() for row in pairs]
        p_values["Tukey"] = [stats.tukey_hsd(one, **how).p_value.min() for one in samples]
        for name, p in p_values.items():
            found.setdefault(name, []).extend(np.array(p) < 0.05)
    return {name: 100 * np.mean(each) for name, each in found.items()}


def two(population: Population, n: int, repeats: int, n_resamples: int) -> Rows:
    """Percent of samples with a p-value below .05, of two systems with equal means."""
    found: dict[str, list[float]] = {}
    for scores in chunks(population, n, 2, repeats):
        pairs = np.arange(scores.shape[1]).reshape(-1, 2)
        p_values = pair_p_values(scores, 2, n_resamples) | {
            "Wilcoxon": stats.wilcoxon(scores, pairs=pairs).p_value,
            "sign": stats.sign_test(scores, pairs=pairs).p_value,
        }
        for name, p in p_values.items():
            found.setdefault(name, []).extend(np.ravel(p) < 0.05)
    return {name: 100 * np.mean(each) for name, each in found.items()}


def weak(random: np.random.Generator, old: np.ndarray) -> np.ndarray:
    return random.normal(size=(len(old), 2)) - 1


def changed(random: np.random.Generator, old: np.ndarray, noise: float = 0.0) -> np.ndarray:
    """The old system with another score on one query, and noise on all queries."""
    one_query = np.arange(len(old)) == random.integers(len(old))
    return old + np.where(one_query, 1.0, noise) * random.normal(size=len(old))


COMPANIONS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "two weak systems": weak,
    "the old one with one query changed": changed,
    "the same, with small changes of all queries": partial(changed, noise=0.001),
}


def power(companions: Callable, n: int, repeats: int, n_resamples: int) -> Rows:
    """Percent of samples in which a new system is found better than an old one, beside others.

    The mean difference is one standard deviation of the differences.
    """
    random = np.random.default_rng(n)
    found: dict[str, list[bool]] = {"max-t": [], "t, Holm": []}
    for _ in range(repeats):
        old = random.normal(size=n)
        new = old + 0.1 * (1 + random.normal(size=n))
        scores = np.c_[new, old, companions(random, old)]
        found["max-t"].append(stats.max_t(scores, n_resamples=n_resamples).p_value[0] < 0.05)
        found["t, Holm"].append(stats.holm(stats.paired_t(scores).p_value)[0] < 0.05)
    return {name: 100 * np.mean(each) for name, each in found.items()}


def weighted(sigma: float, n: int, repeats: int, n_resamples: int) -> Rows:
    """Level, power and coverage with lognormal weights of the queries."""
    random = np.random.default_rng(n)
    found: dict[str, list[float]] = {}
    for _ in range(max(1, repeats // 4)):
        w = np.exp(sigma * random.normal(size=n))
        shift = 2.6 * np.sqrt((w**2).sum()) / w.sum() * np.sqrt(2)
        values = random.beta(0.8, 2, size=(n, 20))
        normal = random.normal(size=(n, 20))
        better = normal + np.where(np.arange(20) % 2, 0.0, shift)
        for title, scores in ((" level", normal), (" power", better)):
            p_values = pair_p_values(scores, 2, n_resamples, weights=w)
            for name in ("t", "max-t", "randomisation"):
                found.setdefault(name + title, []).extend(p_values[name].ravel() < 0.05)
        for start in range(0, 20, N_SYSTEMS):
            five = normal[:, start : start + N_SYSTEMS]
            largest = stats.max_t(five, n_resamples=n_resamples, weights=w)
            found.setdefault("max-t level, of five", []).append(largest.p_value.min() < 0.05)
        how = {"n_resamples": n_resamples, "method": "bootstrap-t", "weights": w}
        for name, interval in (
            ("t interval coverage", stats.t_interval(values, weights=w)),
            ("bootstrap-t coverage", stats.bootstrap_interval(values, **how)),
        ):
            hit = (interval.low <= 0.8 / 2.8) & (interval.high >= 0.8 / 2.8)
            found.setdefault(name, []).extend(hit)
    return {name: 100 * np.mean(each) for name, each in found.items()}


def means(draw: Callable, n: int, repeats: int, n_resamples: int) -> Rows:
    """Percent of 95 % intervals that contain the mean."""
    values, true = draw(np.random.default_rng(n), n, repeats)
    found = {"t": stats.t_interval(values)}
    for method in ("bootstrap-t", "percentile"):
        found[method] = stats.bootstrap_interval(values, method=method, n_resamples=n_resamples)
    hits = {name: (i.low <= true + 1e-12) & (true - 1e-12 <= i.high) for name, i in found.items()}
    return {name: 100 * np.mean(hit) for name, hit in hits.items()}


def of_one_kind(population: Population, true: float) -> Callable:
    return lambda random, n, repeats: (population(random, n, repeats), true)


def of_table(table: np.ndarray) -> Callable:
    def draw(random: np.random.Generator, n: int, repeats: int) -> tuple[np.ndarray, np.ndarray]:
        systems = random.integers(table.shape[1], size=repeats)
        rows = random.integers(len(table), size=(n, repeats))
        return table[rows, systems], table[:, systems].mean(axis=0)

    return draw


MEANS: dict[str, Callable] = {
    "normal": of_one_kind(lambda random, n, k: random.normal(size=(n, k)), 0.0),
    "exponential": of_one_kind(lambda random, n, k: random.exponential(size=(n, k)), 1.0),
    "80 % zeros": of_one_kind(zeros, 0.1),
}


def seeds(spread: float, n_seeds: int, repeats: int) -> Rows:
    """Percent of p-values below .05 for two equal rankers, if quality varies by seed."""
    random, found = np.random.default_rng(n_seeds), np.zeros(2)
    relevance, qid = np.tile([1.0, 0, 0, 0, 0, 0], 60), np.repeat(np.arange(60), 6)
    for _ in range(repeats):
        quality = np.maximum(random.normal(1, spread, size=(2, n_seeds, 1)), 0)
        # noise of a document that all rankers share, and noise of each ranker and seed
        shared, own = random.normal(size=360), random.normal(size=(2, n_seeds, 360))
        scores = quality * relevance + shared + own
        systems = {name: one.T for name, one in zip("ab", scores, strict=True)}
        both = skrank.compare(relevance, systems, groups=qid, metrics="ap")
        found += (
            both.to_frame()["p_uncorrected"].item() < 0.05,
            stats.paired_t(both.per_query["ap"]).p_value.item() < 0.05,
        )
    return dict(zip(("queries and seeds", "queries only"), 100 * found / repeats, strict=True))


def show(title: str, repeats: int, sizes: str, measure: Callable, rows: dict[str, list]) -> None:
    """Measure and print a table of populations x methods; cells have one value per size."""
    cells = Parallel(n_jobs=2)(delayed(measure)(*one) for row in rows.values() for one in row)
    width = len(cells) // len(rows)
    table = {
        name: {
            method: ", ".join(f"{one[method]:.1f}" for one in cells[i * width : (i + 1) * width])
            for method in cells[i * width]
        }
        for i, name in enumerate(rows)
    }
    frame = pd.DataFrame(table).T.fillna("")
    if len(frame) < len(frame.columns):
        frame = frame.T
    error = 100 * np.sqrt(0.05 * 0.95 / repeats)
    print(f"\n{title} ({sizes}; {error:.1f}):\n")
    print(f"| | {' | '.join(frame.columns)} |\n|---{'|---' * len(frame.columns)}|")
    for name, cells in zip(frame.index, frame.to_numpy(), strict=True):
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def read_tables(folder: Path) -> dict[str, np.ndarray]:
    """Matrices of queries x systems."""
    order = ("web2010_err20", "web2010_ndcg20", "adhoc8_ap")
    files = {name: folder / "trec-pertopic-scores" / f"{name}.csv" for name in order}
    tables = {name: pd.read_csv(path).to_numpy(np.float64) for name, path in files.items()}
    for collection in dict.fromkeys(name for name, _ in RUNS):
        metrics = [metric for name, metric in RUNS if name == collection]
        per_query = trec.evaluate(*submitted(folder / collection), metrics).per_query
        for metric in metrics:
            name = f"{collection.replace('trec-dl', 'dl19').replace('-', '_')}_{metric}"
            tables[name.replace("@", "")] = per_query[metric].unstack("system").to_numpy()
    return tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of collections")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--repeats", type=int, default=800)
    parser.add_argument("--resamples", type=int, default=1000)
    given = parser.parse_args()
    start, tables = time.perf_counter(), read_tables(given.data)
    repeats, drawn = given.repeats, given.resamples
    populations = SYNTHETIC | {name: centred(table) for name, table in tables.items()}
    sampled = {
        name: [(population, n, repeats, drawn) for n in SIZES]
        for name, population in populations.items()
    }
    by_query = "10, 25, 50 queries"
    if "two" in given.parts:
        title = "T. Two equal systems: percentage of samples with a difference at .05"
        show(title, repeats, by_query, two, sampled)
    if "many" in given.parts:
        title = "M. Five equal systems: percentage of samples with at least one difference at .05"
        show(title, repeats, by_query, many, sampled)
    if "power" in given.parts:
        rows = {
            name: [(c, n, repeats, drawn) for n in (10, 15, 25, 50)]
            for name, c in COMPANIONS.items()
        }
        title = "P. A better system beside others: percentage of samples in which it is found"
        show(title, repeats, "10, 15, 25, 50 queries", power, rows)
    if "weights" in given.parts:
        sigmas = (0.0, 0.5, 1.0, 1.5)
        rows = {f"sigma {s:g}": [(s, n, repeats, drawn) for n in SIZES] for s in sigmas}
        show("W. Lognormal weights: percentage of samples", repeats, by_query, weighted, rows)
    if "means" in given.parts:
        kinds = MEANS | {name: of_table(table) for name, table in tables.items()}
        rows = {
            name: [(draw, n, 2 * repeats, drawn) for n in (10, 20, 50)]
            for name, draw in kinds.items()
        }
        title = "I. One mean: percentage of 95 % intervals that contain the mean"
        show(title, 2 * repeats, "10, 20, 50 queries", means, rows)
    if "seeds" in given.parts:
        rows = {
            f"spread {spread:g}": [(spread, n, repeats) for n in (2, 3, 5)]
            for spread in (0, 0.3, 0.7)
        }
        title = "S. Two equal rankers, several seeds: samples with a difference at .05, in percent"
        show(title, repeats, "2, 3, 5 seeds", seeds, rows)
    print(f"\n{(time.perf_counter() - start) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
