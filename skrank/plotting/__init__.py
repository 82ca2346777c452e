"""Plots in scikit-learn's convention: curves of precision over recall, and systems query by query.

A display keeps what it shows as attributes; `plot` draws it again, several on the same axes if they
get the same `ax`. matplotlib is imported when something is drawn: ``pip install skrank[plot]``.
"""

from skrank.plotting.comparison import QueryComparisonDisplay as QueryComparisonDisplay
from skrank.plotting.eleven_point import ElevenPointDisplay as ElevenPointDisplay
from skrank.plotting.graded import GradedPrecisionRecallDisplay as GradedPrecisionRecallDisplay
