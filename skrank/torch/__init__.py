"""Losses, data sets and estimators for training rankers with torch."""

try:
    import skorch as _skorch  # noqa: F401
    from torch import nn as _nn  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"skrank.torch needs {error.name}, which is not installed: pip install skrank[torch]"
    ) from error

from skrank.torch._dataset import QueryBatch, QueryDataset, query_offsets
from skrank.torch._loss import RankingLoss
from skrank.torch._ranker import NeuralRanker

__all__ = ["NeuralRanker", "QueryBatch", "QueryDataset", "RankingLoss", "query_offsets"]
