"""search_space for GridSearchCV, RandomizedSearchCV and Optuna."""

import pickle

import catboost
import lightgbm
import numpy as np
import optuna
import pytest
import xgboost
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid, RandomizedSearchCV

import skrank
from skrank import GroupedRanker, LinearRanker, search_space
from skrank.datasets import make_ranking

LGBM = lightgbm.LGBMRanker(n_estimators=3, verbosity=-1, n_jobs=1)
RANKERS = {
    "lightgbm": GroupedRanker(LGBM),
    "lightgbm from linear": GroupedRanker(LGBM, objective="gap", init="linear"),
    "xgboost": GroupedRanker(xgboost.XGBRanker(n_estimators=3, n_jobs=1)),
    "catboost": GroupedRanker(
        catboost.CatBoostRanker(iterations=3, verbose=False, allow_writing_files=False)
    ),
    "hist": GroupedRanker(HistGradientBoostingRegressor(max_iter=3)),
    "linear": LinearRanker(),
}
every = pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)
DATA = make_ranking(30, n_docs=(10, 20), n_features=4, n_informative=3, random_state=0)
Y = skrank.with_groups(DATA.relevance, DATA.qid)
SEARCH = {"scoring": skrank.scorer("gap"), "cv": skrank.QueryKFold(2)}


@every
def test_the_ranker_has_every_parameter_and_the_grid_is_small(ranker):
    space = search_space(ranker)
    point = {name: one.grid[0] if one.grid else one.low for name, one in space.ranges.items()}
    assert point.items() <= clone(ranker).set_params(**point).get_params().items()
    assert set(space) <= set(space.ranges)
    assert 2 < len(ParameterGrid(space)) <= 36
    for name, values in space.items():
        assert space.ranges[name].low <= min(values) < max(values) <= space.ranges[name].high
    assert pickle.loads(pickle.dumps(space)) == space


@every
def test_random_search_and_optuna_train_what_they_draw(ranker):
    space = search_space(ranker)
    found = RandomizedSearchCV(ranker, space.distributions, n_iter=2, random_state=0, **SEARCH)
    found.fit(DATA.X, Y)
    assert not np.isnan(found.cv_results_["mean_test_score"]).any()
    trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0)).ask()
    drawn = space.suggest(trial)
    assert set(drawn) == set(space.ranges)
    clone(ranker).set_params(**drawn).fit(DATA.X, Y)


def test_parameters_are_named_as_the_search_needs_them():
    assert set(search_space(LGBM)) == set(search_space(GroupedRanker(LGBM)))
    assert "init_scale" not in search_space(GroupedRanker(LGBM))
    assert "init_scale" in search_space(GroupedRanker(LGBM, init="linear"))
    with pytest.raises(ValueError, match="Ridge"):
        search_space(GroupedRanker(Ridge()))
