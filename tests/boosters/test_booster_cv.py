"""Cross-validation of boosters equals a loop over folds."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import skrank
import skrank.lightgbm
import skrank.xgboost
from tests.helpers.booster_runs import (
    FIRM,
    LGB,
    XGB,
    Data,
    splits,
)


@pytest.fixture(scope="module")
def data():
    return Data()


# A loop over folds ---------------------------------------------------------------------------


def lightgbm_by_hand(data, folds, rounds, metric, weighted=False, objective="gap"):
    """Values per fold and round."""
    whole = data.dataset(weighted, free_raw_data=False).construct()
    own = isinstance(objective, str) and objective == "lambdarank"
    values = []
    for train, test in folds:
        params = LGB | {"metric": "None", "objective": objective if own else "none"}
        booster = lgb.Booster(params, whole.subset(np.sort(train)))
        ours = None if own else skrank.lightgbm.objective(objective, **FIRM)
        rows = np.sort(test)
        found = []
        for _ in range(rounds):
            booster.update(fobj=ours)
            found.append(data.score(metric, booster.predict(data.X[rows]), rows, weighted))
        values.append(found)
    return np.array(values)


def xgboost_by_hand(data, folds, rounds, metric, weighted=False, objective="gap"):
    values = []
    for train, test in folds:
        train, test = np.sort(train), np.sort(test)
        own = objective == "rank:ndcg"
        booster = xgb.train(
            XGB | {"disable_default_eval_metric": 1} | ({"objective": objective} if own else {}),
            data.matrix(weighted, train),
            rounds,
            obj=None if own else skrank.xgboost.objective(objective, **FIRM),
        )
        scores = [
            booster.predict(data.matrix(rows=test), iteration_range=(0, end), output_margin=True)
            for end in range(1, rounds + 1)
        ]
        values.append([data.score(metric, one, test, weighted) for one in scores])
    return np.array(values)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("objective", ["gap", "lambdarank"])
def test_lightgbm_equals_a_loop_by_hand(data, objective, weighted):
    ours = {"objective": skrank.LambdaRank("gap", **FIRM)}
    given = {"params": LGB} | ours
    if objective == "lambdarank":
        given = {"params": LGB | {"objective": objective}}
    found = skrank.lightgbm.cv(
        train_set=data.dataset(weighted),
        num_boost_round=6,
        metrics=["gap@5", "err"],
        folds=3,
        seed=7,
        **given,
    )
    names = ["valid gap@5-mean", "valid gap@5-stdv", "valid err-mean", "valid err-stdv"]
    assert list(found) == names
    for name in ("gap@5", "err"):
        expected = lightgbm_by_hand(data, splits(data, 3, 7), 6, name, weighted, objective)
        np.testing.assert_allclose(found[f"valid {name}-mean"], expected.mean(axis=0))
        np.testing.assert_allclose(found[f"valid {name}-stdv"], expected.std(axis=0))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("objective", ["gap", "rank:ndcg"])
def test_xgboost_equals_a_loop_by_hand(data, objective, weighted):
    given = {"params": XGB, "objective": skrank.LambdaRank("gap", **FIRM)}
    if objective == "rank:ndcg":
        given = {"params": XGB | {"objective": objective}}
    found = skrank.xgboost.cv(
        dtrain=data.matrix(weighted),
        num_boost_round=6,
        metrics=["gap@5", "err"],
        folds=3,
        seed=7,
        **given,
    )
    assert isinstance(found, pd.DataFrame)
    for name in ("gap@5", "err"):
        expected = xgboost_by_hand(data, splits(data, 3, 7), 6, name, weighted, objective)
        np.testing.assert_allclose(found[f"test-{name}-mean"], expected.mean(axis=0), atol=6e-7)
        np.testing.assert_allclose(found[f"test-{name}-std"], expected.std(axis=0), atol=1e-6)
        assert (found[f"train-{name}-mean"] > found[f"test-{name}-mean"]).all()


def test_weights_of_queries_are_not_dropped(data):
    found = [
        skrank.xgboost.cv(XGB, data.matrix(weighted), 3, objective="gap", folds=2)
        for weighted in (False, True)
    ]
    assert (found[0]["test-gap-mean"] != found[1]["test-gap-mean"]).all()


# Early stopping -------------------------------------------------------------------------------


def stop_by_hand(means, rounds):
    best = 0
    for number, value in enumerate(means):
        if value > means[best]:
            best = number
        elif number - best >= rounds:
            return best
    return None


def test_lightgbm_stops_as_by_hand(data):
    folds, ours = splits(data), skrank.LambdaRank("gap", **FIRM)
    options = {"objective": ours, "metrics": ["gap@5", "err"], "folds": folds}
    given = LGB | {"learning_rate": 0.4}
    plain = skrank.lightgbm.cv(given, data.dataset(), 60, **options)
    best = stop_by_hand(plain["valid gap@5-mean"], 4)
    assert best is not None
    assert best > 0
    for extra in ({}, {"eval_train_metric": True}):
        found = skrank.lightgbm.cv(
            given, data.dataset(), 60, early_stopping_rounds=4, return_cvbooster=True,
            **options, **extra,
        )  # fmt: skip
        assert found["valid gap@5-mean"] == plain["valid gap@5-mean"][: best + 1]
        assert found["cvbooster"].best_iteration == best + 1
        assert ("train gap@5-mean" in found) == bool(extra)
    rows = folds[1][1]
    scores = found["cvbooster"].boosters[1].predict(data.X[rows])
    value = np.mean([
        data.score("gap@5", booster.predict(data.X[test], num_iteration=best + 1), test)
        for booster, (_, test) in zip(found["cvbooster"].boosters, folds, strict=True)
    ])  # fmt: skip
    assert value == pytest.approx(found["valid gap@5-mean"][-1])
    np.testing.assert_array_equal(
        scores, found["cvbooster"].boosters[1].predict(data.X[rows], num_iteration=best + 1)
    )


def test_xgboost_stops_as_by_hand(data):
    folds, ours = splits(data), skrank.LambdaRank("gap", **FIRM)
    options = {"objective": ours, "folds": folds}
    given, names = XGB | {"learning_rate": 0.5}, ["gap@5", "err"]
    plain = skrank.xgboost.cv(given, data.matrix(), 60, metrics=names, **options)
    ends = {name: stop_by_hand(plain[f"test-{name}-mean"].to_numpy(), 4) for name in names}
    assert 0 < ends["err"] < ends["gap@5"] < 50  # the first metric decides when to stop
    for first, second in (names, names[::-1]):
        found, boosters = skrank.xgboost.cv(
            given, data.matrix(), 60, metrics=[first, second], early_stopping_rounds=4,
            return_boosters=True, **options,
        )  # fmt: skip
        best = ends[first]
        pd.testing.assert_frame_equal(found, plain.iloc[: best + 1][list(found)])
        assert [booster.best_iteration for booster in boosters] == [best] * 3
        kept = {"iteration_range": (0, best + 1)}
        values = [
            data.score(first, one.predict(data.matrix(rows=test), **kept), test)
            for one, (_, test) in zip(boosters, folds, strict=True)
        ]
        assert np.mean(values) == pytest.approx(found[f"test-{first}-mean"].iloc[-1], abs=6e-7)


def test_a_metric_to_minimise_stops_the_other_way(data, monkeypatch):
    monkeypatch.setattr(type(skrank.metric("err")), "greater_is_better", False)
    options = {"objective": "gap", "metrics": "err", "folds": 2, "early_stopping_rounds": 2}
    by_lightgbm = skrank.lightgbm.cv(LGB, data.dataset(), 20, **options)
    by_xgboost = skrank.xgboost.cv(XGB, data.matrix(), 20, **options)
    assert len(by_lightgbm["valid err-mean"]) < 15
    assert len(by_xgboost) < 15
