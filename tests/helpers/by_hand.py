"""What the tools of scikit-learn find, by hand: without these tools, scorers and GroupedRanker.

Functions of `what the tools find` get a model, its grid and the names after a recipe, from which
they take what was drawn at random, such as the candidates of a search.
"""

from types import SimpleNamespace

import catboost
import lightgbm
import numpy as np
import xgboost
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

import skrank
from skrank.datasets import make_ranking
from skrank.metrics import GAP

DATA = make_ranking(30, n_docs=(4, 12), n_features=5, n_informative=3, max_grade=2, random_state=0)
X, RELEVANCE, QID = DATA.X, DATA.relevance, DATA.qid
CV = skrank.QueryKFold(3)
FOLDS = list(CV.split(X, RELEVANCE, groups=QID))


def train(model, rows, columns=slice(None), labels=RELEVANCE, features=X):
    features, inner = features[:, columns], model
    if isinstance(inner, Pipeline):
        features = clone(inner[0]).fit(features[rows]).transform(features)
        inner = inner[-1]
    if isinstance(inner, skrank.GroupedRanker):
        if inner.max_queries is not None:
            known = check_random_state(inner.random_state).permutation(np.unique(QID[rows]))
            rows = rows[np.isin(QID[rows], known[: inner.max_queries])]
        rows = rows[np.argsort(QID[rows], kind="stable")]
        inner = inner.estimator
    inner = clone(inner).fit(features[rows], labels[rows], **queries_of(inner, rows))
    return SimpleNamespace(model=inner, scores=scores_of(inner, features))


def queries_of(estimator, rows):
    if isinstance(estimator, skrank.LinearRanker):
        return {"groups": QID[rows]}
    if isinstance(estimator, lightgbm.LGBMRanker):
        return {"group": np.unique(QID[rows], return_counts=True)[1]}
    if isinstance(estimator, xgboost.XGBRanker):
        return {"qid": QID[rows]}
    return {"group_id": QID[rows]} if isinstance(estimator, catboost.CatBoostRanker) else {}


def scores_of(model, X):
    return model.predict_proba(X) @ model.classes_ if is_classifier(model) else model.predict(X)


def value(scores, rows, labels=RELEVANCE):
    return GAP(max_grade=2)(labels[rows], scores[rows], groups=QID[rows])


def by_fold(score):
    """Value of each test part, given a function of the training rows that scores all rows."""
    return [value(score(rows), test) for rows, test in FOLDS]


def fold_scores(model, columns=slice(None), folds=FOLDS):
    return [value(train(model, rows, columns).scores, test) for rows, test in folds]


# what the tools find ------------------------------------------------------------------------------


def validated(model, grid, space):
    return fold_scores(model)


def search(model, grid, space):
    found = space["search"]
    results = found.cv_results_
    last = np.max(results.get("iter", 0)) == results.get("iter", 0)
    assert found.best_score_ == np.max(results["mean_test_score"][last])
    return [np.mean(fold_scores(clone(model).set_params(**one))) for one in results["params"]]


def out_of_fold(model, grid, space):
    predicted = np.full(len(X), np.nan)
    for rows, test in FOLDS:
        predicted[test] = train(model, rows).scores[test]
    return predicted


def row_curve(model, grid, space):
    return [
        [value(train(model, rows[:size]).scores, test) for rows, test in FOLDS]
        for size in space["sizes"]
    ]


def query_curve(model, grid, space):
    return [fold_scores(clone(model).set_params(max_queries=count)) for count in (8, 16)]


def permutation_test(model, grid, space):
    rng = np.random.RandomState(0)
    inside = "groups=qid" in space["code"]
    permuted = []
    for _ in range(3):
        order = np.arange(len(X))
        if inside:
            for query in np.unique(QID):
                order[query == QID] = rng.permutation(order[query == QID])
        else:
            order = rng.permutation(len(X))
        labels = RELEVANCE[order]
        permuted.append(
            np.mean([value(train(model, rows, labels=labels).scores, test, labels)
                     for rows, test in FOLDS])
        )  # fmt: skip
    score = np.mean(fold_scores(model))
    return [*permuted, score, (1 + sum(one >= score for one in permuted)) / 4]


def importances(model, grid, space):
    fitted = train(model, np.arange(len(X))).model
    everything = np.arange(len(X))
    base = value(scores_of(fitted, X), everything)
    seed = check_random_state(0).randint(np.iinfo(np.int32).max + 1)
    found = np.empty((X.shape[1], 2))
    for column in range(X.shape[1]):
        rng, order, moved = np.random.RandomState(seed), np.arange(len(X)), X.copy()
        for repeat in range(2):
            rng.shuffle(order)
            moved[:, column] = moved[order, column]
            found[column, repeat] = base - value(scores_of(fitted, moved), everything)
    return found


def forward_selection(model, grid, space):
    chosen = []
    for _ in range(2):
        left = [column for column in range(X.shape[1]) if column not in chosen]
        chosen.append(
            max(left, key=lambda one: np.mean(fold_scores(model, sorted([*chosen, one]))))
        )
    return np.isin(np.arange(X.shape[1]), chosen)


def weights_of(model):
    if isinstance(model, catboost.CatBoostRanker):
        return model.get_feature_importance(type="PredictionValuesChange") ** 2
    return model.coef_**2 if hasattr(model, "coef_") else model.feature_importances_**2


def eliminate(model, rows, n_features):
    left = [np.arange(X.shape[1])]
    while len(left[-1]) > n_features:
        weights = weights_of(train(model, rows, left[-1]).model)
        left.append(np.delete(left[-1], np.argsort(weights)[0]))
    return left


def elimination(model, grid, space):
    left = eliminate(model, np.arange(len(X)), 2)
    return 1 + sum(~np.isin(np.arange(X.shape[1]), columns) for columns in left)


def elimination_curve(model, grid, space):
    curves = [
        [value(train(model, rows, columns).scores, test) for columns in eliminate(model, rows, 1)]
        for rows, test in FOLDS
    ]
    return np.mean(curves, axis=0)[::-1]


def selected(model, grid, space):
    def score(rows):
        weights = weights_of(train(model, rows).model) ** 0.5
        return train(model, rows, np.flatnonzero(weights >= weights.mean())).scores

    return by_fold(score)


def bag(model, grid, space):
    members = space["bag"]
    assert [member.max_queries for member in members.estimators_] == [12, 12]
    scores = [
        train(member, rows).scores
        for member, rows in zip(members.estimators_, members.estimators_samples_, strict=True)
    ]
    assert not np.array_equal(*scores)
    return np.mean(scores, axis=0)


def nested(model, grid, space):
    (name, values), found = *grid.items(), []
    for rows, test in FOLDS:
        inside = skrank.QueryKFold(2).split(X[rows], RELEVANCE[rows], groups=QID[rows])
        inner = [(rows[some], rows[others]) for some, others in inside]
        candidates = [clone(model).set_params(**{name: one}) for one in values]
        best = max(candidates, key=lambda one: np.mean(fold_scores(one, folds=inner)))
        found.append(value(train(best, rows).scores, test))
    return found


def scale(rows):
    return (X - X[rows].mean(axis=0)) / X[rows].std(axis=0)


def scaled(model, grid, space):
    return by_fold(lambda rows: train(model, rows, features=scale(rows)).scores)


def scaled_columns(model, grid, space):
    def score(rows):
        return train(model, rows, features=np.c_[scale(rows)[:, :2], X[:, 2:]]).scores

    return by_fold(score)


def binary_target(model, grid, space):
    return by_fold(lambda rows: train(model, rows, labels=np.sign(RELEVANCE)).scores)


def vote(model, grid, space):
    return by_fold(lambda rows: (train(model, rows).scores + train(Ridge(10.0), rows).scores) / 2)


def stack(model, grid, space):
    def score(rows):
        meta, inside = np.empty((len(X), 2)), np.empty((len(X), 2))
        halves = skrank.QueryKFold(2).split(X[rows], RELEVANCE[rows], groups=QID[rows])
        for some, others in halves:
            for column, one in enumerate((model, Ridge())):
                inside[rows[others], column] = train(one, rows[some]).scores[rows[others]]
        for column, one in enumerate((model, Ridge())):
            meta[:, column] = train(one, rows).scores
        return Ridge().fit(inside[rows], RELEVANCE[rows]).predict(meta)

    return by_fold(score)


def calibrated(model, grid, space):
    def score(rows):
        halves = skrank.QueryKFold(2).split(X[rows], RELEVANCE[rows], groups=QID[rows])
        parts = [(some, others) for some, others in halves]
        fitted = CalibratedClassifierCV(clone(model), cv=parts).fit(X[rows], RELEVANCE[rows])
        return fitted.predict_proba(X) @ fitted.classes_

    return by_fold(score)


def trials(model, grid, space):
    found = [clone(model).set_params(**trial.params) for trial in space["study"].trials]
    assert len(found) == 2
    return [np.mean(fold_scores(one)) for one in found]


def search_trials(model, grid, space):
    found = [clone(model).set_params(**trial.params) for trial in space["search"].study_.trials]
    return [np.mean(fold_scores(one)) for one in found]
