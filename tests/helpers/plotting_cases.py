"""A collection of runs to draw, and texts of plots."""

import numpy as np

from tests.helpers.informativeness_cases import made


def collection(n_grades=3):
    """Judgments, of which some are missing, and six runs."""
    noises = np.arange(0.3, 3, 0.5).round(1)
    return made(n_docs=40, n_grades=n_grades, noises=noises, unjudged=0.3)[:2]


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def row_names(shown):
    return [label.get_text() for label in shown.ax_.get_yticklabels()]
