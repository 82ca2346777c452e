"""Values that the workers of a distributed training of XGBoost agree on.

XGBoost itself averages the means of workers without regard to their numbers of queries.
"""

from __future__ import annotations

import numpy as np

from skrank._boosters.adapters import Supplied, import_booster


def n_workers() -> int:
    """Number of workers that train together."""
    return int(import_booster("xgboost").collective.get_world_size())


def settle(grade: int, error: Exception | None = None) -> int:
    """The highest grade of all workers (0 if unknown). The error of one is raised on all."""
    if n_workers() == 1:
        return grade
    collective = import_booster("xgboost").collective
    failed = 0 if error is None else collective.get_rank() + 1
    top, last_failed = collective.allreduce(np.array([grade, failed]), collective.Op.MAX)
    if last_failed:  # all workers raise: the others would wait for one that fails alone
        raise ValueError(collective.broadcast(str(error), int(last_failed) - 1)) from error
    return int(top)


def mean_weight(weights: np.ndarray) -> float:
    """Mean weight of the queries of all workers."""
    if n_workers() == 1:
        return float(weights.mean())
    collective = import_booster("xgboost").collective
    own = np.array([weights.sum(), float(len(weights))])
    total, count = collective.allreduce(own, collective.Op.SUM)
    return float(total / count)


def is_absent(data: Supplied) -> bool:
    """True if other workers have rows of a data set, and this one has none."""
    return len(data.labels) == 0 and n_workers() > 1


def join(data: Supplied) -> int:
    """Take part in the agreement on a data set of which this worker has no rows."""
    return settle(data.max_grade or 0)


def join_training(data: Supplied) -> int:
    """Take part in the agreement on data to train on of which this worker has no rows."""
    top = join(data)
    mean_weight(np.empty(0))
    return top


def means_of_workers(own: np.ndarray) -> list[float]:
    """Means over the queries of all workers, from the sums and weights of each."""
    collective = import_booster("xgboost").collective
    both = collective.allreduce(own, collective.Op.SUM)
    sums, masses = both.reshape(-1, 2).T  # allreduce flattens arrays
    return np.divide(sums, masses, out=np.full(len(sums), np.nan), where=masses > 0).tolist()
