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
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

import skrank
from skrank.datasets import make_ranking
from skrank.metrics import GAP

DATA = make_ranking(30, n_docs=(4, 12), n_features=5, n_informative=3, max_grade=2, random_state=0)
X, RELEVANCE, QID = DATA.X, DATA.relevance, DATA.qid
CV = skrank.QueryKFold(3)
FOLDS = list(CV.split(X, RELEVANCE, groups=QID))


def train(model, rows, columns=slice(None), labels=RELEVANCE):
    features, inner = X[:, columns], model
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


def fold_scores(model):
    return [value(train(model, rows).scores, test) for rows, test in FOLDS]


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
    found = []
    for rows, test in FOLDS:
        weights = weights_of(train(model, rows).model) ** 0.5
        columns = np.flatnonzero(weights >= weights.mean())
        found.append(value(train(model, rows, columns).scores, test))
    return found


def bag(model, grid, space):
    members = space["bag"]
    assert [member.max_queries for member in members.estimators_] == [12, 12]
    scores = [
        train(member, rows).scores
        for member, rows in zip(members.estimators_, members.estimators_samples_, strict=True)
    ]
    assert not np.array_equal(*scores)
    return np.mean(scores, axis=0)


def trials(model, grid, space):
    found = [clone(model).set_params(**trial.params) for trial in space["study"].trials]
    assert len(found) == 2
    return [np.mean(fold_scores(one)) for one in found]
