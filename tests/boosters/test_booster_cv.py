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


def by_hand(data, cv, name, weighted, built_in):
    """Values per fold and round, for LightGBM's or XGBoost's own objective or for GAP."""
    whole = data.dataset(weighted, free_raw_data=False).construct()
    values = []
    for train, test in splits(data, 3, 7):
        train, test = np.sort(train), np.sort(test)
        if cv is skrank.lightgbm.cv:
            params = LGB | {"metric": "None", "objective": built_in or "none"}
            booster = lgb.Booster(params, whole.subset(train))
            objective = None if built_in else skrank.lightgbm.objective("gap", **FIRM)
            for _ in range(6):
                booster.update(fobj=objective)
            scores = [booster.predict(data.X[test], num_iteration=end) for end in range(1, 7)]
        else:
            own = {"objective": built_in} if built_in else {}
            objective = None if built_in else skrank.xgboost.objective("gap", **FIRM)
            params = XGB | {"disable_default_eval_metric": 1} | own
            booster = xgb.train(params, data.matrix(weighted, train), 6, obj=objective)
            rows, how = data.matrix(rows=test), {"output_margin": True}
            scores = [booster.predict(rows, iteration_range=(0, k), **how) for k in range(1, 7)]
        values.append([data.score(name, one, test, weighted) for one in scores])
    return np.array(values)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("cv", "built_in"),
    [
        (skrank.lightgbm.cv, None), (skrank.lightgbm.cv, "lambdarank"),
        (skrank.xgboost.cv, None), (skrank.xgboost.cv, "rank:ndcg"),
    ],
)  # fmt: skip
def test_it_equals_a_loop_by_hand(data, cv, built_in, weighted):
    light = cv is skrank.lightgbm.cv
    objective = None if built_in else skrank.LambdaRank("gap", **FIRM)
    params = (LGB if light else XGB) | ({"objective": built_in} if built_in else {})
    rows = data.dataset(weighted) if light else data.matrix(weighted)
    how = {"metrics": ["gap@5", "err"], "folds": 3, "seed": 7, "objective": objective}
    found = cv(params, rows, 6, **how)
    part, spread = ("valid ", "stdv") if light else ("test-", "std")
    tolerance = 1e-9 if light else 1e-6  # XGBoost logs six decimals
    assert isinstance(found, dict if light else pd.DataFrame)
    for name in ("gap@5", "err"):
        expected = by_hand(data, cv, name, weighted, built_in)
        for kind, values in (("mean", expected.mean(axis=0)), (spread, expected.std(axis=0))):
            np.testing.assert_allclose(found[f"{part}{name}-{kind}"], values, atol=tolerance)
    assert len(list(found)) == (4 if light else 8)


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
