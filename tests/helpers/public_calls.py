"""One usual call of each public function and class, whose arguments tests replace by odd ones."""

import dataclasses
import io
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import lightgbm
import matplotlib
import numpy as np
import xgboost
from sklearn.linear_model import LogisticRegression, Ridge

import skrank
import skrank.dask
import skrank.lightgbm
import skrank.preprocessing
import skrank.xgboost
from skrank import metrics, stats, trec
from tests.helpers import odd
from tests.helpers.catalogue import CATALOGUE

matplotlib.use("Agg")


class Call(NamedTuple):
    function: Callable[..., Any]
    given: dict[str, Any]
    low: float
    high: float


CALLS: dict[str, Call] = {}


def usual(name, function=None, /, low=-np.inf, high=np.inf, **given):
    """Add the usual call of a public name, by which `function` is found unless it is given."""
    if function is None:
        place, _, last = name.rpartition(".")
        function = getattr(import_module(f"skrank.{place}" if place else "skrank"), last)
    assert name not in CALLS
    CALLS[name] = Call(function, given, low, high)


unit = partial(usual, low=0, high=1)

LABELS, SCORES = [2.0, 0.0, 1.0, 0.0, 3.0, odd.NAN], [3.0, 2.0, 2.0, 4.0, -odd.INF, 1.0]
GROUPS = ["a", "a", "a", "b", "b", "b"]
ROWS = {"labels": LABELS, "scores": SCORES, "groups": GROUPS}
JUDGED = {"labels": [2.0, 0.0, 1.0, 0.0, 3.0, 1.0], "scores": [3.0, 2.0, 2.0, 4.0, -1.0, 1.0],
          "groups": GROUPS}  # fmt: skip
DATA = skrank.datasets.make_ranking(12, n_docs=(3, 6), n_features=8, random_state=0)
FIRST = np.append(True, DATA.qid[1:] != DATA.qid[:-1])  # row of each query
GRADES = np.where(FIRST, np.maximum(DATA.relevance, 1), DATA.relevance)
Y = skrank.with_groups(GRADES, DATA.qid)
MATRIX = np.random.default_rng(0).random((6, 3))

# metrics, evaluation, objectives ------------------------------------------------------------------


def changed(metric):
    named = {field.name: getattr(metric, field.name) for field in dataclasses.fields(metric)}
    default = type(metric)()
    return {name: value for name, value in named.items() if value != getattr(default, name)}


def per_query(cls, labels, scores, groups, **parameters):
    metric = cls(**parameters)
    if metric.names:
        assert skrank.metric(str(metric)) == metric
    return metric.per_query(labels, scores, groups=groups)


for _cls in metrics.registered().values():
    _points = [point for point in CATALOGUE if type(point.metric) is _cls]
    _given = max((changed(point.settled) for point in _points), key=len)
    usual(f"metrics.{_cls.__name__}", partial(per_query, _cls), **ROWS, **_given)

usual("metrics.metric", name="gap", thresholds=[0.5, 0.5], k=3, ties="stable")


def first_relevant(ranked):
    return 1 / (1 + np.argmax(ranked > 0)) if (ranked > 0).any() else 0.0


unit(
    "metrics.metric_from_function",
    lambda labels, scores, **given: metrics.metric_from_function(**given)(labels, scores),
    labels=LABELS, scores=SCORES, function=first_relevant, name="first", needs_relevant=True,
    value_range=(0, 1), greater_is_better=True, unjudged=0.0,
)  # fmt: skip


CURVE = {"relevance": LABELS, "scores": [3.0, 2.0, 2.0, 4.0, -1.0, 1.0]}
unit("metrics.eleven_point_curve", **CURVE, groups=GROUPS, rel=1.0, ties="stable")
usual("metrics.graded_precision_recall_curve", **CURVE, thresholds=[0.5, 0.25, 0.25])
REPORT = {"relevance": LABELS, "scores": SCORES, "groups": GROUPS, "metrics": ["gap", "rr"]}
WEIGHTS = [1.0, 1, 1, 2, 2, 2]
unit("evaluation.evaluate", lambda **given: skrank.evaluate(**given).mean, **REPORT,
     max_grade=3, sample_weight=WEIGHTS)  # fmt: skip
unit(
    "evaluation.compare",
    lambda relevance, a, b, **given: (
        skrank.compare(relevance, {"a": a, "b": b}, **given).to_frame().filter(regex="^p")
    ),
    a=SCORES[::-1], b=SCORES, relevance=[2, 0, 1, 0, 2, 1], groups=GROUPS, confidence=0.9,
    metrics="dcg(empty=0)", n_resamples=50, test="t", random_state=0,
)  # fmt: skip


def gradient(cls, labels, scores, groups, **options):
    grad, hess = cls(**options)(labels, scores, groups=groups)
    assert np.isfinite(grad).all()
    assert (hess >= 0).all()
    return grad


PAIRS = {"sigmoid": 2.0, "truncation_level": 2, "norm": True, "tie_order": "stable",
         "random_state": 1}  # fmt: skip
for _name, _options in {
    "LambdaRank": PAIRS | {"metric": "gap"},
    "LambdaLoss": PAIRS | {"metric": "ndcg@3", "mu": 5.0},
    "SoftRank": {"metric": "gap", "sigma": 0.5, "relative": True},
    "Softmax": {"gain": "linear", "random_gains": True, "random_state": 1},
    "SquaredError": {"gain": "linear", "max_grade": 3, "centered": True},
    "ObjectiveMixture": {"parts": ((0.5, skrank.LambdaRank("gap")), (2.0, skrank.Softmax()))},
    "as_objective": {"objective": "err(max_grade=3)", "sigmoid": 0.5},
}.items():  # fmt: skip
    _made = getattr(skrank.objectives, _name)
    usual(f"objectives.{_name}", partial(gradient, _made), **JUDGED, **_options)

# boosters, scorers, rankers -----------------------------------------------------------------------

SIZES = np.unique(DATA.qid, return_counts=True)[1]


def dataset():
    return lightgbm.Dataset(DATA.X, DATA.relevance, group=SIZES, params={"verbose": -1})


def matrix():
    return xgboost.DMatrix(DATA.X, DATA.relevance, qid=DATA.qid)


def called_by_lightgbm(made, preds, **given):
    return made(**given)(preds, dataset().construct())


def called_by_xgboost(made, preds, **given):
    return made(**given)(preds, matrix())


PREDS = np.arange(len(DATA.qid)) % 4 - 1.0
for _name, _module, _called in (("lightgbm", skrank.lightgbm, called_by_lightgbm),
                                ("xgboost", skrank.xgboost, called_by_xgboost)):  # fmt: skip
    usual(f"{_name}.objective", partial(_called, _module.objective), x="gap", preds=PREDS,
          tie_order="stable", sigmoid=1.0)  # fmt: skip
    usual(f"{_name}.eval_metric",
          lambda metric, called=_called, module=_module, **given: called(
              partial(module.eval_metric, metric), **given),
          metric="gap@10", preds=PREDS, max_grade=4)  # fmt: skip


class FirstColumn:
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0] if np.ndim(X) == 2 else X


unit(
    "scoring.scorer",
    lambda metric, scores, labels, groups, **options: skrank.scorer(metric, **options)(
        FirstColumn(), scores, labels, groups=groups
    ),
    metric="gap", **JUDGED, max_grade=3, response_method="auto",
)  # fmt: skip


def fitted(cls, X, y, **options):
    found = cls(**options).fit(X, y).predict(X)
    assert np.isfinite(found).all()


COMMON = {"X": DATA.X, "y": Y, "scoring": "gap", "random_state": 0}
usual("rankers.GroupedRanker", partial(fitted, skrank.GroupedRanker), **COMMON, max_queries=9,
      estimator=Ridge(), options={"unjudged": "drop"})  # fmt: skip
usual(
    "rankers.LinearRanker", partial(fitted, skrank.LinearRanker), **COMMON, objective="gap",
    alpha=0.01, positive=True, validation_fraction=0.3, features="log", max_queries=9,
    options={"smoothing": 0.5, "max_iter": 3, "unjudged": "drop", "tol": 1e-3},
)  # fmt: skip
usual("rankers.RankerMean", partial(fitted, skrank.RankerMean), X=DATA.X, y=Y, scoring="gap",
      weights=[1.0, 2.0],
      estimators=[Ridge(), ("grades", LogisticRegression(max_iter=1000))])  # fmt: skip
usual("with_groups", relevance=LABELS, groups=GROUPS)
usual("rank", lambda **given: skrank.rank(**given)["score"], scores=SCORES, groups=GROUPS, k=2,
      ties="average")  # fmt: skip
usual(
    "preprocessing.QueryFeatures",
    lambda X, groups, **given: skrank.QueryFeatures(**given).fit_transform(X, groups=groups),
    X=np.array([[1, odd.NAN], [2, 1e308], [-1, 3]]), groups=["a", "b", "a"],
    kinds=["rank", "zscore"], keep_original=True,
)  # fmt: skip

usual("preprocessing.RidgeImputer",
      lambda X, y: skrank.preprocessing.RidgeImputer().fit(X, y).transform(X),
      X=np.array([[1.0, odd.NAN], [2, 50], [-1, 3]]), y=[1.0, 0.0, -1.0])  # fmt: skip

# statistics ---------------------------------------------------------------------------------------

OPTIONS = {"weights": [1.0, 2, 1, 1, 1, 0.5], "nan": "drop"}
PAIR, RANDOM = {"pairs": 0}, {"n_resamples": 40, "random_state": 0}
for _name, _given in {
    "paired_t": PAIR | {"confidence": 0.9},
    "paired_bootstrap": PAIR | RANDOM, "randomisation_test": PAIR | RANDOM,
    "max_t": PAIR | RANDOM | {"confidence": 0.9},
    "tukey_hsd": RANDOM | {"confidence": 0.9},
}.items():  # fmt: skip
    _tested = lambda name=_name, **given: getattr(stats, name)(**given).p_value  # noqa: E731
    unit(f"stats.{_name}", _tested, scores=MATRIX, **OPTIONS, **_given)
unit("stats.sign_test", lambda **given: stats.sign_test(**given).p_value, scores=MATRIX, pairs=0)
unit("stats.wilcoxon", lambda **given: stats.wilcoxon(**given).p_value, scores=MATRIX,
     pairs=0)  # fmt: skip
usual("stats.discriminative_power", scores=MATRIX, **OPTIONS, **RANDOM, confidence=0.9)
VALUES = [0.1, 0.5, 0.9, 0.2]
usual("stats.t_interval", values=VALUES, confidence=0.9, weights=[1.0, 2, 1, 1])
usual("stats.bootstrap_interval", values=VALUES, confidence=0.5, method="bootstrap-t",
      n_resamples=50, random_state=0, weights=[1.0, 2, 1, 1])  # fmt: skip
X, TIED = [1.0, 2.0, 3.0, 5.0], [1.0, 3.0, 2.0, 3.0]
tau = partial(usual, low=-1, high=1)
tau("stats.tau_b", x=X, y=TIED)
tau("stats.tau_ap", truth=X, estimate=TIED, ties="b")
unit("stats.holm", p_values=[0.2, 0.01, 0.5])

# files, collections, data -------------------------------------------------------------------------

QRELS = b"q1 0 d1 2\nq1 0 d2 0\n7 0 d1 1\n"
RUN = b"q1 Q0 d1 1 1.5 tag\nq1 Q0 d3 2 1.0 tag\n7 Q0 d2 1 0.5 tag\n7 Q0 d1 2 0.25 tag\n"
OTHER_RUN = b"q1 Q0 d2 1 1.5 mine\n7 Q0 d1 1 0.5 mine\n"


def file_of(content):
    return io.BytesIO(content) if isinstance(content, bytes) else content


usual("trec.read_qrels", lambda source: trec.read_qrels(file_of(source)), source=QRELS)
usual("trec.read_run", lambda source, **given: trec.read_run(file_of(source), **given),
      source=RUN, name="mine")  # fmt: skip
IDS = {"qid": ["q1", "q1", "7"], "docid": ["d1", "d2", "d1"]}
usual("trec.Qrels", lambda **given: trec.Qrels.from_arrays(**given).to_frame()["label"],
      **IDS, label=[2, 0, 1])  # fmt: skip
usual("trec.Run",
      lambda k, **given: trec.Run.from_arrays(**given).top(k).to_frame()["score"],
      **IDS, score=[0.5, 1.5, 1.0], k=1)  # fmt: skip
unit(
    "trec.evaluate",
    lambda qrels, runs, **given: trec.evaluate(file_of(qrels), file_of(runs), **given).mean,
    qrels=QRELS, runs=RUN, metrics=["gap", "ndcg@2"], max_grade=2, missing="zero", empty=0,
    k=3, judged_only=True,
)  # fmt: skip
FUSED = [trec.read_run(file_of(one)) for one in (RUN, OTHER_RUN)]
usual("trec.fuse", lambda **given: trec.fuse(FUSED, **given).to_frame()["score"],
      method="rrf", rrf_k=10, norm="zscore", name="both")  # fmt: skip


usual("datasets.make_ranking", lambda **given: skrank.datasets.make_ranking(**given).X,
      n_queries=3, n_docs=(1, 5), n_features=9, n_informative=3, noise=0.5, empty_fraction=0.1,
      max_grade=3, random_state=0)  # fmt: skip

_random = np.random.default_rng(0)
_ids = {"qid": np.repeat(np.arange(4), 12), "docid": np.tile(np.arange(12), 4)}
_grades = _random.integers(0, 3, 48)
COLLECTION = {
    "qrels": trec.Qrels.from_arrays(**_ids, label=_grades),
    "runs": tuple(
        trec.Run.from_arrays(**_ids, score=_grades + _random.normal(size=48), name=name)
        for name in ("a", "b", "c")
    ),
}
usual("incompleteness.reduce_judgments", qrels=COLLECTION["qrels"], percent=50, random_state=0)
usual("incompleteness.robustness", **COLLECTION, metrics=["ap", "bpref"], percents=[100, 50],
      random_state=0, n_repeats=1, confidence=0.9, n_resamples=10)  # fmt: skip


def splits(cls, labels, groups, **given):
    for train, test in cls(**given).split(np.zeros((len(labels), 1)), labels, groups):
        assert not set(np.asarray(groups)[train]) & set(np.asarray(groups)[test])


SPLIT = {"labels": np.arange(20) % 3, "groups": np.arange(20) % 7}
FOLDS = {"n_splits": 3, "stratify": "n_relevant", "random_state": 0}
for _name, _given in {
    "QueryKFold": FOLDS | {"shuffle": True, "drop_unjudged_test": True, "n_repeats": 2},
    "QueryShuffleSplit": FOLDS | {"test_size": 0.2},
    "QueryTimeSeriesSplit": {"n_splits": 2, "gap": 1, "max_train_size": 3},
}.items():
    _splitter = getattr(skrank.model_selection, _name)
    usual(f"model_selection.{_name}", partial(splits, _splitter), **SPLIT, **_given)
usual("model_selection.query_train_test_split",
      lambda X, **given: skrank.query_train_test_split(X, **given),
      X=np.arange(12.0)[:, None], groups=np.arange(12) % 5, test_size=0.2, valid_size=1,
      random_state=0)  # fmt: skip
