"""What a campaign asks and how it draws, and the requests for labels of a query."""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.active._pool import Costs


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Design:
    """What a campaign asks and how it draws, for `ActiveEvaluator` and `ActiveComparator`.

    Parameters
    ----------
    grades : array-like of shape (n_grades,), optional
        All grades that a label may have, ascending. Default: the columns of a DataFrame of label
        probabilities, or 0, 1, 2, ... for the columns of an array. With a uniform label model, 0 to
        the highest of the known `labels`; without these, 0 to 4, with a warning.
    labels : array-like of shape (n_rows,), optional
        Known labels, NaN if unknown, such as `labels` of an earlier campaign. They replace the
        label model, and are not asked again. Queries with all labels are in the mean without being
        drawn.
    items : array-like of shape (n_rows,), optional
        Ids of the documents for the assessors, distinct inside a query. Default: row numbers.
    costs : "items", array-like of shape (n_rows,), or mapping
        Cost of labelling a query: the number of its items; the sum of the costs of its items, such
        as the logarithm of their length; or a mapping from query to cost.
    frequencies : mapping from query to number, optional
        How often users send each query: weights of the mean. Default: equal.
    mixing : float, optional
        Share, in [0, 1], of what does not rely on the label model: of draws by frequency, and of
        the mean over queries in each expected squared error; see `sampling_distribution`. No weight
        of a draw exceeds 1 / `mixing`; 1 is passive sampling. Default: 0.3; 0.8 if fewer than 100
        queries can be drawn.
    center : float, optional
        R in the expected squared error ``E[(L - R)**2]`` of a value or difference L. Default: the
        mean that the label model expects, for each pair of rankers. Pass 0 for a comparison if the
        label model may favour one ranker.
    n_label_draws : int
        Random label vectors per query, for metrics whose moments have no formula.

    Examples
    --------
    >>> from skrank.active import ActiveEvaluator, Design
    >>> design = Design(grades=[0, 1], costs=[2.0, 1.0, 1.0], frequencies={"a": 3, "b": 1})
    >>> campaign = ActiveEvaluator([3, 2, 1], ["a", "a", "b"], metric="dcg", design=design)
    >>> campaign.sampling.cost.tolist()
    [3.0, 1.0]
    """

    grades: ArrayLike | None = None
    labels: ArrayLike | None = None
    items: ArrayLike | None = None
    costs: Costs = "items"
    frequencies: Mapping[object, float] | None = None
    mixing: float | None = None
    center: float | None = None
    n_label_draws: int = 200

    def __repr__(self) -> str:
        """The parameters, long values shortened."""
        short = (f"{k}={reprlib.repr(np.asarray(v).tolist())}" for k, v in vars(self).items())
        return f"Design({', '.join(short)})"


@dataclass(frozen=True, eq=False, repr=False)
class Request:
    """A query to label.

    Attributes
    ----------
    query : int or str
        Id of the query.
    items : ndarray of shape (n_items,)
        Documents to label: ids if the campaign has `items`, otherwise row numbers.
    rows : ndarray of shape (n_items,)
        Rows of these documents in the arrays passed to the campaign.
    cost : float
        Cost of labelling the query.
    """

    query: Hashable
    items: np.ndarray
    rows: np.ndarray
    cost: float

    def __repr__(self) -> str:
        items = check.counted(len(self), "item")
        return f"Request(query {self.query!r}: {items}, cost {self.cost:g})"

    def __len__(self) -> int:
        return len(self.items)

    def checked(
        self, labels: ArrayLike | Mapping[Hashable, float], grades: np.ndarray
    ) -> np.ndarray:
        """Labels in the order of the items; raises an error if they are not grades."""
        import pandas as pd

        name, items = f"labels of query {self.query!r}", self.items.tolist()
        if isinstance(labels, pd.Series):
            index = labels.index.tolist()
            if {*index} == {*items}:
                labels = labels.loc[items]
            elif index not in (self.rows.tolist(), list(range(len(index)))):
                raise ValueError(
                    f"the index of the {name} is not its items, such as {items[0]!r}: give each "
                    "item once, or an array in the order of Request.items."
                )
        elif isinstance(labels, Mapping):
            missing = [item for item in items if item not in labels]
            unknown = [item for item in labels if item not in items]
            if missing or unknown:
                problem = "has no label" if missing else "is not one of the items asked"
                raise ValueError(f"{name}: item {(missing or unknown)[0]!r} {problem}.")
            labels = [labels[item] for item in items]
        values = check.as_numbers(name, cast("ArrayLike", labels), "one grade per item")
        if values.shape != self.items.shape:
            order = "one per item in the order of Request.items"
            raise ValueError(f"{name} have shape {values.shape}: give {len(self)}, {order}.")
        wrong = values[~np.isin(values, grades)]
        if len(wrong):
            known = check.brief(grades.tolist())
            raise ValueError(f"{name}: {wrong[0]:g} is not one of the grades {known}.")
        return values
