"""Plots of rankings, systems and metrics, as scikit-learn's displays.

A display stores arrays and frames as attributes, and `plot` draws them again. Several displays with
the same `ax` are drawn into one plot. Drawing needs matplotlib: ``pip install skrank[plot]``.
"""

from skrank.plotting.estimates import IntervalDisplay
from skrank.plotting.precision_recall import PrecisionRecallDisplay

__all__ = ["IntervalDisplay", "PrecisionRecallDisplay"]
