"""Ensembles and other models around models: recipes in both modes, and what to know about them."""

from __future__ import annotations

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
                model.set_params(max_queries=12), bootstrap=False, n_estimators=2, random_state=0
            ).fit(X, relevance, groups=qid)
        """),
        result="bag.predict(X)",
        oracle="bag",
        models=RANKERS,
        remark=(
            "It strips `y` of its index and makes `X` an array. `bootstrap=False` with "
            "`max_queries` gives each member whole queries of its own, for the ensemble seeds its "
            "members. `bootstrap=True`, the default, draws rows: members learn from lists with "
            "gaps and repetitions."
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
            "`GroupedRanker` is for plain regressors and classifiers; around a bare ranker it is "
            "refused, for it hands no groups on."
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
            "Here a model is trained on relevant or not, and judged on grades. `inverse_func` must "
            "increase over all scores. Those of a ranker may be negative, where `np.square` "
            "turns their order."
        ),
    ),
    Tool(
        "VotingRegressor",
        **ensemble('VotingRegressor([("one", model), ("two", Ridge(alpha=10.0))])'),
        result=SCORES,
        oracle="vote",
        remark="It averages scores as they are: give it members whose scores are of one scale.",
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
            "Its `cv` must keep queries whole, and with metadata routing gets the groups that the "
            "member gets: wrap plain regressors, the final one too, in `GroupedRanker`."
        ),
    ),
    Tool(
        "AdaBoostRegressor",
        y=way(
            "",
            "for plain regressors only",
            refused="AdaBoostRegressor(model).fit(X, y)",
            refused_models=("lightgbm",),
        ),
        routing=way(
            "",
            "it routes nothing",
            refused=VALIDATE.format(model="AdaBoostRegressor(model)")
            .replace("DATA", CALL_DATA["routing"])
            .replace("PARAMS", CALL_PARAMS["routing"]),
            error="has not implemented metadata routing",
        ),
        remark=(
            "No groups reach a ranker in it, and it draws rows. Boosting is what LGBMRanker does."
        ),
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
            "For classifiers of grades, which rank by the expected grade, also in a "
            "`GroupedRanker`. Thresholds, as TunedThresholdClassifierCV seeks, change no ranking."
        ),
    ),
)
