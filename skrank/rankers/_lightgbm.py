"""GroupedRanker with LightGBM: sizes of queries, weights per row, and a callback that stops.

Comments "LightGBM:" mark what other libraries do not need.
"""

from __future__ import annotations

from inspect import signature

import numpy as np

import skrank.lightgbm
from skrank._typing import Estimator, Options, Table
from skrank.rankers._fit import Booster, Fit


class LightGBM(Booster):
    """Estimators of LightGBM."""

    classes = ("lightgbm", "LGBMModel", "LGBMRanker")
    rounds_parameters = (
        "n_estimators", "num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees",
        "num_round", "num_rounds", "nrounds", "num_boost_round", "max_iter",
    )  # fmt: skip
    patience_parameters = (
        "early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change",
        "early_stopping_min_delta",
    )  # fmt: skip
    categorical_parameter = "categorical_feature"  # LightGBM: init="linear" reads it
    forbidden_names = r'^$|[",:\[\]{}]'  # LightGBM: models with an empty name cannot be loaded

    def train(self, fit: Fit) -> None:
        from lightgbm.basic import LightGBMError

        estimator, train, valid, arguments = fit.estimator, fit.train, fit.valid, fit.arguments
        if fit.objective is not None:
            estimator.set_params(objective=skrank.lightgbm.objective(fit.objective))
        if fit.metrics and (fit.objective is not None or valid is not None):
            # LightGBM: training would also stop by its own metrics; even without validation rows,
            # its nDCG refuses labels that are not integers, which objectives accept
            estimator.set_params(metric="None")
        if self.trains_on_queries:
            arguments["group"] = train.queries.sizes
        arguments["init_score"] = train.start  # no base score is added to it
        callbacks = arguments.get("callbacks") or ()
        arguments["callbacks"] = [*callbacks, lambda _: fit.bar.update(1)]
        if valid is not None:
            arguments |= self._validation(fit)
        try:
            estimator.fit(train.X, train.y, sample_weight=train.weights, **arguments)
        except LightGBMError as error:
            if "num_features" not in str(error):  # LightGBM: its check for features to split
                raise
            params = estimator.get_params(deep=False)
            name = "min_data_in_leaf" if "min_data_in_leaf" in params else "min_child_samples"
            raise ValueError(
                f"LightGBM has no feature to split: of {len(train.y)} rows, each side of a split "
                f"needs {name}={params[name]} of {type(estimator).__name__}. Set a smaller "
                f"{name}, or give features that are not constant."
            ) from error
        if valid is not None:
            fit.log = estimator.evals_result_.get(fit.valid_name, {})
        # LightGBM: 0 without early stopping
        fit.best_iteration = estimator.best_iteration_ or estimator.n_estimators_

    def _validation(self, fit: Fit) -> Options:
        """Arguments of `fit` for the validation rows and early stopping."""
        valid = fit.valid
        assert valid is not None
        added: Options = {
            "eval_names": [fit.valid_name], "eval_sample_weight": [valid.weights],
            "eval_init_score": [valid.start], "eval_metric": fit.validator,
        }  # fmt: skip
        if "eval_X" in signature(fit.estimator.fit).parameters:  # LightGBM: 4.7 deprecates eval_set
            added |= {"eval_X": (valid.X,), "eval_y": (valid.y,)}
        else:
            added["eval_set"] = [(valid.X, valid.y)]
        if self.trains_on_queries:
            added["eval_group"] = [valid.queries.sizes]
        if fit.patience is not None:  # LightGBM: stops by a callback
            from lightgbm import early_stopping

            stop = early_stopping(fit.patience, first_metric_only=True, verbose=False)
            added["callbacks"] = [*fit.arguments["callbacks"], stop]
        return added

    def margins(self, estimator: Estimator, X: Table) -> np.ndarray:
        return estimator.predict(X, raw_score=True)
