"""A collection of runs to draw, and texts of plots."""

import numpy as np

from skrank import trec


def collection(highest=2, n_runs=6):
    """Judgments with labels 0 to `highest`, some missing, a query without relevant ones; runs."""
    random = np.random.default_rng(0)
    qid, docid = np.repeat(np.arange(12), 40), np.tile(np.arange(40), 12)
    chances = np.linspace(1, 0.2, highest + 1) ** 2
    label = random.choice(highest + 1, p=chances / chances.sum(), size=len(qid))
    label[qid == 3] = 0
    judged = random.random(len(qid)) < 0.7
    qrels = trec.Qrels.from_arrays(qid[judged], docid[judged], label[judged])
    runs = []
    for r in range(n_runs):
        scores = label + (0.3 + 0.5 * r) * random.normal(size=len(qid))
        runs.append(trec.Run.from_arrays(qid, docid, scores, name=f"run{r}"))
    return qrels, runs


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def row_names(shown):
    return [label.get_text() for label in shown.ax_.get_yticklabels()]
