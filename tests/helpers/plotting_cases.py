"""What the tests of displays share."""

import numpy as np

from skrank.datasets import make_ranking


def shuffled_rows():
    """Labels, scores and query ids; some documents are not judged, some not retrieved, some queries
    are empty."""
    rng = np.random.default_rng(0)
    made = make_ranking(n_queries=40, n_docs=(3, 40), random_state=0)
    order = rng.permutation(len(made.qid))
    relevance = made.relevance[order].astype(float)
    scores = relevance + 2 * rng.normal(size=len(order))
    relevance[rng.random(len(order)) < 0.1] = np.nan
    scores[rng.random(len(order)) < 0.1] = -np.inf
    return relevance, scores, made.qid[order]


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]
