"""What tools of scikit-learn find, by hand: without these tools, scorers and GroupedRanker."""

import catboost
import joblib
import lightgbm
import numpy as np
import xgboost
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

import skrank
from skrank.datasets import make_ranking
from skrank.metrics import GAP

DATA = make_ranking(30, n_docs=(4, 12), n_features=4, n_informative=3, max_grade=2, random_state=0)
X, RELEVANCE, QID = DATA.X, DATA.relevance, DATA.qid
CV = skrank.QueryKFold(2)
FOLDS = list(CV.split(X, RELEVANCE, groups=QID))


PREDICTED = {}  # by model and rows, which many recipes share


def predictions(model, rows):
    """Scores of all rows by a model that is trained on some."""
    key = joblib.hash((model, rows))
    if key not in PREDICTED:
        PREDICTED[key] = trained(model, rows)
    return PREDICTED[key]


def trained(model, rows):
    features, inner = X, model
    if isinstance(inner, Pipeline):
        features = clone(inner[0]).fit(X[rows]).transform(X)
        inner = inner[-1]
    if isinstance(inner, skrank.GroupedRanker):
        if inner.max_queries is not None:
            queries = check_random_state(inner.random_state).permutation(np.unique(QID[rows]))
            rows = rows[np.isin(QID[rows], queries[: inner.max_queries])]
        rows = rows[np.argsort(QID[rows], kind="stable")]
        inner = inner.estimator
    fitted = clone(inner).fit(features[rows], RELEVANCE[rows], **queries_of(inner, rows))
    if is_classifier(fitted):
        return fitted.predict_proba(features) @ fitted.classes_
    return fitted.predict(features)


def queries_of(estimator, rows):
    if isinstance(estimator, skrank.LinearRanker):
        return {"groups": QID[rows]}
    if isinstance(estimator, lightgbm.LGBMRanker):
        return {"group": np.unique(QID[rows], return_counts=True)[1]}
    if isinstance(estimator, xgboost.XGBRanker):
        return {"qid": QID[rows]}
    return {"group_id": QID[rows]} if isinstance(estimator, catboost.CatBoostRanker) else {}


def fold_scores(model):
    gap = GAP(max_grade=2)
    scores = [(predictions(model, rows), test) for rows, test in FOLDS]
    return [gap(RELEVANCE[test], found[test], groups=QID[test]) for found, test in scores]


# what a tool finds, of a model and the names after its recipe


def validated(model, space):
    return fold_scores(model)


def search(model, space):
    results = space["search"].cv_results_
    last = np.max(results.get("iter", 0)) == results.get("iter", 0)
    assert space["search"].best_score_ == np.max(results["mean_test_score"][last])
    return [np.mean(fold_scores(clone(model).set_params(**params))) for params in results["params"]]


def out_of_fold(model, space):
    predicted = np.full(len(X), np.nan)
    for rows, test in FOLDS:
        predicted[test] = predictions(model, rows)[test]
    return predicted
