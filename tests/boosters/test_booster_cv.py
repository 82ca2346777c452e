"""Cross-validation in the boosters' own APIs: as a hand-made loop over folds of whole queries."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.model_selection import GroupKFold, KFold

import skrank
import skrank.lightgbm
import skrank.xgboost

LGB = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 5, "num_leaves": 8}
XGB = {"nthread": 1, "max_depth": 3}
FIRM = {"tie_order": "stable"}  # so that the order of queries draws nothing


class Data:
    """Ragged queries of string ids; some without a relevant document."""

    def __init__(self, seed=0, n_queries=40):
        rng = np.random.default_rng(seed)
        self.sizes = rng.integers(2, 15, n_queries)
        self.qid = np.repeat([f"q{i:02d}" for i in rng.permutation(n_queries)], self.sizes)
        self.X = rng.normal(size=(self.sizes.sum(), 4)).astype(np.float32)
        latent = self.X[:, 0] + 0.5 * self.X[:, 1] + rng.normal(size=len(self.X)) - 0.5
        self.y = np.clip(np.floor(latent), 0, 3)
        self.y[np.isin(self.qid, ("q03", "q17"))] = 0
        self.query_weight = rng.choice([0.5, 1.0, 3.0], n_queries)
        self.weight = np.repeat(self.query_weight, self.sizes)

    def dataset(self, weighted=False, **fields):
        weight = self.weight if weighted else None
        fields = {"group": self.sizes, "weight": weight, "params": dict(LGB)} | fields
        return lgb.Dataset(self.X, self.y, **fields)

    def matrix(self, weighted=False, rows=slice(None)):
        sizes = run_lengths(self.qid[rows])
        weight = self.weight[rows][np.cumsum(sizes) - 1] if weighted else None
        return xgb.DMatrix(self.X[rows], self.y[rows], group=sizes, weight=weight)

    def score(self, metric, scores, rows, weighted=False):
        weight = self.weight[rows] if weighted else None
        scale = {"max_grade": int(self.y.max())} if metric == "err" else {}  # of all labels
        return skrank.metric(metric, **scale)(
            self.y[rows], scores, groups=self.qid[rows], sample_weight=weight
        )

    def shuffled(self, seed):
        """The same queries in another order."""
        order = np.random.default_rng(seed).permutation(len(self.sizes))
        starts = np.cumsum(self.sizes) - self.sizes
        rows = np.concatenate([np.arange(starts[q], starts[q] + self.sizes[q]) for q in order])
        other = Data.__new__(Data)
        other.sizes, other.query_weight = self.sizes[order], self.query_weight[order]
        for name in ("qid", "X", "y", "weight"):
            setattr(other, name, getattr(self, name)[rows])
        return other


def run_lengths(values):
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    return np.diff(np.r_[starts, len(values)])


@pytest.fixture(scope="module")
def data():
    return Data()


def splits(data, n_splits=3, seed=0):
    number = np.repeat(np.arange(len(data.sizes)), data.sizes)
    cv = skrank.QueryKFold(n_splits, shuffle=True, random_state=seed)
    return list(cv.split(data.X, data.y, number))


# What a hand-made loop gives ------------------------------------------------------------------


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
    assert 0 < ends["err"] < ends["gap@5"] < 50  # the first metric decides
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


# Folds ----------------------------------------------------------------------------------------


def both(data, rounds=4, **options):
    """Means of both boosters per round."""
    options = {"objective": skrank.LambdaRank("gap", **FIRM), "metrics": "gap@5"} | options
    one = skrank.lightgbm.cv(LGB, data.dataset(True), rounds, **options)
    two = skrank.xgboost.cv(XGB, data.matrix(True), rounds, **options)
    return np.array([one["valid gap@5-mean"], two["test-gap@5-mean"]])


def test_the_order_of_queries_does_not_matter_with_groups(data):
    other = data.shuffled(1)
    for folds in (3, skrank.QueryKFold(3), skrank.QueryTimeSeriesSplit(2)):
        found = both(data, folds=folds, groups=data.qid)
        again = both(other, folds=folds, groups=other.qid)
        np.testing.assert_allclose(again, found, atol=2e-6)
    assert not np.allclose(both(data), both(other))  # queries are then named by their places


def test_splitters_and_rows_give_the_same(data):
    number = np.repeat(np.arange(len(data.sizes)), data.sizes)
    expected = both(data, folds=GroupKFold(3))
    rows = list(GroupKFold(3).split(data.X, data.y, number))
    np.testing.assert_array_equal(both(data, folds=rows), expected)
    lazy = run_xgboost(data, objective="gap", folds=iter(rows))
    pd.testing.assert_frame_equal(lazy, run_xgboost(data, objective="gap", folds=rows))
    backwards = [(train[::-1], test[::-1].tolist()) for train, test in rows]
    np.testing.assert_array_equal(both(data, folds=backwards), expected)


def test_splitters_see_the_labels(data):
    number = np.repeat(np.arange(len(data.sizes)), data.sizes)
    cv = skrank.QueryKFold(4, stratify="n_relevant")
    expected = both(data, folds=list(cv.split(data.X, data.y, number)))
    np.testing.assert_array_equal(both(data, folds=cv), expected)


def test_the_scale_of_grades_is_that_of_all_labels(data):
    low = Data(3)
    low.y = np.minimum(low.y, 2)
    low.y[low.qid == low.qid[0]] = 4  # in one query only, which most training parts miss
    number = np.repeat(np.arange(len(low.sizes)), low.sizes)
    folds = list(skrank.QueryKFold(4).split(low.X, low.y, number))[:2]
    firm = skrank.LambdaRank(skrank.metric("err", max_grade=4), **FIRM)
    given = {"folds": folds, "rounds": 3}
    implied = both(low, objective=skrank.LambdaRank("err", **FIRM), **given)
    np.testing.assert_array_equal(both(low, objective=firm, **given), implied)
    for run, log in ((skrank.lightgbm.cv, "valid err-mean"), (skrank.xgboost.cv, "test-err-mean")):
        params, source = (LGB, low.dataset()) if "valid" in log else (XGB, low.matrix())
        one = run(params, source, 2, objective=firm, metrics="err", folds=folds)
        fixed = skrank.metric("err", max_grade=4)
        two = run(params, source, 2, objective=firm, metrics=fixed, folds=folds)
        expected = two[log.replace("err", str(fixed))]
        np.testing.assert_array_equal(one[log], expected)


def test_feature_names_and_categories_survive_the_split(data):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    frame["c"] = pd.Categorical(np.arange(len(frame)) % 3)
    matrix = xgb.DMatrix(frame, data.y, group=data.sizes, enable_categorical=True)
    _, boosters = skrank.xgboost.cv(XGB, matrix, 2, objective="gap", folds=2, return_boosters=True)
    assert boosters[0].feature_names == list("abcd")
    assert boosters[0].feature_types == ["float", "float", "c", "float"]


# Per query ------------------------------------------------------------------------------------


def test_values_per_query_of_every_fold(data):
    folds = splits(data)
    log, log2 = skrank.lightgbm.QueryLog(), skrank.xgboost.QueryLog()
    options = {"objective": skrank.LambdaRank("gap", **FIRM), "metrics": "gap@5", "folds": folds}
    one = skrank.lightgbm.cv(LGB, data.dataset(), 3, per_query=log, **options)
    two = skrank.xgboost.cv(XGB, data.matrix(), 3, per_query=log2, **options)
    assert (len(log), len(log2)) == (3, 6)
    for found, each in (
        (one["valid gap@5-mean"], [log.frame("gap@5", fold) for fold in range(3)]),
        (two["test-gap@5-mean"], [log2.frame("gap@5", 2 * fold + 1) for fold in range(3)]),
    ):
        assert [frame.shape for frame in each] == [
            (3, len(np.unique(data.qid[test]))) for _, test in folds
        ]
        np.testing.assert_allclose(
            np.mean([frame.mean(axis=1) for frame in each], axis=0), found, atol=6e-7
        )


# What is refused ------------------------------------------------------------------------------


def run_lightgbm(data, params=None, source=None, **options):
    source = data.dataset() if source is None else source
    return skrank.lightgbm.cv(LGB | (params or {}), source, 2, **options)


def run_xgboost(data, params=None, source=None, **options):
    source = data.matrix() if source is None else source
    return skrank.xgboost.cv(XGB | (params or {}), source, 2, **options)


each = pytest.mark.parametrize("run", [run_lightgbm, run_xgboost])


@each
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": KFold(3)}, "training part of fold 0 tears queries apart.*skrank.QueryKFold"),
        ({"folds": 1}, "at least 2 folds"),
        ({"folds": 41}, "more than the 40 queries"),
        ({"folds": "five"}, "folds='five' must be a number"),
        ({"folds": True}, "folds=True must be a number"),
        ({"folds": []}, "folds is empty"),
        ({"folds": [5]}, "fold 0 must be a pair"),
        ({"folds": [([0.5], [1])]}, "must hold row numbers"),
        ({"folds": [([], [1])]}, "must hold row numbers"),
        ({"folds": [([0], [10**6])]}, "training part of fold 0 tears"),
        ({"groups": np.zeros(3)}, "one query id per row"),
        ({"metrics": []}, "no metric"),
        ({"metrics": "gapp"}, "did you mean 'gap'"),
        ({"objective": None}, "there is no objective"),
        ({"early_stopping_rounds": 0}, "must be at least 1"),
        ({"per_query": {}}, "must be a QueryLog"),
    ],
)
def test_bad_arguments(data, run, options, message):
    with pytest.raises(ValueError, match=message):
        run(data, **{"objective": "gap"} | options)


@each
def test_bad_folds(data, run):
    first, second = (np.arange(data.sizes[0]), data.sizes[0] + np.arange(data.sizes[1]))
    cases = [
        ((first, np.r_[first, second]), "fold 0 has query 0 in its training and its test part"),
        ((np.r_[first, first], second), "repeats rows"),
        ((np.r_[first[1:], first[1]], second), "repeats rows"),
        ((first, second[1:]), "test part of fold 0 tears"),
        ((first, [10**6]), "outside of 0.."),
        ((first, [-1]), "outside of 0.."),
    ]
    for fold, message in cases:
        with pytest.raises(ValueError, match=message):
            run(data, objective="gap", folds=[fold])


@each
def test_bad_groups(data, run):
    torn, alike = data.qid.copy(), data.qid.copy()
    torn[1] = "other"
    alike[-data.sizes[-1] :] = alike[0]
    for groups, message in ((torn, "row 1 is of query"), (alike, "alike: ids must differ")):
        with pytest.raises(ValueError, match=message):
            run(data, objective="gap", groups=groups)


@each
def test_one_objective_and_one_metric(data, run):
    with pytest.raises(ValueError, match="two objectives"):
        run(data, {"objective": "rank:ndcg"}, objective="gap")
    with pytest.raises(ValueError, match=r"there is no metric: give metrics="):
        run(data, {"objective": "rank:ndcg"})
    for name in ("metric", "eval_metric"):
        if (name == "metric") == (run is run_lightgbm):
            with pytest.raises(ValueError, match=f"params has {name}='ndcg': give metrics= to"):
                run(data, {name: "ndcg"}, objective="gap")


def test_an_objective_in_the_parameters_of_lightgbm_gives_its_metric(data):
    found = run_lightgbm(data, {"objective": skrank.lightgbm.objective("err")}, folds=2)
    assert list(found) == ["valid err-mean", "valid err-stdv"]


def test_early_stopping_in_the_parameters_of_lightgbm_is_refused(data):
    with pytest.raises(ValueError, match=r"early_stopping_round=5: give early_stopping_rounds="):
        run_lightgbm(data, {"early_stopping_round": 5}, objective="gap")


def test_no_queries(data):
    with pytest.raises(ValueError, match=r"lightgbm.Dataset has no groups"):
        run_lightgbm(data, source=data.dataset(group=None), objective="gap")
    with pytest.raises(ValueError, match=r"the DMatrix has no groups"):
        run_xgboost(data, source=xgb.DMatrix(data.X, data.y), objective="gap")


def test_weights_of_rows_are_refused(data):
    source = data.matrix()
    source.set_weight(data.weight)
    with pytest.raises(ValueError, match="one weight per query"):
        run_xgboost(data, source=source, objective="gap")
    source = data.dataset(weight=np.arange(1.0, len(data.y) + 1))
    with pytest.raises(ValueError, match="varies inside query"):
        run_lightgbm(data, source=source, objective="gap")


def test_a_quantile_matrix_is_refused(data):
    matrix = xgb.QuantileDMatrix(data.X, data.y, group=data.sizes)
    with pytest.raises(TypeError, match=r"cannot split a QuantileDMatrix: build"):
        run_xgboost(data, source=matrix, objective="gap")
    with pytest.raises(TypeError, match=r"skrank.xgboost.cv needs a DMatrix"):
        skrank.xgboost.cv(XGB, data.X, 2, objective="gap")


def test_bagging_by_query_is_refused(data):
    bagging = {"bagging_by_query": True, "bagging_fraction": 0.5, "bagging_freq": 1}
    with pytest.raises(ValueError, match="trains nothing"):
        run_lightgbm(data, bagging, objective="gap")
