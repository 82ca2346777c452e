"""Weighted sums of metrics, and `metric`, which reads names such as "gap@10"."""

from __future__ import annotations

import dataclasses
import re
from functools import lru_cache
from typing import Any

from skrank import _renamed
from skrank import _validation as check
from skrank._engine import name_parser, peer_names
from skrank._engine.judgments import Judgments
from skrank._engine.mixture import SETTINGS, MixturePlan, check_terms
from skrank._engine.parameters import Sum, terms_of
from skrank._engine.plan import Metric as Metric
from skrank._engine.tables import Scale, Tables
from skrank._typing import Options

registry: dict[str, type[Metric]] = {}  # classes by name, which `register` fills
_AS_PARTS: Any = None  # a setting of a mixture that is not given: its metrics have the value


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mixture(Sum, Metric):
    r"""A weighted sum of metrics: ``metric("0.7*gap+0.3*ndcg@10")``.

    .. math:: M = \sum_i w_i M_i

    A mixture can be used wherever a metric or its name can, also in training. `skrank.metric` makes
    the mixture from its name. Weights are not divided by their sum: with weights that sum to 1, a
    mixture of metrics with range [0, 1] has range [0, 1].

    Parameters
    ----------
    parts : sequence of (float, Metric or str)
        Weights above 0, and metrics. A mixture among the metrics is replaced by its parts.
    k, condensed, empty, ties
        Values that replace the settings of all metrics, as in ``metric(mixture, empty=0)``.
        Default: the values of the metrics, which must be equal except for `k`.
    average : {"macro"}
        The mean over queries is arithmetic. If all metrics are defined for the same queries, it is
        the weighted sum of the means of the metrics.

    Raises
    ------
    ValueError
        If the metrics disagree on a setting, some are better when higher and others when lower, a
        mean is not arithmetic, or a weight is not above 0.

    Notes
    -----
    The value of a query is the weighted sum of the values of the metrics. The value is not defined
    if one of the metrics is not defined for the query: with ``empty="skip"``, the mean is over the
    queries for which all metrics are defined. With ``empty=0`` or 1, a metric that is not defined
    has the value 0 or 1.

    As an objective: `skrank.LambdaRank` weights a pair of documents by the weighted sum of the
    changes of the metrics, each divided by the best value of the metric for the query. Metrics
    that are not defined for a query are left out of its gradients.

    Examples
    --------
    >>> import skrank
    >>> mixture = skrank.metrics.Mixture(parts=[(0.7, "gap"), (0.3, "ndcg@10")])
    >>> str(mixture)
    '0.7*gap+0.3*ndcg@10'
    >>> skrank.metric("0.7*gap+0.3*ndcg@10") == mixture
    True
    >>> round(mixture([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.9114
    """

    names = ("mixture",)  # for messages: not registered
    reads_judgments = True

    parts: Any = ()  # pairs of a float and a Metric once made
    condensed: bool = _AS_PARTS
    empty: str | int = _AS_PARTS
    ties: str = _AS_PARTS
    average: str = _AS_PARTS
    greater_is_better: bool = dataclasses.field(default=True, init=False, compare=False, repr=False)
    needs_relevant: bool = dataclasses.field(default=True, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("k", *SETTINGS)}
        changes = {name: value for name, value in given.items() if value is not None}
        terms = terms_of(self.parts, metric, "(0.7, 'gap'), (0.3, 'ndcg@10')")
        if changes:
            terms = tuple((weight, dataclasses.replace(one, **changes)) for weight, one in terms)
        check_terms(terms)
        first = terms[0][1]
        self._set(
            parts=terms,
            k=None,  # each part has a cut-off of its own
            greater_is_better=first.greater_is_better,
            needs_relevant=any(one.needs_relevant for _, one in terms),
            single_precision=all(one.single_precision for _, one in terms),
            **{name: getattr(first, name) for name in SETTINGS},
        )

    @property
    def needs_scale(self) -> bool:
        """True if one of the metrics needs the highest grade of the collection."""
        return any(one.needs_scale for _, one in self.parts)

    def bind(self, judgments: Judgments, *, max_grade: int | None = None) -> MixturePlan:
        """One plan per metric."""
        plans = [(weight, one.bind(judgments, max_grade=max_grade)) for weight, one in self.parts]
        return MixturePlan(self, plans, judgments)

    @property
    def ideal_cutoff(self) -> int | None:
        """Cut-off of the best list: 0 if no metric is divided by its best value, else None."""
        return 0 if all(one.ideal_cutoff == 0 for _, one in self.parts) else None

    def tables(self, scale: Scale, k: int | None) -> Tables:
        """Tables of all metrics, each with its own cut-off and highest grade."""
        return self.bind(scale.judgments, max_grade=scale.max_grade).tables


def metric(name: str | Metric, **parameters: object) -> Metric:
    """The metric with a name such as ``"gap@10"`` or ``"ndcg(gain=linear)@10"``.

    Parameters
    ----------
    name : str or Metric
        Name in any case of letters, parameters in brackets, cut-off behind @; or a sum of weights
        times such names, see `Mixture`. A Metric is returned with `parameters` changed. Names of
        other tools are read with their meaning behind a prefix, as in "trec_eval:P_5",
        "xgboost:ndcg@5-" or "catboost:NDCG:top=10".
    **parameters
        Further parameters. In a sum, each metric gets them.

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
    >>> skrank.metric("0.7*gap + 0.3*ndcg@10").parts
    ((0.7, GAP(...)), (0.3, NDCG(k=10, ...)))
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
    try:
        terms = [(weight, _of_atom(atom, parameters)) for weight, atom in name_parser.terms(text)]
    except RecursionError:
        raise name_parser.unreadable(text) from None
    if len(terms) == 1 and terms[0][0] is None:
        return terms[0][1]
    return Mixture(parts=tuple((1.0 if weight is None else weight, one) for weight, one in terms))


def _of_atom(atom: str, parameters: Options) -> Metric:
    """The metric of a name, or of a sum in brackets."""
    group = name_parser.group(atom)
    if group is not None:
        inner, k = _of_text(group[0], parameters), group[1]
        if k is None:
            return inner
        if any(part.k is not None for _, part in inner.terms):
            raise ValueError(f"{atom!r} gives k twice.")
        return dataclasses.replace(inner, k=k)
    prefix, name = peer_names.split_prefix(atom)
    meant = None if prefix else meaning(name)
    if meant and meant.startswith("skrank."):
        raise ValueError(f"{name!r} is not a metric but a statistic: {meant}.")
    if meant or name == "?":
        raise check.unknown_name("metric", name, registry, meant)
    try:
        if not prefix:
            return _own(name, parameters)
        found = metric(peer_names.translate(prefix, name), **parameters)
    except ValueError as error:
        if prefix in peer_names.PEERS or parameters:
            raise
        raise peer_names.elsewhere(atom, metric) or error from None
    if prefix == "trec_eval":
        found = dataclasses.replace(found)  # a copy: `known_text` has cached the metric
        object.__setattr__(found, "single_precision", True)
    return found


# words for metrics, without signs: what computes them
_MEANINGS = {
    **dict.fromkeys(("hits", "hitrate", "hitratio", "hr", "successrate"), "success"),
    **dict.fromkeys(("fscore", "f1score", "fbeta"), "f1"),
    **dict.fromkeys(("auc", "rocauc", "auroc"), "bpref"),
    **dict.fromkeys(("kendall", "kendalltau", "tau", "spearman"), "skrank.stats.tau_b"),
    "prec": "precision", "rec": "recall", "rcap": "relative_precision",
    "hole": "1 - judged",
}  # fmt: skip


def meaning(text: str) -> str | None:
    """The name for what a text says in words, such as "ap@5" for "Mean average precision at 5".

    The words are those of `_MEANINGS`, names without signs, or the first words of docstrings.
    """
    lowered = text.lower()
    if re.split(r"[(@]", lowered)[0].strip() in registry:
        return None
    name, _, k = re.sub(r"[\W_]at[\W_]", "@", lowered).partition("@")
    words = {name.replace("_", ""): name for name in registry}
    for cls in registry.values():
        words[re.sub(r"\W", "", (cls.__doc__ or "").partition(":")[0]).lower()] = cls.names[0]
    found = (words | _MEANINGS).get(re.sub(r"\(.*|[\W_]", "", name).removeprefix("mean"))
    return f"{found}@{k}" if found and k.isdecimal() else found


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
            meant = _renamed.replacements()[1].get(cls.__qualname__, {}).get(name)
            meant = "k" if name == "cutoff" else meant  # ir_measures calls k cutoff
            kind = f"parameter of {cls.names[0] if cls.names else cls.__name__}"
            raise check.unknown_name(kind, name, known, meant)
    return cls(**parameters)
