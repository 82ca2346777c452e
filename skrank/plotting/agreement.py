"""Agreement of metrics on systems: rank correlations."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from skrank import _validation as check
from skrank._typing import Axes, Options
from skrank.metrics import metric as metric_named
from skrank.plotting._display import Display, shown
from skrank.stats import tau_ap, tau_b

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.image import AxesImage


class TauMatrixDisplay(Display):
    """Heat map of the rank correlations of systems between each two metrics.

    Parameters
    ----------
    means : DataFrame of shape (n_systems, n_metrics)
        Mean of each system, such as the `mean` of a report. Higher is better, but for columns with
        the name of a metric whose lower values are better, such as "error@5".
    method : {"tau_b", "tau_ap"}
        Kendall's tau_b, or the AP correlation, which weighs the top of the ranking more, in its
        symmetric form for rankings with ties.

    Attributes
    ----------
    matrix : DataFrame of shape (n_metrics, n_metrics)
    image_ : matplotlib AxesImage
    ax_, figure_ : matplotlib Axes and Figure

    References
    ----------
    T. Sakai, Alternatives to Bpref, SIGIR 2007, table 2.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> from skrank.plotting import TauMatrixDisplay
    >>> means = pd.DataFrame({"ap": [0.3, 0.2, 0.1, 0.4], "gap": [0.3, 0.1, 0.2, 0.5]})
    >>> display = TauMatrixDisplay(means).plot()
    >>> display.matrix.round(2)
           ap   gap
    ap   1.00  0.67
    gap  0.67  1.00
    >>> plt.close(display.figure_)
    """

    image_: AxesImage

    def __init__(self, means: pd.DataFrame, *, method: str = "tau_b") -> None:
        self.method = check.check_choice("method", method, ("tau_b", "tau_ap"))
        check.check_table("means", means, ())
        if len(means) < 2:
            raise ValueError(f"means has {len(means)} system: a ranking needs at least 2.")
        directed = means * [1 if _rises(name) else -1 for name in means.columns]
        measure = tau_b if method == "tau_b" else partial(tau_ap, ties="b")
        self.matrix = directed.corr(measure, min_periods=2)

    def _draw(self, ax: Axes, style: Options) -> None:
        ax.grid(visible=False)
        values = self.matrix.to_numpy()
        low = min(0.5, np.nanmin(values, initial=1.0))
        self.image_ = ax.imshow(values, **{"vmin": low, "vmax": 1, "cmap": "viridis", **style})
        places, names = range(len(values)), [*map(shown, self.matrix.columns)]
        ax.set_xticks(places, labels=names, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_yticks(places, labels=names)
        for (row, column), value in np.ndenumerate(values):
            # white text on dark cells, black text on light cells
            colour = "white" if value < (low + 1) / 2 else "black"
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)
        self.figure_.colorbar(self.image_, ax=ax, label=self.method)


def _rises(name: Hashable) -> bool:
    """True unless the name is that of a metric whose lower values are better."""
    try:
        return metric_named(str(name)).greater_is_better
    except ValueError:
        return True
