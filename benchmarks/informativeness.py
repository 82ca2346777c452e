"""Time of `maximum_entropy`, and comparison with scipy's SLSQP.

Processor time of the whole call, without the first call, which compiles. On short lists, the ratio
of the times of SLSQP and skrank, and the difference of the entropies.

Usage: python benchmarks/informativeness.py [n_repeats]
"""

import sys
import time

import numpy as np
from scipy.optimize import minimize

import skrank
from skrank.informativeness import maximum_entropy

CASES = [(100, 1), (100, 2), (1000, 2), (1000, 4)]
TARGETS = {(100, 2): 20, (1000, 4): 100}  # milliseconds
METRICS = ["gap", "ap", "q", "ndcg", "rbp"]
SHORT = [(10, 2), (20, 2), (40, 2)]


def lists(n_ranks: int, n_grades: int, n_lists: int) -> list[np.ndarray]:
    """Grades in the order of ranks, from good to poor rankings."""
    random = np.random.default_rng(0)
    out = []
    for noise in np.geomspace(0.3, 5, n_lists):
        grades = random.choice(n_grades + 1, n_ranks, p=[0.8] + [0.2 / n_grades] * n_grades)
        out.append(grades[np.argsort(-(grades + noise * random.normal(size=n_ranks)))])
    return out


def problem(metric: str, grades: np.ndarray, n_grades: int) -> tuple:
    one = skrank.metric(metric)
    if hasattr(one, "max_grade"):
        one = skrank.metric(one, max_grade=n_grades)
    value = one(grades, -np.arange(float(len(grades))), groups=np.zeros(len(grades)))
    return one, value, np.bincount(grades, minlength=n_grades + 1)[1:], len(grades)


def milliseconds(work, n_repeats: int) -> float:  # type: ignore[no-untyped-def]
    start = time.process_time()
    for _ in range(n_repeats):
        work()
    return 1000 * (time.process_time() - start) / n_repeats


def speed(n_repeats: int) -> None:
    print(f"{'metric':<8}{'ranks':>6}{'grades':>7}{'median ms':>11}{'slowest ms':>12}{'steps':>7}")
    for metric in METRICS:
        for n_ranks, n_grades in CASES:
            problems = [problem(metric, one, n_grades) for one in lists(n_ranks, n_grades, 15)]
            found = [maximum_entropy(*one) for one in problems]
            assert all(one.converged for one in found)
            times = [
                milliseconds(lambda one=one: maximum_entropy(*one), n_repeats) for one in problems
            ]
            target = TARGETS.get((n_ranks, n_grades))
            note = f"  (target {target}: {target / max(times):.0f} x faster)" if target else ""
            steps = max(one.n_steps for one in found)
            print(
                f"{metric:<8}{n_ranks:>6}{n_grades:>7}{np.median(times):>11.2f}{max(times):>12.2f}"
                f"{steps:>7}{note}",
                flush=True,
            )


def expected_gap(p: np.ndarray, relevant: np.ndarray) -> float:
    """GAP with uniform thresholds."""
    at_least = np.cumsum(p[:, ::-1], axis=1)[:, ::-1][:, 1:]
    above = np.cumsum(at_least, axis=0) - at_least
    sums = (at_least * (1 + above) / np.arange(1, len(p) + 1)[:, None]).sum(axis=0)
    return sums.sum() / (np.arange(1, len(relevant) + 1) @ relevant)


def gap_gradient(p: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Derivatives of `expected_gap`."""
    at_least = np.cumsum(p[:, ::-1], axis=1)[:, ::-1][:, 1:]
    rank = np.arange(1, len(p) + 1)[:, None]
    above = np.cumsum(at_least, axis=0) - at_least
    below = np.cumsum((at_least / rank)[::-1], axis=0)[::-1] - at_least / rank
    by_threshold = (1 + above) / rank + below
    by_grade = np.hstack([np.zeros((len(p), 1)), np.cumsum(by_threshold, axis=1)])
    return by_grade.ravel() / (np.arange(1, len(relevant) + 1) @ relevant)


def slsqp(value: float, relevant: np.ndarray, n_ranks: int) -> float:
    """The entropy that a general solver finds."""
    counts = np.concatenate(([n_ranks - relevant.sum()], relevant))
    shape = (n_ranks, len(counts))
    rows = np.kron(np.eye(n_ranks), np.ones(len(counts)))
    linear = np.vstack([rows, np.tile(np.eye(len(counts)), n_ranks)[1:]])
    sums = np.concatenate([np.ones(n_ranks), counts[1:]])
    noise = np.random.default_rng(0).dirichlet(np.ones(len(counts)), n_ranks)
    start = 0.7 * counts / n_ranks + 0.3 * noise
    found = minimize(
        lambda z: np.sum(z * np.log(np.maximum(z, 1e-300))),
        start.ravel(),
        jac=lambda z: 1 + np.log(np.maximum(z, 1e-300)),
        bounds=[(1e-12, 1)] * (n_ranks * len(counts)),
        constraints=[
            {"type": "eq", "fun": lambda z: linear @ z - sums, "jac": lambda z: linear},
            {
                "type": "eq",
                "fun": lambda z: expected_gap(z.reshape(shape), relevant) - value,
                "jac": lambda z: gap_gradient(z.reshape(shape), relevant),
            },
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    if found.success:
        return -found.fun
    print(f"SLSQP fails: {found.message}")
    return float("nan")


def against_slsqp() -> None:
    print(f"\n{'GAP':<8}{'ranks':>6}{'ms':>9}{'SLSQP ms':>10}{'ratio':>8}{'entropy':>12}")
    for n_ranks, n_grades in SHORT:
        some = (one for one in lists(n_ranks, n_grades, 20)[5:] if len(np.unique(one)) == 3)
        _, value, relevant, _ = problem("gap", next(some), n_grades)
        found = maximum_entropy("gap", value, relevant, n_ranks)
        ours = milliseconds(lambda: maximum_entropy("gap", value, relevant, n_ranks), 10)  # noqa: B023
        start = time.process_time()
        difference = slsqp(value, relevant, n_ranks) - found.entropy
        theirs = 1000 * (time.process_time() - start)
        print(
            f"{'':<8}{n_ranks:>6}{ours:>9.2f}{theirs:>10.1f}{theirs / ours:>8.0f}"
            f"{found.entropy:>12.6f}  SLSQP {difference:+.1e}",
            flush=True,
        )


if __name__ == "__main__":
    speed(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
    against_slsqp()
