"""Data and campaigns for the tests of active evaluation."""

import dataclasses

import numpy as np
import pytest

from skrank.active import ActiveComparator, ActiveEvaluator, Design
from skrank.datasets import make_ranking

data = make_ranking(60, n_docs=(2, 15), random_state=0)
SCORES = {"old": data.X[:, :3].sum(axis=1), "new": data.X[:, 1:5].sum(axis=1)}
COSTS = np.bincount(data.qid).astype(float)


def designed(options):
    """The options of a campaign, of which those of a `Design` are in one."""
    fields = {field.name for field in dataclasses.fields(Design)}
    design = Design(**{name: options.pop(name) for name in fields & options.keys()})
    return options | {"design": design}


def evaluator(**options):
    options = designed({"metric": "dcg", "grades": range(5), "random_state": 0} | options)
    return ActiveEvaluator(options.pop("scores", SCORES["old"]), data.qid, **options)


def comparator(**options):
    options = designed({"metric": "err", "grades": range(5), "random_state": 0} | options)
    return ActiveComparator(options.pop("scores", SCORES), data.qid, **options)


def answer(campaign, requests):
    for request in requests:
        campaign.tell(request.query, data.relevance[request.rows])


def run(campaign):
    while (request := campaign.next_query()) is not None:
        answer(campaign, [request])
    return campaign.estimate()


def contest(differences, **options):
    """A comparison of "old" and "new" in which the i-th draw has the difference `differences[i]`.

    Each ranker prefers another of the two documents of a query. Draws are uniform.
    """
    differences = np.asarray(differences, float)
    labels = np.maximum(np.column_stack([differences, -differences]), 0)
    scores, queries = np.tile([1.0, 0.0], 5000), np.repeat(np.arange(5000), 2)
    grades = np.unique(np.append(labels, [0, 1]))
    options = designed({"mixing": 1, "random_state": 0, "grades": grades} | options)
    campaign = ActiveComparator(
        {"old": scores, "new": -scores}, queries, metric="cg(gain=linear)@1", **options
    )
    for request, told in zip(campaign.ask(len(labels)), labels, strict=True):
        campaign.tell(request, told)
    return campaign


both = pytest.mark.parametrize("make", [evaluator, comparator])


def label_moments(metric, scores, groups, *, other=None, label_model="uniform", **options):
    """Moments of the value of one ranker, or of the difference of two, before any label."""
    kind, scores = (
        (ActiveEvaluator, scores) if other is None else (ActiveComparator, [scores, other])
    )
    design = designed({"grades": range(np.shape(label_model)[-1]), "random_state": 0} | options)
    return kind(scores, groups, metric=metric, label_model=label_model, **design).moments
