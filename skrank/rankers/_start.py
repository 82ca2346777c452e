"""Training of the `init` of a GroupedRanker, whose scores boosting starts from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from skrank._typing import Estimator
from skrank.objectives import Objective
from skrank.objectives._as_objective import metric_of
from skrank.rankers._fit import Fit, Start
from skrank.rankers._kinds import kind_of
from skrank.rankers._linear import LinearRanker
from skrank.rankers._rows import Part

_ROUNDING = 1e-9  # a smaller spread, as a share of the largest score, is rounding


def fit_start(ranker: Estimator, train: Part, objective: Objective | None) -> Start:
    """Train the `init` of a ranker; the factor brings its scores to the spread `init_scale`."""
    init, scale = ranker.init, ranker.init_scale
    if isinstance(init, str):
        named = kind_of(ranker.estimator).categorical_features(ranker.estimator, train.params)
        init = LinearRanker(
            (objective and metric_of(objective)) or "gap", categorical_features=named
        )
    fit = Fit(kind_of(init), clone(init), replace(train, params={}))
    fit.run()
    if scale is None:
        return Start(fit.estimator, 1.0)
    spread = spread_inside_queries(Start(fit.estimator, 1.0).finite_scores(train.X), train)
    return Start(fit.estimator, scale / spread if spread > 0 else 0.0)


def trains_on_queries(init: str | Estimator | None) -> bool:
    """True if `init` is a ranker, which needs the query of each row."""
    return isinstance(init, str) or (init is not None and kind_of(init).trains_on_queries)


def spread_inside_queries(scores: np.ndarray, part: Part) -> float:
    """Weighted standard deviation inside queries; of all rows if the queries are unknown."""
    largest = float(np.abs(scores).max()) or 1.0
    scores = scores / largest  # so that no square overflows
    mean = np.average(scores, weights=part.weights)
    rest = scores - mean if part.known is None else part.known.centered(scores)
    spread = float(np.sqrt(np.average(rest**2, weights=part.weights)))
    return spread * largest if spread > _ROUNDING else 0.0
