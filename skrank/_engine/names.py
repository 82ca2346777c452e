"""Names of metrics: register classes, expand names for reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from skrank import _validation as check
from skrank._engine import peer_names
from skrank._engine.metric import Metric, known_text, metric, registry

_M = TypeVar("_M", bound=type[Metric])


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

    A worker process knows a name once it has imported the module that registers the class. joblib
    sends a class of a notebook or script to workers with its metric, but not its name: there, pass
    ``skrank.metric("name")`` in place of ``"name"``.

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
                check.check_free_name(name, registry, cls)
        elif "names" in vars(cls):
            raise ValueError(
                f"{cls.__name__} is a metric of skrank itself, {cls.names[0]!r}: derive a class "
                "from it, and register that."
            )
        # only an earlier definition of this class can be left: other classes were refused
        for replaced in {registry[name] for name in names if name in registry} - {cls}:
            _remove(replaced)
        earlier = [name for name, one in registry.items() if one is cls]
        cls.names = tuple(dict.fromkeys((*earlier, *names)))
        registry.update(dict.fromkeys(names, cls))
        _forget_texts()
        return cls

    return add


def _forget_texts() -> None:
    """Clear the caches of texts, after a change of the registry."""
    known_text.cache_clear()
    columns.cache_clear()


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
    """Metrics of a text by their names in reports, in order."""
    prefix, text = peer_names.split_prefix(name)
    several = peer_names.expand(text) if prefix == "trec_eval" else None
    names = [f"trec_eval:{one}" for one in several] if several else [name.strip()]
    found = {one: metric(one) for one in names}
    return found if prefix in peer_names.PEERS else {str(one): one for one in found.values()}


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
        return {name: metric(one) for name, one in metrics.items()}
    chosen: dict[str, Metric] = {}
    for item in check.several("metrics", metrics, (str, Metric)):
        if type(item).__module__.partition(".")[0] == "ir_measures":
            item = f"ir_measures:{item}"
        if isinstance(item, str) and prefix and not peer_names.split_prefix(item)[0]:
            item = f"{prefix}:{item}"
        found = columns(item) if isinstance(item, str) else {str(item): metric(item)}
        for full, one in found.items():
            name = full.removeprefix(f"{prefix}:")
            if chosen.setdefault(name, one) != one:
                raise ValueError(f"two metrics have the name {name!r}: pass a mapping of names.")
    if not chosen:
        raise ValueError("metrics is empty: name at least one, such as 'gap' or 'ndcg@10'.")
    return chosen
