"""A metric of your own: time-biased gain, tested against its definition.

python examples/own_metric.py
"""

# metric
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import skrank
from skrank.datasets import make_ranking
from skrank.extending import QuadraticTables, Scale, discounts


@skrank.register("tbg")
@dataclass(frozen=True, kw_only=True)
class TimeBiasedGain(skrank.Metric):
    """Time-biased gain: gains fall with the time until a document is read.

    Simplified from M. Smucker, C. Clarke, Time-Based Calibration of
    Effectiveness Measures, SIGIR 2012: all documents take the same time.

    Parameters
    ----------
    half_life : float
        Seconds after which half of the readers have stopped.
    seconds : float
        Seconds to read a document.
    """

    value_range: ClassVar[tuple[float, float]] = (0.0, math.inf)

    half_life: float = 224.0
    seconds: float = 30.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.half_life > 0 and self.seconds > 0):
            raise ValueError(f"{self}: half_life and seconds must be above 0.")

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Gains are labels; discounts are the shares of readers at a rank."""

        def readers(rank: np.ndarray) -> np.ndarray:
            return 0.5 ** ((rank - 1) * self.seconds / self.half_life)

        return QuadraticTables(
            scale.labels,
            discounts(readers, scale.longest, k),
        )


data = make_ranking(n_queries=100, n_docs=12, random_state=0)
y = skrank.with_groups(data.relevance, data.qid)
X, X_test, y, y_test = skrank.query_train_test_split(data.X, y, random_state=0)
ranker = skrank.LinearRanker("tbg").fit(X, y)
scores = {"trained on it": ranker.predict(X_test), "one feature": X_test[:, 5]}
metrics = ["tbg", "tbg(half_life=60)@5"]
print(skrank.evaluate(y_test, scores, metrics=metrics).mean.round(2))


# test
from skrank.testing import check_metric  # noqa: E402


def definition(ranked, unretrieved=()):
    """The literal definition, with which `check_metric` compares."""
    if not any([*ranked, *unretrieved]):
        return None  # not defined without a relevant document
    gains = enumerate(label or 0 for label in ranked)
    return sum(gain * 0.5 ** (30 * i / 224) for i, gain in gains)


print(len(check_metric("tbg", definition)), "properties hold")
