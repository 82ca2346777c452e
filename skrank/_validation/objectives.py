"""The error for a string that names no metric to train on: objectives are written as Python."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

OBJECTIVES = (
    "LambdaRank(metric)", "LambdaLoss(metric)", "SoftRank(metric)", "Softmax()", "SquaredError()",
    "UnbiasedLambdaRank(metric)", "AdditivePositionBias(objective)",
)  # fmt: skip

# by what papers and other libraries call them, in letters and digits
_WRITTEN = {
    "lambdarank": 'LambdaRank("ndcg")',
    "lambdamart": 'LambdaRank("ndcg")',
    "rankndcg": 'LambdaRank("ndcg")',
    "rankmap": 'LambdaRank("ap")',
    "lambdaloss": 'LambdaLoss("ndcg")',
    "softrank": 'SoftRank("ndcg")',
    "softmax": "Softmax()",
    "softmaxloss": "Softmax()",
    "querysoftmax": "Softmax()",
    "listnet": "Softmax()",
    "xendcg": "Softmax(random_gains=True)",
    "rankxendcg": "Softmax(random_gains=True)",
    "mse": "SquaredError()",
    "rmse": "SquaredError()",
    "squarederror": "SquaredError()",
    "regsquarederror": "SquaredError()",
    "queryrmse": "SquaredError(centered=True)",
    "unbiasedlambdarank": 'UnbiasedLambdaRank("ndcg")',
    "unbiasedlambdamart": 'UnbiasedLambdaRank("ndcg")',
    "additivepositionbias": 'AdditivePositionBias("ndcg")',
}


def is_name_of_objective(text: str) -> bool:
    """Whether papers or libraries call an objective so, in any case of letters."""
    return _letters(text) in _WRITTEN


def unknown_objective(name: str, metrics: Iterable[str]) -> ValueError:
    """The error for a name of an objective, or of nothing."""
    written = _WRITTEN.get(_letters(name))
    near = difflib.get_close_matches(name.lower(), list(metrics), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    if written is not None:
        hint = f"write skrank.{written}. "
    return ValueError(
        f"unknown objective {name!r}: {hint}A string is the name of a metric to train on, such as "
        "'gap' or 'ndcg@10'. Objectives are objects: "
        f"{', '.join(f'skrank.{one}' for one in OBJECTIVES)}, and sums of them."
    )


def not_an_objective(value: object) -> ValueError:
    """The error for what is neither a string nor a metric nor an objective."""
    instance = f": write {value.__name__}(...)" if isinstance(value, type) else ""
    return ValueError(
        f"{value!r} is neither a metric nor an Objective{instance}. Name a metric to train on, "
        "such as 'gap' or 'ndcg@10', or give an object, such as skrank.Softmax()."
    )


def _letters(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())
