"""All rankers: groups, tools and checks of scikit-learn, and errors."""

import pickle
from importlib.util import find_spec

import lightgbm
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import skrank
from skrank import GroupedRanker, LinearRanker, RankerMean
from tests.helpers.rankers import cat, data, hist, lgbm, routing, xgb, y

QID = data.qid
STOP = {
    "validation_fraction": 0.25, "early_stopping_rounds": 3, "random_state": 0,
    "eval_metric": "gap@10",
}  # fmt: skip
LINEAR = LinearRanker(options={"max_iter": 20, "tol": 1e-3}, random_state=0)
BOOSTED = GroupedRanker(lgbm(n_estimators=8), objective="gap", random_state=0)
MEAN = RankerMean([BOOSTED, LINEAR])
RECOMMENDED = skrank.recommended_ranker(n_jobs=1, random_state=0).set_params(
    default__estimator__n_estimators=6, regularised__estimator__n_estimators=6
)
RATES = {"estimator__learning_rate": [0.01, 0.3]}
# rankers, and parameters to search
RANKERS = {
    "grouped": (BOOSTED, {"max_queries": [20, None]}),
    "linear": (LINEAR, {"alpha": [1e-3, 10.0]}),
    "mean": (MEAN, {"groupedranker__estimator__num_leaves": [3, 7]}),
    "recommended": (RECOMMENDED, {"default__estimator__num_leaves": [3, 31]}),
    "xgboost": (GroupedRanker(xgb(n_estimators=12), objective="gap", **STOP), RATES),
    "catboost": (GroupedRanker(cat(iterations=12), init=LINEAR, **STOP), RATES),
    "hist": (GroupedRanker(hist(max_iter=5), max_queries=60, random_state=0), RATES),
    "regressor": (
        GroupedRanker(lgbm(lightgbm.LGBMRegressor, n_estimators=8), init=LINEAR),
        {"init_scale": [0.5, 4.0]},
    ),
}  # fmt: skip
if find_spec("torch"):
    from skrank.torch import NeuralRanker

    NEURAL = NeuralRanker("gap", hidden=(4,), epochs=6, learning_rate=0.02, random_state=0)
    GRID = {"objective": ["gap", skrank.SoftRank("ndcg")]}
    RANKERS["neural"] = (NEURAL, GRID)
REGRESSORS = [RANKERS[name][0] for name in ("hist", "regressor")]
every = pytest.mark.parametrize("ranker", [one for one, _ in RANKERS.values()], ids=RANKERS)


@every
def test_groups_from_every_source_give_one_model(ranker):
    frame = pd.DataFrame(data.X, index=pd.Index(data.qid, name="qid")).add_prefix("f")
    column = frame.reset_index()
    model = clone(ranker)
    expected = model.fit(data.X, y).predict(data.X)
    assert model.score(data.X, y) == skrank.metric("ndcg@10")(y, expected)
    for found in (
        model.fit(data.X, data.relevance, data.qid).predict(data.X),
        model.fit(frame, data.relevance).predict(frame),
        model.fit(column, data.relevance).predict(column),
        pickle.loads(pickle.dumps(model)).predict(frame),
    ):
        assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert "qid" not in model.feature_names_in_
    assert model.n_features_in_ == 8
    assert model.score(column, data.relevance) == model.score(frame, y)
    assert model.rank(column, k=2).equals(model.rank(frame, k=2))
    with pytest.raises(ValueError, match='column "qid" of X disagree'):
        model.fit(column.assign(qid=column["qid"] + 1), y)


@pytest.mark.parametrize(
    "name", [name for name in RANKERS if name != "neural"]
)  # in single precision
def test_rows_and_weights_of_queries_may_be_interleaved(name):
    """Rows of a query keep their order, which orders ties, but are not contiguous."""
    ranker, _ = RANKERS[name]
    rng = np.random.default_rng(0)
    place = np.concatenate([np.sort(rng.random(size)) for size in np.bincount(data.qid)])
    rows = np.argsort(place)
    weight = np.where(data.qid < 20, 5.0, 1.0)
    model = clone(ranker).fit(data.X, y, sample_weight=weight)
    again = clone(ranker).fit(data.X[rows], y.iloc[rows], sample_weight=weight[rows])
    plain = clone(ranker).fit(data.X, y)
    assert not np.allclose(plain.predict(data.X), model.predict(data.X))
    assert_allclose(again.predict(data.X[rows]), again.predict(data.X)[rows], rtol=1e-9, atol=1e-9)
    assert again.score(data.X, y) == pytest.approx(model.score(data.X, y), abs=1e-3)
    assert model.score(data.X, y) > 0.6


@pytest.mark.parametrize(("ranker", "grid"), RANKERS.values(), ids=RANKERS)
def test_searches_and_cross_validation_in_both_modes(ranker, grid):
    gap, cv = skrank.scorer("gap"), skrank.QueryKFold(2, stratify="n_relevant")
    found = GridSearchCV(ranker, grid, scoring=gap, cv=cv, refit=False).fit(data.X, y)
    means = found.cv_results_["mean_test_score"]
    assert len(set(means)) == len(means)
    best = clone(ranker).set_params(**found.best_params_)
    how = {"cv": cv, "scoring": gap, "params": {"groups": data.qid}}
    with routing():
        scores = cross_validate(best, data.X, data.relevance, **how)["test_score"]
    assert scores.mean() == pytest.approx(found.best_score_, rel=1e-6)


@pytest.mark.parametrize(
    "ranker",
    [
        LinearRanker(features="standard"),
        RankerMean([Ridge(), Ridge(alpha=100)]),
        GroupedRanker(Ridge()),
        GroupedRanker(make_pipeline(Ridge())),
    ],
    ids=str,
)
def test_query_weight_2_equals_two_copies_of_the_query(ranker):
    counts = np.random.default_rng(0).integers(0, 3, 80)[data.qid]
    rows = np.repeat(np.arange(len(counts)), counts)
    copy = np.concatenate([np.arange(count) for count in counts])
    repeated = clone(ranker).fit(data.X[rows], data.relevance[rows], data.qid[rows] * 10 + copy)
    weighted = clone(ranker).fit(data.X, data.relevance, data.qid, sample_weight=counts + 0.0)
    expected = repeated.predict(data.X)
    assert_allclose(weighted.predict(data.X), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["grouped", "linear", "hist", "regressor"])
@pytest.mark.parametrize("unjudged", ["drop", "zero"])
def test_unjudged_documents(name, unjudged):
    ranker = RANKERS[name][0]
    labels = np.where(np.arange(len(data.qid)) % 7, data.relevance, np.nan)
    with pytest.raises(ValueError, match=r"row 0.*options={.unjudged.:"):
        clone(ranker).fit(data.X, labels, data.qid)
    treating = clone(ranker)
    for one in [treating, treating.init] if name == "regressor" else [treating]:
        one.set_params(options=(one.options or {}) | {"unjudged": unjudged})
    found = treating.fit(data.X, labels, data.qid).predict(data.X)
    known = ~np.isnan(labels) if unjudged == "drop" else slice(None)
    filled = np.nan_to_num(labels)[known]
    expected = clone(ranker).fit(data.X[known], filled, data.qid[known]).predict(data.X)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@every
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": None}, "with_groups"),
        ({"groups": np.zeros(3)}, "entries for"),
        ({"groups": np.bincount(QID)}, "groups has"),
        ({"groups": "qid"}, "groups='qid'"),
        ({"groups": QID + 1, "y": skrank.with_groups(data.relevance, QID)}, "disagree"),
        ({"y": None}, "target y"),
        ({"y": np.where(QID == 3, np.inf, data.relevance)}, "inf"),
        ({"y": np.full(len(QID), np.nan)}, "judged"),
        ({"sample_weight": np.arange(1e4)}, "sample_weight"),
        ({"X_val": np.zeros((3, 8))}, "y_val"),
        ({"groups_val": np.zeros(3)}, "groups_val"),
        ({"X_val": data.X, "y_val": np.full(len(QID), np.nan), "groups_val": QID}, "X_val"),
    ],
    ids=lambda one: "" if isinstance(one, str) else "-".join(one),
)
def test_arguments_that_are_refused(ranker, change, message):
    arguments = {"y": data.relevance, "groups": data.qid} | change
    with pytest.raises(ValueError, match=message):
        clone(ranker).fit(data.X, **arguments)


@pytest.mark.parametrize("ranker", [GroupedRanker(lgbm()), LINEAR], ids=["grouped", "linear"])
def test_queries_that_leave_nothing_to_train_on_are_refused(ranker):
    few = data.X[:5], data.relevance[:5]
    with pytest.raises(ValueError, match="each of the 5 rows"):
        clone(ranker).fit(*few, np.arange(5))
    with pytest.raises(ValueError, match="training queries"):
        clone(ranker).set_params(validation_fraction=0.25).fit(*few, np.zeros(5))
    with pytest.raises(ValueError, match="every document is unjudged"):
        clone(ranker).set_params(options={"unjudged": "drop"}).fit(
            *few[:1], np.full(5, np.nan), np.zeros(5)
        )


@every
def test_weights_that_vary_and_other_columns_are_refused(ranker):
    if ranker not in REGRESSORS:
        with pytest.raises(ValueError, match="varies inside query"):
            clone(ranker).fit(data.X, y, sample_weight=np.arange(len(y)) + 1.0)
        with pytest.raises(ValueError, match="labels"):
            clone(ranker).fit(data.X, y - 1)
    with pytest.raises(NotFittedError):
        clone(ranker).predict(data.X)
    model = clone(ranker).fit(data.X, y)
    with pytest.raises(ValueError, match="7 features"):
        model.predict(data.X[:, 1:])
    with pytest.raises(ValueError, match=r"X has no rows|0 sample"):
        model.rank(data.X[:0])


OLD = pd.DataFrame(data.X[:, :5], columns=list("abcde"))
NEW = pd.DataFrame(data.X, columns=list("uvwxyzkl"))
FAILURES = {
    "weights": {"sample_weight": -np.arange(len(QID)) - 1.0},
    "labels": {"y": np.where(QID, data.relevance, np.nan)},
    "length": {"y": data.relevance[1:], "groups": QID[1:]},
    "validation": {"X_val": OLD, "y_val": data.relevance, "groups_val": QID},
}


@every
def test_a_failed_fit_changes_nothing(ranker):
    model, labels = clone(ranker), {"y": data.relevance, "groups": QID}
    before = dict(vars(model))
    for failure in FAILURES.values():
        with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
            model.fit(NEW, **labels | failure)
        assert vars(model) == before
    model.fit(OLD, **labels)
    before, scores = dict(vars(model)), model.predict(OLD)
    for failure in FAILURES.values():
        with pytest.raises(ValueError):  # noqa: PT011
            model.fit(NEW, **labels | failure)
        after = vars(model)
        assert after.keys() == before.keys()
        assert all(after[name] is before[name] for name in before)
    assert_array_equal(model.predict(OLD), scores)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(NEW)
    model.fit(data.X, **labels)
    assert model.n_features_in_ == 8
    assert not hasattr(model, "feature_names_in_")


class Interrupted(Ridge):
    """A model whose training on eight features is interrupted."""

    def fit(self, X, y):
        if X.shape[1] == 8:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_an_interrupt_of_training_changes_nothing():
    model = GroupedRanker(Interrupted()).fit(OLD, data.relevance, QID)
    before, scores = dict(vars(model)), model.predict(OLD)
    with pytest.raises(KeyboardInterrupt):
        model.fit(NEW, data.relevance, QID)
    assert all(vars(model)[name] is before[name] for name in before)
    assert_array_equal(model.predict(OLD), scores)


def one_query(cls):
    """A subclass that puts all rows into one query: scikit-learn's checks pass no groups."""

    class OneQuery(cls):
        def fit(self, X, y, groups=None, **parameters):
            if groups is None and y is not None:
                groups = np.zeros(len(y), int)
            return super().fit(X, y, groups, **parameters)

        def score(self, X, y, groups=None, sample_weight=None):
            return super().score(X, y, np.zeros(len(y), int), sample_weight)

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.estimator_type = tags.regressor_tags = None  # whose checks have labels below 0
            return tags

    OneQuery.__qualname__ = f"One{cls.__name__}"  # under which the checks pickle it
    return OneQuery


OneGroupedRanker, OneLinearRanker, OneRankerMean = map(
    one_query, (GroupedRanker, LinearRanker, RankerMean)
)
NO_GROUPS = "a ranking cannot be scored without groups"
EXPECTED = {
    GroupedRanker: {"check_fit_score_takes_y": NO_GROUPS, "check_pipeline_consistency": NO_GROUPS},
}


@parametrize_with_checks(
    [
        GroupedRanker(Ridge()),
        OneGroupedRanker(hist(max_iter=3)),
        OneGroupedRanker(lgbm(n_estimators=3, min_child_samples=2)),
        OneGroupedRanker(xgb(n_estimators=3)),
        OneLinearRanker(options={"max_iter": 1000}),
        OneRankerMean([Ridge(), Ridge(alpha=10)]),
    ],
    expected_failed_checks=lambda estimator: EXPECTED.get(type(estimator), {}),
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
