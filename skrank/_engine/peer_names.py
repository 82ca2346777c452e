"""Metric names of other tools, read with exactly their meaning.

``peer_names.csv`` has the names. Each tool has a pattern and a reader. The pattern splits a name
into a key of the table and parameters. The reader is a function of the entry of the key, the key
and the parameters. It returns the name in skrank, or None if the name is wrong, or raises
`_NotRead`, or ValueError if a parameter is not a number.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from skrank import _validation as check

_NUMBER = r"[0-9]+\.?[0-9]*|\.[0-9]+"
_SIGNED = rf"-?(?:{_NUMBER})"
_LISTED_LABELS = 32  # labels 0 to 31 get gains; no collection has more labels
_CONVENTIONS = "https://skrank.readthedocs.io/en/stable/conventions.html"

_Texts = dict[str, str]


class Entry(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    ours : str
        Name in skrank, in which ``{k}`` is replaced by the parameter; "" if the name is not read.
    usual : tuple of str
        Default parameters of a name without parameter. Each stands for one metric: P has the
        defaults 5, 10, ...; utility has one default, the list 1,-1,0,0. Of a nickname: its names.
    note : str
        When values differ from those of the tool; why the name is not read if `ours` is "".
    example : str
        Name with parameters, for the documentation; the nearest name that is read if `ours` is "".
    """

    ours: str
    usual: tuple[str, ...]
    note: str
    example: str


class _NotRead(Exception):
    """Has two arguments: why a name is not read; the nearest name that is read, or ""."""


@lru_cache
def tables() -> dict[str, dict[str, Entry]]:
    """Entries by tool and name."""
    tools: dict[str, dict[str, Entry]] = {}
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="|", quoting=csv.QUOTE_NONE):
            for name in row["names"].split():
                usual, example = tuple(row["usual"].split()), row["example"].replace("{}", name)
                entry = Entry(row["metric"], usual, row["note"], example)
                tools.setdefault(row["tool"], {})[name] = entry
    return tools


def _with_parameters(ours: str, changes: _Texts, k: str | None = None) -> str:
    """The name `ours` with changed or added parameters, and a cut-off."""
    base, _, inside = ours.removesuffix(")").partition("(")
    options = dict(option.split("=") for option in inside.split(",") if option) | changes
    text = f"{base}({','.join(f'{name}={value}' for name, value in options.items())})"
    return f"{text}@{k}" if k else text


def _gains(text: str, sign: str) -> str:
    """The parameter `gain` for a text with gains of some labels; other labels have linear gains.

    The text is "{1:3,2:9}" with the sign ":", or "1=3,2=9" with "=". Gains must not fall: a label
    whose linear gain would be out of order gets no gain, so skrank refuses data with this label.
    """
    pair = rf"\s*([0-9]+)\s*{sign}\s*({_SIGNED})\s*"
    if not re.fullmatch(rf"\{{?{pair}(?:,{pair})*\}}?", text):
        raise ValueError(text)
    gains = {int(label): float(gain) for label, gain in re.findall(pair, text)}
    if gains.get(0, 0) != 0:
        raise _NotRead(
            "its gain of unjudged documents is 0, that of skrank is the gain of label 0",
            "ndcg(gain=linear,empty=0)",
        )
    in_order = {
        label: label
        for label in range(_LISTED_LABELS)
        if all((label - other) * (label - gain) >= 0 for other, gain in gains.items())
    }
    pairs = sorted((in_order | gains).items())
    return "{" + ",".join(f"{label}:{gain}" for label, gain in pairs) + "}"


# trec_eval ----------------------------------------------------------------------------------------


def split_trec(text: str) -> tuple[str, str] | None:
    """Name and parameters of a text: ("ndcg_cut", "10") for ``ndcg_cut_10`` and ``ndcg_cut.10``."""
    longest_first = sorted(tables()["trec_eval"], key=len, reverse=True)
    match = re.fullmatch(rf"(?s)({'|'.join(longest_first)})(?:[_.](.*))?", text)
    return (match[1], match[2] or "") if match else None


def expand(text: str) -> list[str] | None:
    """The metrics of a nickname, of a family, or of a name with parameters; None for other texts.

    Names are spelled as trec_eval prints them: "P_5" for "P.5".
    """
    table, nicknames = tables()["trec_eval"], tables()["nickname"]
    if text in nicknames:
        # the nickname all_trec lists no names: it stands for all that are read
        names = nicknames[text].usual or [name for name, entry in table.items() if entry.ours]
        return [member for name in names for member in expand(name) or [name]]
    name, suffix = split_trec(text) or ("", "")
    usual = table[name].usual if name else ()
    single = not usual or "," in usual[0]  # a list of parameters, if any, belongs to one metric
    if not suffix and (single or name == "set_F"):  # trec_eval prints set_F, not set_F_1.0
        return None
    values = list(usual)
    if suffix:
        values = [suffix] if single else suffix.split(",")
    if name in ("iprec_at_recall", "Rprec_mult"):  # 0.125 stays, which trec_eval prints as 0.12
        two_decimals = re.compile(r"\d*\.?\d{1,2}", re.ASCII)
        values = [f"{float(v):.2f}" if two_decimals.fullmatch(v) else v for v in values]
    return [f"{name}_{value}" for value in values]


def _read_trec(entry: Entry, name: str, suffix: str) -> str | None:
    """A name such as ``P_5``, or ``ndcg_1=3,2=9`` with gains of labels."""
    if name == "ndcg" and suffix:
        return _with_parameters(entry.ours, {"gain": _gains(suffix, "=")})
    if (suffix and not entry.usual) or not re.fullmatch(rf"(?:{_SIGNED}(?:,{_SIGNED})*)?", suffix):
        return None
    value = suffix or "".join(entry.usual[:1])
    if "," in "".join(entry.usual):  # the parameter is a list
        value = "[" + ",".join(str(float(number)) for number in value.split(",")) + "]"
    elif name == "set_F":  # its parameter is the square of beta of skrank
        value = repr(math.sqrt(float(value)))
    elif "@{k}" in entry.ours and not value.isdecimal():  # a wrong cut-off
        return None
    elif value and "@" not in entry.ours:  # a number, such as a level of recall
        value = str(float(value))
    return entry.ours.replace("{k}", value)


# ir_measures --------------------------------------------------------------------------------------


def _read_ir_measures(entry: Entry, name: str, inside: str | None, k: str | None) -> str | None:
    """A name such as ``nDCG(dcg='exp-log2')@10``."""
    option_pattern = r"\s*(\w+)\s*=\s*(\{.*?\}|[^,]+?)\s*(?:,|$)"
    options = dict(re.findall(option_pattern, inside or ""))
    if re.sub(option_pattern, "", inside or "").strip():
        return None
    ours, changes = entry.ours, {}
    if name != "IPrec":  # in IPrec@0.1, @ is a level of recall
        option = options.pop("cutoff", None)
        k = k or option
    elif k:
        options["recall"], k = str(float(k)), None
    if name == "NumRet" and "rel" in options:
        ours = "num_rel_ret"
    if not ours.startswith("num_"):  # counts are defined for queries without relevant documents
        changes["empty"] = "0"  # value of ir_measures for these queries
    discount = options.pop("dcg", "").strip("'\"")
    # dcg='log2' means linear gains, but SDCG has these already, or others by min_rel: unchanged
    if discount and (name, discount) != ("SDCG", "log2"):
        changes["gain"] = {"exp-log2": "exp2", "log2": "linear"}.get(discount, discount)
    if "judged_only" in options:
        changes["condensed"] = options.pop("judged_only")
    if "gains" in options:
        changes["gain"] = _gains(options.pop("gains"), ":")
    if name in ("SetP", "SetRelP") and options.get("relative") in ("True", "False"):
        ours = "relative_precision" if options.pop("relative") == "True" else ours
    if name == "SetF" and "beta" in options:  # the square of beta of skrank
        options["beta"] = repr(math.sqrt(float(options["beta"])))
    if name == "RBP" and "rel" not in options:  # the provider cwl_eval requires it, too
        raise _NotRead("it is read only with rel=, the lowest relevant label", entry.example)
    if "max_rel" in entry.example:  # the examples of models that need max_rel have it
        options = _graded_model(entry, options, k)
    return _with_parameters(ours, options | changes, k)


def _graded_model(entry: Entry, options: _Texts, k: str | None) -> _Texts:
    """Parameters of a user model of cwl_eval: gains rise from 0 at min_rel to 1 at max_rel."""
    lowest, highest = options.pop("min_rel", "0"), options.pop("max_rel", "")
    graded = lowest.isdecimal() and highest.isdecimal() and int(lowest) < int(highest)
    # the examples of models that need a cut-off have one
    and_k = ", and a cut-off" if "@" in entry.example else ""
    if not graded or (and_k and k is None):
        raise _NotRead(f"it needs max_rel=, a whole number above min_rel={and_k}", entry.example)
    if lowest != "0":
        labels = range(int(highest) + 1)
        gains = (f"{label}:{max(label - int(lowest), 0)}" for label in labels)
        options["gain"] = f"{{{','.join(gains)}}}"
    return {**options, "max_grade": highest}


# libraries that train -----------------------------------------------------------------------------


def _read_lightgbm(entry: Entry, name: str, k: str | None) -> str:
    """A name such as ``ndcg@5``."""
    if k is None:
        raise _NotRead("LightGBM shows one value for each k of its eval_at", f"lightgbm:{name}@5")
    return _with_parameters(entry.ours, {}, k)


def _read_xgboost(entry: Entry, name: str, k: str | None, minus: str) -> str:
    """A name such as ``ndcg@5-``: with "-", queries without relevant documents have the value 0.

    Without a cut-off, XGBoost cuts lists at 32.
    """
    return _with_parameters(entry.ours, {"empty": "0"} if minus else {}, k or "32")


# patterns of the values of each parameter; use_weights and hints are accepted and ignored, since
# they change no value of queries of equal weight
_CATBOOST_VALUES = {
    "top": "-1|[0-9]+", "type": "Base|Exp", "denominator": "LogPosition|Position",
    "border": _NUMBER, "decay": _NUMBER, "use_weights": "true|false", "hints": ".*",
}  # fmt: skip


def _read_catboost(entry: Entry, name: str, inside: str | None) -> str | None:
    """A name such as ``NDCG:top=10;type=Base``."""
    options = dict(part.partition("=")[::2] for part in (inside or "").split(";") if part)
    if any(
        key not in _CATBOOST_VALUES or not re.fullmatch(_CATBOOST_VALUES[key], value)
        for key, value in options.items()
    ):
        return None
    if options.get("denominator") == "Position":
        raise _NotRead("its discount is 1 / rank", "dcg(discount=[1,0.5,0.25],ties=worst)")
    places = {"type": "{gain}", "border": "{rel}", "decay": "{decay}"}
    if any(key in options and place not in entry.ours for key, place in places.items()):
        return None
    # labels above the border are relevant; in skrank, labels of at least `rel`
    border = math.nextafter(float(options.get("border", 0.5)), math.inf)
    ours = entry.ours.format(
        gain="" if options.get("type") == "Exp" else "gain=linear,",
        rel=f"rel={border},",
        decay=f"p_break={1 - float(options['decay']):.15g}," if "decay" in options else "",
    )
    return _with_parameters(ours, {}, options.get("top", "-1").replace("-1", ""))


# all tools ----------------------------------------------------------------------------------------

# the reader and the pattern by prefix; for the pattern "", `split_trec` splits the name
PEERS: dict[str, tuple[Callable[..., str | None], str]] = {
    "trec_eval": (_read_trec, ""),
    "ir_measures": (_read_ir_measures, r"([^\W\d]\w*)(?:\(((?s:.*))\))?(?:@([0-9.]+))?"),
    "lightgbm": (_read_lightgbm, r"(\w+)(?:@([0-9]+))?"),
    "xgboost": (_read_xgboost, r"(\w+)(?:@([0-9]*))?(-?)"),
    "catboost": (_read_catboost, r"([^:]*)(?::((?s:.*)))?"),
}


def split_prefix(text: str) -> tuple[str, str]:
    """The prefix of a text, "" if it has none, and the name behind it."""
    match = re.fullmatch(r"([^\W\d]\w*):(\S.*)", text.strip(), re.DOTALL)
    return (match[1], match[2]) if match else ("", text.strip())


def read(tool: str, text: str) -> str | None:
    """The name in skrank of a name of a tool; None if the tool has no such name.

    Raises
    ------
    ValueError
        If skrank lacks the metric, or the name stands for several metrics.
    """
    reader, pattern = PEERS[tool]
    if pattern:
        match = re.fullmatch(pattern, text)
        parts = match.groups() if match else None
    else:
        parts, several = split_trec(text), expand(text) or []
        if len(several) > 1:
            raise ValueError(
                f"'trec_eval:{text}' stands for {len(several)} metrics: name one, such as "
                f"'trec_eval:{several[0]}'. skrank.evaluate and skrank.trec.evaluate take them all."
            )
    entry = tables()[tool].get(parts[0] or "") if parts else None
    if entry is None or parts is None:
        return None
    try:
        if entry.ours:
            return reader(entry, *parts)
        raise _NotRead(entry.note, entry.example)
    except _NotRead as error:
        reason, near = error.args
        nearest = f" The nearest is {near!r}." if near else ""
        raise ValueError(f"{text!r} of {tool} is not read: {reason}.{nearest}") from None
    except ValueError:  # raised by a reader: a parameter is not a number
        return None


def translate(prefix: str, name: str) -> str:
    """The name in skrank of a name of the tool that `prefix` stands for.

    Raises
    ------
    ValueError
        If there is no such tool, it has no such name, or skrank lacks its metric.
    """
    if prefix not in PEERS:
        tools = ", ".join(f"{peer}:" for peer in PEERS)
        raise ValueError(
            f"'{prefix}:{name}': {prefix!r} is not a prefix: use one of {tools} or none. For other "
            f"tools, {_CONVENTIONS} has the names in skrank."
        )
    ours = read(prefix, name)
    if ours is None:
        table = tables()[prefix]
        known = [spelling for spelling, entry in table.items() if entry.ours]
        base, _, k = name.partition("@")
        near = [f"{base}_cut_{k}", f"{base}_{k}"] if k and prefix == "trec_eval" else []
        meant = next((f"{prefix}:{spelling}" for spelling in near if read(prefix, spelling)), None)
        raise check.unknown_name(f"name of {prefix}", name, known, meant)
    return ours
