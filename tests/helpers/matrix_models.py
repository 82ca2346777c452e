"""Ensembles and other models around models: recipes in both modes, and what to know about them."""

from dataclasses import replace

from tests.helpers.matrix import CALL_DATA, CALL_PARAMS, Tool, Way, by_call, way

VALIDATE = "scores = cross_validate({model}, DATA, cv=cv, scoring=scoringPARAMS)"
SCORES = 'scores["test_score"]'
RANKERS = ("grouped ridge", "lightgbm")


def validated(make: str, model: str) -> dict[str, Way]:
    """The ways of a model in `cross_validate`."""
    return by_call(f"{make}\n{VALIDATE.format(model=model)}")


def ensemble(make: str) -> dict[str, Way]:
    """The ways of a model that strips `y` of its index before it trains those inside."""
    ways = validated(f"ensemble = {make}", "ensemble")
    with_index = 'X_on = pd.DataFrame(X, index=pd.Index(qid, name="qid"))\n'
    on_x = replace(
        ways["y"],
        code=with_index + ways["y"].code.replace("X, y", "X_on, y"),
        note="with the groups on the index of `X` as well",
        refused=ways["y"].code,
        refused_models=("lightgbm",),
    )
    return {"y": on_x, "routing": ways["routing"]}


STACK = ensemble("""StackingRegressor(
    [("one", model), ("two", skrank.GroupedRanker(Ridge()))],
    skrank.GroupedRanker(Ridge()), cv=skrank.QueryKFold(2),
)""")

MODELS = (
    Tool(
        "BaggingRegressor",
        y=way(
            "",
            "it needs metadata routing",
            refused="BaggingRegressor(model, bootstrap=False).fit(X, y)",
            refused_models=("lightgbm",),
        ),
        routing=way("""
            bag = BaggingRegressor(
                clone(model).set_params(max_queries=12), bootstrap=False, n_estimators=2,
                random_state=0,
            ).fit(X, relevance, groups=qid)
        """),
        result="bag.predict(X)",
        oracle="bag",
        models=RANKERS,
        remark=(
            "`BaggingRegressor` removes the index of `y` and converts `X` to an array. With "
            "`bootstrap=False` and `max_queries`, each member is trained on different whole "
            "queries, because the ensemble gives its members different seeds. `bootstrap=True`, "
            "the default, draws rows: documents of a query are missing or repeated."
        ),
    ),
    Tool(
        "nested cross-validation",
        **validated(
            "inner = GridSearchCV(model, grid, scoring=scoring, cv=skrank.QueryKFold(2))", "inner"
        ),
        result=SCORES,
        oracle="nested",
    ),
    Tool(
        "Pipeline",
        **validated('pipe = Pipeline([("scale", StandardScaler()), ("rank", model)])', "pipe"),
        result=SCORES,
        oracle="scaled",
        remark=(
            "The `GroupedRanker` is the last step of the pipeline. A pipeline inside a "
            "`GroupedRanker` may end in a regressor or classifier. It may not end in the ranker "
            "of a booster, because a pipeline passes no groups to it."
        ),
    ),
    Tool(
        "ColumnTransformer",
        **validated(
            "columns = ColumnTransformer(\n"
            '    [("scale", StandardScaler(), [0, 1])], remainder="passthrough"\n)\n'
            "pipe = make_pipeline(columns, model)",
            "pipe",
        ),
        result=SCORES,
        oracle="scaled_columns",
    ),
    Tool(
        "TransformedTargetRegressor",
        **ensemble("""TransformedTargetRegressor(
    model, func=np.sign, inverse_func=np.positive, check_inverse=False
)"""),
        result=SCORES,
        oracle="binary_target",
        remark=(
            "In this recipe, the model is trained on binary labels and evaluated on grades. "
            "`inverse_func` must increase over all scores. Scores of a ranker may be negative, "
            "and `np.square` would reverse the order of negative scores."
        ),
    ),
    Tool(
        "VotingRegressor",
        **ensemble('VotingRegressor([("one", model), ("two", Ridge(alpha=10.0))])'),
        result=SCORES,
        oracle="vote",
        remark=(
            "`VotingRegressor` averages scores without scaling: use members whose scores have the "
            "same scale."
        ),
    ),
    Tool(
        "StackingRegressor",
        y=STACK["y"],
        routing=replace(
            STACK["routing"],
            refused=STACK["routing"].code.replace("skrank.GroupedRanker(Ridge())", "Ridge()"),
        ),
        result=SCORES,
        oracle="stack",
        models=RANKERS,
        remark=(
            "The `cv` of `StackingRegressor` must keep queries whole. With metadata routing, `cv` "
            "gets the groups that a member requests: wrap all regressors, and the final "
            "regressor, in `GroupedRanker`."
        ),
    ),
    Tool(
        "AdaBoostRegressor",
        y=way(
            "",
            "it passes no groups to a ranker",
            refused="AdaBoostRegressor(model).fit(X, y)",
            refused_models=("lightgbm",),
        ),
        routing=way(
            "",
            "it routes no metadata",
            refused=VALIDATE.format(model="AdaBoostRegressor(model)")
            .replace("DATA", CALL_DATA["routing"])
            .replace("PARAMS", CALL_PARAMS["routing"]),
            error="has not implemented metadata routing",
        ),
        remark=("It passes no groups to a ranker, and draws rows. `LGBMRanker` boosts by itself."),
    ),
    Tool(
        "CalibratedClassifierCV",
        **validated(
            "calibrated = CalibratedClassifierCV(model, cv=skrank.QueryKFold(2))", "calibrated"
        ),
        result=SCORES,
        oracle="calibrated",
        models=("logistic",),
        remark=(
            "This recipe is for classifiers of grades, which rank by the expected grade, with or "
            "without a `GroupedRanker` around them. TunedThresholdClassifierCV tunes thresholds, "
            "which do not change the ranking."
        ),
    ),
)
