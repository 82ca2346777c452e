"""Names that other tools give to metrics, read with exactly their meaning.

`translate` returns the name of the metric in skrank, which `skrank.metric` reads. Tables of names
are in `peer_tables.py`; readers of the names of libraries are in `library_names.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import partial

from skrank._engine import library_names
from skrank._engine.library_names import Answer
from skrank._engine.peer_tables import (
    CATBOOST,
    CUT_MODELS,
    GRADED_MODELS,
    IR_MEASURES,
    LIGHTGBM,
    NICKNAMES,
    NTCIREVAL,
    RANX,
    SKLEARN,
    TREC_EVAL,
    XGBOOST,
    Alias,
    Refused,
)

_NUMBER = r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_GAIN = rf"[0-9]+={_NUMBER}"
_NUMBERS = rf"{_NUMBER}(?:,{_NUMBER})*"


@dataclass(frozen=True)
class Peer:
    """A tool, its table of names, and a reader: a name of the tool to a name of skrank, or None."""

    name: str
    names: dict[str, Alias | Refused]
    reader: Callable[[str], Answer]

    def read(self, text: str) -> str | None:
        """The name in skrank of a name of the tool; None if the tool has no such name."""
        ours = self.reader(text)
        if not isinstance(ours, Refused):
            return ours
        near = f" The nearest is {ours.nearest!r}." if ours.nearest else ""
        raise ValueError(f"{text!r} of {self.name} is not read: {ours.reason}.{near}")

    def unknown(self, text: str) -> ValueError:
        """The error for a name that the tool does not have."""
        import difflib

        near = difflib.get_close_matches(text, self.names, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}? " if near else ""
        known = ", ".join(name for name, alias in self.names.items() if isinstance(alias, Alias))
        return ValueError(f"{text!r} is not a name of {self.name}: {hint}Known: {known}.")


# trec_eval
# ------------------------------------------------------------------------------------------------


def split_trec(text: str) -> tuple[str, str] | None:
    """Name and parameters of a text: ("ndcg_cut", "10") for ``ndcg_cut_10`` and ``ndcg_cut.10``."""
    if text in TREC_EVAL:
        return text, ""
    for name in sorted(TREC_EVAL, key=len, reverse=True):
        if text.startswith((f"{name}_", f"{name}.")):
            return name, text[len(name) + 1 :]
    return None


def _read_trec(text: str, rounding: str = "trec_eval9") -> Answer:
    """A name such as ``P_5``; `rounding` is a parameter of interpolated precision in skrank."""
    if text in NICKNAMES:
        raise _several(text, [one for name in NICKNAMES[text] for one in expand(name) or [name]])
    parts = split_trec(text)
    if parts is None:
        return None
    name, given = parts
    alias = TREC_EVAL[name]
    if isinstance(alias, Refused):
        return alias
    if name == "ndcg" and re.fullmatch(rf"{_GAIN}(?:,{_GAIN})*", given):
        return f"ndcg(gain={{0:0,{given.replace('=', ':')}}},empty=0)"
    if (given and not alias.usual) or not re.fullmatch(rf"(?:{_NUMBERS})?", given):
        return None
    values = [str(value) for value in alias.usual or [""]]
    if given:
        values = [given] if alias.all_at_once else given.split(",")
    if len(values) > 1:
        raise _several(text, [f"{name}_{value}" for value in values])
    value = values[0]
    if name in ("utility", "11pt_avg"):
        value = _sorted_levels(value)
    elif name == "set_F":
        value = repr(math.sqrt(float(value)))
    elif "@{k}" in alias.name and not value.isdecimal():
        return None
    elif value and "@" not in alias.name:
        value = str(float(value))
    return alias.name.replace("{k}", value).replace("trec_eval9", rounding)


def _sorted_levels(text: str) -> str:
    return "[" + ",".join(str(float(level)) for level in text.split(",")) + "]"


def _several(text: str, names: list[str]) -> ValueError:
    """The error for a name that stands for several metrics."""
    return ValueError(
        f"{text!r} of trec_eval stands for {len(names)} metrics, such as {names[0]}: name one of "
        "them, or pass the name to skrank.evaluate or skrank.trec.evaluate, which compute all."
    )


def expand(text: str) -> list[str] | None:
    """The metrics of a nickname or of a family of trec_eval; None if `text` is neither."""
    if text in NICKNAMES:
        return [one for name in NICKNAMES[text] for one in expand(name) or [name]]
    parts = split_trec(text)
    if parts is None or not isinstance(alias := TREC_EVAL[parts[0]], Alias) or not alias.usual:
        return None
    name, given = parts
    if alias.all_at_once:
        return None
    values = given.split(",") if given else alias.usual
    if name == "set_F" and not given:
        return None
    if name in ("iprec_at_recall", "Rprec_mult"):
        values = [f"{float(value):.2f}" for value in values]
    return [f"{name}_{value}" for value in values]


# ir_measures and ranx
# ------------------------------------------------------------------------------------------------


def _read_ir_measures(text: str) -> Answer:
    """A name such as ``nDCG(dcg='exp-log2')@10``."""
    found = re.fullmatch(r"([^\W\d]\w*)(?:\((.*)\))?(?:@([0-9.]+))?", text, re.DOTALL)
    if found is None or found[1] not in IR_MEASURES:
        return None
    name, inside, cut = found.groups()
    alias = IR_MEASURES[name]
    if isinstance(alias, Refused):
        return alias
    base, _, fixed = alias.name.removesuffix(")").partition("(")
    given = dict(re.findall(r"(\w+)\s*=\s*(\{.*?\}|[^,]+?)\s*(?:,|$)", inside or ""))
    ours = dict(part.split("=") for part in fixed.split(",") if part)
    if name != "IPrec":  # in IPrec@0.1, @ is a level of recall
        cutoff = given.pop("cutoff", None)
        cut = cut or cutoff
    if base.startswith("num_"):
        if name == "NumRet" and "rel" in given:
            base = "num_rel_ret"
    else:
        ours["empty"] = "0"
    if "judged_only" in given:
        ours["condensed"] = given.pop("judged_only")
    if name == "SDCG" and given.get("dcg", "log2").strip("'\"") == "log2":
        given.pop("dcg", None)
    if "dcg" in given:
        exponential = given.pop("dcg").strip("'\"") == "exp-log2"
        ours["gain"] = "exp2" if exponential else "linear"
    if "gains" in given:
        ours["gain"] = given.pop("gains")
    if given.pop("relative", "False") == "True":
        base = "relative_precision"
    if name == "SetF" and "beta" in given:
        given["beta"] = repr(math.sqrt(float(given["beta"])))
    if name == "IPrec" and cut:
        given["recall"], cut = str(float(cut)), None
    if name == "RBP" and "rel" not in given:
        reason = "it is read only with rel=, the lowest label of a relevant document"
        return Refused(reason, "RBP(p=0.8,rel=1)")
    if name in GRADED_MODELS:
        model = _graded_model(name, given, cut)
        if isinstance(model, Refused):
            return model
        given = model
    shown = ",".join(f"{key}={value}" for key, value in {**given, **ours}.items())
    return f"{base}({shown})" + (f"@{cut}" if cut else "")


def _graded_model(name: str, given: dict[str, str], cut: str | None) -> dict[str, str] | Refused:
    """Parameters of a user model of cwl_eval: gains rise from 0 at min_rel to 1 at max_rel."""
    lowest, highest = given.get("min_rel", "0"), given.get("max_rel", "")
    graded = lowest.isdecimal() and highest.isdecimal() and int(lowest) < int(highest)
    if not graded or (cut is None and name in CUT_MODELS):
        reason, near = "it is read only with max_rel= above min_rel=", f"{name}(max_rel=4)"
        if name in CUT_MODELS:
            reason, near = f"{reason}, and with a cut-off", f"{near}@10"
        return Refused(reason, near)
    found = {key: value for key, value in given.items() if key not in ("min_rel", "max_rel")}
    if lowest != "0":
        top = int(highest)
        gains = (f"{label}:{max(label - int(lowest), 0)}" for label in range(top + 1))
        found["gain"] = f"{{{','.join(gains)}}}"
    return {**found, "max_grade": highest}


def _read_ranx(text: str) -> Answer:
    """A name such as ``ndcg_burges@10`` or ``precision@5-l2``, where 2 is the lowest label."""
    found = re.fullmatch(r"([a-z1_-]+?)(?:[.@]([0-9]+))?(?:-l([0-9]+))?", text)
    if found is None or found[1] not in RANX:
        return None
    name, cut, level = found.groups()
    alias = RANX[name]
    if isinstance(alias, Refused):
        return alias
    ours = alias.name
    if level is not None:
        if "dcg" in name:
            reason = "lower grades lose their gain, which depends on the highest grade"
            return Refused(reason, alias.name)
        ours = ours.replace("(", f"(rel={level},", 1)
    return ours + (f"@{cut}" if cut else "")


# Tools that evaluate runs. Their names are read without a prefix, too, if skrank has no such name.
UNPREFIXED: dict[str, Peer] = {
    "trec_eval": Peer("trec_eval", TREC_EVAL, _read_trec),
    "ir_measures": Peer("ir_measures", IR_MEASURES, _read_ir_measures),
    "ranx": Peer("ranx", RANX, _read_ranx),
}
PEERS: dict[str, Peer] = {
    **UNPREFIXED,
    "trec_eval10": Peer("trec_eval", TREC_EVAL, partial(_read_trec, rounding="trec_eval10")),
    "lightgbm": Peer("lightgbm", LIGHTGBM, library_names.read_lightgbm),
    "xgboost": Peer("xgboost", XGBOOST, library_names.read_xgboost),
    "catboost": Peer("catboost", CATBOOST, library_names.read_catboost),
    "sklearn": Peer("sklearn", SKLEARN, library_names.read_sklearn),
    "ntcireval": Peer("ntcireval", NTCIREVAL, library_names.read_ntcireval),
}


def split_prefix(text: str) -> tuple[str, str]:
    """The prefix of a text, "" if it has none, and the name behind it."""
    found = re.fullmatch(r"([^\W\d]\w*):(\S.*)", text.strip(), re.DOTALL)
    return (found[1], found[2]) if found else ("", text.strip())


def peer_of(name: str) -> str | None:
    """The tool that has `name` in any case of letters, such as P_10 for "p_10"; else None."""
    if name in NICKNAMES:
        return "trec_eval"
    for peer in UNPREFIXED.values():
        if any(name == theirs.lower() for theirs in peer.names):
            return peer.name
    for theirs, alias in TREC_EVAL.items():
        takes_number = isinstance(alias, Refused) or alias.usual
        if takes_number and re.fullmatch(rf"{theirs.lower()}_\d+", name):
            return "trec_eval"
    return None


def refuse_two_meanings(name: str, cut: str) -> None:
    """Refuse a name of skrank if a tool has a different metric with this name in these capitals.

    A different treatment of queries without a relevant document alone is not a different metric.
    """
    for peer in UNPREFIXED.values():
        alias = peer.names.get(name)
        if alias is None:
            continue
        if isinstance(alias, Refused):
            instead = f"which is not read: {alias.reason}"
        else:
            theirs = alias.name.replace(",empty=0", "").replace("(empty=0)", "")
            if "(" not in theirs:
                continue
            instead = repr(theirs + cut)
        raise ValueError(
            f"{name + cut!r} is ambiguous: it may be {name.lower() + cut!r} of skrank, or "
            f"{name + cut!r} of {peer.name}, {instead}. Write one of these names."
        )


def translate(text: str, own: Container[str]) -> str | None:
    """The name in skrank of a name of another tool; None for names of skrank and unknown names.

    Parameters
    ----------
    text : str
        A name with a prefix such as "trec_eval:", or with a spelling that only another tool has,
        such as "ndcg_cut_10", or "MAP:top=5" of CatBoost.
    own : container of str
        Names of skrank, in lower case. They take precedence over names without a prefix.

    Raises
    ------
    ValueError
        If there is no such tool, it has no such name, or skrank lacks its metric.
    """
    prefix, name = split_prefix(text)
    if prefix:
        if prefix in CATBOOST:
            prefix, name = "catboost", text.strip()
        if prefix not in PEERS:
            raise ValueError(
                f"{text!r}: {prefix!r} is neither an objective nor a tool whose names are read: "
                f"write one of {', '.join(f'{peer}:' for peer in PEERS)} or no prefix."
            )
        ours = PEERS[prefix].read(name)
        if ours is None:
            raise PEERS[prefix].unknown(name)
        return ours
    base = re.split(r"[(@*+]", name, maxsplit=1)[0].strip()
    if base.lower() in own and base != "IPrec":  # IPrec@0.1 has a level of recall, not a cut-off
        return None
    for peer in UNPREFIXED.values():
        ours = peer.read(name)
        if ours is not None:
            return ours
    return None
