"""What works how inside scikit-learn, as data; scikit_learn_tools.py has the tools.

tests/scoring/test_matrix.py runs every recipe and compares the result with a loop by hand. build.py
prints the recipes in the pages on scikit-learn, so that the documented recipes are the tested ones.
Only the standard library is imported here, so that the pages can be made without the boosters.
"""

from dataclasses import dataclass, field
from textwrap import dedent

MODES = {"y": "groups on `y`", "routing": "metadata routing"}
NO_GROUPS = r"needs the query of each row.*skrank\.with_groups"

IMPORTS = """\
import joblib, lightgbm, numpy as np, pandas as pd, skrank
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostRegressor, BaggingRegressor, StackingRegressor, VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv
from sklearn.feature_selection import (
    RFE, RFECV, SelectFromModel, SequentialFeatureSelector,
)
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV, HalvingGridSearchCV, HalvingRandomSearchCV,
    RandomizedSearchCV, cross_val_predict, cross_val_score, cross_validate,
    learning_curve, permutation_test_score, validation_curve,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
"""
MODEL = """\
from skrank.datasets import make_ranking

data = make_ranking(
    60, n_docs=(5, 15), n_features=5, n_informative=3, random_state=0
)
X, relevance, qid = data.X, data.relevance, data.qid    # or yours

booster = lightgbm.LGBMRanker(
    n_estimators=10, n_jobs=1, random_state=0, verbosity=-1
)
model = skrank.GroupedRanker(booster, random_state=0)
grid = {"estimator__learning_rate": [0.05, 0.5]}
"""
SETUP = """\
scoring = skrank.scorer("gap")
cv = skrank.QueryKFold(3)
y = skrank.with_groups(relevance, qid)
"""


@dataclass(frozen=True)
class Way:
    """How a tool is used in one mode.

    Attributes
    ----------
    code : str
        The recipe; empty if there is none.
    note : str
        What the table says beyond "yes", or why there is no recipe.
    warns : bool
        The recipe cuts queries, and warns where `y` has the groups.
    since : str
        Version of scikit-learn that the recipe needs; older ones raise `error` at `refused_models`.
    refused : str
        Code that looks right and cannot work: it must raise.
    error : str
        Pattern of its message.
    refused_models : tuple of str or None
        Models that are refused. None: those of the tool.
    """

    code: str
    note: str = ""
    warns: bool = False
    since: str = "1.6"
    refused: str = ""
    error: str = NO_GROUPS
    refused_models: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Tool:
    """A tool of scikit-learn, or around it.

    Attributes
    ----------
    name : str
    y, routing : Way
        How it is used with groups on `y`, and with metadata routing.
    result : str
        Expression of what the recipe found.
    oracle : str
        Function of by_hand.py that finds the same. Both modes find the same.
    models : tuple of str
        Models that the recipe is tested with, by their names in `ESTIMATORS`.
    remark : str
        Text of the page.
    package : str
        Package that must be installed, if it is not scikit-learn.
    """

    name: str
    y: Way
    routing: Way
    result: str = ""
    oracle: str = ""
    models: tuple[str, ...] = ("ridge", "lightgbm")
    remark: str = ""
    package: str = ""


def way(code: str, note: str = "", **others: object) -> Way:
    """A way, from indented code."""
    return Way(dedent(code).strip(), note, **others)  # type: ignore[arg-type]


def by_fit(code: str) -> dict[str, Way]:
    """The ways of a tool whose `fit` takes groups."""
    return {mode: way(code.replace("DATA", data)) for mode, data in FIT_DATA.items()}


def by_call(code: str, **others: object) -> dict[str, Way]:
    """The ways of a function, which routes what is in `params`."""
    return {
        mode: way(code.replace("DATA", data).replace("PARAMS", CALL_PARAMS[mode]), **others)
        for mode, data in CALL_DATA.items()
    }


FIT_DATA = {"y": "X, y", "routing": "X, relevance, groups=qid"}
CALL_DATA = {"y": "X, y", "routing": "X, relevance"}
CALL_PARAMS = {"y": "", "routing": ', params={"groups": qid}'}


# estimators, containers, backends -----------------------------------------------------------------


@dataclass(frozen=True)
class Estimator:
    """A kind of model, and how it is given to the tools.

    Attributes
    ----------
    code : str
        What the table shows; test_matrix.py has it with parameters that make it small.
    refused : dict of str to (str, str)
        Reason and pattern of the message, by the name of a container that it cannot take.
    remark : str
    """

    code: str
    refused: dict[str, tuple[str, str]] = field(default_factory=dict)
    remark: str = ""


ESTIMATORS = {
    "ridge": Estimator(
        "Ridge()",
        remark="A regressor is trained on single rows and needs no groups.",
    ),
    "hist": Estimator(
        "HistGradientBoostingRegressor()",
        refused={"csr": ("it takes no sparse `X`", "Sparse data was passed")},
        remark=(
            "With more than 10,000 rows, its early stopping holds out rows, which cuts queries. "
            "Inside `GroupedRanker`, it does not."
        ),
    ),
    "logistic": Estimator(
        "LogisticRegression()",
        remark="A classifier of grades ranks by the expected grade.",
    ),
    "grouped ridge": Estimator(
        "GroupedRanker(Ridge())",
        remark="It adds `max_queries`, and passes groups through ensembles.",
    ),
    "grouped hist": Estimator(
        "GroupedRanker(HistGradientBoostingRegressor())",
        refused={"csr": ("it takes no sparse `X`", "Sparse data was passed")},
        remark='`eval_metric="gap"` and `validation_fraction=` stop early on whole queries.',
    ),
    "linear": Estimator(
        "LinearRanker()",
        remark=("It needs no wrapper, and takes NaN and categories."),
    ),
    "lightgbm": Estimator("GroupedRanker(LGBMRanker())"),
    "xgboost": Estimator("GroupedRanker(XGBRanker())"),
    "catboost": Estimator("GroupedRanker(CatBoostRanker())"),
    "pipeline": Estimator(
        "make_pipeline(StandardScaler(with_mean=False), GroupedRanker(LGBMRanker()))",
        refused={"indexed": ("scaling drops the index", NO_GROUPS)},
        remark=(
            "In a search, parameters have names such as `groupedranker__estimator__num_leaves`. "
            'With `set_output(transform="pandas")`, scaling keeps the index of `X`.'
        ),
    ),
}
BARE = ("LGBMRanker", "XGBRanker", "CatBoostRanker")  # which no tool hands the groups to

CONTAINERS = {
    "numpy": "NumPy",
    "pandas": "pandas",
    "indexed": "pandas, groups on the index of `X`",
    "polars": "polars",
    "csr": "sparse",
}

SEARCH = """\
    search = GridSearchCV(
        model, grid, scoring=scoring, cv=cv, n_jobs=2
    ).fit(DATA)"""
BACKENDS = {
    "loky": by_fit('with joblib.parallel_config("loky"):\n' + SEARCH),
    "threading": by_fit('with joblib.parallel_config("threading"):\n' + SEARCH),
    "dask": by_fit(
        'with distributed.Client(**cluster), joblib.parallel_config("dask"):\n' + SEARCH
    ),
}
