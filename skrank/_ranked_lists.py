"""rank: a table of the documents of each query in the order of their scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import show
from skrank._engine.queries import Queries, check_scores, queries_of, rank_codes


def rank(
    scores: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    ids: ArrayLike | None = None,
    k: int | None = None,
    ties: str = "stable",
) -> pd.DataFrame:
    """List the documents of each query, highest score first.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Higher ranks first. A document with the score -inf is not retrieved, and not listed.
    groups : array-like of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `scores`; without it, all rows are one
        query, 0.
    ids : array-like of shape (n_rows,), optional
        Document of each row, at most once per query. Default: the number of the row.
    k : int, optional
        Largest number of documents per query. Default: all.
    ties : {"stable", "average", "best", "worst"}, default="stable"
        Rank of documents with equal scores: ranks in row order ("stable"), or for all of them the
        mean, the first or the last of these ranks. Tied documents are listed in row order, also
        where `k` lists only some of them.

    Returns
    -------
    pandas.DataFrame
        A row per listed document, with the columns qid, rank (from 1), docid and score.
        Queries are in the order of their first rows.

    Raises
    ------
    ValueError
        If a score is NaN or +inf, a length is wrong, an id is missing, or a document occurs twice
        in a query.

    See Also
    --------
    skrank.GroupedRanker.rank : the same for the scores of a fitted ranker.

    Examples
    --------
    >>> import skrank
    >>> scores, groups = [0.1, 0.9, 0.5, 0.3, 0.7], ["a", "a", "a", "b", "b"]
    >>> skrank.rank(scores, groups, ids=["d1", "d2", "d3", "d1", "d4"], k=2)
      qid  rank docid  score
    0   a     1    d2    0.9
    1   a     2    d3    0.5
    2   b     1    d4    0.7
    3   b     2    d1    0.3
    """
    check.check_choice("ties", ties, check.TIES_CHOICES)
    if k is not None:
        check.check_count("k", k, "documents per query")
    check.check_same_index(scores=scores, groups=groups, ids=ids)
    values = check.as_vector("scores", check.without_index(scores))
    queries = queries_of(groups, scores, len(values))
    by_query = queries.gather(values)
    check_scores(queries, by_query)
    documents = np.arange(len(values))
    if ids is not None:
        documents = check.as_ids("ids", ids, len(values), "document")
        _check_distinct(queries, documents)

    no_labels = np.zeros(len(by_query), np.uint8)  # ranks depend on scores alone
    order, ranked = rank_codes(queries, by_query, no_labels)
    first = np.repeat(queries.indptr[:-1], queries.sizes)
    stable_rank = np.arange(1, len(values) + 1) - first
    listed = stable_rank <= np.repeat(ranked.retrieved, queries.sizes)
    rows = (first + order)[listed]
    table = pd.DataFrame(
        {
            "qid": queries.ids[queries.row_query[listed]],
            "rank": stable_rank[listed],
            "docid": queries.gather(documents)[rows],
            "score": by_query[rows],
        }
    )
    if ties != "stable":
        # `tied` is 1 if the score equals that of the rank above: 0 starts a block of ties
        block = np.cumsum(ranked.tied[listed] == 0)
        how = {"average": "mean", "best": "min", "worst": "max"}[ties]
        table["rank"] = table.groupby(block)["rank"].transform(how)
    return table if k is None else table[stable_rank[listed] <= k].reset_index(drop=True)


def _check_distinct(queries: Queries, documents: np.ndarray) -> None:
    """Raise if a document occurs twice in a query."""
    table = pd.DataFrame({"query": queries.row_query, "document": queries.gather(documents)})
    if (repeated := check.first(table.duplicated().to_numpy())) >= 0:
        row, query = queries.caller_row(repeated), int(table["query"].iloc[repeated])
        raise ValueError(
            f"row {row} of ids repeats document {show(documents[row])} of query "
            f"{queries.name(query)}. Keep one row of each document, or leave out ids to list rows "
            "by their numbers."
        )
