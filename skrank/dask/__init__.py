"""Training and evaluation of whole queries on Dask."""

from skrank.dask._evaluate import evaluate as evaluate
from skrank.dask._partitions import Partitions as Partitions
from skrank.dask._partitions import partition_queries as partition_queries
from skrank.dask._scorer import DaskScorer as DaskScorer
from skrank.dask._scorer import scorer as scorer
