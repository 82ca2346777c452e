"""The estimate of a labelling campaign against the cost of its labels."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from skrank import _validation as check
from skrank._typing import Axes, Options
from skrank.plotting._display import PlainDisplay

if TYPE_CHECKING:
    from skrank.active import Campaign


@dataclass(eq=False, repr=False)
class CampaignDisplay(PlainDisplay):
    """The estimate of a campaign and its intervals, against the cost of the labels.

    With two or more rankers, the estimate is the difference of the first two. A line marks 0 if
    estimates or bounds have both signs.

    Parameters
    ----------
    progress : DataFrame
        Result of ``progress`` of an `ActiveEvaluator` or `ActiveComparator`.
    budget : float, optional
        Highest total cost of labels: drawn as a vertical line.
    label : str, optional
        Name of the estimate, for the axis.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The estimate.
    band_ : matplotlib collection
        The intervals with finite bounds.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.active import ActiveEvaluator
    >>> from skrank.datasets import make_ranking
    >>> from skrank.plotting import CampaignDisplay
    >>> data = make_ranking(100, random_state=0)
    >>> campaign = ActiveEvaluator(
    ...     data.X[:, 0], data.qid, metric="err", grades=range(5), budget=300, random_state=0
    ... )
    >>> for request in campaign.ask(100):
    ...     campaign.tell(request, data.relevance[request.rows])
    >>> display = CampaignDisplay.from_campaign(campaign, anytime=True)
    >>> bool(display.line_.get_ydata()[-1] == campaign.estimate().value)
    True
    >>> plt.close(display.figure_)
    """

    progress: pd.DataFrame
    _: KW_ONLY
    budget: float | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        check.check_table("progress", self.progress, ("cost", "value", "low", "high"))
        if self.budget is not None:
            check.check_number("budget", self.budget, 0, math.inf)

    @classmethod
    def from_campaign(
        cls,
        campaign: Campaign,
        confidence: float = 0.95,
        *,
        estimator: str = "assisted",
        anytime: bool = False,
        ax: Axes | None = None,
        **kwargs: object,
    ) -> Self:
        """Draw a campaign as it stands.

        Parameters
        ----------
        campaign : ActiveEvaluator or ActiveComparator
            With at least the first query labelled.
        confidence, estimator, anytime
            See ``campaign.estimate``.
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        **kwargs
            Passed to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        CampaignDisplay

        Raises
        ------
        ValueError
            If no query of the campaign is labelled yet.
        """
        progress = campaign.progress(confidence, estimator=estimator, anytime=anytime)
        names = campaign.names
        label = str(campaign.metric)
        if len(names) > 1:
            label = f"{label}: {names[0]} less {names[1]}"
        return cls(progress, budget=campaign.budget, label=label).plot(ax, **kwargs)

    def _draw(self, ax: Axes | None, style: Options) -> None:
        ax = self._open(ax)
        cost, value = self.progress["cost"].to_numpy(), self.progress["value"].to_numpy()
        low, high = self.progress["low"].to_numpy(), self.progress["high"].to_numpy()
        bounded = np.isfinite(low) & np.isfinite(high)
        (self.line_,) = ax.plot(cost, value, **{"drawstyle": "steps-post", **style})
        self.band_ = ax.fill_between(
            cost, low, high, where=bounded, step="post", color=self.line_.get_color(), alpha=0.2
        )
        low, high, value = low[bounded], high[bounded], value[np.isfinite(value)]
        shown = np.concatenate([value, low, high])
        if len(shown) and shown.min() < 0 < shown.max():
            ax.axhline(0, color="grey", linewidth=1)
        if self.budget is not None and math.isfinite(self.budget):
            ax.axvline(self.budget, color="grey", linestyle=":", linewidth=1)
        ax.set(xlabel="cost of the labels", ylabel=self.label or "estimate", xlim=(0, None))
        # limits of the y axis from the later half of the intervals, as first ones may be very wide
        later = slice(len(low) // 2, None)
        shown = np.concatenate([value, low[later], high[later]])
        if len(shown):
            margin = 0.05 * (shown.max() - shown.min()) or 0.1
            ax.set_ylim(shown.min() - margin, shown.max() + margin)
