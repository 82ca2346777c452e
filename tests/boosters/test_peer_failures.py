"""Common failures with boosters and scikit-learn's tools work in skrank, or raise a clear error.

`COVERED` lists failures by symptom, with the tests in other files that cover them. The other
failures have their tests below. No case returns a wrong number without a warning.
"""

import ast
import itertools
import re
from pathlib import Path

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import sklearn
import xgboost
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank.datasets import make_ranking

COVERED = {
    # frequent questions
    "GridSearchCV cannot slice the group sizes of LGBMRanker": [
        "test_grid_search",
        "test_parallel_searches_give_the_same_numbers",
    ],
    "GridSearchCV cannot slice the group sizes of XGBRanker": ["test_grid_search"],
    "sizes or ids: the sum of query counts differs": [
        "test_arrays_that_are_refused",
        "test_group_sizes",
    ],
    "rows out of order are labelled with other queries": [
        "test_interleaving_the_rows_of_queries_does_not_change_scores",
        "test_the_order_of_rows_does_not_change_splits",
    ],
    "a custom objective gets no groups": [
        "test_all_entry_points_train_the_same",
        "test_callables_have_four_positional_parameters",
        "test_objectives_can_be_searched",
    ],
    "a home-made LambdaRank is worse than the built-in one, or never learns": [
        "test_lambdarank_of_lightgbm_is_reproduced",
        "test_rank_ndcg_of_xgboost_is_reproduced_up_to_a_constant",
        "test_gradients_are_those_of_lambdarank_in_single_precision",
    ],
    "early stopping ignores the custom metric": [
        "test_training_stops_on_the_first_metric_in_its_direction",
        "test_ranker_with_eval_sets_and_early_stopping",
        "test_logged_values_equal_the_metric_and_stop_training",
    ],
    "a custom metric is followed in the wrong direction": [
        "test_early_stopping_goes_the_way_of_the_metric",
        "test_training_stops_on_the_first_metric_in_its_direction",
        "test_early_stopping_follows_the_first_metric_in_its_direction",
    ],
    "nDCG does not match scikit-learn, LightGBM or XGBoost": [
        "test_ndcg_of_scikit_learn",
        "test_ndcg_equals_lightgbms",
        "test_ndcg_equals_xgboosts",
    ],
    "lightgbm.cv tears queries apart": [
        "test_cv_with_folds_of_whole_queries",
        "test_cv_that_tears_queries_is_refused",
    ],
    "xgboost.cv with a custom objective and metric": ["test_cv_of_xgboost"],
    "there is no graded average precision, and no ERR, to train or to stop on": [
        "test_grid_search",
        "test_early_stopping_picks_the_best_round",
    ],
    "workers average their means, or stop at different rounds": [
        "test_two_workers_train_and_evaluate_as_one",
    ],
    "no scorer gets the groups": [
        "test_groups_from_every_source_give_the_same_score",
        "test_both_modes_give_the_same_scores",
        "test_groups_that_are_missing_or_wrong_raise",
    ],
    # known failures
    "LGBMRanker has no score method": ["test_without_scoring_the_ranker_scores_itself"],
    "a subclass that takes groups works only with routing on": [
        "test_cross_validate_gives_the_same_scores_in_both_modes",
        "test_a_search_without_groups_raises",
    ],
    "halving draws rows and shuffles them": [
        "test_halving_over_rows",
        "test_a_tool_gives_the_numbers_of_a_loop_by_hand",
    ],
    "learning curves cut queries": [
        "test_learning_curves_over_rows",
        "test_a_tool_gives_the_numbers_of_a_loop_by_hand",
    ],
    "KFold tears queries and flatters the model": [
        "test_folds_of_rows",
        "test_cuts_are_not_detected_if_groups_are_not_on_the_labels",
    ],
    "XGBRanker refuses rows that are not sorted by qid": [
        "test_the_order_of_the_rows_does_not_change_scores",
    ],
    "XGBRanker refuses weights per row": ["test_weights"],
    "a pipeline loses the qid column": [
        "test_grid_search_of_a_pipeline_on_several_metrics",
    ],
    "early stopping in a search has no validation set per fold": [
        "test_grid_search",
        "test_whole_queries_are_held_out_whatever_the_order_of_rows",
    ],
    "CatBoost takes no part in metadata routing": [
        "test_cross_validate_gives_the_same_scores_in_both_modes",
    ],
    "a custom metric of CatBoost gets no groups": [
        "test_logged_values_equal_the_metric_and_stop_training",
    ],
    "callable metrics of XGBRanker weigh queries by their size": [
        "test_unsupported_combinations_raise",
        "test_scikit_learn_estimators_of_xgboost_are_refused",
    ],
    "bagging_by_query with a callable objective trains nothing": [
        "test_bagging_by_query_is_refused_under_each_of_its_names",
        "test_bagging_by_query_is_refused_by_a_grouped_ranker",
    ],
}
DEFINED = {
    node.name
    for path in Path(__file__).parents[1].rglob("test_*.py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.FunctionDef)
}
GAP = skrank.scorer("gap")
CV = skrank.QueryKFold(3)
GRID = {"estimator__n_estimators": [2]}


@pytest.mark.parametrize("test", sorted({test for tests in COVERED.values() for test in tests}))
def test_the_tests_named_here_exist(test):
    assert test in DEFINED


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=30, n_docs=(4, 12), n_features=8, random_state=0)


@pytest.fixture(scope="module")
def y(data):
    return skrank.with_groups(data.relevance, data.qid)


@pytest.fixture(scope="module")
def sizes(data):
    return np.bincount(data.qid)


def lgbm(**parameters):
    return lightgbm.LGBMRanker(**{"n_estimators": 3, "verbosity": -1, "n_jobs": 1} | parameters)


def xgb(**parameters):
    return xgboost.XGBRanker(**{"n_estimators": 3, "n_jobs": 1} | parameters)


def cat(**parameters):
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostRanker(**{"n_estimators": 3} | quiet | parameters)


def routing():
    return sklearn.config_context(enable_metadata_routing=True)


every_booster = pytest.mark.parametrize("make", [lgbm, xgb, cat])


# group= of the boosters ---------------------------------------------------------------------------


@every_booster
@pytest.mark.parametrize("of", ["sizes", "ids", "ones"])
def test_group_of_the_boosters_in_a_search(make, of, data, y, sizes):
    """Sizes cannot be sliced, ids are taken for sizes, and sizes of 1 train nothing."""
    name = "group_id" if make is cat else "group"
    group = {"sizes": sizes, "ids": data.qid, "ones": np.ones(len(y))}[of]
    search = GridSearchCV(skrank.GroupedRanker(make()), GRID, scoring=GAP, cv=CV)
    with pytest.raises(ValueError, match=f"{name}= is for the estimator's own fit: give .* ids?"):
        search.fit(data.X, y, **{name: group})


def test_group_cannot_be_requested(data):
    with routing(), pytest.raises(TypeError, match=r"Accepted arguments are: .*'groups'"):
        skrank.GroupedRanker(lgbm()).set_fit_request(group=True)


@every_booster
def test_every_row_its_own_query(make, data):
    """All candidates of such a search have equal scores."""
    rows = np.arange(len(data.qid))
    with pytest.raises(ValueError, match=r"each of the \d+ rows is a query of its own"):
        skrank.GroupedRanker(make()).fit(data.X, data.relevance, groups=rows)
    model = Ridge().fit(data.X, data.relevance)
    with pytest.warns(UserWarning, match="every ranking is perfect"):
        assert GAP(model, data.X, data.relevance, groups=rows) == 1


def test_sizes_in_place_of_ids_say_how_to_repeat_them(data, sizes):
    with pytest.raises(ValueError, match=r"look like group sizes: use numpy.repeat"):
        skrank.GroupedRanker(lgbm()).fit(data.X, data.relevance, groups=sizes)


# groups that do not arrive ------------------------------------------------------------------------


def test_randomized_search(data, y):
    search = RandomizedSearchCV(
        skrank.GroupedRanker(lgbm()), {"estimator__num_leaves": [3, 7, 15]}, n_iter=2, cv=CV,
        scoring=GAP, random_state=0,
    ).fit(data.X, y)  # fmt: skip
    assert 0 < search.best_score_ <= 1


def test_groups_for_the_splitter_reach_no_score(data):
    """A fold is not one list: without routing, scoring raises an error."""
    search = GridSearchCV(skrank.GroupedRanker(xgb()), GRID, cv=GroupKFold(3), error_score="raise")
    with pytest.raises(ValueError, match=r"needs the query of each row: use y = .*with_groups"):
        search.fit(data.X, data.relevance, groups=data.qid, qid=data.qid)


def test_folds_by_a_number_ignore_groups(data, y):
    ranker = skrank.GroupedRanker(lgbm())
    with (
        pytest.warns(UserWarning, match="groups parameter is ignored by KFold"),
        pytest.raises(ValueError, match="needs the query of each row"),
    ):
        GridSearchCV(ranker, GRID, scoring=GAP, cv=3).fit(data.X, data.relevance, groups=data.qid)
    with pytest.warns(skrank.CutQueryWarning, match="queries are cut in the rows that are"):
        GridSearchCV(ranker, GRID, scoring=GAP, cv=3).fit(data.X, y)


def test_xgboost_reads_groups_that_are_not_sorted(data):
    rows = np.random.default_rng(0).permutation(len(data.qid))
    ranker, cv = skrank.GroupedRanker(xgb()), GroupKFold(3)
    with routing():
        scores = [
            cross_val_score(
                ranker, data.X[some], data.relevance[some], cv=cv, scoring=GAP,
                params={"groups": data.qid[some]},
            )
            for some in (rows, rows[np.argsort(data.qid[rows], kind="stable")])
        ]  # fmt: skip
    np.testing.assert_allclose(np.sort(scores[0]), np.sort(scores[1]))


# the qid column -----------------------------------------------------------------------------------


def frame(data):
    return pd.DataFrame(data.X, columns=list(data.feature_names)).assign(qid=data.qid)


@pytest.mark.filterwarnings("ignore:groups are taken from the column")
@pytest.mark.filterwarnings("ignore:the column .qid. of X is a feature")
@pytest.mark.parametrize("objective", [None, "gap"])
def test_a_qid_column_for_xgboost(objective, data):
    """XGBoost would read it as queries in `fit`, and as a feature in `train`."""
    ranker = skrank.GroupedRanker(xgb(), objective=objective)
    with pytest.raises(ValueError, match=r"move it to the index, X.set_index\('qid'\)"):
        ranker.fit(frame(data), data.relevance)
    ranker.fit(frame(data).set_index("qid"), data.relevance)


@pytest.mark.filterwarnings("ignore:groups are taken from the column")
@pytest.mark.parametrize("model", [skrank.GroupedRanker(lgbm()), Ridge()], ids=["ranker", "ridge"])
def test_a_qid_column_becomes_a_feature(model, data):
    X = frame(data)
    with pytest.warns(UserWarning, match='"qid" of X is a feature of the model'):
        cross_val_score(model, X, data.relevance, groups=data.qid, cv=GroupKFold(3), scoring=GAP)
    with pytest.warns(UserWarning, match='"qid" of X is a feature of the model'):
        GAP(model.fit(X, data.relevance), X, data.relevance)


@pytest.mark.parametrize("container", ["default", "pandas"])
def test_a_pipeline_scales_the_qid_column(container, data, y):
    """The last step gets the column scaled, and maybe without its name."""
    scaler = StandardScaler().set_output(transform=container)
    for model in (skrank.GroupedRanker(lgbm()), Ridge()):
        with pytest.warns(UserWarning, match='"qid" of X is a feature of the model'):
            GAP(make_pipeline(scaler, model).fit(frame(data), y), frame(data), y)
        make_pipeline(scaler, model).fit(frame(data).set_index("qid"), y)


# early stopping -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        lgbm(early_stopping_round=3),
        lgbm(early_stopping_rounds=3),
        xgb(early_stopping_rounds=3),
        cat(early_stopping_rounds=3),
        cat(od_wait=3),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("parameters", [{}, {"validation_fraction": 0.3}], ids=["none", "some"])
def test_early_stopping_of_the_estimator_has_no_queries(estimator, parameters, data, y):
    """Its own rule is refused, with and without a validation part: `GroupedRanker` has a rule."""
    ranker = skrank.GroupedRanker(estimator, **parameters)
    with pytest.raises(ValueError, match="set early_stopping_rounds of GroupedRanker instead"):
        ranker.fit(data.X, y)


def test_an_eval_set_that_would_not_be_used(data, y, sizes):
    ranker = skrank.GroupedRanker(lgbm(), eval_metric="gap", validation_fraction=0.3)
    with pytest.raises(ValueError, match="eval_set= of fit: set its eval_metric"):
        ranker.fit(data.X, y, eval_set=[(data.X, data.relevance)], eval_group=[sizes])


# one convention in place of five ------------------------------------------------------------------


LISTS = {
    "no relevant document": ([0, 0, 0, 0], [4, 3, 2, 1]),
    "all tied, best first": ([3, 1, 0, 0], [1, 1, 1, 1]),
    "all tied, best last": ([0, 0, 1, 3], [1, 1, 1, 1]),
    "a single irrelevant document": ([0], [1]),
}
RELEVANT = ([2, 0, 1], [1, 3, 2])  # a query with the same value under all conventions


class Echo:
    """Scores rows by their only feature."""

    def predict(self, X):
        return X.ravel()


def values_everywhere(name, relevance, scores, sizes):
    """The value of a metric by every function of skrank."""
    relevance, scores = np.asarray(relevance, float), np.asarray(scores, float)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    column = scores.reshape(-1, 1)
    lightgbm_data = lightgbm.Dataset(column, relevance, group=sizes, free_raw_data=False)
    lightgbm_data.construct()
    xgboost_data = xgboost.DMatrix(column, relevance, qid=qid)
    return {
        "function": skrank.metric(name)(relevance, scores, groups=qid),
        "scorer": skrank.scorer(name)(Echo(), column, relevance, groups=qid),
        "LightGBM": skrank.lightgbm.eval_metric(name)(scores, lightgbm_data)[1],
        "LGBMRanker": skrank.lightgbm.eval_metric(name)(relevance, scores, None, sizes)[1],
        "XGBoost": skrank.xgboost.eval_metric(name)(scores, xgboost_data)[1],
    }


@pytest.mark.parametrize("name", ["ndcg@3", "ap@3", "gap@3"])
@pytest.mark.parametrize("case", LISTS)
def test_one_value_whatever_the_booster(case, name):
    relevance, scores = (LISTS[case][i] + RELEVANT[i] for i in (0, 1))
    sizes = [len(relevance) - 3, 3]
    found = values_everywhere(name, relevance, scores, sizes)
    alone = (
        skrank.metric(name, max_grade=max(relevance)) if name == "gap@3" else skrank.metric(name)
    )
    beside = alone(*RELEVANT)
    if "relevant document" in case or "single" in case:
        expected = beside  # the query is skipped, and does not count as 0 or 1
    else:
        orders = itertools.permutations(LISTS[case][0])
        mean = np.mean([alone(labels, [4, 3, 2, 1]) for labels in orders])
        expected = (mean + beside) / 2
    assert found == pytest.approx(dict.fromkeys(found, expected), abs=1e-7)


def test_queries_without_a_relevant_document_may_count():
    relevance, qid = [0, 0, 1, 0], [1, 1, 2, 2]
    values = {
        empty: skrank.metric("ndcg", empty=empty)(relevance, [2, 1, 2, 1], groups=qid)
        for empty in ("skip", 0, 1)
    }
    assert values == {"skip": 1, 0: 0.5, 1: 1}
    with pytest.raises(ValueError, match=re.escape("query 1")):
        skrank.metric("ndcg", empty="raise")(relevance, [2, 1, 2, 1], groups=qid)


def test_folds_of_rows_flatter_and_say_so(data, y):
    torn = KFold(3, shuffle=True, random_state=0)
    ranker = skrank.GroupedRanker(lgbm(n_estimators=20))
    with pytest.warns(skrank.CutQueryWarning):
        flattered = cross_val_score(ranker, data.X, y, cv=torn, scoring=GAP).mean()
    honest = cross_val_score(ranker, data.X, y, cv=CV, scoring=GAP).mean()
    assert flattered > honest
