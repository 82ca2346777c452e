"""QueryLog: the value of each query in each round."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from skrank.metrics import Metric, metric

if TYPE_CHECKING:
    import pandas as pd

_metric = metric  # `metric` is also the name of a parameter of `frame`


class QueryLog:
    """The value of each query in each round, which ``eval_metric(..., per_query=log)`` appends.

    A log holds one number per round, query, metric and data set. LightGBM copies the eval metric;
    all copies write to the same log. Use a new log for each training.

    Notes
    -----
    Boosters pass no names of data sets to a callable. Therefore data sets are numbered, in the
    order in which the booster evaluates them. In a cross-validation each fold has its own data
    sets. In distributed training, where a worker has only some queries, a log is refused.

    Examples
    --------
    >>> import lightgbm, numpy, skrank.lightgbm
    >>> X, y = numpy.arange(40.0).reshape(-1, 1) % 4, numpy.arange(40) % 4
    >>> data, log = lightgbm.Dataset(X, y, group=[4] * 10), skrank.lightgbm.QueryLog()
    >>> booster = lightgbm.train(
    ...     {"objective": skrank.lightgbm.objective("gap"), "metric": "None", "verbosity": -1},
    ...     data, 3, [data], feval=skrank.lightgbm.eval_metric("gap@2", "err", per_query=log),
    ... )
    >>> log.frame("gap@2").shape
    (3, 10)
    """

    def __init__(self) -> None:
        self._owners: dict[int, weakref.ref[object]] = {}
        self._values: list[dict[Metric, list[np.ndarray]]] = []

    def frame(self, metric: str | Metric, data: int = -1) -> pd.DataFrame:
        """The values of a metric.

        Parameters
        ----------
        metric : str or Metric
            A metric that was passed to `eval_metric`.
        data : int, default=-1
            Number of the data set, in the order of evaluation; -1 is the last.

        Returns
        -------
        DataFrame of shape (n_rounds, n_queries)
            Indexed by ``round`` and ``query``, both from 0; queries in the order of the data set.
            NaN if the metric is not defined for the query. The weighted mean of a row is the value
            that the booster logs.

        Raises
        ------
        ValueError
            If the metric or the data set was not evaluated.
        """
        import pandas as pd

        if not -len(self._values) <= data < len(self._values):
            raise ValueError(
                f"data={data}: {len(self._values)} data sets were evaluated; they are numbered "
                "from 0 in the order in which the booster evaluates them."
            )
        chosen, found = _metric(metric), self._values[data]
        if chosen not in found:
            known = ", ".join(str(one) for one in found)
            raise ValueError(f"{chosen} was not evaluated: choose one of {known}.")
        values = np.array(found[chosen])
        return pd.DataFrame(values).rename_axis(index="round", columns="query")

    def __len__(self) -> int:
        """Number of data sets that were evaluated."""
        return len(self._values)

    def __deepcopy__(self, memo: dict[int, object]) -> QueryLog:
        return self  # LightGBM copies the callable, and the user reads the original log

    def __getstate__(self) -> dict[str, object]:
        return vars(self) | {"_owners": {}}  # another process has other data sets

    def add(self, owner: object, metrics: Sequence[Metric], values: Sequence[np.ndarray]) -> None:
        """Append a round of a data set. The eval metric calls this method.

        Parameters
        ----------
        owner
            Object that lives as long as the data set.
        metrics : sequence of Metric
        values : sequence of ndarrays of shape (n_queries,)
            One per metric.
        """
        known = (place for place, one in self._owners.items() if one() is owner)
        place = next(known, len(self._values))
        if place == len(self._values):
            self._owners[place] = weakref.ref(owner)
            self._values.append({one: [] for one in metrics})
        for one, row in zip(metrics, values, strict=True):
            self._values[place].setdefault(one, []).append(np.array(row))
