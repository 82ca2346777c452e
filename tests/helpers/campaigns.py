"""What the tests of campaigns share."""

from __future__ import annotations

import numpy as np
import pytest

from skrank.active import ActiveComparator, ActiveEvaluator
from skrank.datasets import make_ranking

data = make_ranking(60, n_docs=(2, 15), random_state=0)
SCORES = {"old": data.X[:, :3].sum(axis=1), "new": data.X[:, 1:5].sum(axis=1)}
COSTS = np.bincount(data.qid).astype(float)


def evaluator(**options):
    options = {"metric": "dcg", "grades": range(5), "random_state": 0} | options
    return ActiveEvaluator(options.pop("scores", SCORES["old"]), data.qid, **options)


def comparator(**options):
    options = {"metric": "err", "grades": range(5), "random_state": 0} | options
    return ActiveComparator(options.pop("scores", SCORES), data.qid, **options)


def answer(campaign, requests):
    for request in requests:
        campaign.tell(request.query, data.relevance[request.rows])


def run(campaign):
    while (request := campaign.next_query()) is not None:
        answer(campaign, [request])
    return campaign.estimate()


both = pytest.mark.parametrize("make", [evaluator, comparator])
