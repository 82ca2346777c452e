"""One usual call of each public function and class, whose arguments tests replace by odd ones."""

import argparse
import contextlib
import dataclasses
import inspect
import io
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import dask.array as da
import lightgbm
import matplotlib
import numpy as np
import pandas as pd
import xgboost
from sklearn.linear_model import LogisticRegression, Ridge

import skrank
import skrank.dask
import skrank.lightgbm
import skrank.xgboost
from skrank import active, cli, extending, metrics, stats, trec
from tests.helpers import odd
from tests.helpers.catalogue import CATALOGUE

matplotlib.use("Agg")

MODULES = ("active", "datasets", "evaluation", "incompleteness", "informativeness", "lightgbm",
           "metrics", "model_selection", "objectives", "plotting", "preprocessing", "rankers",
           "scoring", "stats", "trec", "xgboost", "dask", "testing", "extending", "cli",
           *(["torch"] if find_spec("torch") else ()), "")  # fmt: skip
# classes that users get from functions, and base classes
NOT_CALLED = {
    "active": ("Campaign", "Decision", "Estimate", "Moments", "Request", "Simulation"),
    "datasets": ("Fold", "LETOR"),
    "evaluation": ("Comparison", "Report"),
    "incompleteness": ("Robustness",),
    "informativeness": ("GradeDistribution", "Study", "ThresholdChoice"),
    "metrics": ("FunctionMetric", "GradedCurve", "Metric"),
    "model_selection": ("SearchSpace",),
    "objectives": ("Objective",),
    "stats": ("Anova", "AnovaRow", "BayesianComparison", "DiscriminativePower",
              "Interval", "ListOverlap", "MaxT", "PairedEffects", "PairedTest", "RankCorrelation",
              "TukeyHSD"),
    "trec": ("FusedRun",),
    "dask": ("DaskScorer", "Partitions", "partition_queries"),  # the last needs a cluster
    "torch": ("QueryBatch", "keep_batch"),
    "": ("Tuning", *(() if find_spec("onnx") else ("save_onnx",))),
    "extending": ("BoundLoss", "BoundObjective", "PairWorth", "Queries",
                  "RelevantSet", "Scale", "SetMetric", "Smooth", "StrictTables", "Tables",
                  "Ranking", "predicted_scores", "require_groups", "run_chunks", "trained_grade"),
}  # fmt: skip


def public() -> set[str]:
    """Names such as "stats.holm" of all functions and classes that users call, each once."""
    names, seen = set[str](), set[int]()
    for place in MODULES:
        module = import_module(f"skrank.{place}" if place else "skrank")
        for name in sorted(set(dir(module)) - {"torch"}):
            thing = getattr(module, name)
            home = str(getattr(thing, "__module__", ""))
            is_package = hasattr(module, "__path__") or place == "extending"
            ours = home.split(".")[0] == "skrank" if is_package else home == module.__name__
            is_error = inspect.isclass(thing) and issubclass(thing, Exception)
            if name.startswith("_") or not callable(thing) or not ours or is_error:
                continue
            if id(thing) in seen or (place == "cli" and name != "main"):
                continue
            seen.add(id(thing))
            if name not in NOT_CALLED.get(place, ()):
                names.add(f"{place}.{name}" if place else name)
    return names


class Call(NamedTuple):
    """A function, the arguments of a usual call, and the range of the numbers that it returns."""

    function: Callable[..., Any]
    given: dict[str, Any]
    low: float
    high: float


class Word(str):
    """An argument of the command line: only another string can take its place."""


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
    """The parameters of a metric that differ from their defaults."""
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
    if _cls.function:
        usual(f"metrics.{_cls.function}", relevance=LABELS, groups=GROUPS, scores=SCORES, **_given)

PARTS = [(0.5, "gap"), (0.5, "ndcg@2")]
unit("metrics.Mixture", partial(per_query, metrics.Mixture), **ROWS, parts=PARTS)
usual("metrics.metric", name="gap", thresholds=[0.5, 0.5], k=3, ties="stable")
usual("metrics.registered")


def first_relevant(ranked):
    return 1 / (1 + np.argmax(ranked > 0)) if (ranked > 0).any() else 0.0


unit(
    "metrics.metric_from_function",
    lambda labels, scores, **given: metrics.metric_from_function(**given)(labels, scores),
    labels=LABELS, scores=SCORES, function=first_relevant, name="first", needs_relevant=True,
    value_range="[0, 1]", greater_is_better=True, unjudged=0.0,
)  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class Renamed(metrics.AP):
    """AP by another name."""


def registered(name, unregistered):
    """Register a class, look up its name, and unregister it."""
    cls = skrank.register(name)(Renamed)
    try:
        skrank.unregister(unregistered)
    finally:
        if cls in metrics.registered().values():
            skrank.unregister(cls.names[0])


usual("metrics.register", registered, name="renamed", unregistered="renamed")
usual("metrics.unregister", partial(registered, "renamed"), unregistered="renamed")
usual("metrics.aggregate_judgments", judgments=[[1, 0], [2, odd.NAN]], method="mean", drop=False)
CURVE = {"relevance": LABELS, "scores": [3.0, 2.0, 2.0, 4.0, -1.0, 1.0]}
unit("metrics.eleven_point_curve", **CURVE, groups=GROUPS, rel=1.0, ties="stable")
usual("metrics.graded_precision_recall_curve", **CURVE, thresholds=[0.5, 0.25, 0.25])
REPORT = {"relevance": LABELS, "scores": SCORES, "groups": GROUPS, "metrics": ["gap", "rr"]}
WEIGHTS = [1.0, 1, 1, 2, 2, 2]
unit("evaluation.evaluate", lambda **given: skrank.evaluate(**given).mean, **REPORT,
     max_grade=3, sample_weight=WEIGHTS)  # fmt: skip
unit(
    "evaluation.compare",
    lambda a, b, **given: skrank.compare({"a": a, "b": b}, **given).to_frame().filter(regex="^p"),
    a=SCORES[::-1], b=SCORES, relevance=[2, 0, 1, 0, 2, 1], groups=GROUPS, alpha=0.1,
    metrics="dcg(empty=0)", n_resamples=50, correction="holm", test="t", random_state=0,
)  # fmt: skip


def gradient(cls, labels, scores, groups, **options):
    grad, hess = cls(**options)(labels, scores, groups=groups)
    assert np.isfinite(grad).all()
    assert (hess >= 0).all()
    return grad


PAIRS = {"sigmoid": 2.0, "truncation_level": 2, "norm": True, "tie_order": "stable",
         "temperature": 1.0, "random_state": 1}  # fmt: skip
for _name, _options in {
    "LambdaRank": PAIRS | {"metric": "gap", "pairs": "all", "perturbations": 2},
    "LambdaLoss": PAIRS | {"metric": "ndcg@3", "mu": 5.0},
    "UnbiasedLambdaRank": PAIRS | {"metric": "ap", "bias_norm": 0.5, "max_position": 3},
    "SoftRank": {"metric": "gap", "sigma": 0.5, "relative": True, "form": "moments"},
    "AdditivePositionBias": {"objective": skrank.LambdaRank("ndcg"), "max_position": 3,
                             "learning_rate": 0.1, "regularization": 0.1},
    "Softmax": {"gain": "linear", "random_gains": True, "random_state": 1},
    "SquaredError": {"gain": "linear", "max_grade": 3, "centered": True},
    "ObjectiveMixture": {"parts": ((0.5, skrank.LambdaRank("gap")), (2.0, skrank.Softmax()))},
    "as_objective": {"objective": "0.5*gap+0.5*err(max_grade=3)", "sigmoid": 0.5},
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

CV = {"objective": "gap", "metrics": ["ndcg@3", "ap"], "folds": 2, "seed": 1, "num_boost_round": 2}
LEAVES = {"verbosity": -1, "num_threads": 1, "num_leaves": 3}
usual("lightgbm.cv", lambda **given: skrank.lightgbm.cv(LEAVES, dataset(), **given), **CV)
usual("xgboost.cv", lambda **given: skrank.xgboost.cv({"nthread": 1}, matrix(), **given), **CV)
usual("xgboost.early_stopping", metric="gap@10", rounds=3, save_best=True, data_name="valid",
      min_delta=0.1)  # fmt: skip


class FirstColumn:
    """A model whose scores are the first column."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0] if np.ndim(X) == 2 else X


unit(
    "scoring.get_scorer",
    lambda metric, scores, labels, groups, **options: skrank.scorer(metric, **options)(
        FirstColumn(), scores, labels, groups=groups
    ),
    metric="gap", **JUDGED, max_grade=3, response_method="auto",
)  # fmt: skip
usual("scoring.RankingScorer", metrics=["gap", "ap"], max_grade=3)
usual("scoring.as_scores", lambda: skrank.scoring.as_scores({skrank.metric("gap"): 0.25}))
usual("scoring.get_scorer_names")


def fitted(cls, X, y, **options):
    found = cls(**options).fit(X, y).predict(X)
    assert np.isfinite(found).all()


COMMON = {"X": DATA.X, "y": Y, "scoring": "gap", "random_state": 0}
usual("rankers.GroupedRanker", partial(fitted, skrank.GroupedRanker), **COMMON, max_queries=9,
      estimator=Ridge(), unjudged="drop")  # fmt: skip
usual(
    "rankers.LinearRanker", partial(fitted, skrank.LinearRanker), **COMMON, objective="gap",
    alpha=0.01, positive=True, sigma=0.5, validation_fraction=0.3, max_iter=3, features="log",
    max_queries=9, unjudged="drop", tol=1e-3,
)  # fmt: skip
usual("rankers.RankerMean", partial(fitted, skrank.RankerMean), **COMMON, weights=[1.0, 2.0],
      estimators=[Ridge(), ("grades", LogisticRegression(max_iter=1000))],
      validation_fraction=0.3)  # fmt: skip
usual("tune", X=DATA.X, y=Y, time_budget=1e-3, boosters=["lightgbm"], cv=2, metric="gap",
      random_state=0, sample_weight=np.ones(len(Y)))  # fmt: skip


def saved(ranker):
    with tempfile.TemporaryDirectory() as folder:
        skrank.save_onnx(ranker, Path(folder, "ranker.onnx"))


if find_spec("onnx"):
    usual("save_onnx", saved, ranker=skrank.LinearRanker(tol=1.0).fit(DATA.X, Y))
usual("with_groups", relevance=LABELS, qid=GROUPS)
usual("rank", lambda **given: skrank.rank(**given)["score"], scores=SCORES, groups=GROUPS, k=2,
      ties="average")  # fmt: skip
usual(
    "preprocessing.QueryFeatures",
    lambda X, groups, **given: skrank.QueryFeatures(**given).fit_transform(X, groups=groups),
    X=np.array([[1, odd.NAN], [2, 1e308], [-1, 3]]), groups=["a", "b", "a"],
    kinds=["rank", "zscore"], keep_original=True,
)  # fmt: skip

# statistics ---------------------------------------------------------------------------------------

OPTIONS = {"weights": [1.0, 2, 1, 1, 1, 0.5], "nan": "drop"}
PAIR, RANDOM = {"pairs": 0}, {"n_resamples": 40, "random_state": 0}
for _name, _given in {
    "paired_t": PAIR, "sign_test": PAIR, "wilcoxon": PAIR | {"zeros": "pratt"},
    "paired_bootstrap": PAIR | RANDOM, "randomisation_test": PAIR | RANDOM,
    "max_t": PAIR | RANDOM | {"alpha": 0.1, "adjust": True}, "tukey_hsd": RANDOM | {"alpha": 0.1},
}.items():  # fmt: skip
    _tested = lambda name=_name, **given: getattr(stats, name)(**given).p_value  # noqa: E731
    unit(f"stats.{_name}", _tested, scores=MATRIX, **OPTIONS, **_given)
usual("stats.discriminative_power", scores=MATRIX, **OPTIONS, **RANDOM, alpha=0.1)
usual("stats.paired_effects", scores=MATRIX, **OPTIONS, pairs=0, confidence=0.9)
usual("stats.two_way_anova", scores=MATRIX, **OPTIONS)
usual("stats.bayesian_comparison", scores=MATRIX, **OPTIONS, rope=0.1, method="signed-rank",
      n_samples=30, random_state=0)  # fmt: skip
VALUES = [0.1, 0.5, 0.9, 0.2]
usual("stats.t_interval", values=VALUES, confidence=0.9, weights=[1.0, 2, 1, 1])
usual("stats.bootstrap_interval", values=VALUES, confidence=0.5, method="bca", n_resamples=50,
      random_state=0, weights=[1.0, 2, 1, 1])  # fmt: skip
usual("stats.bounded_interval", values=VALUES, confidence=0.9, bounds=(0, 1), n_resamples=50,
      random_state=0)  # fmt: skip
X, TIED = [1.0, 2.0, 3.0, 5.0], [1.0, 3.0, 2.0, 3.0]
tau = partial(usual, low=-1, high=1)
tau("stats.kendall_tau", x=X, y=TIED)
tau("stats.tau_b", x=X, y=TIED)
tau("stats.tau_ap", truth=X, estimate=TIED, ties="b", symmetric=True)
unit("stats.rank_biased_overlap", x=X, y=TIED, p=0.9, ties="w")
usual("stats.rank_correlation", x=X, y=TIED, method="tau_b", confidence=0.9, **RANDOM)
usual("stats.list_overlap", x=list("abcd"), y=list("bacd"), p=0.9)
usual("stats.Bets", lambda **given: stats.Bets(**given).interval(0.9), values=[0.2, 0.5, 0.1],
      p=[0.5, 0.25, 0.25], q=[0.5, 0.25, 0.25], draws=[0, 2, 1], bounds=([0, 0, 0], [1, 1, 1]),
      with_replacement=False)  # fmt: skip
unit("stats.holm", p_values=[0.2, 0.01, 0.5])
usual("stats.queries_needed", difference=0.1, std=0.2, alpha=0.1, power=0.7)

# active evaluation --------------------------------------------------------------------------------

ITEMS = np.repeat(np.arange(3), 3)
CAMPAIGN = {
    "groups": ITEMS, "metric": "dcg@2", "grades": [0, 1, 2], "random_state": 0, "mixing": 0.5,
    "label_model": np.full((9, 3), 1 / 3), "labels": np.where(np.arange(9) == 1, 1, odd.NAN),
    "items": np.arange(9), "costs": {0: 1.0, 1: 2.0, 2: 3.0}, "cost_aware": True,
    "frequencies": {0: 2.0, 1: 1.0, 2: 2.0}, "n_label_draws": 3,
}  # fmt: skip


def complete(campaign, first, label):
    """The estimate of a campaign, after its file was read back and all queries were labelled."""
    for request in campaign.ask(first):
        campaign.tell(request, [label] * len(request.rows))
    with tempfile.TemporaryDirectory() as folder:
        campaign.save(Path(folder) / "campaign.npz")
        campaign = type(campaign).load(Path(folder) / "campaign.npz")
    while (request := campaign.next_query()) is not None:
        campaign.tell(request.query, dict.fromkeys(request.items.tolist(), 1))
    found = campaign.estimate()
    assert found.complete
    return found.value


RANDOM_SCORES = [3.0, 1, 2, -1, 1, 2, 0.5, 2, 1]
usual("active.ActiveEvaluator",
      lambda scores, first, label, **given: complete(
          active.ActiveEvaluator(scores, **given), first, label),
      scores=RANDOM_SCORES, first=2, label=1, **CAMPAIGN)  # fmt: skip
usual("active.ActiveComparator",
      lambda a, b, first, label, **given: complete(
          active.ActiveComparator({"a": a, "b": b}, **given), first, label),
      a=RANDOM_SCORES, b=RANDOM_SCORES[::-1], first=2, label=1, center=0.0, **CAMPAIGN)  # fmt: skip
usual("active.estimate", losses=VALUES, weights=[1.0, 2, 1, 1], confidence=0.9)
usual("active.label_moments", metric="gap", scores=RANDOM_SCORES, groups=ITEMS, n_draws=5,
      grades=[0, 1, 2], method="monte-carlo", random_state=0)  # fmt: skip
MOMENTS = active.label_moments("dcg", RANDOM_SCORES, ITEMS, grades=[0, 1, 2])
unit("active.sampling_distribution", moments=MOMENTS, costs=[1.0, 2, 3], mixing=0.5,
     frequencies=[1.0, 2, 1], center=0.5)  # fmt: skip
usual("active.simulate", values=VALUES[:3], q=[0.2, 0.3, 0.5], budgets=[1, 3], n_campaigns=3,
      costs=[1.0, 2, 1], frequencies=[2.0, 1, 1], estimator="lure", random_state=0)  # fmt: skip

# files, collections, data -------------------------------------------------------------------------

QRELS = b"q1 0 d1 2\nq1 0 d2 0\n7 0 d1 1\n"
RUN = b"q1 Q0 d1 1 1.5 tag\nq1 Q0 d3 2 1.0 tag\n7 Q0 d2 1 0.5 tag\n7 Q0 d1 2 0.25 tag\n"
OTHER_RUN = b"q1 Q0 d2 1 1.5 mine\n7 Q0 d1 1 0.5 mine\n"
JUDGMENTS, RUN_VALUES = {"q1": {"d1": 2, "d2": 0}}, {"q1": {"d1": 0.5, "d3": 1.0}}


def file_of(content):
    return io.BytesIO(content) if isinstance(content, bytes) else content


usual("trec.read_qrels", lambda source: trec.read_qrels(file_of(source)), source=QRELS)
usual("trec.read_run", lambda source, **given: trec.read_run(file_of(source), **given),
      source=RUN, name="mine")  # fmt: skip
IDS = {"qid": ["q1", "q1", "7"], "docid": ["d1", "d2", "d1"]}
usual("trec.Qrels", lambda **given: trec.Qrels.from_arrays(**given).to_frame()["label"],
      **IDS, label=[2, 0, 1])  # fmt: skip
usual("trec.Run",
      lambda depth, **given: trec.Run.from_arrays(**given).top(depth).to_frame()["score"],
      **IDS, score=[0.5, 1.5, 1.0], depth=1)  # fmt: skip
unit(
    "trec.evaluate",
    lambda qrels, runs, **given: trec.evaluate(file_of(qrels), file_of(runs), **given).mean,
    qrels=QRELS, runs=RUN, metrics=["gap", "ndcg@2"], max_grade=2, missing="zero", empty=0,
    depth=3, judged_only=True,
)  # fmt: skip
FUSED = [trec.read_run(file_of(one)) for one in (RUN, OTHER_RUN)]
usual("trec.fuse", lambda **given: trec.fuse(FUSED, **given).to_frame()["score"],
      method="rrf", k=10, norm="zscore", name="both")  # fmt: skip
usual("trec.run_lines", run=FUSED[0])
usual("trec.ir_measure", lambda name: trec.ir_measure(name).calc_aggregate(JUDGMENTS, RUN_VALUES),
      name="gap(max_grade=2)")  # fmt: skip
usual("trec.trec_eval_lines", report=trec.evaluate(JUDGMENTS, RUN_VALUES, ["ap", "num_rel"]),
      per_query=True)  # fmt: skip


def letor(content, **given):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "Fold1").mkdir()
        for number, part in enumerate(("train", "vali", "test")):
            text = content if number == 0 else b"1 qid:%d 1:0.5\n" % (number + 10)
            Path(folder, "Fold1", f"{part}.txt").write_bytes(text)
        found = skrank.datasets.load_letor(folder, **given)
        assert np.isfinite(
            (found if given.get("fold") is not None else found.fold(1)).train.X
        ).all()


usual("datasets.load_letor", letor, fold=1, dtype="f4",
      content=b"2 qid:1 1:0.5 3:1 # doc\n0 qid:1 2:1e-3\n1 qid:03 1:-1\n")  # fmt: skip
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
STUDY = COLLECTION | {"min_retrieved": 1, "depth": 8, "rel": (1,)}
usual("incompleteness.reduce_judgments", qrels=COLLECTION["qrels"], percent=50, random_state=0,
      strata="grade")  # fmt: skip
usual("incompleteness.robustness", **COLLECTION, metrics=["ap", "bpref"], percents=[100, 50],
      random_state=0, n_repeats=1, alpha=0.1, n_resamples=10)  # fmt: skip
unit("informativeness.study", lambda **given: skrank.informativeness.study(**given).mean, **STUDY,
     metrics=["ap", "precision@5"])  # fmt: skip
usual("informativeness.select_thresholds", **STUDY, candidates=[(0.5, 0.5), (1, 0)])
usual("informativeness.maximum_entropy", metric="gap", value=0.5, retrieved=[1, 2], n_ranks=6)
usual("informativeness.threshold_grid", n_grades=2, n_steps=4)
unit("informativeness.thresholds_from_clicks", grades=[2, 1, 0, 1], clicks=[3.0, 1, 1, 2])


def splits(cls, labels, groups, **given):
    for train, test in cls(**given).split(np.zeros((len(labels), 1)), labels, groups):
        assert not set(np.asarray(groups)[train]) & set(np.asarray(groups)[test])


SPLIT = {"labels": np.arange(20) % 3, "groups": np.arange(20) % 7}
FOLDS = {"n_splits": 3, "stratify": "n_relevant", "random_state": 0}
for _name, _given in {
    "QueryKFold": FOLDS | {"shuffle": True, "drop_unjudged_test": True},
    "RepeatedQueryKFold": FOLDS | {"n_repeats": 2},
    "LETORFolds": FOLDS | {"shuffle": True},
    "QueryShuffleSplit": FOLDS | {"test_size": 0.2},
    "QueryTimeSeriesSplit": {"n_splits": 2, "gap": 1, "max_train_size": 3},
}.items():
    _splitter = getattr(skrank.model_selection, _name)
    if _name in ("LETORFolds",):
        _given = {"n_splits": 3, "stratify": "size", "shuffle": True, "random_state": 0}
    usual(f"model_selection.{_name}", partial(splits, _splitter), **SPLIT, **_given)
usual("model_selection.query_train_test_split",
      lambda X, **given: skrank.query_train_test_split(X, **given),
      X=np.arange(12.0)[:, None], groups=np.arange(12) % 5, test_size=0.2, valid_size=1,
      random_state=0)  # fmt: skip
usual("model_selection.search_space", estimator=lightgbm.LGBMRanker())

# displays -----------------------------------------------------------------------------------------


def drawn(make, plot=(), **given):
    """Make a display, and draw it with the options that `plot` names."""
    import matplotlib.pyplot as plt

    options = {name: given.pop(name) for name in plot}
    try:
        make(**given).plot(**options).figure_.canvas.draw()
    finally:
        plt.close("all")


TABLE = pd.DataFrame({"cost": [1.0, 2], "value": [0.5, 0.6], "low": [0.4, 0.5], "high": [0.6, 0.7]})
for _name, _plot, _given in (
    ("LinesDisplay", (), {"lines": TABLE, "axes": {"xlabel": "x"}}),
    ("IntervalDisplay", (), {"table": TABLE, "label": "x", "reference": 0.5}),
    ("TauMatrixDisplay", (), {"means": pd.DataFrame(MATRIX), "method": "tau_b"}),
    ("PosteriorDisplay", (), {"found": stats.bayesian_comparison(MATRIX, 0.1),
                                     "names": ["a", "b", "c"], "pair": 1}),
    ("InformativenessDisplay", (), {"mean": pd.DataFrame(
        {1.0: [0.1, 0.2]}, ["gap(thresholds=[0.5,0.5])", "gap(thresholds=[1.0,0.0])"])}),
):  # fmt: skip
    usual(f"plotting.{_name}", partial(drawn, getattr(skrank.plotting, _name), _plot), **_given)
# matplotlib cannot draw the largest numbers
usual("plotting.MetricScatterDisplay", x=X, y=TIED, what="queries")
usual("plotting.QueryComparisonDisplay", values_a=VALUES, values_b=VALUES[::-1], metric="gap")
usual("plotting.PrecisionRecallDisplay",
      partial(drawn, skrank.plotting.PrecisionRecallDisplay.from_predictions),
      relevance=[2, 0, 1, 0, 2, 1], scores=SCORES, groups=GROUPS, name="run")  # fmt: skip

# extensions ---------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class OfTables(skrank.Metric):
    """The metric of tables that a function makes of a scale and a cut-off."""

    reads_judgments = True
    make: object = None

    def tables(self, scale, k):
        return self.make(scale, k)


def by_rank(kind, scale, k):
    weights = extending.discounts(lambda rank: 1 / rank, scale.longest, k)
    return kind(np.asarray(scale.labels) / 4, weights)


def by_preference(scale, k):
    gain, each = np.asarray(scale.labels) / 4, np.ones(scale.n_queries)
    lack = np.where(np.subtract.outer(gain, gain) > 0, 0.1, 0.0) * scale.judged
    return extending.PreferenceTables(gain, lack, each * np.inf, each, "total", scale.unjudged)


for _name, _make in (
    ("QuadraticTables", partial(by_rank, extending.QuadraticTables)),
    ("CascadeTables", partial(by_rank, extending.CascadeTables)),
    ("PreferenceTables", by_preference),
):
    unit(f"extending.{_name}", partial(per_query, partial(OfTables, make=_make)), **ROWS, k=2)
unit("extending.discounts", weights=lambda rank: 1 / rank, longest=4, k=2)
usual("extending.Judgments", lambda relevance: extending.Judgments(
    relevance, extending.Queries.from_groups(np.arange(6) % 2)), relevance=LABELS)  # fmt: skip
usual("testing.make_lists", random_state=0, n_queries=3, longest=4, grades=2, unjudged=0.2,
      missing=0.1, levels=2, special=True, scattered=True)  # fmt: skip
usual("testing.ScoredLists", relevance=np.array(LABELS), scores=np.array(SCORES),
      groups=np.array(GROUPS))  # fmt: skip
usual("testing.check_metric", metric_or_name="gap@2", monotone=False)
usual("testing.check_objective", objective=skrank.LambdaRank("ap"), random=True)

# Dask, networks -----------------------------------------------------------------------------------


def collected(labels, scores, groups, **given):
    rows = [da.from_array(np.asarray(one), chunks=-1) for one in (labels, scores, groups)]
    return skrank.dask.evaluate(*rows, **given).mean


usual("dask.evaluate", collected, **ROWS, metrics="gap", max_grade=3)
usual("dask.scorer", lambda metric, max_grade: skrank.dask.scorer(metric, max_grade=max_grade)(
    FirstColumn(), da.from_array(DATA.X, chunks=(-1, -1)), da.from_array(GRADES, chunks=-1),
    groups=da.from_array(DATA.qid, chunks=-1)), metric="gap", max_grade=5)  # fmt: skip

if find_spec("torch"):
    import torch

    from skrank import torch as networks

    TENSORS = {"scores": torch.tensor(JUDGED["scores"]), "labels": torch.tensor(LABELS),
               "offsets": torch.tensor([0, 3, 6]), "weights": torch.tensor([1.0, 2.0])}  # fmt: skip

    def lost(scores, labels, offsets, weights, **given):
        if isinstance(scores, torch.Tensor) and scores.is_floating_point():
            scores = scores.detach().requires_grad_()
        value = networks.RankingLoss(**given)(scores, labels, offsets, weights=weights)
        if value.requires_grad:
            value.sum().backward()
            assert scores.grad.isfinite().all()
        return value.detach()

    for _path in ("kernels", "native"):
        usual(f"torch.RankingLoss {_path}", lost, **TENSORS, objective="gap", max_grade=3,
              path=_path, reduction="mean")  # fmt: skip

    def accumulated(metric, max_grade, scores, labels, offsets, weights):
        found = networks.MetricAccumulator(metric, max_grade=max_grade)
        found.update(scores, labels, offsets, weights=weights)
        return [*found.compute().values()]

    usual("torch.MetricAccumulator", accumulated, metric="ap", max_grade=3, **TENSORS)
    usual("torch.query_offsets", groups=GROUPS)
    usual(
        "torch.QueryDataset",
        lambda **given: networks.QueryDataset(**given).__getitems__([1, 0]).X.double().numpy(),
        X=np.arange(12.0).reshape(6, 2), relevance=LABELS, groups=list("abaabb"),
        sample_weight=[1.0, 2, 1, 1, 2, 2], dtype=torch.float32,
    )  # fmt: skip
    usual(
        "torch.QueryBatchSampler", lambda **given: [*networks.QueryBatchSampler(**given)],
        data=[3, 1, 4, 1, 5], max_documents=6, max_queries=2, shuffle=True, random_state=0,
        rank=0, world_size=2,
    )  # fmt: skip
    usual(
        "torch.NeuralRanker", partial(fitted, networks.NeuralRanker), **COMMON, objective="gap",
        hidden=(3,), epochs=1, learning_rate=0.01, weight_decay=0.1, dropout=0.5, batch_queries=4,
        standardize=True, eval_metric="gap", warm_start=False, validation_fraction=0.3,
        early_stopping_rounds=1, unjudged="drop", max_queries=9, device="cpu", progress=False,
    )  # fmt: skip

# the command line ---------------------------------------------------------------------------------


def run(*words):
    """What a command prints to standard output; the error that it tells if it fails."""
    out, err = io.StringIO(), io.StringIO()
    ends = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with ends[0], ends[1], mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO())):
        try:
            status = cli.main(list(words))
        except SystemExit as stop:
            status = stop.code
    text = err.getvalue()
    assert "Traceback" not in text
    assert "encountered" not in text  # what numpy warns of
    if status == 0:
        return out.getvalue()
    assert status in (cli.FAILED, 2)
    assert "error: " in text
    if status == cli.FAILED:
        assert_ours(words)
    return ValueError(text)


def assert_ours(words):
    """The error that ended a command is raised by skrank, or by the system for a file."""
    arguments = cli._parser(words[0]).parse_args(words, argparse.Namespace(given=words))
    with warnings.catch_warnings(), mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO())):
        warnings.simplefilter("ignore")
        try:
            arguments.run(arguments)
        except (OSError, ValueError) as error:
            if not (odd.is_ours(error) or getattr(error, "filename", None)):
                raise AssertionError("an error of a library ends the command") from error


def command(*words, contents, **options):
    """A command on files of these contents, with options such as max_grade for --max-grade."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name in contents:
            paths.append(str(Path(folder, name)))
            Path(folder, name).write_bytes(options.pop(name))
        given = (("--" + name.replace("_", "-"), value) for name, value in options.items())
        return run(*words, *paths, *(word for pair in given for word in pair))


SHOWN = {"metric": Word("ndcg@2"), "format": Word("csv")}
FILES = {"qrels": QRELS, "run": RUN}
READ = {"missing": Word("skip"), "empty": Word("0"), "max_grade": Word("2"), "rel": Word("1"),
        "depth": Word("3")}  # fmt: skip
usual("cli.main evaluate", partial(command, "evaluate", contents=FILES), **FILES, **SHOWN,
      **READ)  # fmt: skip
usual("cli.main compare", partial(command, "compare", contents=(*FILES, "other")), **FILES,
      other=OTHER_RUN, **SHOWN, **READ)  # fmt: skip
usual("cli.main curve", partial(command, "curve", contents=FILES), **FILES, format=Word("json"),
      **READ)  # fmt: skip
usual("cli.main fuse", partial(command, "fuse", contents=("run", "other")), run=RUN,
      other=OTHER_RUN, method=Word("combsum"), norm=Word("zscore"), depth=Word("2"),
      name=Word("both"))  # fmt: skip
usual("cli.main metrics", partial(run, "metrics"))
