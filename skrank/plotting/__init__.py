"""Plots of rankings, systems and metrics, as scikit-learn's displays.

A display stores its data as attributes, and `plot` draws the data again. Displays with the same
`ax` share axes. Drawing needs matplotlib: ``pip install skrank[plot]``.
"""

from skrank.plotting.agreement import MetricScatterDisplay as MetricScatterDisplay
from skrank.plotting.agreement import TauMatrixDisplay as TauMatrixDisplay
from skrank.plotting.asl import ASLCurveDisplay as ASLCurveDisplay
from skrank.plotting.campaign import CampaignDisplay as CampaignDisplay
from skrank.plotting.comparison import QueryComparisonDisplay as QueryComparisonDisplay
from skrank.plotting.curves import ElevenPointDisplay as ElevenPointDisplay
from skrank.plotting.curves import GradedPrecisionRecallDisplay as GradedPrecisionRecallDisplay
from skrank.plotting.informativeness import InformativenessDisplay as InformativenessDisplay
from skrank.plotting.intervals import IntervalDisplay as IntervalDisplay
from skrank.plotting.posterior import PosteriorDisplay as PosteriorDisplay
from skrank.plotting.robustness import RobustnessDisplay as RobustnessDisplay
