"""Values equal those of other libraries with the same definitions."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

import skrank
from tests.helpers.engine import tables


def lists(ties, n_documents=7):
    """Labels 0 to 3 and scores of 12 queries, of which four have no relevant document."""
    rng = np.random.default_rng(9)
    shape = (12, n_documents)
    labels = rng.integers(0, 4, shape) * (rng.random(shape) < 0.4)
    labels[::3] = 0
    order = rng.permuted(np.tile(range(n_documents), (12, 1)), axis=1)
    scores = rng.integers(0, 3, shape) if ties else order
    return labels, scores.astype(float)


def of_scikit_learn(name, labels, scores):
    name, _, inside = name.rstrip(")").partition("(")
    options = {"k": int(inside[2:])} if inside else {}
    if name.startswith("label_ranking"):
        labels = labels >= 1
    if name != "average_precision_score":
        return getattr(sklearn_metrics, name)(labels, scores, **options)
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
    (value,) = (values[0] for values in log["training"].values())
    return value


def of_xgboost(name, labels, scores):
    xgb = pytest.importorskip("xgboost")
    groups = np.repeat(range(len(labels)), labels.shape[1])
    data = xgb.DMatrix(
        np.ones((labels.size, 1)), labels.ravel(), qid=groups, base_margin=scores.ravel()
    )  # fmt: skip
    booster = xgb.train({"eval_metric": name, "objective": "rank:ndcg"}, data, 0)
    return float(booster.eval(data).rpartition(":")[2])


def of_catboost(name, labels, scores):
    utils = pytest.importorskip("catboost.utils")
    groups = np.repeat(range(len(labels)), labels.shape[1])
    return utils.eval_metric(labels.ravel(), scores.ravel(), name, group_id=groups)[0]


LIBRARIES = {
    "lightgbm": of_lightgbm,
    "xgboost": of_xgboost,
    "catboost": of_catboost,
}
NAMES = [
    "lightgbm:ndcg@5", "lightgbm:map@3", "lightgbm:mean_average_precision@50",
    *(f"lightgbm:{name}@50" for name in ("lambdarank", "rank_xendcg", "xendcg", "xe_ndcg",
                                         "xe_ndcg_mart", "xendcg_mart")),
    "xgboost:ndcg", "xgboost:ndcg-", "xgboost:ndcg@5", "xgboost:ndcg@5-", "xgboost:ndcg@50-",
    "xgboost:map", "xgboost:map-", "xgboost:map@3", "xgboost:map@3-", "xgboost:pre",
    "xgboost:pre-", "xgboost:ndcg@-", "xgboost:pre@5", "xgboost:pre@50",
    "catboost:DCG", "catboost:DCG:type=Exp", "catboost:DCG:top=3;type=Base", "catboost:NDCG",
    "catboost:NDCG:top=5;type=Exp", "catboost:NDCG:top=10;type=Base", "catboost:NDCG:top=-1",
    "catboost:MAP", "catboost:MAP:top=5", "catboost:MAP:top=3;border=1.5", "catboost:MRR",
    "catboost:MRR:top=3;border=0.5", "catboost:PFound", "catboost:PFound:top=3;decay=0.7",
    "catboost:PrecisionAt:top=2", "catboost:PrecisionAt:top=50", "catboost:RecallAt:top=2",
    "catboost:RecallAt:top=3;border=1.5",
]  # fmt: skip


@pytest.mark.parametrize(("ties", "n_documents"), [(False, 7), (True, 7), (True, 40)])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_library(name, ties, n_documents):
    """Queries without a relevant document included."""
    library, _, theirs = name.partition(":")
    labels, scores = lists(ties, n_documents)
    if "PFound" in name:  # labels are probabilities
        labels = labels / 4
    if library == "xgboost" and "ndcg" not in name:
        labels = np.minimum(labels, 1)
    groups = np.repeat(range(len(labels)), n_documents)
    ours = skrank.metric(name)(labels.ravel(), scores.ravel(), groups=groups)
    assert LIBRARIES[library](theirs, labels, scores) == pytest.approx(ours, rel=0, abs=1e-5)


def test_all_names_of_libraries_are_compared():
    for library in LIBRARIES:
        read = {name for name, one in tables()[library].items() if one.ours}
        texts = (text.partition(":")[2] for text in NAMES if text.startswith(library))
        assert {re.split(r"[@:(-]", text)[0] for text in texts} == read


# ------------------------------------------------- the table of the page of conventions


PAGE = Path(__file__).parents[2] / "docs" / "conventions.md"
ROWS = re.findall(
    r"^\| ([\w. -]+) \| `(.+?)` \| `(.+?)` \| (.*?) ?\|$", PAGE.read_text("utf-8"), re.M
)
GRADES, RANKED = [0, 2, 1, 0, 3], [9, 8, 7, 6, 5]
BINARY = np.minimum(GRADES, 1)
LOG3 = 1 / np.log2(3)
IDEAL = 1 + LOG3 + 1 / 2  # of three relevant documents
HITS = 1 / 2 + 2 / 3  # precisions at the relevant documents among the first three
# by the definitions of the tools, with the cut-off 3 (LensKit: all five)
BY_HAND = {
    ("ranx", "ndcg@3"): (2 * LOG3 + 0.5) / (3 + 2 * LOG3 + 0.5),
    ("ranx", "ndcg_burges@3"): (3 * LOG3 + 0.5) / (7 + 3 * LOG3 + 0.5),
    ("ranx", "map@3"): HITS / 3,
    ("ranx", "mrr@3"): 1 / 2,
    ("ranx", "precision@3-l2"): 1 / 3,
    ("ranx", "hits@3"): 2,
    ("ranx", "hit_rate@3"): 1,
    ("torchmetrics", "RetrievalMAP(top_k=3)"): HITS / 2,
    ("torchmetrics", "RetrievalNormalizedDCG(top_k=3)"): (2 * LOG3 + 0.5) / (3 + 2 * LOG3 + 0.5),
    ("torchmetrics", "RetrievalRecall(top_k=3)"): 2 / 3,
    ("Recommenders", "map"): HITS / 3,
    ("Recommenders", "map_at_k"): HITS / 3,
    ("Recommenders", "ndcg_at_k"): (LOG3 + 0.5) / IDEAL,
    ("Recommenders", "recall_at_k"): 2 / 3,
    ("RecTools", "MAP(k=3)"): HITS / 3,
    ("RecTools", "MAP(k=3, divide_by_k=True)"): HITS / 3,
    ("RecTools", "NDCG(k=3)"): (LOG3 + 0.5) / IDEAL * IDEAL,
    ("LensKit 0.14", "ndcg"): (2 + 1 / np.log2(3) + 3 / np.log2(5)) / (3 + 2 + 1 / np.log2(3)),
    ("LensKit 0.14", "recall"): 1,
    ("Elasticsearch", "dcg, normalize"): (3 * LOG3 + 0.5) / (7 + 3 * LOG3 + 0.5),
    ("Elasticsearch", "precision"): 2 / 3,
    ("Elasticsearch", "recall"): 2 / 3,
    ("Elasticsearch", "mean_reciprocal_rank"): 1 / 2,
    ("Elasticsearch", "expected_reciprocal_rank"): 3 / 16 / 2 + 13 / 16 * 1 / 16 / 3,
    ("Sentence Transformers", "map@3"): HITS / 3,
    ("Sentence Transformers", "ndcg@3"): (LOG3 + 0.5) / IDEAL,
    ("Sentence Transformers", "recall@3"): 2 / 3,
    ("Sentence Transformers", "accuracy@3"): 1,
}


@pytest.mark.parametrize(("tool", "theirs", "ours", "note"), ROWS)
def test_values_are_those_that_the_page_promises(tool, theirs, ours, note):
    if tool == "scikit-learn":
        for ties in (False, True)[: 1 + (not note)]:
            labels, scores = lists(ties, 40)
            groups = np.repeat(range(12), 40)
            found = skrank.metric(ours)(labels.ravel(), scores.ravel(), groups=groups)
            assert of_scikit_learn(theirs, labels, scores) == pytest.approx(found)
        return
    name = theirs.replace("10", "3")
    labels = BINARY if "labels 0 and 1" in note else GRADES
    found = skrank.metric(ours.replace("@10", "@3"))(labels, RANKED)
    assert found == pytest.approx(BY_HAND[tool, name])


def test_every_value_by_hand_has_a_row():
    shown = {(tool, theirs.replace("10", "3")) for tool, theirs, *_ in ROWS}
    assert set(BY_HAND) <= shown
    assert {tool for tool, *_ in ROWS} > {tool for tool, _ in BY_HAND}
