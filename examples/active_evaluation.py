"""How many labels does active evaluation save? (Sawade et al. 2013)

    python examples/active_evaluation.py [FOLDER] [--campaigns 300]
        [--plot FILE.png]

FOLDER holds a LETOR collection (files S1 to S5, or folders Fold1 to Fold5);
without FOLDER, a synthetic collection is used. Each fifth of the queries trains
rankers, and the other four fifths are the pool. Many simulated campaigns per
method give the error of the estimate at several budgets:

passive               uniform draws without replacement passive, assisted
the same, corrected by the label model's expectations for queries not drawn
active                draws without replacement from the optimal distribution,
corrected active, lure          the same draws, not corrected active, any label
active without a label model: all labels equally probable active, any cost
active, with a distribution that ignores costs

A budget of 1 pays for one query of average cost. "saved" is the share of the
largest budget that a method does not need for the accuracy of passive draws
with the whole budget. For comparisons, the model selection error is shown, too:
the share of campaigns that choose the worse ranker.
"""

import argparse
import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skrank
from skrank.active import (
    ActiveComparator,
    ActiveEvaluator,
    Design,
    simulate,
)
from skrank.datasets import load_letor, make_ranking

METRICS = ("dcg", "err")
METHODS = (
    "passive", "passive, assisted", "active", "active, lure",
    "active, any label", "active, any cost",
)  # fmt: skip
ESTIMATORS = {"passive": "lure", "active, lure": "lure"}
EVALUATIONS = ("evaluate forest", "evaluate logit")


# data


def read_parts(folder):
    """Five disjoint parts of a collection, as (X, labels, query ids, cost per
    document)."""
    if folder is None:
        data = make_ranking(1500, n_docs=(10, 120), noise=1.0, random_state=0)
        length = np.random.default_rng(0).lognormal(6, 1, len(data.qid))
        costs = np.log(1 + length)  # as in the paper
        fold = data.qid % 5
        return [
            (
                data.X[fold == n],
                data.relevance[fold == n],
                data.qid[fold == n],
                costs[fold == n],
            )
            for n in range(5)
        ]
    parts = [fold.test for fold in load_letor(folder).values()]
    kept = [~np.isnan(part.relevance) for part in parts]
    return [
        (
            part.X[k],
            part.relevance[k].astype(int),
            part.qid[k],
            np.ones(k.sum()),
        )
        for part, k in zip(parts, kept, strict=True)
    ]


def split(parts, number):
    """The training part and the pool; rows in random order, as file order may
    leak relevance."""
    random = np.random.default_rng(number)
    pool = [
        np.concatenate(
            [part[column] for n, part in enumerate(parts) if n != number]
        )
        for column in range(4)
    ]
    order = random.permutation(len(pool[0]))
    return parts[number], [column[order] for column in pool]


# rankers


def forest(seed):
    return RandomForestClassifier(
        100, min_samples_leaf=5, max_features=0.3, random_state=seed
    )


def train_rankers(train, pool, seed):
    """Scores of the rankers on the pool, and label probabilities of two of
    them."""
    X, y, qid, _ = train
    half = np.isin(qid, np.unique(qid)[::2])
    logistic = make_pipeline(
        StandardScaler(), LogisticRegression(C=0.1, max_iter=1000)
    )
    models = {
        "forest": forest(seed).fit(X, y),
        "logit": logistic.fit(X, y),
        "half": forest(seed + 100).fit(X[half], y[half]),
    }
    scores = {
        name: model.predict_proba(pool[0]) @ model.classes_
        for name, model in models.items()
    }
    regression = RandomForestRegressor(
        100, min_samples_leaf=5, max_features=0.3, random_state=seed
    )
    scores["regression"] = regression.fit(X, y).predict(pool[0])
    grades = np.arange(max(y.max(), pool[1].max()) + 1)
    labels = {
        name: spread(
            models[name].predict_proba(pool[0]), models[name].classes_, grades
        )
        for name in ("forest", "logit")
    }
    return scores, labels, grades


def spread(probabilities, classes, grades):
    """Probabilities of all grades; 0 for grades that do not occur in the
    training part."""
    out = np.zeros((len(probabilities), len(grades)))
    out[:, np.searchsorted(grades, classes)] = probabilities
    return out


def tasks(scores, labels, seed):
    """For each task, the scores of one or two rankers and a label model that
    favours no ranker."""
    random = np.random.default_rng(seed)
    kept = random.random(len(scores["forest"])) > 0.1
    both = (labels["forest"] + labels["logit"]) / 2
    updated = {"new index": scores["forest"]}
    updated["old index"] = np.where(kept, scores["forest"], -np.inf)
    return {
        "evaluate forest": (scores["forest"], labels["forest"]),
        "evaluate logit": (scores["logit"], labels["logit"]),
        "compare forest, logit": (
            {k: scores[k] for k in ("forest", "logit")},
            both,
        ),
        "compare forest, regression": (
            {k: scores[k] for k in ("forest", "regression")},
            both,
        ),
        "compare forests of 1/2 and all": (
            {k: scores[k] for k in ("half", "forest")},
            both,
        ),
        "compare old and new index": (updated, labels["forest"]),
    }


# campaigns


def campaigns_of(name, scores, labels, pool, grades, costs, metric):
    """Campaigns, which have the sampling distributions."""
    kind = ActiveEvaluator if name in EVALUATIONS else ActiveComparator
    equal = dict.fromkeys(np.unique(pool[2]).tolist(), 1.0)

    def campaign(label_model=labels, **options):
        design = Design(**{"grades": grades, "costs": costs} | options)
        options = {"metric": metric, "label_model": label_model}
        return kind(scores, pool[2], design=design, **options)

    return {
        "active": campaign(),
        "active, any label": campaign("uniform"),
        "active, any cost": campaign(costs=equal),
        "mixing 0.5": campaign(mixing=0.5),
    }


def values_and_costs(scores, pool, metric, sampling):
    """Value (or difference) and cost of each query, in the order of
    `sampling`."""
    pair = list(scores.values()) if isinstance(scores, dict) else [scores]
    values = [metric.per_query(pool[1], s, groups=pool[2]) for s in pair]
    value = values[0] if len(values) == 1 else values[0] - values[1]
    return value.loc[sampling.index].to_numpy(), sampling.cost.to_numpy()


def run_task(
    name, scores, labels, pool, grades, metric, budgets, n_campaigns, seed
):
    """True mean, estimates by method of shape (n_campaigns, n_budgets), and
    `reasons`."""
    mean_cost = pool[3].sum() / len(np.unique(pool[2]))
    metric = skrank.metric(metric, empty=0)
    if hasattr(metric, "max_grade"):
        metric = skrank.metric(metric, max_grade=int(grades[-1]))
    campaigns = campaigns_of(
        name, scores, labels, pool, grades, pool[3] / mean_cost, metric
    )
    moments = campaigns["active"].moments
    q = {
        way: campaign.sampling.probability.to_numpy()
        for way, campaign in campaigns.items()
    }
    values, costs = values_and_costs(
        scores, pool, metric, campaigns["active"].sampling
    )
    q["passive"] = np.full(len(values), 1 / len(values))
    estimates = {
        way: simulate(
            values, q[way if way in q else way.partition(",")[0]], budgets,
            costs=costs, estimator=ESTIMATORS.get(way, "assisted"),
            moments=moments, n_campaigns=n_campaigns,
            random_state=seed,
        ).values
        for way in METHODS
    }  # fmt: skip
    return values.mean(), estimates, reasons(values, costs, q, moments)


def reasons(values, costs, q, moments):
    """Quantities that determine the savings: pairs (predicted by the label
    model, true)."""
    p = np.full(len(values), 1 / len(values))
    found = (values - values.mean()) ** 2
    expected = moments.squared_error(moments.center())

    def ratio(way, square):
        """Cost of an estimate by draws from `way`, relative to equally accurate
        passive draws."""
        return (
            (p**2 / way @ square) * (costs @ way) / ((p @ square) * (costs @ p))
        )

    mixed, q = q["mixing 0.5"], q["active"]
    known = np.sqrt(found / costs) / np.sqrt(found / costs).sum()
    return {
        "squared error": (expected.mean(), found.mean()),
        "its correlation with cost": tuple(
            np.corrcoef(costs, x)[0, 1] for x in (expected, found)
        ),
        "cost ratio": (ratio(q, expected), ratio(q, found)),
        "cost ratio, mixing 0.5": (ratio(mixed, expected), ratio(mixed, found)),
        "cost ratio, values known": (
            np.nan,
            ratio(0.95 * known + 0.05 * p, found),
        ),
        "largest weight": ((p / q).max(), np.nan),
    }


# results


def summary(truths, runs):
    """Mean absolute error and share of wrong signs per budget, over folds and
    campaigns."""
    errors = np.concatenate(
        [np.abs(run - truth) for truth, run in zip(truths, runs, strict=True)]
    )
    signs = np.concatenate(
        [
            1 - np.sign(run) * np.sign(truth)
            for truth, run in zip(truths, runs, strict=True)
        ]
    )
    deviation = np.nanstd(errors, axis=0) / np.sqrt(len(errors))
    return np.nanmean(errors, axis=0), deviation, np.nanmean(signs / 2, axis=0)


def saved(budgets, errors, passive, place):
    """Share of a budget that is not needed for the error of passive draws with
    this budget."""
    steps = np.log(np.minimum.accumulate(errors))[::-1]
    needed = np.exp(
        np.interp(np.log(passive[place]), steps, np.log(budgets)[::-1])
    )
    return 1 - needed / budgets[place] if errors is not passive else 0.0


def report(task, metric, budgets, place, results, causes):
    truths = [truth for truth, _ in results]
    found = {
        way: summary(truths, [runs[way] for _, runs in results])
        for way in METHODS
    }
    print(f"\n{task}, {metric.upper()}: truth {np.mean(truths):.4g}", end="")
    predicted = np.mean([why["cost ratio"][0] for why in causes])
    print(f"; the label model predicted to save {1 - predicted:.0%}")
    for name in causes[0]:
        expected, known = np.mean([why[name] for why in causes], axis=0)
        line = f"expected {expected:>8.3g}, found {known:>8.3g}"
        print(f"    {name:<28} {line.replace('nan', '-')}")
    shown = slice(0, place + 1)
    heads = "".join(f"{b:>16.0f}" for b in budgets[shown])
    print(f"  {'mean error at budget':<22}{heads}   saved")
    for way, (error, deviation, _) in found.items():
        cells = [
            f"{e:>9.4f} ±{d:.4f}"
            for e, d in zip(error[shown], deviation[shown], strict=True)
        ]
        part = saved(budgets, error, found["passive"][0], place)
        print(f"  {way:<22}" + "".join(cells) + f"{part:>8.0%}", flush=True)
    if task not in EVALUATIONS:
        print(f"  {'selection error':<22}{heads}")
        for way, (_, _, wrong) in found.items():
            print(
                f"  {way:<22}"
                + "".join(f"{share:>16.1%}" for share in wrong[shown]),
                flush=True,
            )
    return found


def plot(path, tables, budgets, shown):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(task for task, _ in tables))
    figure, axes = plt.subplots(
        len(names), 2, figsize=(10, 3 * len(names)), squeeze=False
    )
    for (task, metric), found in tables.items():
        axis = axes[names.index(task), METRICS.index(metric)]
        for way, (error, deviation, _) in found.items():
            axis.errorbar(
                budgets[shown],
                error[shown],
                deviation[shown],
                label=way,
                capsize=2,
            )
        axis.set(
            title=f"{task}, {metric.upper()}",
            xlabel="budget",
            ylabel="mean absolute error",
        )
        axis.set(xscale="log", yscale="log")
    axes[0, 0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print(f"\nplots: {path}")


def main():
    parser = argparse.ArgumentParser(
        description="How many labels does active evaluation save?"
    )
    parser.add_argument(
        "folder", nargs="?", help="folder of a LETOR collection"
    )
    parser.add_argument(
        "--campaigns", type=int, default=300, help="per method and fold"
    )
    parser.add_argument(
        "--folds", type=int, default=5, help="number of training parts, 1 to 5"
    )
    parser.add_argument(
        "--plot", metavar="FILE", help="write plots, with matplotlib installed"
    )
    options = parser.parse_args()
    start = time.perf_counter()
    parts = read_parts(options.folder)
    n_queries = sum(len(np.unique(part[2])) for part in parts) * 4 // 5
    largest = max(10, min(300, n_queries // 5))
    # One budget above the largest shows how much more a method needs that is
    # worse than passive.
    budgets = largest * 2.0 ** np.arange(-3, 2)
    results, causes = {}, {}
    for number in range(options.folds):
        train, pool = split(parts, number)
        scores, labels, grades = train_rankers(train, pool, number)
        for task, (ranked, model) in tasks(scores, labels, number).items():
            for metric in METRICS:
                truth, runs, why = run_task(
                    task,
                    ranked,
                    model,
                    pool,
                    grades,
                    metric,
                    budgets,
                    options.campaigns,
                    number,
                )
                results.setdefault((task, metric), []).append((truth, runs))
                causes.setdefault((task, metric), []).append(why)
        print(
            f"fold {number + 1}: trained on {len(train[0])} documents, pool of "
            f"{len(np.unique(pool[2]))} queries, "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )
    place = int(np.flatnonzero(budgets == largest)[0])
    tables = {
        key: report(*key, budgets, place, found, causes[key])
        for key, found in results.items()
    }
    if options.plot:
        plot(options.plot, tables, budgets, slice(0, place + 1))


if __name__ == "__main__":
    main()
