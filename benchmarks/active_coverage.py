"""Do the intervals of active campaigns hold what they promise?

Usage: python benchmarks/active_coverage.py [--campaigns 2000] [--tables intervals,sequences,...]
                                            [--pool 0]

A random pool (of that seed) of 600 synthetic queries, skewed costs, label models from right to
wrong, budgets of 5 to 40 average queries, and a share of the queries that counts (has a relevant
document) of 1 to 0.1.
"""

import argparse
from itertools import combinations

import numpy as np

import skrank
from skrank.active import estimate, label_moments, sampling_distribution, simulate
from skrank.active._anytime import repeated_game, single_game, wealth
from skrank.active._decision import decide
from skrank.active._draws import Draws, first_draws, running_cost
from skrank.active._intervals import bootstrap_interval, certainty
from skrank.active._weighing import Known, repeated_mean
from skrank.datasets import make_ranking

N_QUERIES = 600
BUDGETS = np.array([5.0, 10.0, 20.0, 40.0])
SHARES = (1.0, 0.5, 0.25, 0.1)
MODELS = ("uniform", "right", "noisy", "wrong")
LEAST = 0.01  # part of the campaigns, of which fewer tell nothing


def pool(share, seed):
    """Labels, scores of two rankers, queries and costs; only a share of the queries counts."""
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
    other = scores[1] if task == "compare" else None
    believed = beliefs(model, relevance, seed)
    moments = label_moments(measure, scores[0], qid, other=other, label_model=believed, n_draws=60)
    values = [measure.per_query(relevance, s, groups=qid).to_numpy() for s in scores]
    value = values[0] if other is None else values[0] - values[1]
    return value, moments, costs


def intervals(n_campaigns, seed):
    print("Coverage of 95 % intervals with bounds, and in brackets the share of campaigns that")
    print("state one; then the same of intervals without a caution")
    tabulate(n_campaigns, seed, (bounded, certain))


def certain_intervals(n_campaigns, seed):
    print("Coverage of 95 % intervals without a caution, and in brackets the share of campaigns")
    print("that state one")
    tabulate(n_campaigns, seed, (certain,))


def bounded(runs):
    return np.array([[mean.is_bounded for mean in row] for row in runs.means])


def certain(runs):
    return ~runs.cautious()


def tabulate(n_campaigns, seed, groups):
    """Coverage of groups of campaigns, of which the last one is judged."""
    heads = "".join(f"{budget:>13.0f}" for budget in BUDGETS)
    print(f"{'budget in average queries':<40}{'  '.join([heads] * len(groups))}")
    judged = []
    for name, runs in simulations(n_campaigns, seed):
        found = [list(cells(runs, told(runs))) for told in groups]
        texts = ["".join(map(shown, group)) for group in found]
        print(f"{name:<40}{'  '.join(texts)}", flush=True)
        judged += [
            (f"{name}, {budget:.0f}", *cell)
            for budget, cell in zip(BUDGETS, found[-1], strict=True)
        ]
    judge([one for one in judged if one[2] >= LEAST], n_campaigns)


def shown(cell):
    covers, told = cell
    return f"{'-' if np.isnan(covers) else f'{covers:.3f}':>6} ({told:.2f})"


def simulations(n_campaigns, seed):
    """Name and campaigns of each kind."""
    tasks = ("evaluate", "ndcg@10"), ("compare", "ndcg@10"), ("evaluate", "dcg(empty=0)@10")
    for task, metric in tasks:
        for model in MODELS:
            for share in SHARES if "empty" not in metric else (1.0,):
                value, moments, costs = world(task, metric, share, model, seed)
                q = sampling_distribution(moments, costs=costs)
                runs = simulate(value, q, BUDGETS, costs=costs, n_campaigns=n_campaigns)
                name = f"{task} {metric}, {model}, {share:.0%} count".replace("(empty=0)", "")
                yield name, runs


def cells(runs, told):
    """Coverage of the intervals of some campaigns, and the share that these are, by budget."""
    for place, chosen in enumerate(told.T):
        if chosen.mean() < LEAST:
            yield np.nan, chosen.mean()
            continue
        rows = [runs.means[row] for row in np.flatnonzero(chosen)]
        low, high = np.transpose([bootstrap_interval(row[place], 0.95) for row in rows])
        yield np.mean((low <= runs.truth) & (runs.truth <= high)), chosen.mean()


def judge(judged, n_campaigns):
    """How far coverage without a caution is from .93 to .97, in standard errors of each cell."""
    names, covers, told = zip(*judged, strict=True)
    covers, n = np.array(covers), np.array(told) * n_campaigns
    beyond = np.maximum(
        (0.93 - covers) / np.sqrt(0.93 * 0.07 / n), (covers - 0.97) / np.sqrt(0.97 * 0.03 / n)
    )
    print(f"Of cells in which {LEAST:.0%} of the campaigns and more state an interval without a")
    print(f"caution, {np.sum(beyond <= 0)} of {len(covers)} cover .93 to .97, the least")
    print(f"{covers.min():.3f}, the most {covers.max():.3f}; {np.sum(beyond > 2)} are further off")
    print(f"than two standard errors, {np.sum(beyond > 3)} than three. Those outside:")
    for name, covered, size, by in zip(names, covers, n, beyond, strict=True):
        if by > 0:
            print(f"  {name}: {covered:.3f} of {size:.0f}, {by:.1f} standard errors")


def selection(n_campaigns, seed):
    print("What it does to choose campaigns by the number of their queries: evaluate dcg@10,")
    print("coverage of 95 % intervals, and bias in standard errors")
    found = {}
    for model in MODELS:
        value, moments, costs = world("evaluate", "dcg(empty=0)@10", 1.0, model, seed)
        q = sampling_distribution(moments, costs=costs)
        drawn = Draws(q, seed).first(20 * n_campaigns * 200).reshape(-1, 200)
        spent = np.array([running_cost(draws, costs) for draws in drawn])
        dear, bought = spent >= 30 * (q @ costs), np.sum(spent <= 10, axis=1)
        distinct = [len(np.unique(draws[:n])) for draws, n in zip(drawn, bought, strict=True)]
        cheap, many = spent[:, 31] <= 10, np.array(distinct) >= 30
        for name, ends, chosen in (
            ("32 draws", 32, bought >= 0),
            ("32 draws, those that cost 10 and less", 32, cheap),
            ("32 draws, those that cost more", 32, ~cheap),
            ("budget 10", bought, bought > 1),
            ("budget 10, 30 queries and more", bought, many),
            ("the same with the draw that exceeds it", bought + 1, many),
            ("15 draws that cost as much as 30", 15, dear[:, 14]),
            ("20 draws that cost as much as 30", 20, dear[:, 19]),
        ):
            rows = np.flatnonzero(chosen)[:n_campaigns]
            sizes = np.broadcast_to(ends, len(drawn))[rows]
            draws = [drawn[row, :size] for row, size in zip(rows, sizes, strict=True)]
            means = [repeated_mean(value[one], 1 / q[one]) for one in draws]
            low, high = np.transpose([bootstrap_interval(mean, 0.95) for mean in means])
            covers = np.mean((low <= value.mean()) & (value.mean() <= high))
            bias = np.mean([mean.value for mean in means]) - value.mean()
            bias /= np.mean([mean.standard_error for mean in means])
            found.setdefault(name, []).append(f"{covers:.3f}, {bias:5.2f} ({len(rows)})")
    print(f"{'':42}" + "".join(f"{model:>22}" for model in MODELS))
    for name, texts in found.items():
        print(f"{name:<42}" + "".join(f"{text:>22}" for text in texts))


def estimators(n_campaigns, seed):
    print("Estimators, 'noisy' label model: root mean square error (of the paper's = 1), coverage")
    print(f"{'':46}" + "".join(f"{f'budget {b:.0f}':>15}" for b in BUDGETS))
    for task in ("evaluate", "compare"):
        value, moments, costs = world(task, "dcg(empty=0)@10", 1.0, "noisy", seed)
        q = sampling_distribution(moments, costs=costs)
        errors = {}
        for estimator in ("importance", "assisted", "lure"):
            runs = simulate(
                value, q, BUDGETS, costs=costs, estimator=estimator, moments=moments,
                n_campaigns=n_campaigns,
            )  # fmt: skip
            errors[estimator] = runs.error()[0]
            ratio = errors[estimator] / errors["importance"]
            cells = [f"{r:.2f}, {c:.3f}" for r, c in zip(ratio, runs.covered(), strict=True)]
            print(f"{task + ', ' + estimator:<46}" + "".join(f"{c:>15}" for c in cells), flush=True)


def sequences(n_campaigns, seed):
    print("Optional stopping: share of campaigns that exclude the truth at some time, 95 %")
    print(f"{'':34}{'watched':>14}{'sequence':>12}{'without repl.':>15}")
    looks = np.unique(np.geomspace(3, 200, 25).astype(int))
    for model in MODELS:
        for share in (1.0, 0.25):
            value, moments, costs = world("compare", "ndcg@10", share, model, seed)
            q = sampling_distribution(moments, costs=costs)
            p = np.full(N_QUERIES, 1 / N_QUERIES)
            bounds = np.full(N_QUERIES, -1.0), np.ones(N_QUERIES)
            truth, misled = np.nanmean(value), np.zeros(3)
            for campaign in range(n_campaigns):
                draws = Draws(q, campaign).first(200)
                for look in looks:
                    mean = repeated_mean(value[draws[:look]], (p / q)[draws[:look]])
                    low, high = bootstrap_interval(mean, 0.95)
                    if not low <= truth <= high:
                        misled[0] += 1
                        break
                for way, make in ((1, repeated_game), (2, single_game)):
                    drawn = draws if way == 1 else first_draws(draws)
                    game = make(value, drawn, p, q, bounds, share < 1, Known())
                    misled[way] += max(
                        wealth(game, np.array([truth]))[0],
                        wealth(game.mirrored(), np.array([-truth]))[0],
                    ) >= np.log(2 / 0.05)
            name = f"{model}, {share:.0%} count"
            print(
                f"{name:<34}" + "{:>14.3f}{:>12.3f}{:>15.3f}".format(*misled / n_campaigns),
                flush=True,
            )


def budgets(n_campaigns, seed):
    print("Small budgets, in draws of average cost: campaigns that end before the first label,")
    print("and bias of the others in standard deviations of one campaign")
    value, moments, costs = world("evaluate", "dcg(empty=0)@10", 1.0, "noisy", seed)
    for name, q in (
        ("active", sampling_distribution(moments, costs=costs)),
        ("passive", np.full(N_QUERIES, 1 / N_QUERIES)),
    ):
        for factor in (0.25, 0.5, 1, 2, 3, 5, 10, 20):
            runs = simulate(value, q, [factor * (q @ costs)], costs=costs, n_campaigns=n_campaigns)
            found = runs.values[~np.isnan(runs.values)]
            bias = (found.mean() - runs.truth) / found.std()
            nothing = np.isnan(runs.values).mean()
            print(
                f"{name:<10}{factor:>6g} draws: nothing {nothing:>6.1%}, bias {bias:>6.2f}",
                flush=True,
            )


def winners(n_campaigns, seed):
    print("Best of m, 95 %: share of campaigns of 40 draws that name a wrong winner")
    random = np.random.default_rng(seed)
    for m in (2, 3, 5):
        for gap, name in ((0.0, "all tie"), (0.2, "two tie, the others are behind")):
            wrong = 0
            for _ in range(n_campaigns):
                loss = (
                    random.standard_normal((m, 40))
                    + np.where(np.arange(m) < 2, gap, -gap)[:, None] * 4
                )
                means = loss.mean(axis=1).tolist()
                pairs = {}
                for a, b in combinations(range(m), 2):
                    d = loss[a] - loss[b]
                    pairs[a, b] = estimate(d), certainty(repeated_mean(d, np.ones(40)))
                found = decide(
                    tuple(map(str, range(m))), means,
                    lambda a, b, pairs=pairs: pairs[min(a, b), max(a, b)], 0.95,
                )  # fmt: skip
                wrong += found.better is not None
            print(f"m = {m}, {name:<34}{wrong / n_campaigns:>8.3f}", flush=True)


TABLES = {
    "intervals": intervals, "certain": certain_intervals, "selection": selection,
    "estimators": estimators, "sequences": sequences, "budgets": budgets, "winners": winners,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--campaigns", type=int, default=2000)
    parser.add_argument("--pool", type=int, default=0)
    parser.add_argument("--tables", default=",".join(TABLES))
    options = parser.parse_args()
    for name in options.tables.split(","):
        TABLES[name](options.campaigns, options.pool)
        print()


if __name__ == "__main__":
    main()
