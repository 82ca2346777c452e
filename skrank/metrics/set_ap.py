"""Average precision of a set: precision times recall."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from skrank._engine.names import register, score_function
from skrank._engine.quadratic import PairWorth, QuadraticTables
from skrank._engine.sets import RelevantSet
from skrank._engine.tables import Line, Lists, Scale


@register("set_ap", function="set_average_precision_at_k_score")
@dataclass(frozen=True, kw_only=True)
class SetAP(RelevantSet):
    r"""Average precision of a set: precision times recall.

    .. math:: \frac{h}{\min(k, n)} \cdot \frac{h}{R}, \quad h = |\{r \le k : y_r \ge rel\}|

    h is the number of relevant documents among the first k of the n retrieved documents, and R the
    number of relevant documents of the query. Unlike in `Precision` with a cut-off, the precision
    of a list shorter than k is divided by n. Without a cut-off, all retrieved documents count.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    trec_eval, set_map (with the cut-off as ``-M``).

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("set_ap@2")([0, 1, 1], [0.9, 0.5, 0.1])
    0.25
    """

    averages: ClassVar[tuple[str, ...]] = ("macro", "geometric")

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The square of h: 1 for each relevant document shown, and 2 for each pair of them."""
        single = super().tables(scale, k)
        pairs = PairWorth(2.0 * single.u, single.gain, single.gain, np.multiply)
        ideal = (single.gain, (2.0 * np.arange(scale.longest) + 1.0) * single.u)
        return replace(single, pairs=pairs, ideal=ideal)

    def line(self, lists: Lists) -> Line:
        """Divided by the number of documents shown times R."""
        return Line(divisor=lists.shown * lists.relevant)


set_average_precision_at_k_score = score_function(SetAP, 0.25, k=2)
