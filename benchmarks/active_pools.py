"""Pools of labelled queries for `active_campaigns.py`: real collections, and synthetic ones."""

from __future__ import annotations

import gzip
import lzma
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import skrank
from skrank.active import (
    ActiveComparator,
    ActiveEvaluator,
    Design,
    Moments,
)
from skrank.active._moments import random_labels
from skrank.active._sampling import sampling_distribution
from skrank.datasets import make_ranking

METRICS = ("dcg@10", "err@20", "ndcg@10", "ap")
BELIEFS = ("fitted", "uniform", "noisy")  # label models
COSTS = ("items", "equal")

# Collections on which the defaults of mixing and estimator were chosen, and collections that had no
# part in this choice.
CHOSEN_ON = ("mq2008", "ohsumed", "lightgbm", "trec-covid", "trec-8", "synthetic 0", "synthetic 1")
CONFIRMED_ON = ("mslr", "trec-dl", "web-2010", "synthetic 10", "synthetic 11", "synthetic 12")
_FILES = {
    "mq2008": "mq2008/*.txt.gz",
    "ohsumed": "ohsumed-letor3/*.txt.gz",
    "lightgbm": "lightgbm-lambdarank/rank.*.gz",
    "mslr": "mslr-sample/*.txt.gz",
}
_RUNS = {"trec-covid": "trec-covid", "trec-dl": "trec-dl"}
_MATRICES = {"trec-8": ("adhoc8_ap",), "web-2010": ("web2010_err20", "web2010_ndcg20")}
_SHAPES = (
    {"n_docs": (10, 120), "noise": 1.0},
    {"n_docs": (5, 40), "noise": 0.7},
    {"n_docs": (10, 60), "noise": 2.0, "empty_fraction": 0.3},
)


@dataclass(frozen=True, eq=False)
class Labelled:
    """A pool whose values are known: inputs of a campaign, and the value of each query."""

    name: str
    task: str
    beliefs: str
    values: np.ndarray
    costs: np.ndarray
    q: np.ndarray
    moments: Moments


def label_moments(metric, scores, groups, label_model, n_draws=200) -> Moments:
    """Moments of one ranker, or of the difference of two."""
    labels = random_labels(metric, scores, groups, label_model, Design(), 0, who="campaign")
    return labels.moments(n_draws, 0)


def draws_of(moments: Moments, costs: np.ndarray, mixing: float | None = None) -> np.ndarray:
    """The distribution of draws from queries of equal frequencies."""
    p = np.full(len(costs), 1 / len(costs))
    return sampling_distribution(moments, costs, p, mixing=mixing, center=moments.center(p))


def pools(collection: str, folder: Path | None) -> Iterator[Labelled]:
    """The pools of a collection; empty if the folder does not contain its files."""
    if collection.startswith("synthetic"):
        seed = int(collection.split()[1])
        data = make_ranking(1500, random_state=seed, **_SHAPES[seed % 3])
        yield from _of_features(collection, data.X, data.relevance, data.qid)
    elif folder is None:
        return
    elif collection in _FILES:
        files = sorted(folder.glob(_FILES[collection]))
        if files:
            yield from _of_features(collection, *read_features(files))
    elif collection in _RUNS:
        if (folder / _RUNS[collection]).is_dir():
            yield from _of_runs(collection, folder / _RUNS[collection])
    else:
        for name in _MATRICES[collection]:
            file = folder / "trec-pertopic-scores" / f"{name}.csv"
            if file.exists():
                yield from _of_matrix(collection, file)


def read_features(files: list[Path]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and query of each row, from files of the svmlight format."""
    parts = []
    for number, file in enumerate(files):
        sizes = Path(str(file).removesuffix(".gz") + ".query")
        with gzip.open(file) as stream:
            X, y, *qid = load_svmlight_file(stream, query_id=not sizes.exists())
        if sizes.exists():  # a .query file of LightGBM
            n = np.loadtxt(sizes, dtype=int)
            qid = [np.repeat(np.arange(len(n)), n) + 10**6 * number]
        parts.append((X.toarray(), y.astype(int), qid[0]))
    width = max(X.shape[1] for X, _, _ in parts)
    X = np.vstack([np.pad(X, ((0, 0), (0, width - X.shape[1]))) for X, _, _ in parts])
    return X[:, X.std(axis=0) > 0], *(np.concatenate([one[i] for one in parts]) for i in (1, 2))


def logistic(C: float) -> Pipeline:
    """A logistic regression of grades."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=1000))


def _of_features(
    collection: str, X: np.ndarray, y: np.ndarray, qid: np.ndarray
) -> Iterator[Labelled]:
    """Pools of four fifths of the queries; the other queries fit rankers and label models."""
    random = np.random.default_rng(1)
    ids = random.permutation(np.unique(qid))
    n_known = max(10, len(ids) // 5)
    known, half = np.isin(qid, ids[:n_known]), np.isin(qid, ids[: n_known // 2])
    rows = random.permutation(np.flatnonzero(~known))  # the order of rows may leak labels
    grades = np.arange(y.max() + 1)

    def probabilities(model, fitted_on):
        model.fit(X[fitted_on], y[fitted_on])
        out = np.zeros((len(rows), len(grades)))
        out[:, np.searchsorted(grades, model.classes_)] = model.predict_proba(X[rows])
        return out

    def forest(seed):
        return RandomForestClassifier(40, min_samples_leaf=5, max_features=0.3, random_state=seed)

    logit = probabilities(logistic(0.1), known)
    trees = probabilities(forest(0), known)
    scores = {
        "trees": trees @ grades, "logit": logit @ grades,
        "half": probabilities(forest(1), half) @ grades,
    }  # fmt: skip
    labels, query = y[rows], qid[rows]
    beliefs = _beliefs((trees + logit) / 2, labels, random)
    tasks = {
        "evaluate": ("trees",),
        "compare": ("trees", "logit"),
        "compare half": ("half", "trees"),
    }
    for task, names in tasks.items():
        chosen = {name: scores[name] for name in names}
        yield from _each(collection, task, chosen, labels, query, beliefs, grades)


def _beliefs(fitted: np.ndarray, labels: np.ndarray, random: np.random.Generator) -> dict:
    n_grades = fitted.shape[1]
    noise = random.dirichlet(np.ones(n_grades), len(fitted))
    return {
        "fitted": fitted,
        "uniform": np.full(fitted.shape, 1 / n_grades),
        "noisy": 0.5 * np.eye(n_grades)[labels] + 0.5 * noise,
    }


def _each(collection, task, scores, labels, query, beliefs, grades) -> Iterator[Labelled]:
    """One pool for each metric and label model, with alternating kinds of costs."""
    equal = dict.fromkeys(np.unique(query).tolist(), 1.0)
    for i, metric in enumerate(METRICS):
        for j, (belief, model) in enumerate(beliefs.items()):
            costs = COSTS[(i + j) % 2]
            options = {
                "metric": metric, "label_model": model,
                "design": Design(
                    grades=grades, n_label_draws=60, costs="items" if costs == "items" else equal
                ),
            }  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                campaign = (
                    ActiveEvaluator(*scores.values(), query, **options)
                    if len(scores) == 1
                    else ActiveComparator(scores, query, **options)
                )
            measure = campaign.metric
            if hasattr(measure, "max_grade"):
                measure = skrank.metric(measure, max_grade=int(grades[-1]))
            found = [measure.per_query(labels, s, groups=query) for s in scores.values()]
            value = found[0] if len(found) == 1 else found[0] - found[1]
            sampling = campaign.sampling
            yield Labelled(
                f"{collection}, {task}, {metric}, {belief}, {costs}", task.split()[0], belief,
                value.loc[sampling.index].to_numpy(), sampling.cost.to_numpy(dtype=float),
                sampling.probability.to_numpy(), campaign.moments,
            )  # fmt: skip


def _of_runs(collection: str, folder: Path) -> Iterator[Labelled]:
    """Submitted runs with judgments; the label model counts the runs that retrieve a document."""
    qrels, runs = {}, {}
    with gzip.open(next(folder.glob("qrels*.gz")), "rt") as stream:
        for topic, _, document, grade in map(str.split, stream):
            qrels.setdefault(topic, {})[document] = max(0, int(float(grade)))
    with lzma.open(next(folder.glob("*runs*.xz")), "rt") as stream:
        for run, topic, documents in (line.rstrip("\n").split("\t") for line in stream):
            runs.setdefault(run, {})[topic] = documents.split()[:20]
    random = np.random.default_rng(0)
    names = sorted(random.choice(sorted(runs), min(len(runs), 40), replace=False))
    topics = sorted(topic for topic in qrels if all(topic in runs[name] for name in names))
    rows = [
        (number, document)
        for number, topic in enumerate(topics)
        for document in sorted({d for name in names for d in runs[name][topic]})
    ]
    rank = {
        name: np.array(
            [
                runs[name][topics[number]].index(document)
                if document in runs[name][topics[number]]
                else np.inf
                for number, document in rows
            ]
        )
        for name in names
    }
    query = np.array([number for number, _ in rows])
    labels = np.array([qrels[topics[number]].get(document, 0) for number, document in rows])
    grades = np.arange(max(max(one.values()) for one in qrels.values()) + 1)
    found = 1 / (1 + np.stack(list(rank.values())))
    features = np.log(np.column_stack([found.sum(axis=0), (found > 0).sum(axis=0)]))
    fitted = np.zeros((len(rows), len(grades)))
    for part in (0, 1):  # fitted on topics of one parity, applied to the other topics
        model = logistic(1.0)
        model.fit(features[query % 2 == part], labels[query % 2 == part])
        fitted[np.ix_(query % 2 != part, model.classes_)] = model.predict_proba(
            features[query % 2 != part]
        )
    beliefs = _beliefs(fitted, labels, random)
    pairs = [random.choice(names, 2, replace=False) for _ in range(2)]
    for pair in pairs:
        for task, chosen in (("evaluate", pair[:1]), ("compare", pair)):
            scores = {name: -rank[name] for name in chosen}
            yield from _each(collection, task, scores, labels, query, beliefs, grades)


def _of_matrix(collection: str, file: Path) -> Iterator[Labelled]:
    """Values of submitted systems; the moments of each topic are those of ten other systems."""
    table = np.genfromtxt(file, delimiter=",", skip_header=1)
    random = np.random.default_rng(0)
    top = np.argsort(-table.mean(axis=0))[: table.shape[1] // 2]
    n = len(table)
    for number in range(6):
        a, b = random.choice(top, 2, replace=False)
        others = random.choice(np.setdiff1d(np.arange(table.shape[1]), [a, b]), 10, replace=False)
        spread = table[:, others].var(axis=1, ddof=1)
        expected = table[:, others].mean(axis=1)
        for task, values, first, variance in (
            ("evaluate", table[:, a], expected, spread),
            ("compare", table[:, a] - table[:, b], np.zeros(n), 2 * spread),
        ):
            moments = Moments(np.arange(n), np.ones(n), first, first**2 + variance, "exact")
            for costs_name, costs in (
                ("equal", np.ones(n)),
                ("lognormal", np.exp(0.7 * random.standard_normal(n))),
            ):
                yield Labelled(
                    f"{file.stem}, {task} {number}, other systems, {costs_name}", task,
                    "other systems", values, costs, draws_of(moments, costs),
                    moments,
                )  # fmt: skip
