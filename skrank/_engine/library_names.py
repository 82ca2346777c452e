"""Readers of the names that boosters, scikit-learn and NTCIREVAL give to metrics.

Each function takes a name without its prefix. It returns the name of the metric in skrank, the
reason why the name is refused, or None if the tool has no such name.
"""

from __future__ import annotations

import math
import re

from skrank._engine.peer_tables import (
    CATBOOST,
    LIGHTGBM,
    NTCIREVAL,
    NTCIREVAL_CUTOFF,
    SKLEARN,
    XGBOOST,
    Alias,
    Refused,
)

Answer = str | Refused | None


def _at(ours: str, k: object) -> str:
    """The name of skrank with a cut-off, if there is one."""
    return f"{ours}@{k}" if k else ours


def read_lightgbm(text: str) -> Answer:
    """A name such as ``ndcg@5``."""
    found = re.fullmatch(r"(\w+)(?:@([0-9]+))?", text)
    if found is None:
        return None
    alias = LIGHTGBM.get(found[1])
    if not isinstance(alias, Alias):
        return alias
    if found[2] is None:
        several = "LightGBM shows one value for each k of its eval_at"
        return Refused(several, f"lightgbm:{text}@5")
    return _at(alias.name, found[2])


def read_xgboost(text: str) -> Answer:
    """A name such as ``ndcg@5-``; with "-" queries without relevant documents have the value 0."""
    found = re.fullmatch(r"(\w+)(?:@([0-9]+))?(-?)", text)
    if found is None:
        return None
    alias = XGBOOST.get(found[1])
    if not isinstance(alias, Alias):
        return alias
    ours = alias.name.replace("empty=1", "empty=0") if found[3] else alias.name
    return _at(ours, found[2] or 32)


_NUMBER = r"[0-9]+\.?[0-9]*|\.[0-9]+"
_OF_CATBOOST = {
    "top": "-1|[0-9]+", "type": "Base|Exp", "denominator": "LogPosition|Position",
    "border": _NUMBER, "decay": _NUMBER, "use_weights": "true|false", "hints": ".*",
}  # fmt: skip


def read_catboost(text: str) -> Answer:
    """A name such as ``NDCG:top=10;type=Base``."""
    name, _, inside = text.partition(":")
    alias = CATBOOST.get(name)
    if not isinstance(alias, Alias):
        return alias
    given = dict(part.partition("=")[::2] for part in inside.split(";") if part)
    if not all(re.fullmatch(_OF_CATBOOST.get(key, "(?!)"), one) for key, one in given.items()):
        return None
    if given.get("denominator") == "Position":
        return Refused("its discount is 1 / rank", "dcg(discount=[1,0.5,0.25],ties=worst)")
    border = math.nextafter(float(given.get("border", 0.5)), math.inf)
    ours = alias.name.format(
        gain="" if given.get("type") == "Exp" else "gain=linear,",
        rel=f"rel={border},",
        decay=f"p_break={1 - float(given['decay']):.15g}," if "decay" in given else "",
    )
    top = given.get("top", "-1")
    return _at(ours, None if top == "-1" else top)


def read_sklearn(text: str) -> Answer:
    """A name such as ``ndcg_score(k=10)``."""
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", text)
    if found is None:
        return None
    alias = SKLEARN.get(found[1])
    if not isinstance(alias, Alias):
        return alias
    given = dict(re.findall(r"(\w+)\s*=\s*(\w+)", found[2] or ""))
    k, in_order = given.pop("k", None), given.pop("ignore_ties", "False") == "True"
    if given:
        return Refused(f"only its parameters k and ignore_ties are read, not {next(iter(given))}")
    ours = alias.name.replace("(", "(ties=stable,") if in_order else alias.name
    return _at(ours, None if k == "None" else k)


# options of NTCIREVAL: parameters of skrank
_OPTIONS = {"beta": "beta", "rbp": "p", "logb": "base"}


def read_ntcireval(text: str) -> Answer:
    """A name such as ``MSnDCG@10``, or ``Q(g=1:3:7,beta=2)@1000`` with options of the tool."""
    found = re.fullmatch(r"([^\s()@]+)(?:\((.*)\))?(?:@0*([0-9]+))?", text)
    if found is None:
        return None
    alias = NTCIREVAL.get(found[1])
    if not isinstance(alias, Alias):
        return alias
    given = dict(re.findall(r"(\w+)=([^,]+)", found[2] or ""))
    unread = given.keys() - {"g", *_OPTIONS}
    if unread:
        return Refused(f"only its options g, beta, rbp and logb are read, not {min(unread)}")
    base, _, inside = alias.name.rstrip("@").removesuffix(")").partition("(")
    ours = dict(part.split("=") for part in inside.split(","))
    ours |= {
        _OPTIONS[name]: given[name] for name in given.keys() & _OPTIONS if _OPTIONS[name] in ours
    }
    if "g" in given:
        ours |= {name: one for name, one in _of_gains(given["g"]).items() if name in ours}
    elif "thresholds" in ours:
        return Refused("it needs the number of grades, of the tool's option g", "GAP(g=1:2:3)")
    cut = found[3] or (NTCIREVAL_CUTOFF if alias.name.endswith("@") else None)
    return _at(f"{base}({','.join(f'{name}={value}' for name, value in ours.items())})", cut)


def _of_gains(text: str) -> dict[str, str]:
    """Parameters of skrank for gains of the grades 1, 2, ..., such as "1:3:7"."""
    gains = text.split(":")
    top = len(gains)
    return {
        "gain": f"[0,{','.join(gains)}]",
        "max_grade": str(top),
        # NTCIREVAL weights threshold m in proportion to m
        "thresholds": str([2 * grade / (top * (top + 1)) for grade in range(1, top + 1)]),
    }
