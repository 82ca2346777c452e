"""Runs and judgments in TREC's formats, ordered and counted as trec_eval does, and fused.

Files and tables are read by polars: ``pip install skrank[trec]``.
"""

from skrank.trec._data import Qrels as Qrels
from skrank.trec._data import Run as Run
from skrank.trec._evaluate import evaluate as evaluate
from skrank.trec._fuse import fuse as fuse
from skrank.trec._interop import ir_measure as ir_measure
from skrank.trec._interop import run_lines as run_lines
from skrank.trec._sources import read_qrels as read_qrels
from skrank.trec._sources import read_run as read_run
from skrank.trec._sources import read_runs as read_runs

__all__ = [
    "Qrels", "Run", "evaluate", "fuse", "ir_measure", "read_qrels", "read_run", "read_runs",
    "run_lines",
]  # fmt: skip
