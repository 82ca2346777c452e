"""Values equal those of other libraries with the same definitions."""

import re
import warnings

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

import skrank
from tests.helpers import reference as ref
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
    "sklearn": of_scikit_learn,
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
    "xgboost:pre-", "xgboost:pre@5", "xgboost:pre@50",
    "catboost:DCG", "catboost:DCG:type=Exp", "catboost:DCG:top=3;type=Base", "catboost:NDCG",
    "catboost:NDCG:top=5;type=Exp", "catboost:NDCG:top=10;type=Base", "catboost:NDCG:top=-1",
    "catboost:MAP", "catboost:MAP:top=5", "catboost:MAP:top=3;border=1.5", "catboost:MRR",
    "catboost:MRR:top=3;border=0.5", "catboost:PFound", "catboost:PFound:top=3;decay=0.7",
    "catboost:PrecisionAt:top=2", "catboost:PrecisionAt:top=50", "catboost:RecallAt:top=2",
    "catboost:RecallAt:top=3;border=1.5",
    "sklearn:ndcg_score", "sklearn:ndcg_score(k=5)", "sklearn:ndcg_score(k=1)",
    "sklearn:ndcg_score(k=50)", "sklearn:dcg_score", "sklearn:dcg_score(k=3)",
    "sklearn:average_precision_score", "sklearn:label_ranking_average_precision_score",
]  # fmt: skip
ONE_STEP = ("average_precision_score", "label_ranking_average_precision_score")


@pytest.mark.parametrize("n_documents", [7, 40])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_library(name, ties, n_documents):
    """Queries without a relevant document included."""
    library, _, theirs = name.partition(":")
    if ties and theirs in ONE_STEP:
        pytest.skip("the page says that the values differ with ties")
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


# ------------------------------------------------- NTCIREVAL, by literal definitions


def of_ntcireval(labels, scores, gains, k, beta=1.0, p=0.95, base=2.0):
    """The literal definitions of what README.adhoc and Sakai (2014) define, for grades 1 to 3."""
    lists = {
        "ranked": [ref.from_array(labels)[row] for row in ref.ranking(scores)],
        "unretrieved": ref.missing(scores, ref.from_array(labels)),
    }
    cut, best, gain = {"k": k}, {"normalize": "ideal"}, {"gain": [0, *gains]}
    scale = gain | {"max_grade": 3}
    return {
        "AP": ref.ap(**lists, **best),
        f"AP@{k:04d}": ref.ap(**lists, **best, **cut),
        "Q-measure": ref.q(**lists, **gain, beta=beta, **best),
        f"Q@{k}": ref.q(**lists, **gain, beta=beta, **best, **cut),
        f"nDCG@{k}": ref.ndcg(**lists, **gain, discount="jk", base=base, **cut),
        f"MSnDCG@{k}": ref.ndcg(**lists, **gain, **cut),
        f"Prec@{k}": ref.precision(**lists, **cut),
        f"P@{k}": ref.precision(**lists, **cut),
        f"Hit@{k}": ref.success(**lists, **cut),
        "RR": ref.rr(**lists),
        f"RBP@{k}": ref.rbp(**lists, **scale, p=p, **cut),
        f"ERR@{k}": ref.err(**lists, **scale, **cut),
        f"nERR@{k}": ref.nerr(**lists, **scale, **cut),
        f"GAP@{k}": ref.gap(**lists, thresholds=[1 / 6, 2 / 6, 3 / 6], **best, **cut),
        "bpref": ref.bpref(**lists),
        "bpref_R": ref.bpref(**lists, variant="romip"),
        "bpref_N": ref.bpref(**lists, variant="n"),
        "bpref_relative": ref.bpref(**lists, variant="relative"),
        "rpref_N": ref.rpref(**lists, **scale, variant="n"),
        "rpref_relative": ref.rpref(**lists, **scale, variant="relative"),
        "rpref_relative2": ref.rpref(**lists, **scale),
    }


@pytest.mark.parametrize("k", [3, 10, 100])
@pytest.mark.parametrize(
    ("options", "how"),
    [
        ("(g=1:2:3)", {"gains": (1, 2, 3)}),
        ("(g=1:3:7,beta=2,rbp=0.8,logb=3)",
         {"gains": (1, 3, 7), "beta": 2.0, "p": 0.8, "base": 3.0}),
    ],
)  # fmt: skip
def test_values_are_those_that_ntcireval_defines(options, how, k):
    rng = np.random.default_rng(4)
    for _ in range(20):
        labels = rng.choice([0.0, 0.0, 1.0, 2.0, 3.0, np.nan], 25)
        labels[:2] = 0, 1
        scores = rng.permutation(25).astype(float)
        scores[(rng.random(25) < 0.2) & ~np.isnan(labels)] = -np.inf
        literal = of_ntcireval(labels, scores, k=k, **how)
        assert {name.partition("@")[0] for name in literal} == {
            name for name, one in tables()["ntcireval"].items() if one.ours
        }
        for name, expected in literal.items():
            base, at, cut = name.partition("@")
            ours = skrank.metric(f"ntcireval:{base}{options}{at}{cut}")
            assert ours(labels, scores) == pytest.approx(expected, abs=1e-12), (name, labels)
