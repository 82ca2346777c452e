"""`metric`, which reads names such as "gap@10"."""

from __future__ import annotations

import dataclasses
import re
from functools import lru_cache

from skrank import _validation as check
from skrank._engine import name_parser, peer_names
from skrank._engine.plan import Metric as Metric
from skrank._typing import Options

registry: dict[str, type[Metric]] = {}  # classes by name, which `register` fills


def metric(name: str | Metric, **parameters: object) -> Metric:
    """The metric with a name such as ``"gap@10"`` or ``"ndcg(gain=linear)@10"``.

    Parameters
    ----------
    name : str or Metric
        Name in any case of letters, parameters in brackets, cut-off behind @. A Metric is returned
        with `parameters` changed. Names of other tools are read with their meaning behind a prefix,
        as in "trec_eval:P_5", "xgboost:ndcg@5-" or "catboost:NDCG:top=10".
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
        return _build(type(name), _fields(name) | parameters) if parameters else name
    if not isinstance(name, str):
        raise ValueError(
            f"{check.brief(name)} is not a metric: pass a name such as 'gap@10', or a Metric."
        )
    return _of_text(name, parameters) if parameters else known_text(name)


def _of_text(text: str, parameters: Options) -> Metric:
    """The metric of a text, with further parameters."""
    name_parser.refuse_sum(text)
    prefix, name = peer_names.split_prefix(text)
    if name == "?":
        raise check.unknown_name("metric", name, registry)
    try:
        if not prefix:
            return _own(name, parameters)
        single = {"single_precision": True} if prefix == "trec_eval" else {}
        return metric(peer_names.translate(prefix, name), **single | parameters)
    except ValueError as error:
        if prefix in peer_names.PEERS or parameters:
            raise
        raise peer_names.elsewhere(text, metric) or error from None


def _own(atom: str, parameters: Options) -> Metric:
    """The metric of a name of skrank."""
    name, options = name_parser.parts_of_name(atom)
    cls = registry.get(name.lower())
    if cls is None:
        cut = re.fullmatch(r"(\w*[^\W\d_])_?(\d+)", name.lower())
        meant = f"{cut[1]}@{cut[2]}" if cut and cut[1] in registry else None
        raise check.unknown_name("metric", name, registry, meant)
    repeated = sorted(set(options) & set(parameters))
    if repeated:
        raise ValueError(f"{repeated[0]} is given twice: in {atom!r} and as a parameter.")
    return _build(cls, options | parameters)


@lru_cache(maxsize=256)
def known_text(name: str) -> Metric:
    """The metric of a text. A change of the registry must clear this cache."""
    return _of_text(name, {})


def _fields(instance: Metric) -> Options:
    return {f.name: getattr(instance, f.name) for f in dataclasses.fields(instance) if f.init}


def _build(cls: type[Metric], parameters: Options) -> Metric:
    known = [field.name for field in dataclasses.fields(cls) if field.init]
    for name in parameters:
        if name not in known:
            meant = "k" if name == "cutoff" else None  # ir_measures calls k cutoff
            kind = f"parameter of {cls.names[0] if cls.names else cls.__name__}"
            raise check.unknown_name(kind, name, known, meant)
    return cls(**parameters)
