"""Lists and runs for the tests of informativeness."""

import numpy as np

from skrank import trec


def random_list(seed, n_ranks=60, n_grades=4, noise=1.5):
    rng = np.random.default_rng(seed)
    grades = rng.choice(n_grades, n_ranks, p=[0.6, *[0.4 / (n_grades - 1)] * (n_grades - 1)])
    return grades[np.argsort(-(grades + noise * rng.normal(size=n_ranks)))]


def made(n_queries=12, n_docs=50, n_grades=3, seed=0, noises=(0.5, 1.5), unjudged=0.1):
    """Runs that rank by noisy grades; some documents are not judged."""
    rng = np.random.default_rng(seed)
    qid, docid = np.repeat(np.arange(n_queries), n_docs), np.tile(np.arange(n_docs), n_queries)
    label = rng.choice(n_grades, n_queries * n_docs).astype(float)
    judged = np.where(rng.random(len(label)) < unjudged, np.nan, label)
    qrels = trec.Qrels.from_arrays(qid, docid, judged)
    runs = [
        trec.Run.from_arrays(qid, docid, label + noise * rng.normal(size=len(qid)), name=f"{noise}")
        for noise in noises
    ]
    return qrels, runs, judged.reshape(n_queries, -1), qid
