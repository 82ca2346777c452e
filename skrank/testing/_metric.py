"""All properties of a metric."""

from __future__ import annotations

from collections.abc import Callable

from skrank.metrics import Metric, metric
from skrank.testing._case import Case, run
from skrank.testing._training import TRAINING
from skrank.testing._use import USE
from skrank.testing._values import VALUES


def check_metric(
    metric_or_name: str | Metric,
    definition: Callable[..., float | None] | None = None,
    *,
    monotone: bool = True,
) -> list[str]:
    """Test the properties of every metric of skrank.

    Values: ties against all orders of the tied documents, range, ideal lists, what must change
    nothing (the order of rows and queries, increasing transforms of scores, storage), weights,
    queries without relevant documents. Training, if the metric can be trained on: swap deltas
    against swaps, LambdaRank against the double loop over pairs, both boosters. Use: the name,
    copies, scorers in cross-validation, the eval metrics of both boosters, as far as they are
    installed.

    Parameters
    ----------
    metric_or_name : str or Metric
    definition : callable, optional
        The literal definition, slow and obvious, that values must be those of: a function
        ``definition(ranked, unretrieved=(), max_grade=3)`` of the labels of one list, best document
        first and None for one that was not judged; of the labels of judged documents that the list
        does not contain; and, if it takes it, of the highest grade of the collection. It returns
        None where the metric is not defined.
    monotone : bool
        Whether it is never worth less to have a better document further up. So it is with most
        metrics; not with bpref's cousins and the Q-measure.

    Returns
    -------
    list of str
        The properties that were tested. Those that do not apply are left out.

    Raises
    ------
    AssertionError
        For the first property that does not hold, which the message names.

    Examples
    --------
    >>> from skrank.testing import check_metric
    >>> def definition(ranked, unretrieved=()):
    ...     found = [place for place, label in enumerate(ranked, start=1) if label]
    ...     if not found and not any(unretrieved):
    ...         return None
    ...     return 1 / found[0] if found else 0.0
    >>> "ties count as the mean over their orders" in check_metric("rr", definition)
    True
    """
    one = metric(metric_or_name)
    return run(one, [*VALUES, *TRAINING, *USE], Case(one, definition, monotone))
