"""Groups: the query of each row, where it is found, and the collection of all labelled rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._typing import Table
from skrank._warnings import warn

if TYPE_CHECKING:
    import pandas as pd

# imported from here by modules that read queries
LEVEL, show, without_queries = check.LEVEL, check.show, check.without_queries
ATTRS_KEY = "skrank"  # of the collection in `Series.attrs`


class Collection(dict[str, int]):
    """Number of rows and highest label of each query.

    The dictionary has the totals only, since `DataFrame.to_parquet` writes attrs as JSON.
    Collections are immutable: copies of labels share one collection, so that slices of labels stay
    cheap.

    Parameters
    ----------
    ids, sizes : ndarray of shape (n_queries,)
        Queries and their numbers of rows.
    tops : float64 ndarray of shape (n_queries,)
        Highest labels; NaN for a query without labels.
    """

    def __init__(self, ids: np.ndarray, sizes: np.ndarray, tops: np.ndarray) -> None:
        self.ids, self.sizes, self.tops = ids, sizes, tops
        self.max_grade = check.highest_grade(tops)
        super().__init__(queries=len(ids), rows=int(sizes.sum()), max_grade=self.max_grade)

    @classmethod
    def of(cls, ids: ArrayLike, labels: ArrayLike) -> Collection:
        """The collection of rows.

        A query with the label inf counts as a query without labels: metrics and rankers, which
        name its row, refuse inf when they read the labels.
        """
        import pandas as pd

        codes, unique = pd.factorize(np.asarray(ids))
        tops = np.full(len(unique), np.nan)
        column = check.as_numbers("relevance", labels, "one per row").ravel()  # or (n_rows, 1)
        np.fmax.at(tops, codes, column)
        tops[np.isinf(tops)] = np.nan
        return cls(np.asarray(unique), np.bincount(codes, minlength=len(unique)), tops)

    def places(self, ids: np.ndarray) -> np.ndarray:
        """Place of each query in the collection, -1 for unknown queries."""
        import pandas as pd

        return pd.Index(self.ids).get_indexer(pd.Index(ids))

    def grade_of(self, part: Collection) -> int | None:
        """Highest grade of the collection; None if `part` cannot be a part of it.

        pandas keeps attrs when labels are changed, as in ``y > 0``. Such labels are recognised if
        the highest label of a query is higher, or is lower although the query has as many rows.
        """
        places = self.places(part.ids)
        if np.any(places < 0) or np.isnan(self.tops).all():
            return None
        tops = self.tops[places]
        resampled = part.sizes != self.sizes[places]  # rows are missing, or repeated
        same = (part.tops == tops) | (np.isnan(part.tops) & np.isnan(tops))
        not_higher = ~(part.tops > tops)  # also if one of them is NaN, for lack of labels
        return self.max_grade if np.all(same | (resampled & not_higher)) else None

    def __deepcopy__(self, memo: dict[int, object]) -> Collection:
        return self  # pandas copies attrs with every slice

    def __eq__(self, other: object) -> bool:
        return self is other  # pandas.concat keeps attrs that are equal in all parts

    __ne__ = object.__ne__  # that of dict compares the entries


def index_level(data: object) -> ArrayLike | None:
    """The index level that has the query of each row, if `data` has one."""
    index: Any = getattr(data, "index", None)
    return index.get_level_values(LEVEL) if LEVEL in _names(index) else None


def _names(index: object) -> Sequence[object]:
    return getattr(index, "names", None) or ()


def collection_of(y: object) -> Collection | None:
    """The collection that `with_groups` attached to labels; None if it or the index is missing."""
    collection = (getattr(y, "attrs", None) or {}).get(ATTRS_KEY)
    on_index = LEVEL in _names(getattr(y, "index", None))
    return collection if isinstance(collection, Collection) and on_index else None


def collection_grade(y: ArrayLike, labels: np.ndarray) -> int:
    """The grade that a ranker stores for scorers: the highest of a collection, at least 1.

    If `y` is a part of a collection, the highest grade of that; and at least the highest of
    `labels`, which are those of `y` and of a validation part.
    """
    collection, ids = collection_of(y), index_level(y)
    known = None
    if collection is not None and ids is not None:
        known = collection.grade_of(Collection.of(ids, y))
    return max(known or 1, check.highest_grade(labels.astype(np.float64)))


def with_groups(relevance: ArrayLike, groups: ArrayLike) -> pd.Series:
    """Put the query of each row on the index of the labels.

    scikit-learn slices `y` together with its index and hands both to estimators, scorers and
    splitters, so that the groups reach every tool of scikit-learn with no further argument.

    The index that `relevance` or `groups` had becomes a further level. Wherever `X`, scores or
    weights have an index with the same entries in another order, skrank raises an error.

    The labels are a collection: ``attrs["skrank"]`` has the numbers of rows and the highest grades
    of its queries. pandas keeps attrs in slices, and so do pickles and the workers of a search.
    Metrics of a part of the labels use the highest grade of the collection. A part that lacks rows
    of one of its queries causes a `skrank.CutQueryWarning`. After documents are left out on
    purpose, call `with_groups` again: ``y = skrank.with_groups(y[some], y.index[some])``.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels, 0 = not relevant, higher is better.
    groups : array-like of shape (n_rows,)
        Query id of each row. Rows of a query need not be neighbours. The level "qid" of an index
        with several levels.

    Returns
    -------
    pandas.Series
        The labels, with an index named "qid"; or with an index of several levels, "qid" and the
        levels of the index of `relevance`, else of `groups`. The queries are
        ``y.index.get_level_values("qid")`` in both cases.

    Raises
    ------
    ValueError
        If the lengths differ, an id is missing, labels are strings, or both are Series with
        different indexes.

    Warns
    -----
    UserWarning
        If the labels look like query ids and the ids like grades: they may be swapped.

    Examples
    --------
    >>> import pandas as pd
    >>> import skrank
    >>> skrank.with_groups([2, 0, 1], ["a", "a", "b"]).index.to_list()
    ['a', 'a', 'b']
    >>> table = pd.DataFrame({"query": ["a", "a", "b"], "grade": [2, 0, 1]}, index=[7, 8, 9])
    >>> y = skrank.with_groups(table["grade"], table["query"])
    >>> y.index.to_list()
    [('a', 7), ('a', 8), ('b', 9)]
    >>> skrank.metric("gap")(y, pd.Series([0.1, 0.2, 0.3], index=[9, 8, 7]))
    Traceback (most recent call last):
    ...
    ValueError: the indexes of relevance and scores hold the same entries in another order ...
    """
    import pandas as pd

    indexes = [
        column.index
        for column in (relevance, groups)
        if isinstance(column, (pd.Series, pd.DataFrame))
    ]
    if len(indexes) == 2 and not indexes[0].equals(indexes[1]):
        raise ValueError(
            "relevance and groups are Series with different indexes: align them first, or pass "
            "groups.to_numpy() if their rows already correspond."
        )
    check.check_same_index(relevance=relevance, groups=groups)
    values = check.as_column("relevance", relevance)
    ids = check.as_ids("groups", groups, len(values))
    check.check_labels_first(values, ids)
    labels = pd.Series(
        relevance.array if isinstance(relevance, pd.Series) else values,  # the dtype stays
        index=_query_index(ids, indexes[0] if indexes else None),
        name=getattr(relevance, "name", None) or "relevance",
    )
    labels.attrs[ATTRS_KEY] = Collection.of(ids, values)
    return labels


def _query_index(ids: np.ndarray, index: Any) -> pd.Index:
    """An index of query ids, and of the other levels of the index that the labels had."""
    import pandas as pd

    levels = [pd.Index(ids, name=LEVEL)]
    for number, name in enumerate(_names(index)):
        if name != LEVEL:
            levels.append(index.get_level_values(number))
    if len(levels) == 1:
        return levels[0]
    # MultiIndex.from_arrays sorts each level, which takes up to five times the time for strings
    codes, uniques = zip(*(level.factorize() for level in levels), strict=True)
    names = [level.name for level in levels]
    return pd.MultiIndex(levels=uniques, codes=codes, names=names, verify_integrity=False)


def resolve_groups(
    groups: ArrayLike | None = None, y: ArrayLike | None = None, X: Any = None
) -> np.ndarray | None:
    """Query id of each row, from the first source that has ids.

    In this order: explicit `groups`, index level "qid" of `y`, index level "qid" of `X`, column
    "qid" of `X`, which is not a feature (see `without_queries`).

    Parameters
    ----------
    groups : array-like of shape (n_rows,), optional
    y : labels, optional
    X : features, optional

    Returns
    -------
    ndarray of shape (n_rows,), or None when no source has groups

    Raises
    ------
    ValueError
        If lengths are wrong, an id is missing, two sources disagree, or two indexes have the same
        entries in different orders.
    """
    sized = y if y is not None else X
    # n_rows is None if it is unknown: other checks refuse such data
    shape = getattr(sized, "shape", None)
    if shape is None and isinstance(sized, Sized):
        shape = (len(sized),)
    n_rows = shape[0] if shape else None
    sources: list[tuple[str, np.ndarray]] = []
    for source, ids in (
        ("groups", groups),
        ('the index level "qid" of y', index_level(y)),
        ('the index level "qid" of X', index_level(X)),
        ('the column "qid" of X', X[LEVEL] if check.has_query_column(X) else None),
    ):
        if ids is not None:
            sources.append((source, check.as_ids(source, ids, n_rows)))
    for source, ids in sources[1:]:
        first_source, first_ids = sources[0]
        differ = np.flatnonzero(ids != first_ids)
        if len(differ):
            row = differ[0]
            raise ValueError(
                f"{first_source} and {source} disagree: row {row} has query "
                f"{show(first_ids[row])} in one and {show(ids[row])} in the other. Pass only one."
            )
    check.check_same_index(X=X, y=y, groups=groups)
    return sources[0][1] if sources else None


def require_groups(
    groups: ArrayLike | None = None, y: ArrayLike | None = None, X: Table | None = None, *, who: str
) -> np.ndarray:
    """`resolve_groups`; if no source has ids, the error says how to pass groups to `who`."""
    ids = resolve_groups(groups, y, X)
    if ids is None:
        if isinstance(y, (str, os.PathLike, Mapping)):
            raise ValueError(
                f"{who} takes arrays, one row per document: for judgments and runs in files or "
                "dicts, use skrank.trec.evaluate(qrels, runs, metrics)."
            )
        raise ValueError(
            f"{who} needs the query of each row: use y = skrank.with_groups(relevance, qid), or a "
            'DataFrame X with a column or index named "qid", or pass groups= (inside '
            "scikit-learn's tools with metadata routing enabled)."
        )
    return ids


class CutQueryWarning(UserWarning):
    """Some rows of a query are missing.

    Splits of rows, such as `KFold`, `train_test_split`, `learning_curve` and halving over
    ``"n_samples"``, cut through queries. Models are then trained and measured on parts of lists,
    and measured on queries of the training set, so that scores are too high, or are those of
    shorter lists than in use.

    skrank's rankers, scorers and splitters compare the rows that they get with all rows of the call
    of `skrank.with_groups` that made the labels. They cannot see a cut where groups are passed by
    metadata routing or on the index of `X`, or where labels have become a NumPy array.

    `skrank.QueryKFold` and the other splitters keep queries whole; `max_queries` of
    `skrank.GroupedRanker` takes the place of the number of rows in learning curves and halving.
    If documents are left out on purpose, call `skrank.with_groups` again on the other rows:
    ``y = skrank.with_groups(y[some], y.index[some])``. If parts of queries are intended, silence
    the warning: ``warnings.simplefilter("ignore", skrank.CutQueryWarning)``.
    """


def warn_of_cut_queries(y: object, ids: np.ndarray, sizes: np.ndarray, where: str) -> None:
    """Warn if queries have fewer rows than in the collection that the labels `y` are a part of.

    `ids` and `sizes` are the queries of `y` and their numbers of rows; `where` names the rows in
    the message, such as "training data".
    """
    collection = collection_of(y)
    if collection is None:
        return
    places = collection.places(ids)
    complete = np.where(places >= 0, collection.sizes[places], 0)
    cut = np.flatnonzero(sizes < complete)
    if len(cut):
        first = cut[0]
        warn(
            f"{len(cut)} of {len(ids)} queries are cut in the {where}, first query "
            f"{show(ids[first])}, of which there are {sizes[first]} of {complete[first]} rows. "
            "Keep queries whole: split with skrank.QueryKFold or skrank.query_train_test_split, "
            "and vary max_queries of GroupedRanker instead of the number of rows "
            "(validation_curve for learning_curve, resource='max_queries' for halving). If "
            "documents are left out on purpose, call skrank.with_groups on the others, or ignore "
            "skrank.CutQueryWarning.",
            CutQueryWarning,
        )
