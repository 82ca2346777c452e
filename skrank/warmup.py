"""``python -m skrank.warmup`` compiles kernels in advance, for example in a container image.

Otherwise, the first use of each kernel compiles it. Compiled code is cached beside the installed
files, or in the folder that the environment variable ``NUMBA_CACHE_DIR`` names.
"""

from contextlib import suppress
from itertools import product

import numpy as np

from skrank import LambdaLoss, LambdaRank, Softmax, SoftRank, SquaredError, metric
from skrank._engine.judgments import judge
from skrank._engine.threads import compiled
from skrank.metrics import registered

__all__: list[str] = []  # a program


@compiled()
def _compile() -> None:
    """Compile what metrics and objectives need, by calling them with and without ties."""
    labels, tied = np.tile([2.0, 0.0, 1.0, 0.0], 4), np.tile([4.0, 3, 3, 1, 0, -1, -2, -2], 2)
    groups, untied = np.repeat([0, 1], 8), tied + np.linspace(0, 0.5, 16)
    partly_judged = np.where(labels == 1, np.nan, labels)
    calls = [*product(registered(), (labels, partly_judged), (tied, untied))]
    for name, y, s in [*calls, ("ndcg@1", labels, tied)]:  # sorts the first ranks only
        with suppress(ValueError):  # some refuse ties
            metric(name)(y, s, groups=groups)
    # one metric for each kernel
    pairs, soft = map(LambdaRank, ("gap", "err(max_grade=2)")), map(SoftRank, ("gap", "ndcg"))
    for objective in (*pairs, *soft, LambdaLoss("ndcg"), Softmax(), SquaredError()):
        for dtype in (np.float32, np.float64):
            grad, hess = np.empty(16, dtype), np.empty(16, dtype)
            for scores in (untied, tied):
                objective.bind(judge(labels, groups)).gradient(scores, grad, hess)


if __name__ == "__main__":
    _compile()
