"""Names and arguments of versions before 0.3, with what replaces them; to be removed in 0.4."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def _as_options(*names: str) -> dict[str, str]:
    return {name: f'options={{"{name}": ...}}' for name in names}


_LEVEL = {"alpha": "confidence=1 - alpha"}
_QID = {"qid": "groups="}
_LABELS = {"labels": "fractional="}
_PAIRS = {
    **dict.fromkeys(("score_norm", "sum_norm"), 'norm=True, "score", "sum" or False'),
    **dict.fromkeys(("pairs", "perturbations", "temperature"), "YetiRank of CatBoost"),
}
_CORRECTION = {"correction": "test, whose correction is fixed, or p_uncorrected of to_frame()"}
_PER_QUERY = {"per_query": "metric(...).per_query"}
_WEIGHTS = {"weights": "paired_t, which takes weights"}
_DEPTH = {"depth": "k"}
_CLICKS = "LightGBM's Dataset(position=), or lambdarank_unbiased of XGBoost"
ARGUMENTS: dict[str, Mapping[str, str]] = {
    **dict.fromkeys(("discriminative_power", "queries_needed", "tukey_hsd"), _LEVEL),
    "Campaign.__init__": {
        name: f"design=skrank.active.Design({name}=...)"
        for name in ("grades", "labels", "items", "costs", "frequencies", "mixing", "center")
    },
    **dict.fromkeys(("study", "select_thresholds"), _DEPTH),
    **dict.fromkeys(("sign_test", "wilcoxon"), _WEIGHTS),
    **dict.fromkeys(("Ranker.fit", "with_groups"), _QID),
    "GroupedRanker.fit": _QID | {"position": _CLICKS},
    "GroupedRanker": _as_options("refit", "unjudged"),
    "LinearRanker": {
        "warm_start": "alpha=, with several numbers, and validation_fraction=0.2",
        "alphas": "alpha=, with several numbers, and validation_fraction=0.2",
        "sigma": 'options={"smoothing": ...}',
        **_as_options("categorical_features", "max_iter", "max_rows", "tol", "unjudged"),
    },
    "NeuralRanker": {
        "warm_start": "ranker.net_.partial_fit of skorch",
        "batch_queries": 'net_params={"batch_size": ...}',
        "dropout": 'net_params={"module__dropout": ...}',
        "weight_decay": 'net_params={"optimizer__weight_decay": ...}',
        **{name: f'net_params={{"{name}": ...}}' for name in ("callbacks", "device", "module")},
        **_as_options("max_queries", "standardize", "unjudged"),
    },
    **dict.fromkeys(("GAP", "graded_precision_recall_curve"), _LABELS),
    **dict.fromkeys(("LambdaLoss", "LambdaRank"), _PAIRS),
    "SoftRank": {"form": "LambdaRank, which takes cut-offs and all discounts"},
    "RankerMean": dict.fromkeys(("random_state", "validation_fraction"), "weights=, as numbers"),
    "register": {"function": "skrank.metric_from_function"},
    "cv": _PER_QUERY | {"seed": "random_state"},
    "eval_metric": _PER_QUERY,
    "xgboost.cv": _PER_QUERY
    | {"seed": "random_state"}
    | {"return_boosters": "a callback that reads model.cvfolds"},
    "Report.to_frame": {"interval": "t_interval or bootstrap_interval of skrank.stats"},
    "Report.compare": _LEVEL | _CORRECTION,
    "Run.top": {"depth": "k"},
    "compare": _LEVEL | _CORRECTION | {"test_share": "skrank.compare_cv(results, test_share=...)"},
    "compare_cv": _CORRECTION,
    "fuse": {"k": "rrf_k, the constant of reciprocal rank fusion"},
    "trec.evaluate": {"depth": "k"},
    "max_t": _LEVEL | {"adjust": "pairs=, with one pair at a time"},
    "robustness": _LEVEL | {"top_n": "runs=, with the runs to compare"},
}
_OF_MODULES = {
    "dask": {"DaskScorer": "skrank.dask.scorer", "partition_queries Partitions": "collections"},
    "lightgbm": {"QueryLog": "metric(...).per_query"},
    "metrics": {
        "BPMResidual INSQResidual INSTResidual SDCGResidual": "cwl_eval, which has residuals",
        "FunctionMetric": "metric_from_function",
    },
    "model_selection": {
        "LETORFolds": "QueryKFold(5), and validation_fraction=0.25 of the ranker",
        "RepeatedQueryKFold": "QueryKFold(n_repeats=, shuffle=True)",
        "SearchSpace": "search_space",
    },
    "objectives": {"AdditivePositionBias UnbiasedLambdaRank": _CLICKS},
    "plotting": {
        "ASLCurveDisplay CampaignDisplay RobustnessDisplay": "LinesDisplay",
        "ElevenPointDisplay GradedPrecisionRecallDisplay": "PrecisionRecallDisplay",
    },
    "scoring": {"get_scorer": "skrank.scorer"},
    "stats": {
        "MaxT TukeyHSD EquivalenceTest PairedEffects": "PairedTest",
        "Anova BayesianComparison RankCorrelation": "what statsmodels, baycomp and SciPy return",
        "benjamini_hochberg": "scipy.stats.false_discovery_control",
        "cohen_kappa": "cohen_kappa_score of scikit-learn",
        "equivalence_test fleiss_kappa paired_t_power": "statsmodels",
        "krippendorff_alpha": "the package krippendorff",
    },
    "torch": {"keep_batch": "DataLoader(queries, collate_fn=queries.collate)"},
    "trec": {"FusedRun": "Run, which fuse returns", "TrecReport": "skrank.Report"},
    "xgboost": {"QueryLog": "metric(...).per_query"},
}
NAMES = {
    f"skrank.{module}.{name}": use
    for module, rows in _OF_MODULES.items()
    for names, use in rows.items()
    for name in names.split()
} | {
    "skrank.AdditivePositionBias": _CLICKS,
    "skrank.LETORFolds": "QueryKFold(5), and validation_fraction=0.25 of the ranker",
    "skrank.RepeatedQueryKFold": "QueryKFold(n_repeats=, shuffle=True)",
    "skrank.UnbiasedLambdaRank": _CLICKS,
    "skrank.active.label_moments": "moments of a campaign",
    "skrank.active.models": "a classifier of scikit-learn, such as LogisticRegression",
    "skrank.active.sampling_distribution": "sampling of a campaign",
    "skrank.get_scorer": "skrank.scorer",
    "skrank.metrics.*_score": 'skrank.metric("ndcg@10")(relevance, scores, groups=qid)',
    "skrank.plotting.MetricScatterDisplay": 'report.mean.plot.scatter("ap", "gap") of pandas',
    "skrank.plotting.PosteriorDisplay": "two_on_multiple of baycomp",
    "skrank.stats.Bets": "a number of queries that is fixed before the first look",
    "skrank.stats.bayesian_comparison": "two_on_multiple of baycomp",
    "skrank.stats.bounded_interval": "bootstrap_interval",
    "skrank.stats.paired_effects": "compare(...).to_frame(), or paired_t",
    "skrank.stats.rank_correlation": "tau_b or tau_ap; scipy.stats.kendalltau for the p-value",
    "skrank.stats.two_way_anova": "anova_lm of statsmodels",
    "skrank.trec.trec_eval_lines": "skrank evaluate --format trec_eval, or report.per_query",
    "skrank.torch.QueryBatchSampler": "DataLoader(queries, collate_fn=queries.collate)",
}


def refuse_old_arguments(function: F) -> F:
    """Decorator: an argument of an earlier version raises a TypeError that names the new one.

    It decorates a function, or a class, whose `__init__` then refuses the argument.
    """
    name, owner = function.__qualname__, cast(Any, function)
    full = f"{function.__module__.split('.')[1]}.{name}"  # such as trec.evaluate
    name = full if full in ARGUMENTS else name
    is_class = isinstance(function, type)
    called = owner.__init__ if is_class else owner

    @wraps(called)
    def call(*args: Any, **kwargs: Any) -> Any:
        for old, use in ARGUMENTS[name].items():
            if old in kwargs:
                raise TypeError(f"{name} has no argument {old} any more: use {use}.")
        return called(*args, **kwargs)

    if is_class:
        owner.__init__ = call
        return function
    return cast(F, call)


def refuse_old_names(module: str) -> None:
    """Give a module a `__getattr__`: an old name raises an ImportError that names the new one.

    An AttributeError would not reach users: ``from skrank import old`` replaces its message. Type
    checkers do not see the function, so that they still refuse names that a module does not have.
    """
    otherwise = vars(sys.modules[module]).get("__getattr__")

    def find(name: str) -> object:
        use = NAMES.get(f"{module}.{'*_score' if name.endswith('_score') else name}")
        if use is not None:
            raise ImportError(f"{module} has no {name} any more: use {use}.", name=name)
        if otherwise is not None:
            return otherwise(name)
        raise AttributeError(f"{module} has no {name}")

    vars(sys.modules[module])["__getattr__"] = find
