"""Every tool of scikit-learn, with and without routing, and the main ones by hand."""

import importlib
import warnings
from contextlib import contextmanager, nullcontext

import catboost
import joblib
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import xgboost
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import skrank
from docs.scikit_learn_recipes import BACKENDS, BARE, CONTAINERS, ESTIMATORS, IMPORTS, MODES, SETUP
from docs.scikit_learn_tools import TOOLS
from tests.helpers import by_hand
from tests.helpers.by_hand import CV, DATA, QID, RELEVANCE, X

LGBM = lightgbm.LGBMRanker(
    n_estimators=2, num_leaves=4, min_child_samples=2, verbosity=-1, n_jobs=1
)
XGB = xgboost.XGBRanker(n_estimators=3, max_depth=2, n_jobs=1)
CAT = catboost.CatBoostRanker(
    iterations=3, depth=2, verbose=False, allow_writing_files=False, thread_count=1
)
HIST = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=5)
RATES, ALPHAS = {"learning_rate": [0.05, 0.5]}, {"alpha": [0.1, 100.0]}


def grouped(estimator, grid):
    """A `GroupedRanker`, and the grid for it."""
    inner = {f"estimator__{name}": values for name, values in grid.items()}
    return skrank.GroupedRanker(estimator, random_state=0), inner


def version(text):
    return tuple(map(int, text.split(".")[:2]))


SKLEARN = version(sklearn.__version__)
MODELS = {
    "ridge": (Ridge(), ALPHAS),
    "hist": (HIST, RATES),
    "logistic": (LogisticRegression(), {"C": [0.01, 1.0]}),
    "grouped ridge": grouped(Ridge(), ALPHAS),
    "grouped hist": grouped(HIST, RATES),
    "linear": (skrank.LinearRanker(options={"tol": 1e-4}), ALPHAS),
    "lightgbm": grouped(LGBM, RATES),
    "xgboost": grouped(XGB, RATES),
    "catboost": grouped(CAT, RATES),
    "pipeline": (
        make_pipeline(StandardScaler(with_mean=False), skrank.GroupedRanker(LGBM)),
        {"groupedranker__estimator__learning_rate": [0.05, 0.5]},
    ),
}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """One thread, since more threads than cores are slow on small data."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def imported():
    """The names of the recipes."""
    names = {}
    exec(IMPORTS, names)
    return names


@pytest.fixture
def run(imported):
    """Run a recipe in a mode; returns its variables."""

    def run(code, mode, name, **others):
        model, grid = MODELS[name]
        space = imported | {"X": X, "relevance": RELEVANCE, "qid": QID}
        exec(SETUP, space)
        space |= {"model": clone(model), "grid": grid, "cv": CV, "code": code} | others
        with sklearn.config_context(enable_metadata_routing=mode == "routing"):
            exec(code, space)
        return space

    return run


def check(tool, name, space):
    """The results of a recipe equal those of the explicit loop."""
    found = np.asarray(eval(tool.result, space))
    expected = np.asarray(getattr(by_hand, tool.oracle)(MODELS[name][0], space))
    assert found.shape == expected.shape
    assert found == pytest.approx(expected, abs=1e-10)


TOOL = {tool.name: tool for tool in TOOLS}
every_mode = pytest.mark.parametrize("mode", MODES)


@contextmanager
def experimental():
    """Without warnings of Optuna."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "OptunaSearchCV is experimental")
        warnings.filterwarnings("ignore", ".*optuna.terminator")
        warnings.filterwarnings("ignore", "Mean of empty slice|Degrees of freedom")
        yield


def optional(tool):
    """Names that a recipe needs beyond scikit-learn."""
    if not tool.package:
        return {}
    package = pytest.importorskip(tool.package)
    if tool.package == "optuna":
        package.logging.set_verbosity(package.logging.WARNING)
        return {"optuna": package, "GridSampler": package.samplers.GridSampler}
    distributions = importlib.import_module("optuna.distributions")
    return {
        "OptunaSearchCV": package.OptunaSearchCV,
        "CategoricalDistribution": distributions.CategoricalDistribution,
    }


def found_by(tool, mode, name, run):
    """The variables after a recipe; None if there is none for this version of scikit-learn."""
    way = getattr(tool, mode)
    if not way.code:
        return None
    early = version(way.since) > SKLEARN and name in (way.refused_models or tool.models)
    warned = way.warns and mode == "y"  # routed groups do not show what was cut
    context = pytest.warns(skrank.CutQueryWarning) if warned else nullcontext()
    if early:
        context = pytest.raises(ValueError, match=f"(?s){way.error}")
    with experimental(), context:
        return run(way.code, mode, name, **optional(tool))
    return None


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        pytest.param(tool, name, id=f"{tool.name}-{name}")
        for tool in TOOLS
        if tool.result
        for name in tool.models
    ],
)
def test_both_modes_of_a_tool_give_the_same_numbers(tool, name, run):
    spaces = [space for mode in MODES if (space := found_by(tool, mode, name, run))]
    found = [eval(tool.result, space) for space in spaces]
    for values in found:
        np.testing.assert_allclose(values, found[0], atol=1e-10)
        assert np.isfinite(values).all()
    if tool.oracle:
        check(tool, name, spaces[0])


REFUSED = [
    pytest.param(tool, mode, name, id=f"{tool.name}-{mode}-{name}")
    for tool in TOOLS
    for mode in MODES
    if getattr(tool, mode).refused
    for name in getattr(tool, mode).refused_models or tool.models
]


@pytest.mark.parametrize(("tool", "mode", "name"), REFUSED)
def test_unsupported_modes_of_a_tool_raise(tool, mode, name, run):
    way = getattr(tool, mode)
    refused = pytest.raises((ValueError, NotImplementedError), match=f"(?s){way.error}")
    with experimental(), refused:
        run(way.refused, mode, name, **optional(tool))


@every_mode
@pytest.mark.parametrize("estimator", [LGBM, XGB, CAT], ids=BARE)
def test_a_ranker_without_grouped_ranker_gets_no_groups_and_raises(estimator, mode):
    params = {} if mode == "y" else {"params": {"groups": QID}}
    y = skrank.with_groups(RELEVANCE, QID) if mode == "y" else RELEVANCE
    with (
        sklearn.config_context(enable_metadata_routing=mode == "routing"),
        pytest.raises(Exception, match=r"(?i)group|qid"),
    ):
        cross_validate(
            estimator, X, y, cv=CV, scoring=skrank.scorer("gap"), error_score="raise", **params
        )


CONTAINED = [(name, mode) for name in CONTAINERS for mode in MODES]
CONTAINED.remove(("indexed", "routing"))  # it does not need routing


def contained(name):
    """The data in a container, and no groups on `y` where they are on `X`."""
    frame = pd.DataFrame(X, columns=DATA.feature_names)
    if name == "pandas":
        return {"X": frame, "relevance": pd.Series(RELEVANCE), "qid": pd.Series(QID)}
    if name == "indexed":
        return {"X": frame.set_index(pd.Index(QID, name="qid")), "y": RELEVANCE}
    if name == "polars":
        columns = {"relevance": pl.Series(RELEVANCE), "qid": pl.Series(QID)}
        return {"X": pl.DataFrame(X, DATA.feature_names), **columns}
    return {"X": csr_array(X) if name == "csr" else X}


def with_y(data):
    """Containers, and their labels with groups unless these are elsewhere."""
    if "relevance" not in data:
        return data
    return data | {"y": skrank.with_groups(data["relevance"], data["qid"])}


# These also get routed groups of each container.
ROUTED = ("ridge", "linear", "lightgbm", "pipeline")


@pytest.mark.parametrize(
    ("name", "container", "mode"),
    [
        (name, container, mode)
        for name in ESTIMATORS
        for container, mode in CONTAINED
        if mode == "y" or name in ROUTED
    ],
)
def test_every_estimator_takes_every_container(name, container, mode, run):
    code = getattr(TOOL["cross_validate"], mode).code
    _, error = ESTIMATORS[name].refused.get(container, ("", ""))
    if error:
        with pytest.raises(ValueError, match=f"(?s){error}"):
            run(code, mode, name, **with_y(contained(container)))
    else:
        space = run(code, mode, name, **with_y(contained(container)))
        check(TOOL["cross_validate"], name, space)


def test_the_index_survives_scaling_to_pandas(run):
    model = clone(MODELS["pipeline"][0]).set_output(transform="pandas")
    code = TOOL["cross_validate"].y.code
    space = run(code, "y", "pipeline", **contained("indexed"), model=model)
    check(TOOL["cross_validate"], "pipeline", space)


@every_mode
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_gives_the_numbers_of_a_loop_by_hand(backend, mode, run):
    names = {"joblib": joblib}
    if backend == "dask":
        names["distributed"] = pytest.importorskip("distributed")
        names["cluster"] = {"processes": False, "n_workers": 1, "dashboard_address": ":0"}
    space = run(BACKENDS[backend][mode].code, mode, "lightgbm", **names)
    check(TOOL["GridSearchCV"], "lightgbm", space)
