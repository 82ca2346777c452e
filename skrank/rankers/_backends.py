"""Which kind an estimator is of, and so how it is trained; each kind has a file of its own."""

from __future__ import annotations

from skrank._typing import Estimator
from skrank.rankers import _catboost, _dask, _hist, _lightgbm, _xgboost
from skrank.rankers._other import other
from skrank.rankers._training import Backend

# by package and name of a class, the nearest kinds first: no booster is imported to be recognised
_RANKERS = {
    ("lightgbm", "DaskLGBMRanker"): _dask.LIGHTGBM,
    ("xgboost", "DaskXGBRanker"): _dask.XGBOOST,
    ("lightgbm", "LGBMRanker"): _lightgbm.RANKER,
    ("xgboost", "XGBRanker"): _xgboost.RANKER,
    ("catboost", "CatBoostRanker"): _catboost.RANKER,
}
_REGRESSORS = {
    ("lightgbm", "LGBMModel"): _lightgbm.REGRESSOR,
    ("xgboost", "XGBModel"): _xgboost.REGRESSOR,
    ("catboost", "CatBoost"): _catboost.REGRESSOR,
    ("sklearn", "BaseHistGradientBoosting"): _hist.BACKEND,
}
_CLASSIFIERS = {
    ("lightgbm", "LGBMModel"): _lightgbm.CLASSIFIER,
    ("xgboost", "XGBModel"): _xgboost.CLASSIFIER,
    ("catboost", "CatBoost"): _catboost.CLASSIFIER,
}


def backend_of(estimator: Estimator) -> Backend:
    """How an estimator is trained."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise TypeError(
            f"estimator={estimator!r} has no fit: pass an estimator, such as lightgbm.LGBMRanker()."
        )
    names = [(cls.__module__.partition(".")[0], cls.__name__) for cls in type(estimator).__mro__]
    if ("sklearn", "Pipeline") in names and backend_of(estimator.steps[-1][1]).ranks:
        inner = type(estimator.steps[-1][1]).__name__
        raise TypeError(
            f"a Pipeline passes no groups to its {inner}: put the GroupedRanker into the pipeline, "
            f"make_pipeline(..., GroupedRanker({inner}()))."
        )
    ranks = any(name in _RANKERS for name in names)
    if not ranks and type(estimator).__module__.startswith(_dask.MODULES):
        raise TypeError(
            f"{type(estimator).__name__} trains on single rows of Dask collections: give "
            "DaskLGBMRanker or DaskXGBRanker to GroupedRanker, or train it by its own fit."
        )
    classifiers = _CLASSIFIERS if hasattr(estimator, "predict_proba") else {}
    known = _REGRESSORS | classifiers | _RANKERS
    return next((known[name] for name in names if name in known), None) or other(estimator)
