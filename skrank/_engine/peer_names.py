"""Names that other tools give to metrics, read with exactly their meaning.

`translate` returns the name of the metric in skrank, which `skrank.metric` reads. Tables of names
are in `peer_tables.py`. Each tool has a reader: a function of the entry of its table and of the
parts of a name. It returns the name in skrank, or why the name is refused, or None if it is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import partial

from skrank._engine.peer_tables import (
    CATBOOST,
    CUT_MODELS,
    GRADED_MODELS,
    IR_MEASURES,
    LIGHTGBM,
    NICKNAMES,
    NTCIREVAL,
    NTCIREVAL_CUTOFF,
    RANX,
    SKLEARN,
    TREC_EVAL,
    XGBOOST,
    Alias,
    Refused,
)

_NUMBER = r"[0-9]+\.?[0-9]*|\.[0-9]+"
_SIGNED = rf"-?(?:{_NUMBER})"
_GAIN = rf"[0-9]+={_SIGNED}"
_NUMBERS = rf"{_SIGNED}(?:,{_SIGNED})*"

Answer = str | Refused | None
Parts = tuple[str | None, ...]  # of a name: the key of the table, and its parameters as texts


@dataclass(frozen=True)
class Peer:
    """A tool: its table of names, its reader, and the pattern that splits a name into parts."""

    name: str
    names: dict[str, Alias | Refused]
    reader: Callable[..., Answer]
    pattern: str = ""

    def split(self, text: str) -> Parts | None:
        """The key of the table and the parameters that `text` consists of."""
        found = re.fullmatch(self.pattern, text)
        return found and found.groups()

    def read(self, text: str) -> str | None:
        """The name in skrank of a name of the tool; None if the tool has no such name."""
        parts = self.split(text) or ("",)
        alias = self.names.get(parts[0] or "")
        ours = self.reader(alias, *parts) if isinstance(alias, Alias) else alias
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


def _at(ours: str, k: object) -> str:
    """The name of skrank with a cut-off, if there is one."""
    return f"{ours}@{k}" if k else ours


def split_trec(text: str) -> tuple[str, str] | None:
    """Name and parameters of a text: ("ndcg_cut", "10") for ``ndcg_cut_10`` and ``ndcg_cut.10``."""
    if text in TREC_EVAL:
        return text, ""
    for name in sorted(TREC_EVAL, key=len, reverse=True):
        if text.startswith((f"{name}_", f"{name}.")):
            return name, text[len(name) + 1 :]
    return None


class _TrecEval(Peer):
    def split(self, text: str) -> Parts | None:
        """As `split_trec`, and the text; a nickname stands for several metrics and is refused."""
        if text in NICKNAMES:
            raise _several(text, expand(text) or [])
        parts = split_trec(text)
        return parts and (*parts, text)


def _read_trec(
    alias: Alias, name: str, given: str, text: str, rounding: str = "trec_eval9"
) -> Answer:
    """A name such as ``P_5``; `rounding` is a parameter of interpolated precision in skrank."""
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
    if alias.all_at_once:
        value = "[" + ",".join(str(float(level)) for level in value.split(",")) + "]"
    elif name == "set_F":
        value = repr(math.sqrt(float(value)))
    elif "@{k}" in alias.name and not value.isdecimal():
        return None
    elif value and "@" not in alias.name:
        value = str(float(value))
    return alias.name.replace("{k}", value).replace("trec_eval9", rounding)


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
    name, given = split_trec(text) or ("", "")
    alias = TREC_EVAL.get(name)
    if not isinstance(alias, Alias) or not alias.usual or alias.all_at_once:
        return None
    if name == "set_F" and not given:
        return None
    values = given.split(",") if given else alias.usual
    if name in ("iprec_at_recall", "Rprec_mult"):
        values = [f"{float(value):.2f}" for value in values]
    return [f"{name}_{value}" for value in values]


def _read_ir_measures(alias: Alias, name: str, inside: str | None, cut: str | None) -> Answer:
    """A name such as ``nDCG(dcg='exp-log2')@10``."""
    base, _, fixed = alias.name.removesuffix(")").partition("(")
    given = dict(re.findall(r"(\w+)\s*=\s*(\{.*?\}|[^,]+?)\s*(?:,|$)", inside or ""))
    ours = dict(part.split("=") for part in fixed.split(",") if part)
    if name != "IPrec":  # in IPrec@0.1, @ is a level of recall
        cutoff = given.pop("cutoff", None)
        cut = cut or cutoff
    if name == "NumRet" and "rel" in given:
        base = "num_rel_ret"
    if not base.startswith("num_"):
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
    return _at(f"{base}({shown})", cut)


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
        labels = range(int(highest) + 1)
        gains = (f"{label}:{max(label - int(lowest), 0)}" for label in labels)
        found["gain"] = f"{{{','.join(gains)}}}"
    return {**found, "max_grade": highest}


def _read_ranx(alias: Alias, name: str, cut: str | None, level: str | None) -> Answer:
    """A name such as ``ndcg_burges@10`` or ``precision@5-l2``, where 2 is the lowest label."""
    if level is None:
        return _at(alias.name, cut)
    if "dcg" in name:
        reason = "lower grades lose their gain, which depends on the highest grade"
        return Refused(reason, alias.name)
    return _at(alias.name.replace("(", f"(rel={level},", 1), cut)


def _read_lightgbm(alias: Alias, name: str, k: str | None) -> Answer:
    """A name such as ``ndcg@5``."""
    if k is None:
        several = "LightGBM shows one value for each k of its eval_at"
        return Refused(several, f"lightgbm:{name}@5")
    return _at(alias.name, k)


def _read_xgboost(alias: Alias, name: str, k: str | None, minus: str) -> Answer:
    """A name such as ``ndcg@5-``; with "-" queries without relevant documents have the value 0."""
    ours = alias.name.replace("empty=1", "empty=0") if minus else alias.name
    return _at(ours, k or 32)


_OF_CATBOOST = {
    "top": "-1|[0-9]+", "type": "Base|Exp", "denominator": "LogPosition|Position",
    "border": _NUMBER, "decay": _NUMBER, "use_weights": "true|false", "hints": ".*",
}  # fmt: skip


def _read_catboost(alias: Alias, name: str, inside: str | None) -> Answer:
    """A name such as ``NDCG:top=10;type=Base``."""
    given = dict(part.partition("=")[::2] for part in (inside or "").split(";") if part)
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


def _read_sklearn(alias: Alias, name: str, inside: str | None) -> Answer:
    """A name such as ``ndcg_score(k=10)``."""
    given = dict(re.findall(r"(\w+)\s*=\s*(\w+)", inside or ""))
    k, in_order = given.pop("k", None), given.pop("ignore_ties", "False") == "True"
    if given:
        return Refused(f"only its parameters k and ignore_ties are read, not {next(iter(given))}")
    ours = alias.name.replace("(", "(ties=stable,") if in_order else alias.name
    return _at(ours, None if k == "None" else k)


# options of NTCIREVAL: parameters of skrank
_OPTIONS = {"beta": "beta", "rbp": "p", "logb": "base"}


def _read_ntcireval(alias: Alias, name: str, inside: str | None, k: str | None) -> Answer:
    """A name such as ``MSnDCG@10``, or ``Q(g=1:3:7,beta=2)@1000`` with options of the tool."""
    given = dict(re.findall(r"(\w+)=([^,]+)", inside or ""))
    unread = given.keys() - {"g", *_OPTIONS}
    if unread:
        return Refused(f"only its options g, beta, rbp and logb are read, not {min(unread)}")
    base, _, fixed = alias.name.rstrip("@").removesuffix(")").partition("(")
    ours = dict(part.split("=") for part in fixed.split(","))
    ours |= {
        _OPTIONS[name]: given[name] for name in given.keys() & _OPTIONS if _OPTIONS[name] in ours
    }
    if "g" in given:
        ours |= {name: one for name, one in _of_gains(given["g"]).items() if name in ours}
    elif "thresholds" in ours:
        return Refused("it needs the number of grades, of the tool's option g", "GAP(g=1:2:3)")
    cut = k or (NTCIREVAL_CUTOFF if alias.name.endswith("@") else None)
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


# Tools that evaluate runs. Their names are read without a prefix, too, if skrank has no such name.
UNPREFIXED: dict[str, Peer] = {
    "trec_eval": _TrecEval("trec_eval", TREC_EVAL, _read_trec),
    "ir_measures": Peer(
        "ir_measures",
        IR_MEASURES,
        _read_ir_measures,
        r"([^\W\d]\w*)(?:\(((?s:.*))\))?(?:@([0-9.]+))?",
    ),
    "ranx": Peer("ranx", RANX, _read_ranx, r"([a-z1_-]+?)(?:[.@]([0-9]+))?(?:-l([0-9]+))?"),
}
PEERS: dict[str, Peer] = {
    **UNPREFIXED,
    "trec_eval10": _TrecEval("trec_eval", TREC_EVAL, partial(_read_trec, rounding="trec_eval10")),
    "lightgbm": Peer("lightgbm", LIGHTGBM, _read_lightgbm, r"(\w+)(?:@([0-9]+))?"),
    "xgboost": Peer("xgboost", XGBOOST, _read_xgboost, r"(\w+)(?:@([0-9]+))?(-?)"),
    "catboost": Peer("catboost", CATBOOST, _read_catboost, r"([^:]*)(?::((?s:.*)))?"),
    "sklearn": Peer("sklearn", SKLEARN, _read_sklearn, r"(\w+)(?:\((.*)\))?"),
    "ntcireval": Peer(
        "ntcireval", NTCIREVAL, _read_ntcireval, r"([^\s()@]+)(?:\((.*)\))?(?:@0*([0-9]+))?"
    ),
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
