"""GroupedRanker with XGBoost: by `xgboost.train` if it has an objective or metric of skrank."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

import skrank.xgboost
from skrank._boosters.adapters import import_booster
from skrank._boosters.xgboost_data import log_name
from skrank._engine.groups import LEVEL
from skrank._typing import Estimator, Options, Table
from skrank.rankers._fit import VALIDATION, Booster, Fit, Links, Log, Validator
from skrank.rankers._rows import Part

if TYPE_CHECKING:
    import xgboost

    Data: TypeAlias = xgboost.DMatrix | xgboost.dask.DaskDMatrix


_IDENTITY = (
    "squarederror", "linear", "squaredlogerror", "pseudohubererror", "absoluteerror",
    "quantileerror", "expectileerror",
)  # fmt: skip


class XGBoost(Booster):
    """Estimators of XGBoost."""

    classes = ("xgboost", "XGBModel", "XGBRanker")
    rounds_parameter = "n_estimators"
    links: ClassVar[Links] = {
        **{f"reg:{name}": np.positive for name in _IDENTITY},
        "binary:logitraw": np.positive,
        **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox"), np.exp),
        **dict.fromkeys(("reg:logistic", "binary:logistic"), expit),
        "binary:hinge": lambda margins: np.heaviside(margins, 0.0),
    }
    patience_parameters = ("early_stopping_rounds",)
    start_argument: str | None = "base_margin"
    model_argument = "xgb_model"

    def train(self, fit: Fit) -> None:
        estimator = fit.estimator
        if LEVEL in list(getattr(fit.train.X, "columns", ())):
            raise ValueError(
                f'{type(estimator).__name__} would use the column "qid" of X as its queries: '
                "move it to the index, X.set_index('qid'), or drop it and use "
                "skrank.with_groups(y, qid)."
            )
        fit.arguments.setdefault("verbose", False)
        if fit.start.factor:
            # the base margin becomes 0, so that margins are the sum of the rounds
            estimator.set_params(base_score=float(self.inverse_link(estimator, np.zeros(1))[0]))
        follows = fit.valid is not None and fit.metrics
        # its own fit predicts the old rounds on binned features, which changes their scores
        continues = fit.n_old and not callable(estimator.eval_metric) and self.follows_metrics
        if fit.objective is None and not follows and not continues:
            self._train_by_fit(fit)
        else:
            self._train_by_function(fit, **fit.arguments)

    def _train_by_fit(self, fit: Fit) -> None:
        """Train by `fit` of the estimator, with its own objective and metric."""
        estimator, train, valid, arguments = fit.estimator, fit.train, fit.valid, fit.arguments
        ranks = self.trains_on_queries
        if ranks and callable(estimator.eval_metric):
            raise ValueError(
                "XGBRanker would weigh queries by their size and minimise a callable eval_metric: "
                "give eval_metric, a metric of skrank, to GroupedRanker."
            )
        arguments["sample_weight"] = train.query_weights if ranks else train.weights
        arguments["base_margin"] = train.start
        if ranks:
            arguments["group"] = train.queries.sizes
        if valid is not None:
            weights = valid.query_weights if ranks else valid.weights
            arguments["eval_set"] = [(valid.X, valid.y)]
            arguments["sample_weight_eval_set"] = None if weights is None else [weights]
            arguments["base_margin_eval_set"] = None if valid.start is None else [valid.start]
            if ranks:
                arguments["eval_group"] = [valid.queries.sizes]
            estimator.set_params(early_stopping_rounds=fit.patience)
        estimator.fit(train.X, train.y, **arguments)
        if valid is not None:
            fit.log = dict(estimator.evals_result()["validation_0"])
        _keep_best_rounds(fit)

    def _train_by_function(
        self,
        fit: Fit,
        *,
        verbose: bool | int,
        xgb_model: str | xgboost.Booster | None = None,
        feature_weights: ArrayLike | None = None,
    ) -> None:
        """Train by `xgboost.train`."""
        estimator, train, valid = fit.estimator, fit.train, fit.valid
        if callable(estimator.get_params().get("objective")):
            raise ValueError(
                "the objective of the estimator is a function: give its name, or set objective of "
                "GroupedRanker."
            )
        if feature_weights is None:
            feature_weights = getattr(estimator, "feature_weights", None)
        make = partial(
            _dmatrix, estimator, binned=not fit.n_old, feature_weights=feature_weights,
        )  # fmt: skip
        data = make(train, self.trains_on_queries)
        evals: list[tuple[Data, str]] = []
        if valid is not None:
            Validator(valid, fit.metrics)  # raises if a metric has no value
            evals = [
                (make(valid, self.trains_on_queries or bool(fit.metrics), like=data), VALIDATION)
            ]
        options = train_options(fit, evals)
        log: dict[str, Log] = {}
        booster = import_booster("xgboost").train(
            dtrain=data, evals_result=log, verbose_eval=verbose, xgb_model=xgb_model, **options
        )
        take_booster(fit, booster, log)

    def set_rounds(self, fit: Fit, n_rounds: int) -> None:
        super().set_rounds(fit, n_rounds)
        schedule = import_booster("xgboost").callback.LearningRateScheduler
        kept = [one for one in fit.estimator.callbacks or () if isinstance(one, schedule)]
        fit.estimator.set_params(callbacks=kept or None)

    def model_to_continue(self, model: Any) -> tuple[Any, int]:
        xgboost = import_booster("xgboost")
        if isinstance(model, xgboost.XGBModel):
            model = model.get_booster()
        if isinstance(model, xgboost.Booster):
            model = model.save_raw()  # without its configuration, which includes metrics
        booster = xgboost.Booster(model_file=model)
        best = booster.attr("best_iteration")
        if best is not None:
            if int(best) + 1 < booster.num_boosted_rounds():
                booster = booster[: int(best) + 1]  # the rounds that it predicts with
            booster.set_attr(best_iteration=None, best_score=None)
        return booster, booster.num_boosted_rounds()

    def categorical_features(
        self, estimator: Estimator, arguments: Options
    ) -> Sequence[str | int | bool] | None:
        kinds = estimator.feature_types
        return None if kinds is None or isinstance(kinds, str) else [one == "c" for one in kinds]

    def margins(self, estimator: Estimator, X: Table) -> np.ndarray:
        return estimator.predict(X, output_margin=True)

    def inverse_link(self, estimator: Estimator, margins: np.ndarray) -> np.ndarray:
        name = estimator.objective
        if self.trains_on_queries or name is None or callable(name):
            return margins
        return self.link(estimator, name)(margins)


def train_options(fit: Fit, evals: list[tuple[Data, str]]) -> Options:
    """Arguments of `xgboost.train`, but for the training data."""
    params, callbacks = fit.estimator.get_xgb_params(), list(fit.estimator.callbacks or ())
    options: Options = {
        "params": params,
        "num_boost_round": fit.estimator.get_num_boosting_rounds(),
        "evals": evals,
        "callbacks": callbacks,
    }
    if fit.objective is not None:
        options["obj"] = skrank.xgboost.objective(fit.objective)
    if fit.metrics:
        params |= {"disable_default_eval_metric": 1}
        params.pop("eval_metric", None)
    if evals and fit.metrics:
        metrics = list(fit.metrics.values())
        options["custom_metric"] = skrank.xgboost.eval_metric(*metrics)
        if fit.patience is not None:
            callbacks.append(skrank.xgboost.early_stopping(metrics[0], rounds=fit.patience))
    elif evals:
        options["early_stopping_rounds"] = fit.patience
    return options


def take_booster(fit: Fit, booster: xgboost.Booster, log: dict[str, Log]) -> None:
    """Set the booster and results of the estimator, so that predict, save_model and SHAP work."""
    values = log.get(VALIDATION, {})
    if fit.metrics:  # the log may have further metrics, of callbacks or of `xgb_model`
        values = {name: values[log_name(one)] for name, one in fit.metrics.items() if values}
    fit.log = values
    fit.estimator.evals_result_ = {"validation_0": dict(fit.log)}
    _load(fit.estimator, booster)
    _keep_best_rounds(fit)


def _load(estimator: Estimator, booster: xgboost.Booster) -> None:
    # load_model overwrites parameters by those of the model. XGBoost reads names of features in
    # constraints when training begins, and not in set_params of a model.
    params = estimator.get_params()
    kept = {name: params.pop(name, None) for name in _CONSTRAINTS}
    estimator.set_params(**dict.fromkeys(kept))
    estimator.load_model(booster.save_raw())
    estimator.set_params(**params)
    vars(estimator).update(kept)


def _keep_best_rounds(fit: Fit) -> None:
    """Drop the rounds after the best round.

    XGBRanker ignores these rounds in predictions, but a Booster that is loaded from its file uses
    them.
    """
    booster = fit.estimator.get_booster()
    fit.best_iteration = booster.num_boosted_rounds()
    try:
        best, score = booster.best_iteration, booster.best_score
    except AttributeError:  # trained without early stopping
        return
    if fit.estimator.booster != "gblinear" and best + 1 < fit.best_iteration:
        shorter = booster[: best + 1]
        shorter.best_iteration, shorter.best_score = best, score
        _load(fit.estimator, shorter)
    fit.best_iteration = best + 1


def _dmatrix(
    estimator: Estimator,
    part: Part,
    grouped: bool,
    *,
    binned: bool,
    feature_weights: ArrayLike | None,
    like: xgboost.DMatrix = None,
) -> xgboost.DMatrix:
    """The data set that `fit` of the estimator would make: QuantileDMatrix for histograms.

    With binned=False, a DMatrix.
    """
    xgboost = import_booster("xgboost")
    make = xgboost.DMatrix
    binned = (
        binned
        and estimator.tree_method in ("hist", "auto", None)
        and estimator.booster != "gblinear"
    )
    if binned and "sycl" not in str(estimator.device):
        make = partial(xgboost.QuantileDMatrix, ref=like, max_bin=estimator.max_bin)
    return make(
        part.X,
        part.y,
        group=part.queries.sizes if grouped else None,
        weight=part.query_weights if grouped else part.weights,
        base_margin=part.start,
        missing=estimator.missing,
        feature_types=estimator.feature_types,
        feature_weights=feature_weights,
        enable_categorical=estimator.enable_categorical,
        nthread=estimator.n_jobs,
    )


_CONSTRAINTS = ("monotone_constraints", "interaction_constraints")
