"""Data and rankers that tests share."""

import catboost
import lightgbm
import numpy as np
import sklearn
import xgboost
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingRegressor

import skrank
from skrank import GroupedRanker
from skrank.datasets import make_ranking

data = make_ranking(n_queries=80, n_docs=(5, 25), n_features=8, random_state=0)
y = skrank.with_groups(data.relevance, data.qid)


def lgbm(cls=lightgbm.LGBMRanker, **parameters):
    defaults = {"n_estimators": 25, "num_leaves": 7, "verbosity": -1, "n_jobs": 1}
    return cls(**defaults | parameters)


def xgb(cls=xgboost.XGBRanker, **parameters):
    return cls(**{"n_estimators": 25, "max_depth": 3, "n_jobs": 1} | parameters)


def cat(cls=catboost.CatBoostRanker, **parameters):
    defaults = {"iterations": 20, "depth": 3, "verbose": False, "allow_writing_files": False}
    return cls(**defaults | {"thread_count": 1, "random_seed": 0} | parameters)


def hist(**parameters):
    return HistGradientBoostingRegressor(**{"max_iter": 25, "max_bins": 31} | parameters)


class First(BaseEstimator):
    """Scores rows by a feature, as good or bad as it is."""

    def __init__(self, factor=1.0, column=0):
        self.factor = factor
        self.column = column

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return self.factor * np.asarray(X)[:, self.column]


STOP = {"validation_fraction": 0.25, "early_stopping_rounds": 5, "random_state": 0}
RANKERS = {
    "lightgbm-gap": GroupedRanker(lgbm(), objective="gap", eval_metric="gap@10", **STOP),
    "xgboost-gap": GroupedRanker(xgb(), objective="gap", eval_metric="gap@10", **STOP),
    "catboost": GroupedRanker(cat(), **STOP),
    "hist-gap": GroupedRanker(hist(), eval_metric="gap@10", **STOP),
}


def routing():
    return sklearn.config_context(enable_metadata_routing=True)


def with_options(cls, *given, **parameters):
    """A ranker, with its options given as parameters."""
    own = {name: parameters.pop(name) for name in cls._defaults if name in parameters}
    return cls(*given, options=own or None, **parameters)


def fit_with(ranker, X, y, changes):
    """Fit a clone, with changes of parameters of the ranker and of arguments of `fit`."""
    own = {name: changes[name] for name in getattr(ranker, "_defaults", ()) if name in changes}
    if own:
        rest = {name: value for name, value in changes.items() if name not in own}
        changes = rest | {"options": (ranker.options or {}) | own}
    names = ranker.get_params(deep=False).keys() & changes
    changed = clone(ranker).set_params(**{name: changes[name] for name in names})
    arguments = {name: value for name, value in changes.items() if name not in names}
    return changed.fit(**{"X": X, "y": y} | arguments)
