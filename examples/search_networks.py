"""Which network ranks best? GridSearchCV over NeuralRankers.

The search uses the training part of the first fold, with three-fold
cross-validation over queries. Each training holds out a fifth of its queries
for early stopping. The best network is refitted on the whole training part, and
measured on the test part, together with a linear ranker with default
parameters. Equal seeds give equal numbers. Rows are shuffled first, because the
order of the rows reveals labels in some collections.

    python examples/search_networks.py FOLDER [--objective gap]
        [--scoring ndcg@10] [--seed 0]

FOLDER holds S1.txt .. S5.txt or Fold1 .. Fold5 (also .gz and .xz).
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV

import skrank
from skrank.datasets import load_letor
from skrank.torch import NeuralRanker

GRID = {"hidden": [(10,), (32, 16)], "learning_rate": [1e-3, 1e-2]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--objective", default="gap")
    parser.add_argument("--scoring", default="ndcg@10")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    fold = load_letor(options.folder, fold=1)
    order = np.random.default_rng(options.seed).permutation(
        len(fold.train.relevance)
    )
    X = fold.train.X[order]
    y = skrank.with_groups(fold.train.relevance[order], fold.train.qid[order])
    ranker = NeuralRanker(
        options.objective,
        epochs=20,
        validation_fraction=0.2,
        random_state=options.seed,
    )
    start = time.perf_counter(), time.process_time()
    search = GridSearchCV(
        ranker,
        GRID,
        scoring=skrank.scorer(options.scoring),
        cv=skrank.QueryKFold(3),
    ).fit(X, y)
    spent = time.perf_counter() - start[0], time.process_time() - start[1]

    shown = {
        "mean_test_score": options.scoring,
        "std_test_score": "standard deviation",
    }
    results = pd.DataFrame(search.cv_results_)[
        [*(f"param_{name}" for name in GRID), *shown]
    ]
    print(
        results.rename(columns=shown).to_string(
            index=False, float_format="%.4f"
        )
    )
    print(f"{spent[0]:.0f} s, {spent[1]:.0f} s of processor time")

    best = search.best_estimator_
    values = next(iter(best.evals_result_["validation"].values()))
    print(
        f"{search.best_params_}: stopped after {best.n_epochs_} epochs, the "
        "weights are those of "
        f"epoch {best.best_epoch_}, the best one is "
        f"{int(np.argmax(values)) + 1}"
    )
    measure = skrank.metric(options.scoring)
    for name, one in (
        ("NeuralRanker", best),
        ("LinearRanker", skrank.LinearRanker(options.objective).fit(X, y)),
    ):
        value = measure(
            fold.test.relevance, one.predict(fold.test.X), groups=fold.test.qid
        )
        print(f"{name}: {options.scoring} {value:.4f} on the test part")


if __name__ == "__main__":
    main()
