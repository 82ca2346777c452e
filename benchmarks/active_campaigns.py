"""Errors of active campaigns, coverage of their intervals, and error rates of their decisions.

    python benchmarks/active_campaigns.py [DATA] [--campaigns 400] [--tables accuracy,decisions,...]
                                          [--collections mq2008,...] [--pool 0]

DATA is a folder of collections (mq2008, ohsumed-letor3, lightgbm-lambdarank, mslr-sample,
trec-covid, trec-dl, trec-pertopic-scores). Synthetic collections are always used. Two processes
share the work, which takes under ten minutes on two idle cores. The tables are those of
docs/evidence/active_savings.md (accuracy) and active_intervals.md (all others), in this order:

accuracy    squared error relative to uniform draws without replacement, on pools of each
            collection; then the same on the pools where the default has its largest ratios, and
            the ratios that theory predicts for values of mixing
decisions   share of campaigns that name a winner although both rankers are equal
intervals   coverage of intervals, by quality of the label model and share of queries that count
cautions    coverage of intervals in pools with long tails, and share of campaigns with a caution
selection   coverage and bias among campaigns selected by their number of queries
sequences   share of campaigns whose intervals exclude the truth after any draw
budgets     share of campaigns with small budgets that end before the first label
winners     share of campaigns that name a wrong winner among several rankers
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from active_pools import CHOSEN_ON, CONFIRMED_ON, draws_of, label_moments, pools

import skrank
from skrank.active import Estimate, simulate
from skrank.active._evaluators import _RESERVE, decide
from skrank.active._intervals import bootstrap_interval, certainty
from skrank.active._means import mean_of
from skrank.active._sampling import drawing_order
from skrank.datasets import make_ranking

N_PROCESSES = 2
N_QUERIES = 600
BUDGETS = np.array([5.0, 10.0, 20.0, 40.0])
SHARES = (1.0, 0.5, 0.25, 0.1)
MODELS = ("uniform", "right", "noisy", "wrong")
LEAST = 0.01  # cells with a smaller share of the campaigns are left out


def spread(function, arguments):
    """Results of a function for each of the arguments, computed by two processes."""
    with ProcessPoolExecutor(N_PROCESSES) as executor:
        yield from executor.map(function, *zip(*arguments, strict=True))


# accuracy

METHODS = ("lure", "assisted", "strata")
_N_STRATA = 5
MIXINGS = (0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # with mixing=1, draws are uniform
_MORE = 20  # campaigns of uniform draws per active campaign
_SCREENED = 0.98  # pools with a larger ratio in theory may be behind uniform draws
_WORST = """
The largest ratios of squared errors, of assisted and of uniform draws without replacement.
Of the pools whose ratio in theory (large pools, few draws) is above 0.98, the two with the
largest measured ratio of each collection are measured again, on 64,000 other campaigns: the
ratio in theory, and the ratios at budgets of 10, 20 and 40 average queries with their errors"""


class Cell(NamedTuple):
    """Mean squared errors of one pool at one budget, relative to uniform draws."""

    task: str
    beliefs: str
    budget: int
    ratios: list[float]  # one per method of METHODS
    error: float  # standard error of the ratio of "assisted"
    saved: float  # share of the labels of uniform draws that "assisted" saves


def accuracy(options):
    print("Squared error relative to uniform draws without replacement (= 1), at budgets of 10, 20")
    print("and 40 average queries. Geometric means over metrics, label models, costs and budgets.")
    print("lure, assisted: estimators; strata: five strata by q, Neyman's allocation,")
    print("uniform draws inside. Saved: part of the labels of uniform draws without replacement")
    print("that assisted saves.")
    heads = "".join(f"{method:>11}" for method in METHODS)
    print(f"{'':45}{heads:<51}{'saved':>7}")
    worst, expected = [], []
    for title, collections in (("chosen on", CHOSEN_ON), ("looked at afterwards", CONFIRMED_ON)):
        names = [one for one in collections if one in (options.collections or collections)]
        arguments = [(name, options.data, options.campaigns) for name in names]
        found = []
        for name, result in zip(names, spread(measured, arguments), strict=True):
            cells, largest, theory = result
            for task in ("evaluate", "compare"):
                report(f"{name}, {task}", [one for one in cells if one.task == task])
            found += cells
            worst += largest
            expected += theory
        for task in ("evaluate", "compare"):
            for beliefs in dict.fromkeys(one.beliefs for one in found):
                chosen = [one for one in found if (one.task, one.beliefs) == (task, beliefs)]
                report(f"{title}: {task}, {beliefs}", chosen)
        for budget in (10, 20, 40):
            report(f"{title}: budget {budget}", [one for one in found if one.budget == budget])
        report(f"{title}: all", found)
    print(_WORST)
    print("".join(line for _, line in sorted(worst, reverse=True)))
    compare_mixing(expected)


def compare_mixing(expected):
    """Print the ratios that theory predicts; `expected` has (n_queries, ratio by mixing)."""
    print("The ratio that theory expects of assisted, by mixing: geometric mean over pools, the")
    print("largest, and the number of pools above 1.02")
    print(f"{'mixing':<42}" + "".join(f"{mixing:>7}" for mixing in MIXINGS))
    sizes = np.array([n for n, _ in expected])
    ratios = np.array([of_pool for _, of_pool in expected])
    for name, chosen in (("below 100 queries", sizes < 100), ("100 and more", sizes >= 100)):
        if chosen.any():
            part = ratios[chosen]
            title = f"{name} ({len(part)} pools)"
            for what, row, form in (
                ("mean", np.exp(np.log(part).mean(axis=0)), ">7.3f"),
                ("largest", part.max(axis=0), ">7.3f"),
                ("above 1.02", np.sum(part > 1.02, axis=0), ">7"),
            ):
                cells = "".join(format(value, form) for value in row)
                print(f"{title + ', ' + what:<42}{cells}", flush=True)


def report(name, cells):
    if not cells:
        return
    means = np.exp(np.mean(np.log([cell.ratios for cell in cells]), axis=0))
    place = METHODS.index("assisted")
    # Cells of one pool at different budgets share campaigns, so only one cell per pool counts.
    relative = np.array([cell.error / cell.ratios[place] for cell in cells])
    n_alone = len(cells) / len({cell.budget for cell in cells})
    texts = [f"{mean:>11.2f}" for mean in means]
    texts[place] += f" ± {means[place] * np.sqrt(np.mean(relative**2) / n_alone):.2f}"
    saved = np.mean([cell.saved for cell in cells])
    print(f"{name:<45}{''.join(texts)}{saved:>7.0%}", flush=True)


def measured(collection, folder, n_campaigns):
    """Cells of a collection; the largest ratio and a line of each of its two worst pools; and
    (n_queries, predicted ratio by mixing) of each pool.
    """
    cells, screened, expected, few = [], [], [], n_campaigns // 4
    for pool in pools(collection, folder):
        n = len(pool.values)
        budgets = np.array([budget for budget in (10, 20, 40) if budget <= n / 2])
        if not np.nanvar(pool.values) > 0:
            continue
        limits = budgets * pool.costs.mean()
        squares = {
            name: campaigns(pool, limits, few, name, seed=0) for name in ("lure", "assisted")
        }
        squares["strata"] = in_strata(pool, limits, few)
        base = uniform(pool, limits, _MORE * few)
        ratio, error = relative_to(base, squares["assisted"])
        means = {name: relative_to(base, square)[0] for name, square in squares.items()}
        for i, budget in enumerate(budgets):
            labels = 1 / (ratio[i] * (1 / budget - 1 / n) + 1 / n)  # of equally accurate draws
            cells.append(
                Cell(
                    pool.task, pool.beliefs, int(budget), [means[name][i] for name in METHODS],
                    error[i], 1 - budget / labels,
                )
            )  # fmt: skip
        expected.append((n, [expected_ratio(pool, mixing) for mixing in MIXINGS]))
        if expected_ratio(pool) > _SCREENED:
            largest = max(relative_to(base, repeated(pool, limits, n_campaigns, [0]))[0])
            screened.append((largest, len(screened), pool, limits))
    worst = [measured_again(*one[2:], n_campaigns) for one in sorted(screened)[-2:]]
    return cells, worst, expected


def measured_again(pool, limits, n_campaigns):
    """The largest ratio of a pool, and a line with its ratios in theory and in campaigns."""
    base = uniform(pool, limits, 1000 * n_campaigns)
    ratios, errors = relative_to(base, repeated(pool, limits, n_campaigns, range(1, 33)))
    pairs = zip(ratios, errors, strict=True)
    text = ", ".join(f"{one:.3f} ± {its_error:.3f}" for one, its_error in pairs)
    name = f"{pool.name} ({len(pool.values)} queries)"
    return max(ratios), f"{name:<65} {expected_ratio(pool):.2f}: {text}\n"


def repeated(pool, limits, n_campaigns, seeds):
    """Squared errors of "assisted" in 5 * `n_campaigns` campaigns with each seed."""
    some = [campaigns(pool, limits, 5 * n_campaigns, "assisted", seed) for seed in seeds]
    return np.concatenate(some)


def campaigns(pool, limits, n_campaigns, estimator, seed):
    """Squared errors of simulated campaigns, of shape (n_campaigns, n_budgets)."""
    runs = simulate(
        pool.values, pool.q, limits, costs=pool.costs, estimator=estimator, moments=pool.moments,
        n_campaigns=n_campaigns, random_state=seed, progress=False,
    )  # fmt: skip
    return (runs.values - runs.truth) ** 2


def relative_to(base, squares):
    """Ratio of mean squared errors, and its standard error."""
    (mean, error), (base_mean, base_error) = map(mean_and_error, (squares, base))
    return mean / base_mean, mean / base_mean * np.hypot(error / mean, base_error / base_mean)


def mean_and_error(squares):
    n = np.sum(~np.isnan(squares), axis=0)
    return np.nanmean(squares, axis=0), np.nanstd(squares, axis=0) / np.sqrt(n)


def uniform(pool, limits, n_campaigns):
    """Squared errors of uniform draws without replacement."""
    random, n = np.random.default_rng(0), len(pool.values)
    most = int(np.searchsorted(np.cumsum(np.sort(pool.costs)), limits.max(), side="right")) + 1
    rows = np.broadcast_to(np.arange(n), (n_campaigns, n))
    order = random.permuted(rows, axis=1)[:, :most]
    drawn, spent = pool.values[order], np.cumsum(pool.costs[order], axis=1)
    out = np.empty((n_campaigns, len(limits)))
    for i, limit in enumerate(limits):
        counted = (spent <= limit * (1 + 1e-12)) & ~np.isnan(drawn)
        with np.errstate(invalid="ignore"):
            mean = np.where(counted, drawn, 0.0).sum(axis=1) / counted.sum(axis=1)
        out[:, i] = (mean - np.nanmean(pool.values)) ** 2
    return out


def in_strata(pool, limits, n_campaigns):
    """Squared errors of draws without replacement in strata by q, with rates proportional to q."""
    random, n = np.random.default_rng(0), len(pool.values)
    values, counts = np.nan_to_num(pool.values), ~np.isnan(pool.values)
    stratum = np.arange(n) * _N_STRATA // n
    stratum[np.argsort(pool.q)] = stratum.copy()
    sizes, share = np.bincount(stratum), np.bincount(stratum, pool.q)
    times = np.empty((n_campaigns, n))
    for h in range(_N_STRATA):  # the m-th draw of a stratum happens at time (m + U) / share
        inside = np.flatnonzero(stratum == h)
        rows = np.broadcast_to(np.arange(len(inside)), (n_campaigns, len(inside)))
        position = random.permuted(rows, axis=1)
        times[:, inside] = (position + random.random((n_campaigns, 1))) / share[h]
    order = np.argsort(times, axis=1)
    spent = np.cumsum(pool.costs[order], axis=1)
    sums = np.zeros((2, n_campaigns, len(limits)))
    for i, limit in enumerate(limits):
        within = spent <= limit * (1 + 1e-12)
        for h in range(_N_STRATA):
            drawn = within & (stratum[order] == h)
            weight = sizes[h] / n / np.maximum(drawn.sum(axis=1), 1)
            sums[0, :, i] += weight * (drawn * (values * counts)[order]).sum(axis=1)
            sums[1, :, i] += weight * (drawn * counts[order]).sum(axis=1)
    with np.errstate(all="ignore"):
        return (sums[0] / sums[1] - np.nanmean(pool.values)) ** 2


def expected_ratio(pool, mixing=None):
    """Variance of "assisted" over that of uniform draws at equal cost, for large pools."""
    q = draws_of(pool.moments, pool.costs, mixing)
    n = len(pool.values)
    p, counts = np.full(n, 1 / n), ~np.isnan(pool.values)
    y = np.where(counts, pool.values - np.nanmean(pool.values), 0.0)
    x, weight = pool.moments.deviation(p), p**2 / q
    square = np.sum(weight * x**2)
    slope = np.clip(np.sum(weight * x * y) / square, 0, 1) if square > 0 else 0.0
    active = np.sum(weight * (y - slope * x) ** 2) * (q @ pool.costs)
    return active / (np.sum(p * y**2) * (p @ pool.costs))


# decisions


def decisions(options):
    print(
        "Campaigns that name a winner at 95 % though both rankers are equal, at budgets of 10, 20,"
    )
    print("40 and 60 average queries; means over the pools of a collection, and the largest.")
    print("centred: differences less their mean; mirrored: each query twice, with both signs.")
    print(f"{'':42}{'10':>7}{'20':>7}{'40':>7}{'60':>7}{'largest':>9}")
    names = options.collections or ("mq2008", "ohsumed", "trec-covid", "trec-dl", "synthetic 10")
    arguments = [(name, options.data, options.campaigns) for name in names]
    for name, found in zip(names, spread(named, arguments), strict=True):
        for kind in ("centred", "mirrored"):
            for estimator in ("assisted", "lure"):
                rows = [row[3] for row in found if row[1:3] == (kind, estimator)]
                if rows:
                    table = np.ma.masked_invalid(rows)
                    text = "".join(f"{mean:>7.3f}" for mean in table.mean(axis=0).filled(np.nan))
                    print(f"{name + ', ' + kind + ', ' + estimator:<42}{text}{table.max():>9.3f}")


def named(collection, folder, n_campaigns):
    """Rows (collection, kind, estimator, shares by budget) of campaigns that name a winner."""
    rows = []
    kept = [pool for pool in pools(collection, folder) if pool.task == "compare"]
    for pool in kept[:: max(1, len(kept) // 4)]:
        for kind in ("centred", "mirrored"):
            twice = [np.r_[x, x] for x in (pool.costs, pool.q, pool.moments.mass)]
            costs, q, mass = (pool.costs, pool.q, pool.moments.mass) if kind == "centred" else twice
            values, first, second = (pool.values, pool.moments.first, pool.moments.second)
            if kind == "centred":
                values = values - np.nanmean(values)
            else:
                values, first, second = (
                    np.r_[values, -values],
                    np.r_[first, -first],
                    np.r_[second, second],
                )
            moments = skrank.active.Moments(np.arange(len(q)), mass, first, second, "exact")
            limits = np.array([10, 20, 40, 60]) * costs.mean()
            for estimator in ("assisted", "lure"):
                runs = simulate(
                    values, q, limits, costs=costs, estimator=estimator, moments=moments,
                    n_campaigns=n_campaigns, progress=False,
                )  # fmt: skip
                decided = [
                    [not few and is_sure(mean) for few, mean in zip(*row, strict=True)]
                    for row in zip(runs.cautious(), runs.means, strict=True)
                ]
                share = np.where(limits <= costs.sum() / 2, np.mean(decided, axis=0), np.nan)
                rows.append((collection, kind, estimator, share))
    return rows


def is_sure(mean):
    """True if `decision(0.95)` names a winner; skips the bootstrap below 1.5 standard errors."""
    near = abs(mean.value) < 1.5 * mean.spread
    return not near and 1 - _RESERVE * (1 - certainty(mean)) >= 0.95


# intervals


def pool(share, seed):
    """Labels, scores of two rankers, queries and costs; a share of the queries counts."""
    data = make_ranking(N_QUERIES, n_docs=(5, 60), random_state=seed)
    random = np.random.default_rng(seed)
    relevance = data.relevance.copy()
    relevance[(random.random(N_QUERIES) > share)[data.qid]] = 0
    change = np.exp(1.5 * random.standard_normal(N_QUERIES) - 1.5)[data.qid]
    scores = [data.X[:, :4].sum(axis=1)]
    scores.append(scores[0] + change * random.standard_normal(len(relevance)))
    costs = np.bincount(data.qid) * np.exp(random.standard_normal(N_QUERIES))
    return relevance, scores, data.qid, costs / costs.mean()


def beliefs(name, relevance, seed):
    random = np.random.default_rng(seed)
    truth = np.eye(5)[relevance]
    return {
        "uniform": np.full(truth.shape, 0.2),
        "right": 0.9 * truth + 0.02,
        "noisy": 0.5 * truth + 0.5 * random.dirichlet(np.ones(5), len(truth)),
        "wrong": (0.8 * truth + 0.04)[:, ::-1],
    }[name]


def world(task, metric, share, model, seed):
    """Values per query, moments, costs."""
    relevance, scores, qid, costs = pool(share, seed)
    measure = skrank.metric(metric)
    scores = scores if task == "compare" else scores[:1]
    moments = label_moments(measure, scores, qid, beliefs(model, relevance, seed), n_draws=60)
    values = [measure.per_query(relevance, s, groups=qid).to_numpy() for s in scores]
    value = values[0] if task != "compare" else values[0] - values[1]
    return value, moments, costs


def intervals(options):
    print(
        "Coverage of finite 95 % intervals, and in brackets the share of campaigns with one; then"
    )
    print("the same of intervals without a caution")
    heads = "".join(f"{budget:>13.0f}" for budget in BUDGETS)
    print(f"{'budget in average queries':<40}{heads}  {heads}")
    tasks = ("evaluate", "ndcg@10"), ("compare", "ndcg@10"), ("evaluate", "dcg(empty=0)@10")
    arguments = [
        (task, metric, share, model, options.pool, options.campaigns)
        for task, metric in tasks
        for model in MODELS
        for share in (SHARES if "empty" not in metric else (1.0,))
    ]
    judged = []
    for name, found in spread(covered, arguments):
        print(f"{name:<40}{'  '.join(''.join(map(shown, group)) for group in found)}", flush=True)
        judged += [
            (f"{name}, {budget:.0f}", *cell) for budget, cell in zip(BUDGETS, found[1], strict=True)
        ]
    judge([one for one in judged if one[2] >= LEAST], options.campaigns)


def covered(task, metric, share, model, seed, n_campaigns):
    """Name, and coverage of finite intervals and of intervals without a caution by budget."""
    value, moments, costs = world(task, metric, share, model, seed)
    q = draws_of(moments, costs)
    runs = simulate(
        value, q, BUDGETS, costs=costs, moments=moments, n_campaigns=n_campaigns, progress=False
    )
    low, high = np.moveaxis(runs.intervals(), 2, 0)
    holds = (low <= runs.truth) & (runs.truth <= high)
    groups = []
    for chosen in (np.isfinite(low), ~runs.cautious()):
        share_of = chosen.mean(axis=0)
        covers = (holds & chosen).sum(axis=0) / np.maximum(chosen.sum(axis=0), 1)
        groups.append(list(zip(np.where(share_of < LEAST, np.nan, covers), share_of, strict=True)))
    return f"{task} {metric}, {model}, {share:.0%} count".replace("(empty=0)", ""), groups


def shown(cell):
    covers, told = cell
    return f"{'-' if np.isnan(covers) else f'{covers:.3f}':>6} ({told:.2f})"


def judge(judged, n_campaigns):
    """Print cells whose coverage without a caution is outside .92 to .98, in standard errors."""
    names, covers, told = zip(*judged, strict=True)
    covers, n = np.array(covers), np.array(told) * n_campaigns
    beyond = np.maximum(
        (0.92 - covers) / np.sqrt(0.92 * 0.08 / n), (covers - 0.98) / np.sqrt(0.98 * 0.02 / n)
    )
    print(f"Of cells in which {LEAST:.0%} of the campaigns and more state an interval without a")
    print(f"caution, {np.sum(beyond <= 0)} of {len(covers)} cover .92 to .98, the least")
    print(f"{covers.min():.3f}, the most {covers.max():.3f}; {np.sum(beyond > 2)} are further off")
    print(f"than two standard errors. The mean is {np.average(covers, weights=n):.3f}. Outside:")
    for name, covers_it, size, by in zip(names, covers, n, beyond, strict=True):
        if by > 0:
            print(f"  {name}: {covers_it:.3f} of {size:.0f}, {by:.1f} standard errors")


def cautions(options):
    numbers = (12, 20, 25, 30, 40)
    print("Coverage of 95 % intervals in pools with long tails, and share of campaigns with a")
    print("caution, by number of labelled queries (uniform draws)")
    print(f"{'':42}" + "".join(f"{number:>14}" for number in numbers))
    for name, values in skewed_pools():
        limits = [number for number in numbers if number < len(values)]
        runs = simulate(
            values, np.ones(len(values)), limits, n_campaigns=options.campaigns, progress=False
        )
        low, high = np.moveaxis(runs.intervals(), 2, 0)
        holds = ((low <= runs.truth) & (runs.truth <= high)).mean(axis=0)
        cells = zip(holds, runs.cautious().mean(axis=0), strict=True)
        print(f"{name:<42}" + "".join(f"{h:>7.3f} ({c:.2f})" for h, c in cells), flush=True)


def skewed_pools():
    """Values of pools, with names."""
    for n in (60, 600):
        random = np.random.default_rng(1 if n == 60 else 0)
        yield f"{n} queries, normal", random.standard_normal(n)
        for deviation in (0.8, 1.2, 1.8):
            yield f"{n} queries, lognormal {deviation}", random.lognormal(0, deviation, n)
        for share in (0.4, 0.2, 0.1, 0.05):
            values = np.where(random.random(n) < share, random.exponential(size=n), 0.0)
            yield f"{n} queries, {share:.0%} differ from 0", values


def selection(options):
    print("Campaigns selected by the number of their queries: evaluate dcg@10, coverage of 95 %")
    print("intervals and bias in standard errors (number of campaigns)")
    found = {}
    for model, rows in spread(selected, [(m, options.pool, options.campaigns) for m in MODELS]):
        for name, text in rows:
            found.setdefault(name, {})[model] = text
    print(f"{'':42}" + "".join(f"{model:>22}" for model in MODELS))
    for name, texts in found.items():
        print(f"{name:<42}" + "".join(f"{texts[model]:>22}" for model in MODELS))


def selected(model, seed, n_campaigns):
    value, moments, costs = world("evaluate", "dcg(empty=0)@10", 1.0, model, seed)
    q = draws_of(moments, costs)
    p = np.full(N_QUERIES, 1 / N_QUERIES)
    deviation = moments.deviation(p)
    drawn = np.array([drawing_order(q, one)[:200] for one in range(10 * n_campaigns)])
    spent = np.cumsum(costs[drawn], axis=1)
    dear, bought = spent >= 30 * (q @ costs), np.sum(spent <= 10, axis=1)
    cheap, rows = spent[:, 31] <= 10, []
    for name, ends, chosen in (
        ("32 draws", 32, bought >= 0),
        ("32 draws, those that cost 10 and less", 32, cheap),
        ("32 draws, those that cost more", 32, ~cheap),
        ("budget 10", bought, bought > 1),
        ("budget 10, 30 queries and more", bought, bought >= 30),
        ("15 draws that cost as much as 30", 15, dear[:, 14]),
        ("20 draws that cost as much as 30", 20, dear[:, 19]),
    ):
        kept = np.flatnonzero(chosen)[:n_campaigns]
        if len(kept) == 0:
            rows.append((name, "-"))
            continue
        sizes = np.broadcast_to(ends, len(drawn))[kept]
        draws = [drawn[row, :size] for row, size in zip(kept, sizes, strict=True)]
        found = [mean_of(value, one, p, q, deviation=deviation) for one in draws]
        low, high = np.transpose([bootstrap_interval(one, 0.95) for one in found])
        covers = np.mean((low <= value.mean()) & (value.mean() <= high))
        bias = np.mean([one.value for one in found]) - value.mean()
        bias /= np.mean([one.standard_error for one in found])
        rows.append((name, f"{covers:.3f}, {bias:5.2f} ({len(kept)})"))
    return model, rows


# sequences, budgets, winners


def sequences(options):
    print("Campaigns of 200 draws that exclude the truth at any of 25 times of looking, 95 %:")
    print("intervals for a fixed budget")
    arguments = [
        (model, share, options.pool, options.campaigns) for model in MODELS for share in (1.0, 0.25)
    ]
    for name, share in spread(watched, arguments):
        print(f"{name:<24}{share:>14.3f}", flush=True)


def watched(model, share, seed, n_campaigns):
    looks = np.unique(np.geomspace(3, 200, 25).astype(int))
    value, moments, costs = world("compare", "ndcg@10", share, model, seed)
    q = draws_of(moments, costs)
    p = np.full(N_QUERIES, 1 / N_QUERIES)
    truth, misled = np.nanmean(value), 0
    for campaign in range(n_campaigns):
        draws = drawing_order(q, campaign)[:200]
        for look in looks:
            mean = mean_of(value, draws[:look], p, q, deviation=moments.deviation(p))
            low, high = bootstrap_interval(mean, 0.95)
            if not low <= truth <= high:
                misled += 1
                break
    return f"{model}, {share:.0%} count", misled / n_campaigns


def budgets(options):
    print("Small budgets, in draws of average cost: campaigns that end before the first label, and")
    print("bias of the others in standard deviations of one campaign")
    value, moments, costs = world("evaluate", "dcg(empty=0)@10", 1.0, "noisy", options.pool)
    q = draws_of(moments, costs)
    for factor in (0.25, 0.5, 1, 2, 3, 5, 10, 20):
        runs = simulate(
            value, q, [factor * (q @ costs)], costs=costs, moments=moments,
            n_campaigns=5 * options.campaigns, progress=False,
        )  # fmt: skip
        found = runs.values[~np.isnan(runs.values)]
        bias = (found.mean() - runs.truth) / found.std()
        nothing = np.isnan(runs.values).mean()
        print(f"{factor:>6g} draws: nothing {nothing:>6.1%}, bias {bias:>6.2f}", flush=True)


def winners(options):
    print("Best of m rankers, 95 %: campaigns of 40 draws that name a wrong winner")
    arguments = [(m, gap, options.pool, options.campaigns) for m in (2, 3, 5) for gap in (0.0, 0.2)]
    for name, share in spread(misnamed, arguments):
        print(f"{name:<42}{share:>7.3f}", flush=True)


FOUND = Estimate(0.0, 1.0, (-1.0, 1.0), 0.95, 40, 40, 40.0, 0, 40.0, None, False, None)


def misnamed(m, gap, seed, n_campaigns):
    """Name of a row, and share of campaigns that name a winner although no ranker is best."""
    random, wrong = np.random.default_rng([seed, m, gap > 0]), 0
    mean = np.where(np.arange(m) < 2, gap, -gap)[:, None] * 4
    for _ in range(n_campaigns):
        loss = random.standard_normal((m, 40)) + mean
        pairs = {}
        for a, b in combinations(range(m), 2):
            # 40 draws from a large pool
            values = np.resize(loss[a] - loss[b], 10**5)
            equal = np.full(len(values), 1 / len(values))
            ahead = mean_of(values, np.arange(40), equal, equal, all_count=True)
            difference = replace(FOUND, value=ahead.value)
            pairs[a, b] = difference, max(0.0, 1 - _RESERVE * (1 - certainty(ahead)))
        found = decide(
            tuple(map(str, range(m))), loss.mean(axis=1).tolist(),
            lambda a, b, pairs=pairs: pairs[min(a, b), max(a, b)], 0.95,
        )  # fmt: skip
        wrong += found.better is not None
    kind = "two are equal, the others behind" if gap else "all are equal"
    return f"m = {m}, {kind}", wrong / n_campaigns


TABLES = {
    "accuracy": accuracy, "decisions": decisions, "intervals": intervals, "cautions": cautions,
    "selection": selection, "sequences": sequences, "budgets": budgets, "winners": winners,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="?", type=Path, help="folder of collections")
    parser.add_argument("--campaigns", type=int, default=400, help="of each kind (default: 400)")
    parser.add_argument("--pool", type=int, default=0, help="seed of the pool of intervals")
    parser.add_argument("--collections", type=lambda text: text.split(","))
    parser.add_argument("--tables", default=",".join(TABLES))
    options = parser.parse_args()
    for name in options.tables.split(","):
        start = time.perf_counter()
        TABLES[name](options)
        print(f"[{name}: {time.perf_counter() - start:.0f} s]\n", flush=True)


if __name__ == "__main__":
    main()
