"""GroupedRanker with XGBoost: rankers and regressors are trained by `xgboost.train`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

import skrank.xgboost
from skrank import _validation as check
from skrank._boosters.adapters import import_booster
from skrank._boosters.xgboost_data import log_name
from skrank._typing import Columns, Estimator, Options, Table
from skrank.rankers._fit import Booster, Fit, Log, objective_with_link
from skrank.rankers._rows import Part, categories_of

if TYPE_CHECKING:
    import xgboost

    Data: TypeAlias = xgboost.DMatrix | xgboost.dask.DaskDMatrix

_CONSTRAINTS = ("monotone_constraints", "interaction_constraints")


class XGBoost(Booster):
    """Estimators of XGBoost."""

    classes = ("xgboost", "XGBModel", "XGBRanker")
    rounds_parameters = ("n_estimators",)
    patience_parameters = ("early_stopping_rounds",)
    forbidden_names = r"[\[\]<]"

    def repeat(self, fit: Fit, stopped: Fit) -> None:
        estimator = fit.estimator
        # `n_estimators` of a random forest is the number of trees of its only round
        if estimator.get_num_boosting_rounds() != stopped.best_iteration:
            super().repeat(fit, stopped)
        # XGBoost: clones draw a seed from a RandomState
        estimator.set_params(random_state=stopped.estimator.random_state)

    def train(self, fit: Fit) -> None:
        estimator = fit.estimator
        declare_categories(fit)
        fit.arguments.setdefault("verbose", False)
        if fit.start.factor:
            self._start_at_zero(estimator)
        follows = fit.objective is not None or (fit.valid is not None and fit.metrics)
        needs_queries = follows or self.trains_on_queries
        if self.follows_metrics and (needs_queries or not _has_functions(estimator)):
            feature_weights = self._feature_weights(fit)
            self._train_by_function(fit, feature_weights, **fit.arguments)
        else:
            self._train_by_fit(fit)

    def _feature_weights(self, fit: Fit) -> ArrayLike | None:
        """Weights of features: an argument of `fit`, which is taken out, or a parameter."""
        weights = fit.arguments.pop("feature_weights", None)
        return getattr(fit.estimator, "feature_weights", None) if weights is None else weights

    def _start_at_zero(self, estimator: Estimator) -> None:
        """Set the base margin to 0, so that margins are the sum of the rounds."""
        name = estimator.objective  # without a link: "reg:squarederror", ..., "reg:linear"
        links = not (name is None or callable(name) or name.endswith(("error", ":linear")))
        if links and not self.trains_on_queries:
            raise objective_with_link(estimator)
        estimator.set_params(base_score=0.0)

    def _train_by_fit(self, fit: Fit) -> None:
        """Train classifiers, and regressors with functions of the user, by their own `fit`."""
        estimator, train, valid, arguments = fit.estimator, fit.train, fit.valid, fit.arguments
        if not self.follows_metrics:  # a classifier
            check.check_every_grade(train.y, type(estimator).__name__)
        arguments |= {"sample_weight": train.weights, "base_margin": train.start}
        if valid is not None:
            arguments["eval_set"] = [(valid.X, valid.y)]
            arguments["sample_weight_eval_set"] = [valid.weights]
            arguments["base_margin_eval_set"] = [valid.start]
            estimator.set_params(early_stopping_rounds=fit.patience)
        estimator.fit(train.X, train.y, **arguments)
        if valid is not None:
            fit.log = dict(estimator.evals_result()["validation_0"])
        _keep_best_rounds(fit)

    def _train_by_function(
        self, fit: Fit, feature_weights: ArrayLike | None, *, verbose: bool | int
    ) -> None:
        """Train by `xgboost.train`."""
        valid, ranks = fit.valid, self.trains_on_queries
        make = partial(_dmatrix, fit.estimator, feature_weights=feature_weights)
        data = make(fit.train, grouped=ranks)
        evals: list[tuple[Data, str]] = []
        if valid is not None:
            grouped = ranks or bool(fit.metrics)
            evals = [(make(valid, grouped=grouped, like=data), fit.valid_name)]
        log: dict[str, Log] = {}
        xgboost, options = import_booster("xgboost"), train_options(fit, evals)
        base: Any = xgboost.callback.TrainingCallback

        class Counter(base):
            def after_iteration(self, *_: object) -> bool:
                fit.bar.update(1)
                return False

        options["callbacks"].append(Counter())
        booster = xgboost.train(dtrain=data, evals_result=log, verbose_eval=verbose, **options)
        take_booster(fit, booster, log)

    def categorical_features(self, estimator: Estimator, arguments: Options) -> Columns | None:
        kinds = estimator.feature_types
        if kinds is None or isinstance(kinds, str):
            return None
        return [number for number, kind in enumerate(kinds) if kind == "c"]

    def check_table(self, X: Table, estimator: Estimator) -> None:
        super().check_table(X, estimator)
        if not np.isinf(estimator.missing):
            check.check_largest(X, float(np.finfo(np.float32).max))

    def margins(self, estimator: Estimator, X: Table) -> np.ndarray:
        return estimator.predict(X, output_margin=True)


def declare_categories(fit: Fit) -> None:
    """Let the estimator train on columns that are categories, which XGBoost refuses by default."""
    if categories_of(fit.train.X):
        fit.estimator.set_params(enable_categorical=True)


def _has_functions(estimator: Estimator) -> bool:
    return callable(estimator.eval_metric) or callable(estimator.objective)


def train_options(fit: Fit, evals: list[tuple[Data, str]]) -> Options:
    """Arguments of `xgboost.train`, but for the training data."""
    if _has_functions(fit.estimator):
        raise ValueError(
            f"objective and eval_metric of {type(fit.estimator).__name__} are not functions in a "
            "GroupedRanker, which has parameters with these names: set them instead."
        )
    params, callbacks = fit.estimator.get_xgb_params(), list(fit.estimator.callbacks or ())
    options: Options = {"params": params, "evals": evals, "callbacks": callbacks}
    options["num_boost_round"] = fit.estimator.get_num_boosting_rounds()
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
    values = log.get(fit.valid_name, {})
    if fit.metrics:  # the log may have further metrics, of callbacks
        values = {name: values[log_name(metric)] for name, metric in fit.metrics.items() if values}
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
    # gblinear stops by callbacks of the user only, and its rounds cannot be cut
    if fit.estimator.booster != "gblinear" and best + 1 < fit.best_iteration:
        shorter = booster[: best + 1]
        shorter.best_iteration, shorter.best_score = best, score
        _load(fit.estimator, shorter)
        fit.best_iteration = best + 1


def _dmatrix(
    estimator: Estimator,
    part: Part,
    *,
    grouped: bool,
    feature_weights: ArrayLike | None,
    like: xgboost.DMatrix = None,
) -> xgboost.DMatrix:
    """The data set that `fit` of the estimator would make: QuantileDMatrix for histograms."""
    xgboost = import_booster("xgboost")
    make = xgboost.DMatrix
    binned = estimator.tree_method in ("hist", "auto", None) and estimator.booster != "gblinear"
    if binned and "sycl" not in str(estimator.device):
        make = partial(xgboost.QuantileDMatrix, ref=like, max_bin=estimator.max_bin)
    return make(
        part.X, part.y, base_margin=part.start,
        group=part.queries.sizes if grouped else None,
        weight=part.query_weights if grouped else part.weights,
        missing=estimator.missing, feature_types=estimator.feature_types,
        feature_weights=feature_weights, enable_categorical=estimator.enable_categorical,
        nthread=estimator.n_jobs,
    )  # fmt: skip
