"""The callback of `early_stopping`. Imports XGBoost."""

from __future__ import annotations

import json
from collections.abc import Mapping

from xgboost import Booster
from xgboost.callback import EarlyStopping

from skrank import _validation as check


class MetricStopping(EarlyStopping):
    """`xgboost.callback.EarlyStopping` of one training, on an evaluated metric, without dart."""

    def before_training(self, model: Booster) -> Booster:
        """Refuse dart, and a training after which this object has stopped another one."""
        if self.stopping_history:
            raise ValueError(
                "this callback has counted the rounds of an earlier training, and would stop this "
                "one after a round: call skrank.xgboost.early_stopping for each training."
            )
        booster = model.cvfolds[0].bst if hasattr(model, "cvfolds") else model
        settings = json.loads(booster.save_config())["learner"]["learner_train_param"]
        if settings["booster"] == "dart":
            raise check.cannot_stop("XGBoost with dart")
        return super().before_training(model)

    def after_iteration(
        self, model: Booster, epoch: int, evals_log: Mapping[str, dict[str, list[float]]]
    ) -> bool:
        """True to stop. Raises an error if the metric is not in the log."""
        logs = list(evals_log.values())
        log = evals_log.get(self.data, {}) if self.data else logs[-1] if logs else {}
        if log and self.metric_name not in log:
            raise ValueError(
                f"early stopping uses {self.metric_name}, which is not an evaluated metric "
                f"({', '.join(log)}): pass the same metric to early_stopping and eval_metric, with "
                "the same parameters."
            )
        return super().after_iteration(model, epoch, evals_log)
