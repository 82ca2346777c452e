"""Any other estimator under a GroupedRanker: a regressor, a classifier, a Pipeline, a ranker."""

from __future__ import annotations

from functools import partial
from inspect import signature

from skrank._typing import Estimator
from skrank.rankers._rows import Part
from skrank.rankers._training import Backend, Fitted, Fitting

_NAMES = ("groups", "qid", "qids", "group_id")  # of the query of each row, in `fit` of rankers


def other(estimator: Estimator) -> Backend:
    """How an estimator is trained that is of no known kind: on queries, if its `fit` takes them."""
    known = signature(estimator.fit).parameters
    name = next((name for name in _NAMES if name in known), None)
    return Backend(partial(_fit, groups_name=name), ranks=name is not None)


def _fit(fitting: Fitting[Part], *, groups_name: str | None) -> Fitted:
    estimator, train, _, _, params = fitting
    if groups_name is not None:
        params[groups_name] = train.queries.row_query
    if train.weights is not None:
        params[_weight_name(estimator)] = train.weights
    return Fitted(estimator.fit(train.X, train.y, **params))


def _weight_name(estimator: Estimator) -> str:
    """Name under which `fit` takes weights; in a Pipeline, those of its last step."""
    import sklearn

    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if "sample_weight" not in signature(last.fit).parameters:
        raise ValueError(f"{type(last).__name__} takes no sample_weight: fit without it.")
    if last is estimator or sklearn.get_config()["enable_metadata_routing"]:
        return "sample_weight"
    return f"{estimator.steps[-1][0]}__sample_weight"
