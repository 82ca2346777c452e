"""Names of metrics: the registry, the grammar name(parameter=value)@10, and names for reports."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar

from skrank import _validation as check
from skrank._engine import peer_names
from skrank._engine.metric import Metric
from skrank._typing import Options

_M = TypeVar("_M", bound=type[Metric])

registry: dict[str, type[Metric]] = {}  # classes by name, which `register` fills


def metric(name: str | Metric, **parameters: Any) -> Metric:
    """The metric with a name such as ``"gap@10"`` or ``"ndcg(gain=linear)@10"``.

    Parameters
    ----------
    name : str or Metric
        Name in any case of letters, parameters in brackets, cut-off behind @. A Metric is returned
        with `parameters` changed. A name of another tool needs the prefix of the tool, and has the
        meaning that it has there: "trec_eval:P_5", "xgboost:ndcg@5-", "catboost:NDCG:top=10".
    **parameters
        Further parameters.

    Returns
    -------
    Metric
        Frozen, hashable, picklable; ``str(metric)`` gives a name that parses back.

    Raises
    ------
    ValueError
        If the name or a parameter is unknown (the message suggests the nearest) or out of range; or
        if a name of another tool, such as "P_5", has no prefix (the message says how to write the
        metric of the tool, and that of skrank).

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("ndcg(gain=linear)@10") == skrank.metrics.NDCG(k=10, gain="linear")
    True
    >>> str(skrank.metric("gap", thresholds=[0.3, 0.7], k=5))
    'gap(thresholds=[0.3,0.7])@5'
    """
    if isinstance(name, Metric):
        if not parameters:
            return name
        _check_names(type(name), parameters)
        return dataclasses.replace(name, **parameters)
    if not isinstance(name, str):
        raise ValueError(
            f"{check.brief(name)} is not a metric: pass a name such as 'gap@10', or a Metric."
        )
    return _of_text(name, parameters) if parameters else cached_metric(name)


_MEASURES = "ir_measures."  # modules with measures of ir_measures
_REGISTER_HINT = (
    "register a metric of your own by @skrank.register; worker processes do not know it, so pass "
    "them the object, skrank.metric(name). "
)


def _of_text(text: str, parameters: Options) -> Metric:
    """The metric of a text, with further parameters."""
    refuse_sum(text)
    prefix, name = peer_names.split_prefix(text)
    if name == "?":  # asks for the list of names, which the error has
        raise check.unknown_name("metric", name, registry)
    try:
        if not prefix:
            return _of_skrank(name, parameters)
        if prefix == "trec_eval":  # up to version 9, it compares scores in single precision
            parameters = {"single_precision": True, **parameters}
        return metric(peer_names.translate(prefix, name), **parameters)
    except ValueError as error:
        if prefix in peer_names.PEERS or parameters:
            raise
        # the text may lack the prefix of its tool: "P_5", or "MAP:top=5", whose MAP is not a tool;
        # with parameters, the error may be about them
        raise missing_prefix(text) or error from None


def _of_skrank(text: str, parameters: Options) -> Metric:
    """The metric of a name of skrank."""
    name, options = parts_of_name(text)
    cls = registry.get(name.lower())
    if cls is None:
        # for "ndcg10" and "ndcg_10", the error suggests "ndcg@10"
        cut = re.fullmatch(r"(\w*[^\W\d_])_?(\d+)", name.lower())
        meant = f"{cut[1]}@{cut[2]}" if cut and cut[1] in registry else None
        raise check.unknown_name("metric", name, registry, meant, _REGISTER_HINT)
    repeated = sorted(set(options) & set(parameters))
    if repeated:
        raise ValueError(f"{repeated[0]} is given twice: in {text!r} and as a parameter.")
    _check_names(cls, options | parameters)
    return cls(**options, **parameters)


@lru_cache(maxsize=256)
def cached_metric(name: str) -> Metric:
    """The metric of a text. A change of the registry must clear this cache."""
    return _of_text(name, {})


def _check_names(cls: type[Metric], parameters: Options) -> None:
    """Refuse parameters that a class does not have."""
    known = [field.name for field in dataclasses.fields(cls)]
    for name in parameters:
        if name not in known:
            meant = "k" if name == "cutoff" else None  # ir_measures calls k cutoff
            kind = f"parameter of {cls.names[0] if cls.names else cls.__name__}"
            raise check.unknown_name(kind, name, known, meant)


def missing_prefix(text: str) -> ValueError | None:
    """The error for a name of a tool without its prefix; None if no tool has the name."""
    for tool in peer_names.PEERS:
        try:
            name = peer_names.read(tool, text)
        except ValueError as error:  # the tool has the name, but not for one metric of skrank
            return error
        if name is None:
            continue
        with suppress(ValueError):  # a wrong parameter, such as k=0
            peer_metric = metric(f"{tool}:{text}")
            cut = "" if peer_metric.k is None else f"@{peer_metric.k}"
            plain = metric(peer_metric.names[0] + cut)
            different = [
                f"{field}={value!r}"
                for field, value in vars(plain).items()
                if value != getattr(peer_metric, field)
            ]
            how = f"which has {', '.join(different)}" if different else "which is the same"
            start = f"{text!r} is a name of {tool}: write '{tool}:{text}'"
            return ValueError(f"{start}, which is '{peer_metric}', or '{plain}', {how}.")
    return None


# the grammar --------------------------------------------------------------------------------------

# a string, a number with an exponent (the + of 1e+5 is not that of a sum), or a character
_TOKEN = re.compile(
    r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|(?<!\w)[\d.]+[eE][+-]?\d+|.", re.DOTALL
)
_NAME = re.compile(r"([^\W\d]\w*)\s*(?:\((.*)\))?\s*(?:@(.*))?", re.DOTALL)


def unreadable(text: str) -> ValueError:
    """The error for a text that is not of the grammar."""
    return ValueError(
        f"unknown metric {text!r}: write name, name@k or name(parameter=value)@k, such as 'gap@10' "
        "or 'ndcg(gain=linear)@10'."
    )


def refuse_sum(text: str) -> None:
    """Raise the error for a sum such as "0.7*gap+0.3*ndcg"."""
    if len(split(text, "+")) > 1 or len(split(text, "*")) > 1:
        raise ValueError(
            f"{text!r} is not a name: reports take several metrics, such as ['gap', 'ndcg@10'], "
            "and training takes sums of objectives, such as "
            "0.7 * LambdaRank('gap') + 0.3 * LambdaRank('ndcg@10')."
        )


def split(text: str, sign: str) -> list[str]:
    """The parts of a text between signs outside brackets and quotes."""
    parts, depth = [""], 0
    for token in _TOKEN.findall(text):
        depth += (token in "([{") - (token in ")]}")
        if token == sign and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts]


def name_in(text: str) -> str | None:
    """The name in a text such as "ndcg(gain=linear)@10"; None if it is not of the grammar."""
    match = _NAME.fullmatch(text.strip())
    return match and match[1]


def parts_of_name(text: str) -> tuple[str, Options]:
    """Name and parameters in a text such as "ndcg(gain=linear)@10"."""
    match = _NAME.fullmatch(text)
    if match is None:
        raise unreadable(text)
    name, inside, k = match.groups()
    pairs = [pair.partition("=") for pair in split(inside, ",")] if inside else []
    if k is not None:
        pairs.append(("k", "=", k))
    options: Options = {}
    for parameter, sign, value in pairs:
        parameter = parameter.strip()
        if parameter in options:
            raise ValueError(f"{text!r} gives {parameter} twice.")
        if not sign or not parameter.isidentifier():
            raise unreadable(text)
        options[parameter] = _literal(value.strip(), text)
    return name, options


def _literal(value: str, text: str) -> object:
    """A Python literal, or a bare word as a string; a list as a tuple, which has a hash."""
    if value.isidentifier():
        return {"False": False, "None": None, "True": True}.get(value, value)
    try:
        return _frozen(ast.literal_eval(value))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise unreadable(text) from None


def _frozen(value: object) -> object:
    """A hashable copy: lists become tuples, mappings become tuples of pairs."""
    if isinstance(value, dict):
        return tuple((_frozen(key), _frozen(item)) for key, item in value.items())
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


# the registry -------------------------------------------------------------------------------------


def register(*names: str) -> Callable[[_M], _M]:
    """Decorator that gives a metric class a name.

    From then on, the name can be used in `skrank.metric`, scorers, eval metrics, objectives,
    reports and the command.

    Parameters
    ----------
    *names : str
        The name, and aliases: small letters, digits and underscores.

    Returns
    -------
    decorator
        Takes and returns a subclass of `skrank.Metric` that is a frozen dataclass of keyword
        parameters with defaults.

    Raises
    ------
    TypeError
        If the class is not such a dataclass, or does not define `tables`.
    ValueError
        If a name is taken by another class, or has other characters; or if the class is a
        registered metric of skrank itself.

    See Also
    --------
    unregister : remove a class.
    skrank.extending : how to write a class.
    skrank.testing.check_metric : test a class.

    Notes
    -----
    If a class is registered again, further names are aliases; reports show the first name. If a
    class is defined again under one of its names, as when a notebook cell runs twice, it replaces
    the earlier class.

    A worker process knows a name only after it imports the module that registers the class. Workers
    do not import a notebook or script: there, pass ``skrank.metric("name")`` in place of
    ``"name"``, so that joblib sends the class to them with the metric.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import skrank
    >>> from skrank.extending import QuadraticTables, discounts
    >>> @skrank.register("square_rank")
    ... @dataclass(frozen=True, kw_only=True)
    ... class SquareRank(skrank.Metric):
    ...     def tables(self, scale, k):
    ...         return QuadraticTables(scale.labels, discounts(lambda r: r**-2, scale.longest, k))
    >>> skrank.metric("square_rank@2")([0, 2, 1], [3, 2, 1])
    0.5
    >>> skrank.unregister("square_rank")
    """

    if not names:
        raise ValueError('register() has no name: write register("my_metric").')
    for name in names:
        check.check_metric_name(name)

    def add(cls: _M) -> _M:
        check.check_metric_class(cls, Metric, names[0])
        if not _is_of_skrank(cls):
            for name in names:
                check.check_free_name(name, registry, cls)
        elif "names" in vars(cls):  # not inherited: the class is registered already
            raise ValueError(
                f"{cls.__name__} is a metric of skrank itself, {cls.names[0]!r}: derive a class "
                "from it, and register that."
            )
        # `check_free_name` refused names of other classes: these are earlier definitions of `cls`
        for replaced in {registry[name] for name in names if name in registry} - {cls}:
            _remove(replaced)
        earlier = [name for name, registered in registry.items() if registered is cls]
        cls.names = tuple(dict.fromkeys((*earlier, *names)))
        registry.update(dict.fromkeys(names, cls))
        _clear_caches()
        return cls

    return add


def _clear_caches() -> None:
    """Clear the caches of texts, after a change of the registry."""
    cached_metric.cache_clear()
    metrics_by_name.cache_clear()


def _is_of_skrank(cls: type[Metric]) -> bool:
    return cls.__module__.startswith("skrank.metrics.")


def unregister(name: str) -> None:
    """Remove a metric class that `register` added, with all its names.

    Parameters
    ----------
    name : str
        One of its names.

    Raises
    ------
    ValueError
        If there is no such name, or the metric is one of skrank's own.

    Examples
    --------
    >>> import skrank
    >>> skrank.unregister("gap")
    Traceback (most recent call last):
    ValueError: 'gap' is a metric of skrank itself, which stays.
    """
    if not isinstance(name, str) or name not in registry:
        raise check.unknown_name("metric", name, registry)
    cls = registry[name]
    if _is_of_skrank(cls):
        raise ValueError(f"{name!r} is a metric of skrank itself, which stays.")
    _remove(cls)


def _remove(cls: type[Metric]) -> None:
    for name in cls.names:
        registry.pop(name, None)
    cls.names = ()
    _clear_caches()


def registered() -> dict[str, type[Metric]]:
    """Metric classes by name, without aliases.

    Returns
    -------
    dict of str to type

    Examples
    --------
    >>> from skrank.metrics import registered
    >>> registered()["gap"]
    <class 'skrank.metrics.gap.GAP'>
    """
    return {cls.names[0]: cls for cls in registry.values()}


# names in reports ---------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def metrics_by_name(name: str) -> Mapping[str, Metric]:
    """Metrics of a text by their names in reports, in order; they take up to 0.7 ms to find."""
    prefix, text = peer_names.split_prefix(name)
    if prefix not in peer_names.PEERS:
        value = metric(name.strip())
        return {str(value): value}
    several = peer_names.expand(text) if prefix == "trec_eval" else None
    names = [f"{prefix}:{member}" for member in several or [text]]
    return {full: metric(full) for full in names}


def unique_metrics(
    metrics: str | Metric | Sequence[str | Metric] | Mapping[str, Metric],
    *,
    prefix: str | None = None,
) -> dict[str, Metric]:
    """Metrics by their names in reports, each once.

    A name of skrank gives one metric, under its full name. A name of another tool gives one metric,
    or all of a family such as "trec_eval:P" or "trec_eval:official", under the names of that tool.

    Parameters
    ----------
    metrics : name or Metric, or several; or a mapping of names in reports to metrics
    prefix : str, optional
        Prefix of a tool, such as "trec_eval", for all names without one. It is left out of the
        names in reports.

    Returns
    -------
    dict of str to Metric, in the given order

    Raises
    ------
    ValueError
        If no metric is given, or two metrics have one name.

    Examples
    --------
    >>> from skrank.extending import unique_metrics
    >>> list(unique_metrics(["ap", "nDCG@10"]))
    ['ap', 'ndcg@10']
    """
    if isinstance(metrics, Mapping) and metrics:
        return {name: metric(value) for name, value in metrics.items()}
    chosen: dict[str, Metric] = {}
    is_one = type(metrics).__module__.startswith(_MEASURES)
    items: list[Any] = [metrics] if is_one else check.several("metrics", metrics, (str, Metric))
    for item in items:
        if type(item).__module__.startswith(_MEASURES):
            item = f"ir_measures:{item}"  # the text of a measure is its name
        if isinstance(item, str) and prefix and not peer_names.split_prefix(item)[0]:
            item = f"{prefix}:{item}"
        named = metrics_by_name(item) if isinstance(item, str) else {str(item): metric(item)}
        for full, value in named.items():
            name = full.removeprefix(f"{prefix}:")
            if chosen.setdefault(name, value) != value:
                raise ValueError(f"two metrics have the name {name!r}: pass a mapping of names.")
    if not chosen:
        raise ValueError("metrics is empty: name at least one, such as 'gap' or 'ndcg@10'.")
    return chosen
