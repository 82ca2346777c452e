"""Names of metrics: how classes get names, and the metrics that a name of a report stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from skrank import _validation as check
from skrank._engine import peer_names
from skrank._engine.metric import Metric, Mixture, known_text, metric, registry
from skrank._engine.peer_tables import NICKNAMES

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
        for replaced in {registry[name] for name in names if name in registry} - {cls}:
            _remove(replaced)
        earlier = [name for name, one in registry.items() if one is cls]
        cls.names = tuple(dict.fromkeys((*earlier, *names)))
        cls.function = function or f"{cls.names[0]}_score"
        registry.update(dict.fromkeys(names, cls))
        _forget_texts()
        return cls

    return add


def _forget_texts() -> None:
    """Have texts read anew, as the registry has changed."""
    known_text.cache_clear()
    columns.cache_clear()


def refuse_known_name(name: str, cls: type[Metric]) -> None:
    """Refuse a name for a class that is taken by another class or by another tool."""
    check.check_free_name(name, registry, cls)
    tool = peer_names.peer_of(name)
    if tool is not None and name not in registry:
        raise ValueError(
            f"the name {name!r} is taken by {tool}, whose names stand for its metrics: choose "
            f"another, such as 'my_{name}'."
        )


def _is_own(cls: type[Metric]) -> bool:
    return cls is Mixture or cls.__module__.startswith("skrank.metrics.")


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
    if _is_own(cls):
        raise ValueError(f"{name!r} is a metric of skrank itself, which stays.")
    _remove(cls)


def _remove(cls: type[Metric]) -> None:
    for name in cls.names:
        registry.pop(name, None)
    cls.names = ()
    _forget_texts()


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


@lru_cache(maxsize=256)
def columns(name: str) -> Mapping[str, Metric]:
    """Metrics of a text by what reports call them, in order.

    One, under its full name; or, under the names that another tool gives them, one or all of a
    family such as "trec_eval:P". "official" is that of trec_eval, with and without its prefix.
    """
    prefix, text = peer_names.split_prefix(name)
    if text in NICKNAMES:  # "map" among them would be that of skrank, without a prefix
        prefix = prefix or "trec_eval"
    if prefix in ("trec_eval", "trec_eval10") or (not prefix and text.lower() not in registry):
        family = peer_names.expand(text) or []
        if len(family) > 1:
            colon = ":" * bool(prefix)
            return {f"{prefix}{colon}{one}": metric(f"{prefix}{colon}{one}") for one in family}
    if peer_names.translate(name, registry) is not None:
        return {name.strip(): metric(name)}
    one = metric(name)
    return {str(one): one}


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
