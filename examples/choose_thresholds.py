"""Choose the thresholds of GAP in three ways, and train rankers with them.

    python examples/choose_thresholds.py [FOLDER] [--steps 4] [--test ap ...]

Informativeness: the thresholds for which GAP is most informative about the
lists of simple rankers on the training queries. Clicks: thresholds from clicks
of users who click on documents that they find relevant. LETOR collections have
no clicks, so CLICKS ARE SIMULATED, from thresholds that are printed.
Cross-validation: the thresholds whose LambdaRank model has the best value of
the first metric of --test on held-out training queries. Then LightGBM is
trained with each choice on all training queries, and measured on the test
queries.

FOLDER holds a LETOR collection, S1.txt .. S5.txt or Fold1 .. Fold5 (also .gz
and .xz), of which the first fold is used. Without FOLDER, data are generated.
"""

from __future__ import annotations

import argparse
import time

import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.isotonic import isotonic_regression
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict
from sklearn.preprocessing import scale

import skrank
from skrank import informativeness, trec
from skrank.datasets import load_letor, make_ranking


def read(folder: str | None) -> tuple[tuple[np.ndarray, pd.Series], ...]:
    """Training and test part: features, and labels indexed by query, in random
    order."""
    random = np.random.default_rng(0)
    if folder is None:
        data = make_ranking(300, max_grade=2, random_state=0)
        held_out = data.qid >= 150
        parts = [
            (data.X[rows], data.relevance[rows], data.qid[rows])
            for rows in (~held_out, held_out)
        ]
    else:
        fold = load_letor(folder, fold=1)
        parts = [
            (part.X, part.relevance, part.qid)
            for part in (fold.train, fold.test)
        ]
    shuffled = []
    for X, relevance, qid in parts:
        order = random.permutation(len(relevance))
        shuffled.append(
            (X[order], skrank.with_groups(relevance[order], qid[order]))
        )
    return tuple(shuffled)


def simple_rankings(X: np.ndarray, y: pd.Series) -> dict[str, np.ndarray]:
    """Scores of the training rows, by cross-validated models and by the five
    best features."""
    qid, folds = y.index.to_numpy(), GroupKFold(5)
    models = {
        "ridge": Ridge(),
        "trees": ExtraTreesRegressor(
            50, min_samples_leaf=5, max_features=0.3, random_state=0
        ),
    }
    out = {
        name: cross_val_predict(
            model, scale(X), y.to_numpy(), groups=qid, cv=folds
        )
        for name, model in models.items()
    }
    ndcg = skrank.metric("ndcg@10")
    quality = [ndcg(y, X[:, column]) for column in range(X.shape[1])]
    best = np.argsort(quality)[::-1][:5]
    return out | {f"feature {column}": X[:, column] for column in best}


def by_informativeness(
    y: pd.Series,
    rankings: dict[str, np.ndarray],
    steps: int,
    min_retrieved: int,
) -> informativeness.ThresholdChoice:
    """The thresholds that are most informative about rankings of the training
    queries."""
    qid, docid = y.index.to_numpy(), np.arange(len(y))
    qrels = trec.Qrels.from_arrays(qid, docid, y.to_numpy())
    runs = [
        trec.Run.from_arrays(qid, docid, scores, name=name)
        for name, scores in rankings.items()
    ]
    return informativeness.select_thresholds(
        qrels, runs, n_steps=steps, min_retrieved=min_retrieved
    )


def simulated_clicks(
    y: pd.Series,
    scores: np.ndarray,
    users: tuple[float, ...],
    n_sessions: int,
    noise: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grade, number of clicks and number of views of each row.

    A user views a geometrically distributed number of ranks.
    """
    random = np.random.default_rng(0)
    shown, clicks = np.zeros(len(y)), np.zeros(len(y))
    qid, grades = y.index.to_numpy(), y.to_numpy()
    for query in pd.unique(qid):
        rows = np.flatnonzero(qid == query)
        rows = rows[np.argsort(-scores[rows], kind="stable")]
        depth = np.minimum(random.geometric(0.1, n_sessions), len(rows))
        threshold = 1 + random.choice(len(users), n_sessions, p=users)
        for looked, least in zip(depth, threshold, strict=True):
            seen = rows[:looked]
            shown[seen] += 1
            clicks[seen] += (grades[seen] >= least) | (
                random.random(looked) < noise
            )
    return grades, clicks, shown


def ranker(
    thresholds: tuple[float, ...], rounds: int, seed: int = 0
) -> skrank.GroupedRanker:
    """LightGBM on GAP with some thresholds."""
    estimator = lgb.LGBMRanker(
        n_estimators=rounds, learning_rate=0.05, num_leaves=15, n_jobs=1,
        colsample_bytree=0.6, subsample=0.8, subsample_freq=1,
        random_state=seed, verbose=-1,
    )  # fmt: skip
    return skrank.GroupedRanker(
        estimator, objective=skrank.metric("gap", thresholds=thresholds)
    )


def by_cross_validation(
    X: np.ndarray,
    y: pd.Series,
    candidates: list[tuple[float, ...]],
    counts: str,
    rounds: int,
) -> tuple[tuple[float, ...], pd.Series]:
    """The thresholds with the best cross-validated score, and the scores of all
    candidates."""
    objectives = [skrank.metric("gap", thresholds=g) for g in candidates]
    search = GridSearchCV(
        ranker(candidates[0], rounds),
        {"objective": objectives},
        scoring=skrank.scorer(counts),
        cv=skrank.QueryKFold(5),
        refit=False,
    ).fit(X, y)
    scores = pd.Series(
        search.cv_results_["mean_test_score"], index=candidates, name=counts
    )
    return candidates[int(np.argmax(scores.to_numpy()))], scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", nargs="?", help="folder of a LETOR collection"
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=4,
        help="thresholds are multiples of 1 / steps",
    )
    parser.add_argument(
        "--rounds", type=int, default=100, help="trees of a model"
    )
    parser.add_argument(
        "--seeds", type=int, default=3, help="final models per choice"
    )
    parser.add_argument(
        "--sessions", type=int, default=50, help="simulated users per query"
    )
    parser.add_argument(
        "--noise",
        type=float,
        default=0.05,
        help="clicks on anything, per showing",
    )
    parser.add_argument(
        "--min-retrieved", type=int, default=5, help="documents of each grade"
    )
    parser.add_argument(
        "--test", nargs="+", default=["ap", "ap(rel=2)", "ndcg@10"]
    )
    options = parser.parse_args()
    (X, y), (X_test, y_test) = read(options.folder)
    top = int(y.max())
    users = tuple(np.arange(top, 0, -1) / (top * (top + 1) / 2))
    print(
        f"{y.index.nunique()} training queries, {y_test.index.nunique()} test "
        "queries"
    )
    print(f"{len(y)} training rows, grades 0..{top}")

    start = time.perf_counter()
    rankings = simple_rankings(X, y)
    choice = by_informativeness(
        y, rankings, options.steps, options.min_retrieved
    )
    print(
        f"\ninformativeness ({time.perf_counter() - start:.1f} "
        f"s)\n{choice.study}"
    )

    seen = simulated_clicks(
        y, rankings["ridge"], users, options.sessions, options.noise
    )
    grades, clicks, shown = seen
    by_grade = np.bincount(grades.astype(int), clicks, top + 1)
    views = np.bincount(grades.astype(int), shown, top + 1)
    shares = by_grade[1:] / by_grade[1:].sum()
    rises = np.diff(isotonic_regression(by_grade / views, sample_weight=views))
    rates = rises / rises.sum()
    print(
        f"\n{clicks.sum():.0f} SIMULATED clicks of users with thresholds "
        f"{np.round(users, 3)}"
    )
    print(
        f"shares of clicks: {np.round(shares, 3)}, rises of click rates: "
        f"{np.round(rates, 3)}"
    )

    start = time.perf_counter()
    candidates = informativeness.threshold_grid(top, options.steps)
    validated, scores = by_cross_validation(
        X, y, candidates, options.test[0], options.rounds
    )
    print(
        f"\ncross-validation ({time.perf_counter() - start:.1f} "
        f"s)\n{scores.to_string()}"
    )

    choices = {
        "informativeness": choice.thresholds,
        "shares of clicks": tuple(shares.tolist()),
        "rises of click rates": tuple(rates.tolist()),
        "cross-validation": validated,
        "uniform": (1 / top,) * top,
    }
    rows = {}
    for name, thresholds in choices.items():
        found = [
            skrank.evaluate(
                y_test,
                ranker(thresholds, options.rounds, seed)
                .fit(X, y)
                .predict(X_test),
                metrics=options.test,
            ).mean
            for seed in range(options.seeds)
        ]
        values = pd.concat(found).T
        rows[name] = {"thresholds": ", ".join(f"{g:.2f}" for g in thresholds)}
        for one, mean, spread in zip(
            values.index, values.mean(axis=1), values.std(axis=1), strict=True
        ):
            rows[name][one] = f"{mean:.4f} ±{spread:.4f}"
    print("\ntest queries: mean and standard deviation over seeds")
    print(pd.DataFrame.from_dict(rows, orient="index").to_string())


if __name__ == "__main__":
    main()
