"""Plots of rankings, systems and metrics, as scikit-learn's displays.

A display stores its data as attributes, and `plot` draws the data again. Several displays with the
same `ax` are drawn into one plot. Drawing needs matplotlib: ``pip install skrank[plot]``.
"""

from skrank.plotting.agreement import MetricScatterDisplay as MetricScatterDisplay
from skrank.plotting.agreement import TauMatrixDisplay as TauMatrixDisplay
from skrank.plotting.comparison import QueryComparisonDisplay as QueryComparisonDisplay
from skrank.plotting.curves import ElevenPointDisplay as ElevenPointDisplay
from skrank.plotting.curves import GradedPrecisionRecallDisplay as GradedPrecisionRecallDisplay
from skrank.plotting.estimates import CampaignDisplay as CampaignDisplay
from skrank.plotting.estimates import IntervalDisplay as IntervalDisplay
from skrank.plotting.estimates import PosteriorDisplay as PosteriorDisplay
from skrank.plotting.studies import ASLCurveDisplay as ASLCurveDisplay
from skrank.plotting.studies import InformativenessDisplay as InformativenessDisplay
from skrank.plotting.studies import RobustnessDisplay as RobustnessDisplay
