"""kind_of: the EstimatorKind of an estimator, by its class."""

from __future__ import annotations

from inspect import Parameter, signature

import sklearn
from sklearn.pipeline import Pipeline

from skrank._fitted import DASK_MODULES, is_instance
from skrank._typing import Estimator
from skrank.rankers._catboost import CatBoost
from skrank.rankers._dask import DaskLightGBMRanker, DaskXGBoostRanker
from skrank.rankers._fit import EstimatorKind, Fit
from skrank.rankers._hist import HistGradientBoosting
from skrank.rankers._lightgbm import LightGBM
from skrank.rankers._xgboost import XGBoost

_BOOSTERS = (DaskLightGBMRanker, DaskXGBoostRanker, LightGBM, XGBoost, CatBoost)
# arguments of `fit` that take the query of each row; `group` of LightGBM takes sizes of queries
_QUERY_ARGUMENTS = ("groups", "qid", "qids", "group_id")


def kind_of(estimator: Estimator) -> EstimatorKind:
    """The kind of an estimator."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise TypeError(
            f"estimator={estimator!r} has no fit: pass an estimator, such as lightgbm.LGBMRanker()."
        )
    if isinstance(estimator, Pipeline) and kind_of(estimator.steps[-1][1]).trains_on_queries:
        inner = type(estimator.steps[-1][1]).__name__
        raise TypeError(
            f"a Pipeline passes no groups to its {inner}: put the GroupedRanker into the pipeline, "
            f"make_pipeline(..., GroupedRanker({inner}()))."
        )
    if is_instance(estimator, *HistGradientBoosting.classes):
        return HistGradientBoosting()
    for kind in _BOOSTERS:
        if is_instance(estimator, *kind.classes[:2]):
            on_dask = type(estimator).__module__.startswith(DASK_MODULES)
            if on_dask and not kind.on_workers:
                raise TypeError(
                    f"{type(estimator).__name__} trains on single rows of Dask collections: give "
                    "DaskLGBMRanker or DaskXGBRanker to GroupedRanker, or train it by its own fit."
                )
            return kind(estimator)
    return OtherKind(estimator)


class OtherKind(EstimatorKind):
    """Any other estimator. It trains on queries if its `fit` has an argument for queries."""

    def __init__(self, estimator: Estimator) -> None:
        known = signature(estimator.fit).parameters
        self.query_argument = next((name for name in _QUERY_ARGUMENTS if name in known), None)
        self.trains_on_queries = self.query_argument is not None

    def train(self, fit: Fit) -> None:
        estimator, train = fit.estimator, fit.train
        if self.query_argument is not None:
            # the caller's ids: rankers of skrank compare them with those on the index of X
            fit.arguments[self.query_argument] = train.queries.ids[train.queries.row_query]
        if train.weights is not None:
            fit.arguments[weight_argument(estimator)] = train.weights
        fit.estimator = estimator.fit(train.X, train.y, **fit.arguments)


def weight_argument(estimator: Estimator) -> str:
    """Argument of `fit` for weights, such as "step__sample_weight" of a Pipeline."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    known = signature(last.fit).parameters
    kinds = {parameter.kind for parameter in known.values()}
    takes_any = Parameter.VAR_KEYWORD in kinds  # as FrozenEstimator
    if "sample_weight" not in known and not takes_any:
        raise ValueError(f"{type(last).__name__} takes no sample_weight: fit without it.")
    if last is estimator or sklearn.get_config()["enable_metadata_routing"]:
        return "sample_weight"
    return f"{estimator.steps[-1][0]}__sample_weight"
