"""tune: its search, its trials, studies that are continued, and what it refuses."""

import numpy as np
import optuna
import pandas as pd
import pytest
import xgboost

import skrank
from skrank.datasets import make_ranking

DATA = make_ranking(30, n_docs=(5, 12), n_features=6, n_informative=4, random_state=0)
X, LABELS, QID = DATA.X, DATA.relevance, DATA.qid
Y = skrank.with_groups(LABELS, QID)
SHORT = {"time_budget": 1e-3, "boosters": ["lightgbm"], "cv": 2, "random_state": 0}


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    monkeypatch.setattr("skrank._tune._ROUNDS", 20)


def test_the_best_trial_is_trained_on_all_queries():
    found = skrank.tune(X, Y, metric="gap", **SHORT)
    assert found.value == found.trials["value"].max() == found.study.best_value
    assert found.params["estimator__num_leaves"] == 15  # that of the first trial
    assert found.ranker.estimator.num_leaves == found.params["estimator__num_leaves"]
    assert found.ranker.init_ is not None
    assert found.ranker.score(X, Y) == skrank.scorer("gap")(found.ranker, X, Y)
    assert str(found).startswith("1 trials, 0 pruned; best 0.")


@pytest.mark.parametrize(("metric", "weights"), [("error@3", None), ("gap", 1.0 + QID % 3)])
def test_the_value_is_the_mean_over_folds_of_queries(metric, weights):
    """It is negated if lower is better."""
    found = skrank.tune(X, Y, sample_weight=weights, metric=metric, **SHORT)
    scores = found.ranker.predict(X)
    again = found.ranker.fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(again.predict(X), scores)
    ranker, values = again.set_params(refit=False), []
    for train, test in skrank.QueryKFold(2, stratify="n_relevant").split(X, Y):
        own, others = (None, None) if weights is None else (weights[train], weights[test])
        ranker.fit(X[train], Y.iloc[train], sample_weight=own)
        value = skrank.scorer(metric)(ranker, X[test], Y.iloc[test], sample_weight=others)
        values.append(value)
    assert found.value == pytest.approx(np.mean(values))


def test_groups_from_every_source_find_the_same():
    frame = pd.DataFrame(X, index=pd.Index(QID, name="qid")).add_prefix("f")
    value = skrank.tune(X, Y, **SHORT).value
    assert skrank.tune(X, LABELS, QID, **SHORT).value == value
    assert skrank.tune(frame, LABELS, **SHORT).value == pytest.approx(value)


@pytest.mark.parametrize("booster", ["xgboost", "catboost"])
def test_other_boosters(booster):
    found = skrank.tune(X, Y, **SHORT | {"boosters": booster})
    assert found.params["booster"] == booster
    assert found.ranker.score(X, Y) > 0.5


def test_each_booster_begins_with_the_recommended_trees(tmp_path):
    two = SHORT | {"boosters": ["xgboost", "lightgbm"], "study": tmp_path / "trials.log"}
    for _ in range(2):
        found = skrank.tune(X, Y, **two)
    assert sorted(found.trials["booster"]) == ["lightgbm", "xgboost"]
    assert (found.trials["init_scale"] == 1).all()
    assert isinstance(found.ranker.estimator, xgboost.XGBRanker) == (
        found.params["booster"] == "xgboost"
    )


def test_a_study_in_a_file_is_continued_and_seeded(tmp_path):
    def trials(name):
        for count in range(1, 5):
            found = skrank.tune(X, Y, **SHORT, study=tmp_path / name)
            assert len(found.trials) == count
        return found

    first, second = trials("a"), trials("b")
    params = [[trial.params for trial in found.study.trials] for found in (first, second)]
    assert params[0] == params[1]
    assert len({str(one) for one in params[0]}) == 4
    assert (first.trials["folds"] >= 1).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": X[QID > 0], "y": Y[QID > 0]}, "of other labels and folds"),
        ({"sample_weight": 1.0 + QID % 3}, "of other labels and folds"),
        ({"metric": "gap"}, "of other metric"),
        ({"boosters": "xgboost"}, "of other boosters"),
    ],
)
def test_a_study_of_other_data_or_another_metric_is_refused(change, message, tmp_path):
    given = {"X": X, "y": Y, "study": str(tmp_path / "trials")} | SHORT
    skrank.tune(**given)
    with pytest.raises(ValueError, match=message):
        skrank.tune(**given | change)


def test_a_study_that_is_given_keeps_its_pruner():
    study = optuna.create_study(direction="maximize")
    before = optuna.logging.get_verbosity()
    assert skrank.tune(X, Y, **SHORT, study=study).study is study
    assert optuna.logging.get_verbosity() == before
    study.pruner = optuna.pruners.ThresholdPruner(lower=2.0)
    found = skrank.tune(X, Y, **SHORT, study=study)
    assert found.trials["value"].isna().tolist() == [False, True]
    assert found.trials["folds"].tolist() == [2, 1]
    assert "1 pruned" in str(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time_budget": 0}, "leaves no time for a trial: give a number of seconds"),
        ({"time_budget": -1}, "time_budget=-1 must be a number"),
        ({"time_budget": np.nan}, "time_budget"),
        ({"cv": 1}, "at least 2"),
        ({"cv": 16}, "cv=16 folds with validation need at least 32"),
        ({"boosters": "sklearn"}, "is not a choice"),
        ({"boosters": []}, "boosters"),
        ({"metric": "gab"}, "gab"),
        ({"study": 3}, "neither an optuna.Study nor a path"),
        ({"study": optuna.create_study()}, "minimises"),
        ({"random_state": "a"}, "is not a seed"),
        ({"sample_weight": np.arange(1.0, 1 + len(Y))}, "sample_weight varies inside query"),
        ({"y": LABELS}, "tune needs the query of each row"),
        ({"y": Y * 0}, "0 queries have a relevant document"),
        ({"X": X[1:]}, "inconsistent numbers"),
    ],
)
def test_what_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        skrank.tune(**{"X": X, "y": Y} | SHORT | change)


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(ImportError, match=r"pip install skrank\[tune\]"):
        skrank.tune(X, Y, **SHORT)
