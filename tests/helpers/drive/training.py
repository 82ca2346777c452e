"""Objectives, callables for boosters, scorers and rankers."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression, Ridge

import skrank
from skrank import objectives
from tests.helpers import odd
from tests.helpers.catalogue import Lists, trainable
from tests.helpers.drive import Call, case, within
from tests.helpers.drive.measures import CATALOGUE, literal_mean
from tests.helpers.lambdaloss_cases import literal_query
from tests.helpers.lambdarank_cases import literal

TRAINABLE = [point for point in CATALOGUE if trainable(point)]
SOFT = ("gap", "ap", "ndcg")
LITERAL = ("sigmoid", "truncation_level", "norm")  # options of the literal definition
GRADES = st.integers(0, 3).map(float)
FAR = (1e4, -1e17, 1e19, 1e38, -1e150, 1e300)
SCORES = st.integers(-9, 9).map(lambda n: n / 2) | st.sampled_from((*FAR, 0.5, 1.0, 2.0))


def rows_of(draw, least=2, most=8):
    """Labels, scores and queries of rows; the rows of a query are adjacent."""
    size = draw.size(least, most)
    first = draw.size(1, size)
    groups = np.where(np.arange(size) < first, 0, 1)
    return (
        draw.vector(GRADES, size, odd.labels),
        draw.vector(SCORES, size, odd.scores),
        draw(st.just(groups), odd.arrays(odd.ids, size)),
    )


def close(found, expected):
    """Compare gradients and hessians, relative to the largest of each."""
    for one, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, exact, rtol=0, atol=1e-9 * max(1, abs(exact).max()))


def of_queries(gradient):
    """A check that gradients of each query are `gradient(labels, scores)` of the query."""

    def check(data, found):
        queries = [np.flatnonzero(data.groups == query) for query in data.ids]
        parts = [gradient(data.relevance[rows], data.scores[rows]) for rows in queries]
        close([one[np.concatenate(queries)] for one in found], np.concatenate(parts, axis=1))

    return check


def gradient_of(make, draw, balanced=True, check=None):
    """A call of an objective: gradients are finite and sum to 0, hessians are at least 0."""
    labels, scores, groups = rows_of(draw)

    def verify(found):
        grad, hess = found
        assert np.isfinite(found).all()
        assert (hess >= 0).all()
        if balanced:
            assert abs(grad.sum()) <= 1e-9 * max(1.0, abs(grad).sum())
        if check is not None and not draw.is_odd:
            check(Lists(odd.as_floats(labels), odd.as_floats(scores), groups), found)

    return Call(lambda: make()(labels, scores, groups=groups), verify)


PAIRS = {
    "sigmoid": st.floats(0.1, 3), "truncation_level": st.integers(1, 5), "norm": st.booleans(),
    "pairs": st.sampled_from(("all", "adjacent")), "random_state": st.integers(0, 9),
    "tie_order": st.sampled_from(("random", "stable")), "perturbations": st.integers(1, 3),
    "temperature": st.floats(0.1, 2),
}  # fmt: skip


@case("objectives.LambdaRank")
def _(draw):
    point = draw.pick(*TRAINABLE)
    options = {"sigmoid": draw(st.floats(0.1, 3)), "norm": draw(st.booleans())}
    options["truncation_level"] = draw(st.sampled_from((None, 1, 3)))

    def check(data, found):
        close(found, literal(point, data, **options))

    stable = options | {"tie_order": draw(st.just("stable"))}
    return gradient_of(lambda: objectives.LambdaRank(point.metric, **stable), draw, check=check)


def in_one_order(data, options):
    """True if no random draw decides about the order of documents."""
    untied = all(len(set(scores)) == len(scores) for scores, _ in data.queries())
    return "perturbations" not in options and (untied or options.get("tie_order") == "stable")


@case("objectives.LambdaLoss")
def _(draw):
    pairs = {name: one for name, one in PAIRS.items() if name != "pairs"}
    options = draw.options(**pairs, mu=st.floats(0, 20))
    metric = draw.of("ndcg", "ndcg@3", "ndcg(gain=linear)@5")

    def check(data, found):
        if in_one_order(data, options):
            known = {name: options[name] for name in ("mu", *LITERAL) if name in options}
            of_queries(lambda y, s: literal_query(metric, y, s, **known))(data, found)

    return gradient_of(lambda: objectives.LambdaLoss(metric, **options), draw, check=check)


@case("objectives.UnbiasedLambdaRank")
def _(draw):
    pairs = {name: one for name, one in PAIRS.items() if name != "pairs"}
    options = draw.options(**pairs, bias_norm=st.floats(0, 1), max_position=st.integers(1, 9))
    point = draw.pick(*(one for one in TRAINABLE if str(one) in ("gap", "ndcg@3", "ap", "q")))

    def check(data, found):  # in the first round, all positions are alike
        if in_one_order(data, options):
            known = {name: options[name] for name in LITERAL if name in options}
            close(found, literal(point, data, **({"norm": False} | known)))

    metric = draw(st.just(point.metric))
    make = lambda: objectives.UnbiasedLambdaRank(metric, **options)  # noqa: E731
    return gradient_of(make, draw, check=check)


@case("objectives.SoftRank")
def _(draw):
    options = draw.options(sigma=st.floats(0.1, 3), relative=st.booleans())
    metric = draw.of(*SOFT)

    def check(data, found):
        """Compare with finite differences, for scores that are not too large for them."""
        objective, step = objectives.SoftRank(metric, **options), 1e-5
        near = np.flatnonzero((abs(data.scores) < 100) & (data.groups == data.groups[0]))
        rows = data.groups == data.groups[0]
        if not objective.is_function or not (data.relevance[rows] > 0).any():
            return
        for row in near:
            moved = [data.scores + sign * step * (np.arange(len(rows)) == row) for sign in (1, -1)]
            up, down = (
                objective.value(np.where(rows, data.relevance, np.nan), one, groups=data.groups)
                for one in moved
            )
            assert found[0][row] == pytest.approx((down - up) / (2 * step), abs=1e-5)

    return gradient_of(lambda: objectives.SoftRank(metric, **options), draw, check=check)


@case("objectives.AdditivePositionBias")
def _(draw):
    options = draw.options(
        max_position=st.integers(1, 9), learning_rate=st.floats(0.01, 1),
        regularization=st.floats(0, 1),
    )  # fmt: skip
    inner = draw(st.just(skrank.LambdaRank("ndcg")))
    return gradient_of(lambda: objectives.AdditivePositionBias(inner, **options), draw)


@case("objectives.Softmax")
def _(draw):
    options = draw.options(
        gain=st.sampled_from(("exp2", "linear")), random_gains=st.booleans(),
        random_state=st.integers(0, 9),
    )  # fmt: skip

    def by_hand(labels, scores):
        worth = labels if options.get("gain") == "linear" else 2**labels - 1
        if not worth.any():
            return np.zeros((2, len(labels)))
        chance = softmax(scores)
        return np.stack([chance - worth / worth.sum(), chance * (1 - chance)])

    check = of_queries(by_hand) if options.get("random_gains", False) is False else None
    return gradient_of(lambda: objectives.Softmax(**options), draw, check=check)


@case("objectives.SquaredError")
def _(draw):
    options = draw.options(
        gain=st.sampled_from(("exp2", "linear")), max_grade=st.just(3), centered=st.booleans()
    )

    def check(data, found):
        linear, n = options.get("gain") == "linear", len(data.relevance)
        top = options.get("max_grade") or data.max_grade
        target = data.relevance / top if linear else (2**data.relevance - 1) / (2.0**top - 1)
        rest, curvature = data.scores - target, np.ones(n)
        for query in data.ids if options.get("centered") else ():
            rows = data.groups == query
            rest[rows] -= rest[rows].mean()
            curvature[rows] = 1 - 1 / rows.sum()
        close(found, (rest, curvature))

    make = lambda: objectives.SquaredError(**options)  # noqa: E731
    return gradient_of(make, draw, balanced=False, check=check)


@case("objectives.ObjectiveMixture")
def _(draw):
    parts = ((0.5, skrank.LambdaRank("gap")), (2.0, skrank.SquaredError()))
    given = draw(st.just(parts))
    return gradient_of(lambda: objectives.ObjectiveMixture(given), draw, balanced=False)


@case("objectives.as_objective")
def _(draw):
    what = draw.of("gap", skrank.metric("ndcg@3"), "0.5*gap+0.5*err(max_grade=3)")
    options = draw.options(**PAIRS)
    return gradient_of(lambda: objectives.as_objective(what, **options), draw)


# boosters -----------------------------------------------------------------------------------------


class Trained:
    """Rows in contiguous queries, as boosters have them, and the data sets of boosters."""

    def __init__(self, draw):
        sizes = [draw.size(1, 4) for _ in range(draw.size(1, 3))]
        n = sum(sizes)
        self.sizes, self.groups = np.array(sizes), np.repeat(np.arange(len(sizes)), sizes)
        self.labels = np.array([draw.pick(0.0, 1.0, 2.0, 3.0) for _ in range(n)])
        self.preds = draw(
            st.lists(SCORES, min_size=n, max_size=n).map(np.array),
            st.lists(odd.scores, min_size=n, max_size=n).map(np.array) | odd.anything,
        )

    def dataset(self):
        import lightgbm

        return lightgbm.Dataset(
            np.zeros((len(self.labels), 1)), self.labels, group=self.sizes, params={"verbose": -1}
        ).construct()

    def matrix(self):
        import xgboost

        return xgboost.DMatrix(np.zeros((len(self.labels), 1)), self.labels, qid=self.groups)

    def lists(self):
        return Lists(self.labels, np.asarray(self.preds, float), self.groups)


# metrics that need no scale of grades: a call outside of training has none
FIXED = [p for p in CATALOGUE if not p.settled.needs_scale and p.metric.average == "macro"]


def called_by(booster, callable_, way, data):
    """Result of a callable for a booster, or for its scikit-learn estimator."""
    if booster == "xgboost":
        return callable_(data.preds, data.matrix())
    if way == "train":
        return callable_(data.preds, data.dataset())
    return callable_(data.labels, data.preds, None, data.sizes)


def drive_metric(booster):
    @case(f"{booster}.eval_metric")
    def _(draw):
        import skrank.lightgbm
        import skrank.xgboost

        data, point = Trained(draw), draw.pick(*FIXED)
        metric = draw(st.just(point.settled))
        way = draw.pick("fit", "train")

        def call():
            return called_by(booster, getattr(skrank, booster).eval_metric(metric), way, data)

        def verify(found):
            assert isinstance(found[1], float)
            if not draw.is_odd:
                lists = data.lists()
                scale = getattr(metric, "max_grade", 0) or 0
                if lists.max_grade <= (scale or 99):
                    expected = literal_mean(point, lists)
                    assert found[1] == pytest.approx(expected, rel=1e-6, abs=1e-9, nan_ok=True)

        return Call(call, verify)


def drive_objective(booster):
    @case(f"{booster}.objective")
    def _(draw):
        import skrank.lightgbm
        import skrank.xgboost

        data, point = Trained(draw), draw.pick(*TRAINABLE)
        metric, options = draw(st.just(point.metric)), {"tie_order": draw(st.just("stable"))}
        way = draw.pick("fit", "train")

        def call():
            made = getattr(skrank, booster).objective(metric, **options)
            return called_by(booster, made, way, data)

        def verify(found):
            grad, hess = np.asarray(found)
            assert np.isfinite(grad).all()
            assert (hess >= 0).all()
            if not draw.is_odd:
                twice = 2 if booster == "xgboost" else 1
                exact = literal(point, data.lists())
                atol = 1e-5 * max(1, abs(exact[0]).max())
                np.testing.assert_allclose(grad, exact[0], rtol=1e-4, atol=atol)
                np.testing.assert_allclose(hess / twice, exact[1], rtol=1e-4, atol=atol)

        return Call(call, verify)


for _booster in ("lightgbm", "xgboost"):
    drive_metric(_booster)
    drive_objective(_booster)


@case("xgboost.early_stopping")
def _(draw):
    import skrank.xgboost

    metric, rounds = draw.of("gap@10", "error@3"), draw(st.integers(1, 99))
    options = draw.options(
        save_best=st.booleans(), data_name=st.just("valid"), min_delta=st.floats(0, 1)
    )

    def verify(found):
        assert found.maximize == skrank.metric(metric).greater_is_better

    return Call(lambda: skrank.xgboost.early_stopping(metric, rounds, **options), verify)


DATA = skrank.datasets.make_ranking(12, n_docs=(3, 6), n_features=8, random_state=0)


def drive_cv(booster, data, params):
    @case(f"{booster}.cv")
    def _(draw):
        import skrank.lightgbm
        import skrank.xgboost

        options = draw.options(folds=st.integers(2, 3), seed=st.integers(0, 9)) | {
            "objective": draw.of("gap", skrank.SoftRank("ndcg")),
            "metrics": draw.of("gap@3", ["ndcg@3", "ap"]),
        }
        rounds = draw(st.integers(1, 3))
        return Call(
            lambda: getattr(skrank, booster).cv(params, data(), rounds, **options),
            lambda found: within(0, 1)([*found.values()] if isinstance(found, dict) else found),
        )


def _dataset():
    import lightgbm

    sizes = np.unique(DATA.qid, return_counts=True)[1]
    return lightgbm.Dataset(DATA.X, DATA.relevance, group=sizes, params={"verbose": -1})


def _matrix():
    import xgboost

    return xgboost.DMatrix(DATA.X, DATA.relevance, qid=DATA.qid)


drive_cv("lightgbm", _dataset, {"verbosity": -1, "num_threads": 1, "num_leaves": 3})
drive_cv("xgboost", _matrix, {"nthread": 1, "max_depth": 2})


# scorers and rankers ------------------------------------------------------------------------------


@case("scoring.get_scorer")
def _(draw):
    labels, scores, _ = rows_of(draw)
    groups = draw(st.just(np.zeros(np.size(odd.of_dtype(labels, "O")), int)))
    metric = draw.of("gap", "ap", "rr", "precision@2")
    options = draw.options(max_grade=st.just(3), response_method=st.sampled_from(("auto",)))

    class Model:
        """Gives the column as scores."""

        def fit(self, X, y):
            return self

        def predict(self, X):
            return X

    def verify(found):
        if not draw.is_odd:
            given = {"max_grade": 3} if metric == "gap" and "max_grade" in options else {}
            values = skrank.metric(metric, **given).per_query(labels, scores, groups=groups)
            assert found == pytest.approx(values.iloc[0], nan_ok=True)

    return Call(
        lambda: skrank.scorer(metric, **options)(Model(), scores, labels, groups=groups), verify
    )


@case("scoring.RankingScorer")
def _(draw):
    metrics = draw.of(["gap"], ["ap", "ndcg@3"])
    options = draw.options(max_grade=st.integers(1, 9))
    return Call(lambda: skrank.scoring.RankingScorer(metrics, **options), repr)


@case("scoring.as_scores")
def _(draw):
    names = draw.pick(["gap"], ["error@3"], ["gap", "error@3"])
    scores = {"gap": 0.25, "neg_error@3": -0.25}
    kept = [scores[name] for name in scores if name.removeprefix("neg_") in names]

    def check(found):
        assert (list(found.values()) if isinstance(found, dict) else [found]) == kept

    means = {skrank.metric(name): 0.25 for name in names}
    return Call(lambda: skrank.scoring.as_scores(means), check)


@case("scoring.get_scorer_names")
def _(draw):
    return Call(skrank.get_scorer_names, lambda found: [skrank.scorer(one) for one in found])


Y = skrank.with_groups(DATA.relevance, DATA.qid)


def fitted(draw, make):
    """A call that fits a ranker and predicts; scores are finite."""
    X, y = draw(st.just(DATA.X)), draw(st.just(Y))
    call = lambda: make().fit(X, y).predict(X)  # noqa: E731
    return Call(call, lambda found: np.isfinite(found).all() or pytest.fail("no scores"))


COMMON = {
    "scoring": st.sampled_from(("gap", "ndcg@3")), "unjudged": st.sampled_from(("raise", "drop")),
    "max_queries": st.integers(4, 9), "random_state": st.integers(0, 9),
}  # fmt: skip


@case("rankers.GroupedRanker")
def _(draw):
    inner = draw(st.sampled_from((Ridge(), LogisticRegression(max_iter=1000))))
    options = draw.options(**COMMON)
    return fitted(draw, lambda: skrank.GroupedRanker(inner, **options))


@case("rankers.LinearRanker")
def _(draw):
    options = draw.options(
        **COMMON, alpha=st.floats(1e-4, 1), positive=st.booleans(), sigma=st.floats(0.1, 2),
        validation_fraction=st.floats(0.2, 0.4), max_iter=st.integers(1, 9),
        features=st.sampled_from(("auto", "standard", "log")),
    )  # fmt: skip
    options.setdefault("max_iter", 5)
    objective = draw.of("gap", "ndcg", skrank.Softmax())
    return fitted(draw, lambda: skrank.LinearRanker(objective, **options))


@case("rankers.RankerMean")
def _(draw):
    members = [Ridge(), ("grades", LogisticRegression(max_iter=1000))]
    options = draw.options(
        weights=st.sampled_from(([1.0, 2.0], "validation")), scoring=st.just("ndcg@3"),
        random_state=st.integers(0, 9),
    )  # fmt: skip
    share = draw(st.floats(0.2, 0.4))
    given = draw(st.just(members))
    return fitted(draw, lambda: skrank.RankerMean(given, validation_fraction=share, **options))


@case("tune")
def _(draw):
    options = draw.options(
        metric=st.sampled_from(("gap", "err@3")), random_state=st.integers(0, 9),
        sample_weight=st.just(np.ones(len(DATA.X))),
    )  # fmt: skip
    given = {"boosters": draw.of("lightgbm", ["lightgbm"]), "cv": draw(st.just(2))}
    # a relevant document in each query, so that each validation part has one
    graded = skrank.with_groups(
        np.maximum(DATA.relevance, 1 - np.arange(len(DATA.qid)) % 2), DATA.qid
    )
    X, y, seconds = draw(st.just(DATA.X)), draw(st.just(graded)), draw(st.just(1e-3))

    def verify(found):
        assert found.value == found.trials["value"].max()
        assert np.isfinite(found.ranker.predict(DATA.X)).all()

    return Call(lambda: skrank.tune(X, y, time_budget=seconds, **given, **options), verify)


@case("save_onnx")
def _(draw):
    pytest.importorskip("onnx")
    ranker = draw(st.just(skrank.LinearRanker(tol=1.0).fit(DATA.X, Y)))

    def call():
        with tempfile.TemporaryDirectory() as folder:
            skrank.save_onnx(ranker, Path(folder, "ranker.onnx"))

    return Call(call)


@case("with_groups")
def _(draw):
    labels, _, groups = rows_of(draw)

    def verify(found):
        assert found.index.name == "qid"
        if not draw.is_odd:
            assert found.to_numpy().tolist() == odd.as_floats(labels).tolist()
            assert found.index.tolist() == groups.tolist()

    return Call(lambda: skrank.with_groups(labels, groups), verify)


@case("rank")
def _(draw):
    size = draw.size(1, 8)
    scores = draw.vector(st.integers(-2, 2).map(float) | st.just(-odd.INF), size, odd.scores)
    groups = draw.groups(size)
    options = draw.options(k=st.integers(1, 9), ties=st.sampled_from(("average", "stable", "best")))

    def verify(found):
        assert list(found.columns) == ["query", "rank", "document", "score"]
        assert (found["rank"] >= 1).all()
        if not draw.is_odd:
            kept = np.flatnonzero(odd.as_floats(scores) > -np.inf)
            assert set(found["document"]) <= set(kept)
            assert len(found) == len(kept) or "k" in options
            assert (found.groupby("query")["score"].diff().dropna() <= 0).all()

    return Call(lambda: skrank.rank(scores, groups, **options), verify)
