"""Runs and judgments in TREC's formats, ordered and counted as trec_eval does, and fused.

Files are lines of TREC, CSV, TSV, JSON Lines, Parquet, or JSON of a dict, plain or compressed with
gzip, bzip2, xz or Zstandard; texts are UTF-8. polars reads them: pip install skrank[trec].
"""

from skrank.trec._data import Qrels, Run
from skrank.trec._evaluate import evaluate
from skrank.trec._fuse import fuse
from skrank.trec._interop import ir_measure, run_lines
from skrank.trec._sources import read_qrels, read_run, read_runs

__all__ = [
    "Qrels", "Run", "evaluate", "fuse", "ir_measure", "read_qrels", "read_run", "read_runs",
    "run_lines",
]  # fmt: skip
