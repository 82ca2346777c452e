"""The tools of scikit-learn, and Optuna: recipes in both modes, and what to know about them."""

from dataclasses import replace

from docs.scikit_learn_recipes import CALL_DATA, CALL_PARAMS, Tool, Way, by_call, by_fit, way

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
MEANS = 'search.cv_results_["mean_test_score"]'
SELECT = validated("pipe = make_pipeline(SelectFromModel(model), model)", "pipe")
CALIBRATE = validated(
    "calibrated = CalibratedClassifierCV(\n    model, cv=skrank.QueryKFold(2)\n)", "calibrated"
)
OPTUNA_SEARCH = """\
search = OptunaSearchCV(
    model, {name: CategoricalDistribution(grid[name]) for name in grid},
    n_trials=3, random_state=0, scoring=scoring, cv=cv,
)"""

TOOLS = (
    Tool(
        "GridSearchCV",
        **by_fit("search = GridSearchCV(model, grid, scoring=scoring, cv=cv).fit(DATA)"),
        result=MEANS,
        oracle="search",
    ),
    Tool(
        "RandomizedSearchCV",
        **by_fit("""
            search = RandomizedSearchCV(
                model, grid, n_iter=2, random_state=0, scoring=scoring, cv=cv
            ).fit(DATA)
        """),
        result=MEANS,
        oracle="search",
    ),
    Tool(
        "HalvingGridSearchCV",
        **by_fit("""
            search = HalvingGridSearchCV(
                model, grid, resource="max_queries", min_resources=8, max_resources=16,
                factor=2, random_state=0, scoring=scoring, cv=cv,
            ).fit(DATA)
        """),
        result=MEANS,
        oracle="search",
        models=RANKERS,
        remark=(
            'Use `resource="max_queries"` of `GroupedRanker` (in a pipeline '
            '`"groupedranker__max_queries"`). The default resource, `"n_samples"`, draws '
            "rows, also in the test parts: lists become shorter."
        ),
    ),
    Tool(
        "HalvingRandomSearchCV",
        **by_fit("""
            search = HalvingRandomSearchCV(
                model, grid, n_candidates=2, resource="max_queries", min_resources=8,
                max_resources=16, factor=2, random_state=0, scoring=scoring, cv=cv,
            ).fit(DATA)
        """),
        result=MEANS,
        oracle="search",
        models=RANKERS,
    ),
    Tool(
        "cross_validate",
        **by_call(VALIDATE.format(model="model")),
        result=SCORES,
        oracle="validated",
        remark=(
            '`skrank.scorer("gap", "ndcg@10")` computes several metrics with one prediction '
            "per fold."
        ),
    ),
    Tool(
        "cross_val_score",
        **by_call("scores = cross_val_score(model, DATA, cv=cv, scoring=scoringPARAMS)"),
        result="scores",
        oracle="validated",
    ),
    Tool(
        "cross_val_predict",
        **by_call("predicted = cross_val_predict(model, DATA, cv=cvPARAMS)"),
        result="predicted",
        oracle="out_of_fold",
        remark=(
            "All rows of a query are predicted by the same model, so that "
            "`skrank.evaluate(relevance, predicted, groups=qid)` is valid. Scores of "
            "different queries are not comparable."
        ),
    ),
    Tool(
        "learning_curve",
        **by_call(
            """
            sizes, _, scores = learning_curve(
                model, DATA, train_sizes=[0.5, 1.0], cv=cv, scoring=scoringPARAMS
            )
            """,
            note="but it cuts one query per size",
            warns=True,
        ),
        result="scores",
        remark=(
            "`learning_curve` counts rows and cuts the last query of a training part (with "
            "`shuffle=True`, every query). To cut no query, use "
            "`validation_curve` over `max_queries`."
        ),
    ),
    Tool(
        "validation_curve",
        **by_call("""
            _, scores = validation_curve(
                model, DATA, param_name="max_queries", param_range=[8, 16],
                cv=cv, scoring=scoringPARAMS,
            )
        """),
        result="scores",
        models=RANKERS,
        remark=(
            "Over `max_queries` of `GroupedRanker`, this is a learning curve over whole queries."
        ),
    ),
    Tool(
        "permutation_test_score",
        y=way(
            """
            score, permuted, p_value = permutation_test_score(
                model, X, y, groups=qid, cv=cv, scoring=scoring,
                n_permutations=3, random_state=0,
            )
            """,
            "with `groups=` as well",
        ),
        routing=way(
            """
            score, permuted, p_value = permutation_test_score(
                model, X, relevance, params={"groups": qid}, cv=cv, scoring=scoring,
                n_permutations=3, random_state=0,
            )
            """,
            "but it permutes across queries",
        ),
        result="score",
        remark=(
            "With `groups=` in addition to groups on `y`, labels are permuted inside queries, "
            "which tests whether the features predict the order there."
        ),
    ),
    Tool(
        "permutation_importance",
        y=way("""
            found = permutation_importance(
                model.fit(X, y), X, y, scoring=scoring, n_repeats=2, random_state=0
            )
        """),
        routing=way(
            """
            found = permutation_importance(
                model.fit(X, y), X, relevance, scoring=scoring.bind(qid),
                n_repeats=2, random_state=0,
            )
            """,
            "through `scorer.bind`",
            refused="permutation_importance(model.fit(X, y), X, relevance, scoring=scoring)",
        ),
        result="found.importances",
        remark=(
            "With metadata routing, use `scoring.bind(qid)`. Leave `max_samples` at 1.0: smaller "
            "values draw rows."
        ),
    ),
    Tool(
        "SequentialFeatureSelector",
        **by_fit("""
            chosen = SequentialFeatureSelector(
                model, n_features_to_select=2, cv=cv, scoring=scoring
            ).fit(DATA)
        """),
        result="chosen.get_support()",
    ),
    Tool(
        "SelectFromModel",
        y=SELECT["y"],
        routing=replace(
            SELECT["routing"],
            note="since scikit-learn 1.9, before that through groups on `y`",
            since="1.9",
            refused_models=("lightgbm", "catboost"),
        ),
        result=SCORES,
        models=(*RANKERS, "catboost"),
    ),
    Tool(
        "RFE",
        y=way(
            "chosen = RFE(model, n_features_to_select=2).fit(X, y, groups=qid)",
            "with `groups=` as well",
            refused="RFE(model, n_features_to_select=2).fit(X, y)",
            refused_models=("lightgbm",),
        ),
        routing=way("chosen = RFE(model, n_features_to_select=2).fit(X, relevance, groups=qid)"),
        result="chosen.ranking_",
        models=(*RANKERS, "catboost"),
        remark=("`RFE` removes the index of `y`, and passes the arguments of `fit` to the model."),
    ),
    Tool(
        "RFECV",
        y=way(
            "",
            "it needs metadata routing",
            refused="RFECV(model, cv=cv, scoring=scoring).fit(X, y, groups=qid)",
        ),
        routing=way("chosen = RFECV(model, cv=cv, scoring=scoring).fit(X, relevance, groups=qid)"),
        result='chosen.cv_results_["mean_test_score"]',
        remark=("`RFECV` removes the index of `y` before it trains and scores."),
    ),
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
                clone(model).set_params(max_queries=12), bootstrap=False,
                n_estimators=2, random_state=0,
            ).fit(X, relevance, groups=qid)
        """),
        result="bag.predict(X)",
        models=RANKERS,
        remark=(
            "With `bootstrap=False` and `max_queries`, each member is trained on different "
            "whole queries. `bootstrap=True`, the default, draws rows."
        ),
    ),
    Tool(
        "nested cross-validation",
        **validated(
            "inner = GridSearchCV(model, grid, scoring=scoring, cv=skrank.QueryKFold(2))", "inner"
        ),
        result=SCORES,
    ),
    Tool(
        "Pipeline",
        **validated('pipe = Pipeline([("scale", StandardScaler()), ("rank", model)])', "pipe"),
        result=SCORES,
        remark=(
            "The `GroupedRanker` is the last step. A pipeline inside a `GroupedRanker` may "
            "end in a regressor or classifier, not in the ranker of a booster."
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
    ),
    Tool(
        "TransformedTargetRegressor",
        **ensemble("""TransformedTargetRegressor(
    model, func=np.sign, inverse_func=np.positive, check_inverse=False
)"""),
        result=SCORES,
        remark=(
            "This model is trained on binary labels and evaluated on grades. `inverse_func` "
            "must increase over all scores, which may be negative."
        ),
    ),
    Tool(
        "VotingRegressor",
        **ensemble('VotingRegressor([("one", model), ("two", Ridge(alpha=10.0))])'),
        result=SCORES,
        remark=(
            "`VotingRegressor` averages scores without scaling: its members need scores of "
            "the same scale."
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
        models=RANKERS,
        remark=(
            "The inner `cv` must keep queries whole. With metadata routing, wrap all "
            "regressors in `GroupedRanker`."
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
    ),
    Tool(
        "CalibratedClassifierCV",
        **{mode: replace(one, note="for classifiers only") for mode, one in CALIBRATE.items()},
        result=SCORES,
        models=("logistic",),
    ),
    Tool(
        "Optuna: study",
        **by_call("""
            def objective(trial):
                chosen = {
                    name: trial.suggest_categorical(name, grid[name])
                    for name in grid
                }
                one = clone(model).set_params(**chosen)
                scores = cross_val_score(one, DATA, cv=cv, scoring=scoringPARAMS)
                return scores.mean()

            study = optuna.create_study(
                direction="maximize", sampler=GridSampler(grid, seed=0)
            )
            study.optimize(objective)
        """),
        result="[trial.value for trial in study.trials]",
        package="optuna",
    ),
    Tool(
        "Optuna: OptunaSearchCV",
        y=way(OPTUNA_SEARCH + ".fit(X, y)"),
        routing=way(
            OPTUNA_SEARCH + ".fit(X, y)",
            "through groups on `y`",
            refused=OPTUNA_SEARCH + ".fit(X, relevance, groups=qid)",
            refused_models=("lightgbm",),
        ),
        result="[trial.value for trial in search.study_.trials]",
        package="optuna_integration",
        remark="Leave `subsample` at 1.0: smaller values draw rows.",
    ),
)
