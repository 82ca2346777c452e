"""A metric of your own: time-biased gain, tested against its definition.

python examples/own_metric.py
"""

# metric
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import skrank
from skrank.extending import QuadraticTables, Scale, discounts
from skrank.testing import check_metric, make_ranking


@skrank.register("tbg")
@dataclass(frozen=True, kw_only=True)
class TimeBiasedGain(skrank.Metric):
    """The gain of a document decreases with the time until it is read.

    Simplified from M. Smucker, C. Clarke, Time-Based Calibration of
    Effectiveness Measures, SIGIR 2012: all documents take the same time.

    Parameters
    ----------
    half_life : float
        Seconds after which half of the readers have stopped.
    seconds : float
        Seconds to read a document.
    """

    value_range: ClassVar[str] = "[0, inf)"

    half_life: float = 224.0
    seconds: float = 30.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.half_life > 0 and self.seconds > 0):
            raise ValueError(f"{self}: half_life and seconds must be above 0.")

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Gains are labels; discounts are shares of readers who get there."""

        def share_of_readers(rank: np.ndarray) -> np.ndarray:
            return 0.5 ** ((rank - 1) * self.seconds / self.half_life)

        return QuadraticTables(
            scale.labels, discounts(share_of_readers, scale.longest, k)
        )


# definition
def definition(ranked, unretrieved=()):
    """The literal definition, with which `check_metric` compares."""
    if not any([*ranked, *unretrieved]):
        return None  # not defined without a relevant document
    return sum(
        (label or 0) * 0.5 ** (30 * i / 224) for i, label in enumerate(ranked)
    )


# use
if __name__ == "__main__":
    for name in check_metric("tbg", definition):
        print("holds:", name)

    data = make_ranking(n_queries=60, n_docs=12, random_state=0)
    y = skrank.with_groups(data.relevance, data.qid)
    ranker = skrank.LinearRanker("tbg").fit(data.X, y)
    print(
        skrank.evaluate(
            y, ranker.predict(data.X), metrics=["tbg", "tbg(half_life=60)@5"]
        )
    )
