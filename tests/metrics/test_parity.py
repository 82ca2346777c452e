"""Values of other libraries, where their definitions are ours."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics as sklearn_metrics

import skrank

N_QUERIES, N_DOCUMENTS = 60, 25
GROUPS = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)


def queries(seed=0, levels=None, grades=4):
    """Labels and scores as matrices; every query has a relevant document."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(grades + 1, (N_QUERIES, N_DOCUMENTS), p=[0.6] + [0.4 / grades] * grades)
    labels[:, 3] = np.maximum(labels[:, 3], 1)
    shape = labels.shape
    scores = rng.normal(size=shape) if levels is None else rng.integers(0, levels, shape) * 1.0
    return labels, scores


def mine(name, labels, scores):
    return skrank.metric(name).per_query(labels.ravel(), scores.ravel(), groups=GROUPS).to_numpy()


# ---------------------------------------------------------------------- scikit-learn


@pytest.mark.parametrize("k", [None, 1, 5, 10, 100])
@pytest.mark.parametrize("levels", [None, 3, 1])
def test_ndcg_of_scikit_learn(k, levels):
    labels, scores = queries(1, levels)
    suffix = "" if k is None else f"@{k}"
    expected = sklearn_metrics.ndcg_score(labels, scores, k=k)
    assert mine(f"ndcg(gain=linear){suffix}", labels, scores).mean() == pytest.approx(expected)
    expected = sklearn_metrics.dcg_score(labels, scores, k=k)
    assert mine(f"dcg(gain=linear){suffix}", labels, scores).mean() == pytest.approx(expected)
    expected = sklearn_metrics.ndcg_score(2.0**labels - 1, scores, k=k)
    assert mine(f"ndcg{suffix}", labels, scores).mean() == pytest.approx(expected)


@pytest.mark.parametrize("k", [None, 5])
def test_ndcg_of_scikit_learn_without_ties(k):
    labels, scores = queries(2)
    expected = sklearn_metrics.ndcg_score(labels, scores, k=k, ignore_ties=True)
    name = "ndcg(gain=linear,ties=stable)" + ("" if k is None else f"@{k}")
    assert mine(name, labels, scores).mean() == pytest.approx(expected)


def test_ndcg_of_scikit_learn_with_weights():
    labels, scores = queries(3, 4)
    weights = np.random.default_rng(0).random(N_QUERIES)
    expected = sklearn_metrics.ndcg_score(labels, scores, sample_weight=weights)
    actual = skrank.metrics.ndcg_score(
        labels.ravel(), scores.ravel(), groups=GROUPS, gain="linear",
        sample_weight=np.repeat(weights, N_DOCUMENTS),
    )  # fmt: skip
    assert actual == pytest.approx(expected)


@pytest.mark.parametrize("rel", [1, 3])
def test_average_precision_of_scikit_learn(rel):
    labels, scores = queries(4)
    actual = mine(f"ap(rel={rel})", labels, scores)
    for value, y, s in zip(actual, labels, scores, strict=True):
        if (y >= rel).any():
            assert value == pytest.approx(sklearn_metrics.average_precision_score(y >= rel, s))
        else:
            assert np.isnan(value)


# ---------------------------------------------------------------------- trec_eval

TREC = {
    "ap": "map",
    "ap@5": "map_cut_5",
    "ndcg(gain=linear)": "ndcg",
    "ndcg(gain=linear)@5": "ndcg_cut_5",
    "ndcg(gain=linear)@100": "ndcg_cut_100",
    "precision@1": "P_1",
    "precision@10": "P_10",
    "precision@100": "P_100",
    "rr": "recip_rank",
    "bpref": "bpref",
    "recall@5": "recall_5",
    "r_precision": "Rprec",
    "success@1": "success_1",
    "precision": "set_P",
    "recall": "set_recall",
    "f1": "set_F",
    "iprec(recall=0.3)": "iprec_at_recall_0.30",
    "iprec(recall=0)": "iprec_at_recall_0.00",
    "iprec(recall=1)": "iprec_at_recall_1.00",
}
MEASURES = {
    "map", "map_cut.5", "ndcg", "ndcg_cut.5,100", "P.1,10,100", "recip_rank", "bpref", "recall.5",
    "Rprec", "success.1", "set_P", "set_recall", "set_F", "iprec_at_recall",
}  # fmt: skip


@pytest.fixture(scope="module")
def trec():
    """Lists with unjudged and unretrieved documents, and what trec_eval says of them."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    labels, scores = queries(5)
    labels = labels.astype(float)
    rng = np.random.default_rng(6)
    labels[rng.random(labels.shape) < 0.2] = np.nan
    labels[:, 3] = 2
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    scores[np.isnan(labels) & np.isinf(scores)] = 0.123
    scores = np.where(np.isinf(scores), scores, scores.argsort(1).argsort(1))
    qrels, run = {}, {}
    for q, (ys, ss) in enumerate(zip(labels, scores, strict=True)):
        qrels[f"{q}"] = {f"d{i}": int(y) for i, y in enumerate(ys) if not np.isnan(y)}
        run[f"{q}"] = {f"d{i}": float(s) for i, s in enumerate(ss) if np.isfinite(s)}
    found = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    return labels, scores, found


@pytest.mark.parametrize("name", TREC)
def test_trec_eval(trec, name):
    labels, scores, found = trec
    actual = mine(name, labels, scores)
    expected = [found[f"{q}"][TREC[name]] for q in range(N_QUERIES)]
    assert_allclose(actual, expected, atol=1e-10)


# ---------------------------------------------------------------------- CatBoost

CATBOOST = {
    "ndcg": "NDCG:type=Exp",
    "ndcg@5": "NDCG:top=5;type=Exp",
    "ndcg(gain=linear)": "NDCG:type=Base",
    "ndcg(gain=linear)@10": "NDCG:top=10;type=Base",
    "dcg": "DCG:type=Exp",
    "dcg(gain=linear)@5": "DCG:top=5;type=Base",
    "ap(normalize=ideal)": "MAP:border=0.5",
    "ap(normalize=ideal)@5": "MAP:top=5;border=0.5",
    "rr": "MRR:border=0.5",
    "rr@3": "MRR:top=3;border=0.5",
}


@pytest.mark.parametrize("name", CATBOOST)
@pytest.mark.parametrize("levels", [None, 4])
def test_catboost_orders_ties_by_label_worst_first(name, levels):
    utils = pytest.importorskip("catboost.utils")
    labels, scores = queries(7, levels)
    target = labels.ravel().astype(float)
    expected = utils.eval_metric(target, scores.ravel(), CATBOOST[name], group_id=GROUPS)[0]
    metric = skrank.metric(name, ties="worst")
    assert mine(metric, labels, scores).mean() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["pfound(p_rel=raw)", "pfound(p_rel=raw)@5"])
def test_pfound_of_catboost(name):
    utils = pytest.importorskip("catboost.utils")
    metric = skrank.metric(name)
    labels, scores = queries(8)
    labels = labels / 5
    theirs = "PFound" + (f":top={metric.k}" if metric.k else "")
    expected = utils.eval_metric(labels.ravel(), scores.ravel(), theirs, group_id=GROUPS)[0]
    assert mine(metric, labels, scores).mean() == pytest.approx(expected, rel=1e-6)


# ------------------------------------------------- what docs/reference/metrics.md says of others

BUILD = Path(__file__).resolve().parents[2] / "docs" / "build.py"
LINES = {
    text: ours
    for lines in runpy.run_path(str(BUILD))["BOOSTERS"].values()
    for text, ours in lines.items()
}


def with_empty_queries(ties):
    """Labels 0 to 3 and scores of 12 queries, of which four have no relevant document."""
    rng = np.random.default_rng(9)
    labels = rng.integers(0, 4, (12, 7)) * (rng.random((12, 7)) < 0.4)
    labels[::3] = 0
    scores = (
        rng.integers(0, 3, (12, 7)) if ties else rng.permuted(np.tile(range(7), (12, 1)), axis=1)
    )
    return labels, scores.astype(float)


def of_scikit_learn(name, labels, scores):
    if name == "label_ranking_average_precision_score":
        labels = labels >= 1
    if name != "average_precision_score":
        return getattr(sklearn_metrics, name)(labels, scores)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # no positive class
        return np.mean(
            [
                sklearn_metrics.average_precision_score(y >= 1, s)
                for y, s in zip(labels, scores, strict=True)
            ]
        )


def of_lightgbm(name, labels, scores):
    """The value after a round that has no feature to split on."""
    lgb = pytest.importorskip("lightgbm")
    n_queries, n_documents = labels.shape
    data = lgb.Dataset(
        np.ones((labels.size, 1)), labels.ravel(), group=[n_documents] * n_queries,
        init_score=scores.ravel(), free_raw_data=False,
    )  # fmt: skip
    log = {}
    metric, _, k = name.partition("@")
    params = {"objective": "lambdarank", "metric": metric, "eval_at": [int(k)], "verbosity": -1}
    lgb.train(params, data, 1, valid_sets=[data], callbacks=[lgb.record_evaluation(log)])
    return log["training"][name][0]


def of_xgboost(name, labels, scores):
    xgb = pytest.importorskip("xgboost")
    groups = np.repeat(range(len(labels)), labels.shape[1])
    data = xgb.DMatrix(
        np.ones((labels.size, 1)), labels.ravel(), qid=groups, base_margin=scores.ravel()
    )
    booster = xgb.train({"eval_metric": name, "objective": "rank:ndcg"}, data, 0)
    return float(booster.eval(data).rpartition(":")[2])


def of_catboost(name, labels, scores):
    utils = pytest.importorskip("catboost.utils")
    groups = np.repeat(range(len(labels)), labels.shape[1])
    return utils.eval_metric(labels.ravel(), scores.ravel(), name, group_id=groups)[0]


PEERS = {
    "scikit-learn": of_scikit_learn,
    "LightGBM": of_lightgbm,
    "XGBoost": of_xgboost,
    "CatBoost": of_catboost,
}


@pytest.mark.parametrize(
    ("line", "ties"),
    [
        (line, ties)
        for line in LINES
        for ties in (False, True)
        if not (ties and "without ties" in line)
    ],
)
def test_values_are_those_of_the_peer_that_the_page_names(line, ties):
    """Queries without a relevant document and ties included."""
    peer, _, rest = line.partition(" ")
    name = rest[1:].partition("`")[0]
    labels, scores = with_empty_queries(ties)
    if "PFound" in name:  # labels are probabilities
        labels = labels / 4
    groups = np.repeat(range(len(labels)), labels.shape[1])
    ours = skrank.metric(LINES[line])(labels.ravel(), scores.ravel(), groups=groups)
    assert PEERS[peer](name, labels, scores) == pytest.approx(ours, rel=0, abs=1e-5)
