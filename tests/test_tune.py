"""tune: its search, its trials, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
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
    monkeypatch.setattr("skrank._tune._ROUNDS", 5)


def test_the_best_trial_is_trained_on_all_queries(capsys):
    found = skrank.tune(X, Y, metric="gap", **SHORT)
    assert capsys.readouterr().err == ""  # without `progress`
    assert found.value == found.trials["value"].max() == found.study.best_value
    assert found.params["estimator__num_leaves"] == 15  # that of the first trial
    assert found.ranker.estimator.num_leaves == found.params["estimator__num_leaves"]
    assert found.ranker.init_ is not None
    assert found.ranker.score(X, Y) == skrank.scorer("gap")(found.ranker, X, Y)
    assert str(found).startswith("trials: 1 complete; best 0.")
    assert "<td>lightgbm</td>" in found._repr_html_()
    assert found.trials["state"].tolist() == ["COMPLETE"]


@pytest.mark.parametrize(("metric", "weights"), [("error@3", None), ("gap", 1.0 + QID % 3)])
def test_the_value_is_the_mean_over_folds_of_queries(metric, weights):
    """It is negated if lower is better."""
    found = skrank.tune(X, Y, sample_weight=weights, metric=metric, **SHORT)
    scores = found.ranker.predict(X)
    again = found.ranker.fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(again.predict(X), scores)
    ranker, values = again.set_params(options=None), []
    for train, test in skrank.QueryKFold(2, stratify="n_relevant").split(X, Y):
        own, others = (None, None) if weights is None else (weights[train], weights[test])
        ranker.fit(X[train], Y.iloc[train], sample_weight=own)
        value = skrank.scorer(metric)(ranker, X[test], Y.iloc[test], sample_weight=others)
        values.append(value)
    assert found.value == pytest.approx(np.mean(values))


@pytest.fixture
def clock(monkeypatch):
    """Seconds of a clock that only trainings move: by one in a fold, by four at the end."""
    fit, now = skrank.GroupedRanker.fit, [0.0]

    def timed(ranker, *args, **kwargs):
        now[0] += 1 + 3 * (ranker.options or {}).get("refit", False)
        return fit(ranker, *args, **kwargs)

    monkeypatch.setattr("skrank._tune.time.monotonic", lambda: now[0])
    monkeypatch.setattr(skrank.GroupedRanker, "fit", timed)
    return now


def test_each_booster_begins_with_the_recommended_trees(clock):
    found = skrank.tune(X, Y, **SHORT | {"boosters": ["xgboost", "lightgbm"], "time_budget": 9})
    first = found.trials.sort_values("number").head(2)
    assert first["booster"].tolist() == ["xgboost", "lightgbm"]
    assert (first["init_scale"] == 1).all()
    short = skrank.tune(X, Y, **SHORT | {"boosters": ["xgboost", "lightgbm"]})
    assert "without a complete trial, search longer: lightgbm" in str(short)
    assert isinstance(short.ranker.estimator, xgboost.XGBRanker)


FRAME = pd.DataFrame(X).add_prefix("f")


def test_progress_shows_the_plan_and_the_best_value(capsys):
    found = skrank.tune(X, Y, **SHORT, progress=True)
    shown = capsys.readouterr().err.replace("\r", "\n")
    assert "ndcg@10" in shown
    assert shown.strip().endswith(f"1 trials, best {found.value:.4f}")


def test_a_search_is_seeded_and_its_budget_includes_the_final_training(clock):
    trials = []
    for _ in range(2):
        clock[0] = 0.0
        found = skrank.tune(X, Y, **SHORT | {"time_budget": 13})
        assert 12 <= clock[0] <= 14
        trials.append([trial.params for trial in found.study.trials])
    assert trials[0] == trials[1]
    assert len(trials[0]) >= 4
    late = skrank.tune(X, Y, **SHORT | {"time_budget": 9, "cv": 4})
    assert "OUT OF TIME" in late.trials["state"].tolist()


def test_a_trial_that_fails_is_recorded_and_the_others_go_on():
    refused = FRAME.rename(columns={"f0": "a<b"})  # by XGBoost
    two = SHORT | {"boosters": ["xgboost", "lightgbm"]}
    with pytest.warns(UserWarning, match="xgboost"):
        found = skrank.tune(refused, Y, **two)
    assert found.trials["state"].tolist() == ["COMPLETE", "FAIL"]
    assert "1 complete, 1 fail;" in str(found)
    every = pytest.raises(ValueError, match="xgboost")
    with every, pytest.warns(UserWarning, match="xgboost"):
        skrank.tune(refused, Y, **SHORT | {"boosters": "xgboost"})


@pytest.mark.parametrize("booster", ["lightgbm", "xgboost", "catboost"])
def test_categories_are_declared(booster):
    brand = pd.Categorical(np.random.default_rng(0).choice(["x", "y", "z"], len(QID)))
    frame = FRAME.assign(brand=brand)
    polar = pl.DataFrame(dict(FRAME)).with_columns(
        pl.Series("brand", list(brand)).cast(pl.Enum(["x", "y", "z"]))
    )
    table = polar if booster == "xgboost" else frame
    found = skrank.tune(table, Y, **SHORT | {"boosters": booster})
    assert found.params["booster"] == booster
    assert found.trials["state"].tolist() == ["COMPLETE"]
    assert found.ranker.predict(table).shape == Y.shape


@pytest.mark.parametrize("booster", ["lightgbm", "xgboost", "catboost"])
def test_continuous_labels_need_no_grades(booster):
    rates = skrank.with_groups((LABELS + np.random.default_rng(0).random(len(QID))) / 6, QID)
    found = skrank.tune(X, rates, metric="ndcg(gain=linear)@10", **SHORT | {"boosters": booster})
    assert found.trials["state"].tolist() == ["COMPLETE"]
    assert found.ranker.objective != "gap"
    assert found.ranker.score(X, rates) == pytest.approx(
        skrank.metric("ndcg(gain=linear)@10")(rates, found.ranker.predict(X))
    )
    many = skrank.with_groups(1 + np.arange(len(QID)) % 64, QID)  # 65 labels with 0
    assert skrank.tune(X, many, **SHORT | {"boosters": booster}).ranker.objective != "gap"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time_budget": 0}, "time_budget"),
        ({"time_budget": np.nan}, "time_budget"),
        ({"cv": 1}, "at least 2"),
        ({"cv": 16}, "cv=16"),
        ({"boosters": "sklearn"}, "sklearn"),
        ({"boosters": []}, "boosters"),
        ({"metric": "ndgc@10"}, "ndgc"),
        ({"random_state": "a"}, "is not a seed"),
        ({"sample_weight": np.arange(1.0, 1 + len(Y))}, "sample_weight"),
        ({"y": LABELS}, "^tune"),
        ({"y": Y * 0}, "0 queries"),
        ({"y": Y.where(QID > 0)}, "row 0 of y"),
        ({"X": X[1:]}, "inconsistent numbers"),
    ],
)
def test_what_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        skrank.tune(**{"X": X, "y": Y} | SHORT | change)


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(ImportError, match=r"skrank\[tune\]"):
        skrank.tune(X, Y, **SHORT)
