"""Names of metrics: the registry, and the metrics that names and those of other tools stand for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar

from skrank import _validation as check
from skrank._engine import peer_names
from skrank._engine.metric import Metric
from skrank._engine.name_parser import read
from skrank._engine.peer_tables import NICKNAMES, Refused
from skrank._typing import Options

_registry: dict[str, type[Metric]] = {}
_M = TypeVar("_M", bound=type[Metric])


def register(*names: str, function: str | None = None) -> Callable[[_M], _M]:
    """Decorator that gives a metric class a name.

    Everything that takes names of metrics knows it from then on: `skrank.metric`, scorers, eval
    metrics, objectives, reports, the command.

    Parameters
    ----------
    *names : str
        The name, and aliases: small letters, digits and underscores.
    function : str, optional
        Name of the score function of a metric of skrank itself. Default: ``<name>_score``.

    Returns
    -------
    decorator
        Takes a frozen dataclass of keyword parameters with defaults that derives from
        `skrank.Metric`, and returns it.

    Raises
    ------
    TypeError
        If the class is not such a dataclass, or does not define `tables`.
    ValueError
        If a name is taken by another class or by a tool such as trec_eval, or cannot be a name; or
        if the class is one of skrank's own.

    See Also
    --------
    unregister : takes it away.
    skrank.extending : what a class is made of.
    skrank.testing.check_metric : tests it.

    Notes
    -----
    A class that is registered once more gets further names; the first one stays the one that
    reports show. A class that is defined once more under one of its names, as a cell of a notebook
    does, replaces the earlier one.

    Metrics are found in worker processes as classes are: by the import of the module that defines
    them. A class of a notebook or script travels with the metrics that are made of it, but its name
    does not: there, give workers ``skrank.metric("name")`` in place of ``"name"``.

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
        if not _is_own(cls):
            for name in names:
                refuse_known_name(name, cls)
        elif "names" in vars(cls):
            raise ValueError(
                f"{cls.__name__} is a metric of skrank itself, {cls.names[0]!r}: derive a class "
                "from it, and register that."
            )
        for replaced in {_registry[name] for name in names if name in _registry} - {cls}:
            _remove(replaced)
        earlier = [name for name, one in _registry.items() if one is cls]
        cls.names = tuple(dict.fromkeys((*earlier, *names)))
        cls.function = function or f"{cls.names[0]}_score"
        _registry.update(dict.fromkeys(names, cls))
        _forget_texts()
        return cls

    return add


def _forget_texts() -> None:
    """Have texts read anew, as the registry has changed."""
    _known_text.cache_clear()
    columns.cache_clear()


def refuse_known_name(name: str, cls: type[Metric]) -> None:
    """Refuse a name for a class that is taken by another class or by another tool."""
    check.check_free_name(name, _registry, cls)
    tool = peer_names.peer_of(name)
    if tool is not None and name not in _registry:
        raise ValueError(
            f"the name {name!r} is taken by {tool}, whose names stand for its metrics: choose "
            f"another, such as 'my_{name}'."
        )


def _is_own(cls: type[Metric]) -> bool:
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
    if not isinstance(name, str) or name not in _registry:
        raise check.unknown_name("metric", name, _registry)
    cls = _registry[name]
    if _is_own(cls):
        raise ValueError(f"{name!r} is a metric of skrank itself, which stays.")
    _remove(cls)


def _remove(cls: type[Metric]) -> None:
    for name in cls.names:
        _registry.pop(name, None)
    cls.names = ()
    _forget_texts()


def known() -> Mapping[str, type[Metric]]:
    """Metric classes by name, aliases included."""
    return MappingProxyType(_registry)


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
    return {cls.names[0]: cls for cls in _registry.values()}


def metric(name: str | Metric, **parameters: object) -> Metric:
    """The metric of a name such as ``"gap@10"`` or ``"ndcg(gain=linear)@10"``.

    Parameters
    ----------
    name : str or Metric
        Name in any case of letters, parameters in brackets, cut-off behind @; or a sum of weights
        times such names, see `Mixture`. A Metric is returned as it is. Names of
        other tools are read with their meaning: with a prefix, as in "trec_eval:map",
        "xgboost:ndcg@5-" or "catboost:NDCG:top=10", or where only they spell so, as in
        "ndcg_cut_10".
    **parameters
        Parameters beyond those in the name; those of a sum go to each of its metrics.

    Returns
    -------
    Metric
        Frozen, hashable, picklable; ``str(metric)`` gives a name that parses back.

    Raises
    ------
    ValueError
        If the name or a parameter is unknown (the message suggests the nearest) or out of range; or
        if the case of its letters makes a name that of another metric elsewhere, as "nDCG@10", for
        which the message says both ways to write it.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("ndcg(gain=linear)@10") == skrank.metrics.NDCG(k=10, gain="linear")
    True
    >>> str(skrank.metric("gap", thresholds=[0.3, 0.7], k=5))
    'gap(thresholds=[0.3,0.7])@5'
    >>> skrank.metric("0.7*gap + 0.3*ndcg@10") == 0.7 * skrank.metric("gap") + 0.3 * skrank.metric(
    ...     "ndcg@10"
    ... )
    True
    """
    if isinstance(name, Metric):
        return _build(type(name), _fields(name) | parameters) if parameters else name
    if not isinstance(name, str):
        raise ValueError(f"{name!r} is not a metric: pass a name such as 'gap@10', or a Metric.")
    return _of_text(name, parameters) if parameters else _known_text(name)


def _of_text(name: str, parameters: Options) -> Metric:
    """The metric of a text, with parameters beyond those in it."""
    ours = peer_names.translate(name, _registry)
    if ours is not None:
        return metric(ours, **parameters)

    def named(base: str, inside: Options) -> Metric:
        cls = _class_of(base, inside.get("k"))
        repeated = sorted(set(inside) & set(parameters))
        if repeated:
            raise ValueError(f"{repeated[0]} is given twice: in {name!r} and as a parameter.")
        return _build(cls, inside | parameters)

    return read(name, named)


@lru_cache(maxsize=256)
def _known_text(name: str) -> Metric:
    """The metric of a text, which is read once as long as the registry stays as it is."""
    return _of_text(name, {})


def _class_of(name: str, k: object) -> type[Metric]:
    """The class of a name, in any case of letters unless that makes it the name of two metrics."""
    ours = name.lower()
    if ours not in _registry:
        raise check.unknown_name("metric", name, _registry)
    if name != ours:
        _refuse_two_meanings(name, "" if k is None else f"@{k}")
    return _registry[ours]


def _refuse_two_meanings(name: str, cut: str) -> None:
    """The error for one of our names whose case of letters makes it another metric elsewhere.

    What a tool does with queries without a relevant document does not make another metric.
    """
    for peer in peer_names.UNPREFIXED.values():
        here = peer.names.get(name)
        if here is None:
            continue
        if isinstance(here, Refused):
            instead = f"which is not read: {here.reason}"
        else:
            theirs = here.name.replace(",empty=0", "").replace("(empty=0)", "")
            if "(" not in theirs:
                continue
            instead = repr(theirs + cut)
        raise ValueError(
            f"{name + cut!r} may be {name.lower() + cut!r} of skrank or that of {peer.name}, "
            f"{instead}. Write the one that you mean."
        )


@lru_cache(maxsize=256)
def columns(name: str) -> Mapping[str, Metric]:
    """Metrics of a text by what reports call them, in order.

    One, under its full name; or, under the names that another tool gives them, one or all of a
    family such as "trec_eval:P". "official" is that of trec_eval, with and without its prefix.
    """
    prefix, text = peer_names.split_prefix(name)
    if text in NICKNAMES:  # "map" among them would be that of skrank, without a prefix
        prefix = prefix or "trec_eval"
    if prefix in ("trec_eval", "trec_eval10") or (not prefix and text.lower() not in _registry):
        family = peer_names.expand(text) or []
        if len(family) > 1:
            colon = ":" * bool(prefix)
            return {f"{prefix}{colon}{one}": metric(f"{prefix}{colon}{one}") for one in family}
    if peer_names.translate(name, _registry) is not None:
        return {name.strip(): metric(name)}
    one = metric(name)
    return {str(one): one}


def _fields(instance: Metric) -> Options:
    return {f.name: getattr(instance, f.name) for f in dataclasses.fields(instance)}


def _build(cls: type[Metric], parameters: Options) -> Metric:
    known = [field.name for field in dataclasses.fields(cls)]
    for name in parameters:
        if name not in known:
            meant = "k" if name == "cutoff" else None  # as ir_measures calls it
            kind = f"parameter of {cls.names[0] if cls.names else cls.__name__}"
            raise check.unknown_name(kind, name, known, meant)
    return cls(**parameters)


def unique_metrics(metrics: str | Metric | Sequence[str | Metric]) -> dict[str, Metric]:
    """Metrics by their full name, or by the name that another tool gives them, each once.

    Parameters
    ----------
    metrics : name or Metric, or several

    Returns
    -------
    dict of str to Metric, in the given order

    Raises
    ------
    ValueError
        If there is none, or one is given twice.
    """
    chosen: dict[str, Metric] = {}
    for item in check.several("metrics", metrics, (str, Metric)):
        found = columns(item) if isinstance(item, str) else {str(metric(item)): item}
        for name, one in found.items():
            if name in chosen:
                raise ValueError(f"metric {name!r} is given twice: each has one column.")
            chosen[name] = one
    if not chosen:
        raise ValueError("metrics is empty: name at least one, such as 'gap' or 'ndcg@10'.")
    return chosen
