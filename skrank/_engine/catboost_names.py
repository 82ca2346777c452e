"""Names of CatBoost's metrics, which have parameters behind a colon: said to be another tool's."""

from __future__ import annotations

import re

CATBOOST = {  # the metrics that come nearest
    "DCG": "dcg({gain}ties=worst,empty=0)",
    "MAP": "ap(normalize=ideal,ties=worst,empty=0)",
    "MRR": "rr(ties=worst,empty=0)",
    "NDCG": "ndcg({gain}ties=worst,empty=1)",
    "PFound": "pfound(p_rel=raw,ties=worst,empty=0)",
    "PrecisionAt": "precision(ties=worst,empty=0)",
    "RecallAt": "recall(ties=worst,empty=1)",
}


def of_catboost(text: str, name: str, parameters: str) -> ValueError:
    """The error for a name such as ``MAP:top=5``, with the metric that comes nearest."""
    given = dict(re.findall(r"(\w+)=([^;]+)", parameters))
    gain = "" if given.get("type") == "Exp" else "gain=linear,"
    cut = f"@{given['top']}" if "top" in given else ""
    nearest = CATBOOST[name].replace("{gain}", gain) + cut
    return ValueError(
        f"{text!r} is a name of CatBoost, and those are not read: the nearest is {nearest!r}."
    )
