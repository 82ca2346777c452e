"""recommended_ranker: the ranker to begin with."""

from __future__ import annotations

from numbers import Integral

from skrank import _validation as check
from skrank._boosters.adapters import import_booster
from skrank._typing import Estimator, Options, RandomState
from skrank.metrics import Metric
from skrank.rankers._grouped import GroupedRanker
from skrank.rankers._mean import RankerMean

# The page "What should I train?" of the docs compares boosters with these rounds.
_ROUNDS = {"n_estimators": 400, "learning_rate": 0.05}
_TREES = {
    "lightgbm": "LGBMRanker", "xgboost": "XGBRanker",
    "lightgbm.dask": "DaskLGBMRanker", "xgboost.dask": "DaskXGBRanker",
}  # by module  # fmt: skip
# Parameters of regularised trees. That page compares them with the default trees.
_REGULARISED: dict[str, Options] = {
    "lightgbm": {
        "num_leaves": 15, "min_child_samples": 30, "colsample_bytree": 0.7, "extra_trees": True,
        "reg_lambda": 5,
    },
    "xgboost": {
        "max_depth": 4, "colsample_bytree": 0.7, "colsample_bynode": 0.3, "reg_lambda": 5,
    },
}  # fmt: skip


def recommended_ranker(
    booster: str = "lightgbm",
    *,
    metric: str | Metric = "ndcg@10",
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> RankerMean:
    """Make the ranker that is recommended for a start: a mean of boosters, not yet fitted.

    The mean has two boosters, trained on GAP (graded average precision): "default" has the trees of
    the booster's default parameters, and "regularised" has smaller, penalised and more random
    trees. Both boost from the scores of one linear ranker, stop early on the same fifth of the
    queries, and are trained again on all queries. In comparisons on collections of several sizes
    and with clean and noisy labels, this mean was the best setting or close to the best.

    Parameters
    ----------
    booster : {"lightgbm", "xgboost", "catboost", "lightgbm.dask", "xgboost.dask"}
        Default: "lightgbm". With "catboost", which has no GAP, CatBoost's YetiRank is a third
        ranker, "catboost", beside the two of LightGBM. The last two train on the workers of Dask,
        on arrays or Dask collections.
    metric : str or Metric, default="ndcg@10"
        Metric of early stopping and of `score`.
    n_jobs : int, optional
        Number of threads of the boosters. Default: all. In a search with several jobs, use 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the boosters and of the queries that are held out. None draws a seed.

    Returns
    -------
    RankerMean
        Its parameters have names such as ``default__estimator__learning_rate``.

    Raises
    ------
    ImportError
        If the booster is not installed.
    ValueError
        If `booster` has another name.

    See Also
    --------
    skrank.tune : search a booster and its parameters.

    Examples
    --------
    >>> import skrank
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(n_queries=40, random_state=0)
    >>> y = skrank.with_groups(data.relevance, data.qid)
    >>> ranker = skrank.recommended_ranker(n_jobs=1, random_state=0).fit(data.X, y)
    >>> ranker.rank(data.X, y.index.get_level_values("qid"), k=1).shape
    (40, 4)
    >>> list(ranker.named_estimators_)
    ['default', 'regularised']
    """
    check.check_choice("booster", booster, (*_TREES, "catboost"))
    random = check.as_random_state("random_state", random_state)
    seed = int(random_state if isinstance(random_state, Integral) else random.randint(2**31 - 1))

    def boosted(estimator: Estimator, objective: str | None) -> GroupedRanker:
        return GroupedRanker(
            estimator, objective=objective, eval_metric=metric, validation_fraction=0.2,
            init="linear", options={"refit": True}, random_state=seed,
        )  # fmt: skip

    params = {"n_jobs": n_jobs, "random_state": seed} | _ROUNDS
    module = "lightgbm" if booster == "catboost" else booster
    trees = getattr(import_booster(module), _TREES[module])
    library = module.removesuffix(".dask")
    if library == "lightgbm":
        params["verbosity"] = -1
    rankers = [
        ("default", boosted(trees(**params), "gap")),
        ("regularised", boosted(trees(**params, **_REGULARISED[library]), "gap")),
    ]
    if booster == "catboost":  # "recommended: CatBoost" in benchmarks/quality.py
        yeti = import_booster("catboost").CatBoostRanker(
            loss_function="YetiRank", iterations=400, learning_rate=0.05, depth=4, rsm=0.7,
            l2_leaf_reg=10, random_seed=seed, thread_count=n_jobs, verbose=False,
            allow_writing_files=False,
        )  # fmt: skip
        rankers.append(("catboost", boosted(yeti, None)))
    return RankerMean(rankers, scoring=metric)
