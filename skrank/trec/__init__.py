"""Runs and judgments in TREC's formats, ordered and counted as trec_eval does."""

from skrank.trec._data import Qrels as Qrels
from skrank.trec._data import Run as Run
from skrank.trec._data import read_qrels as read_qrels
from skrank.trec._data import read_run as read_run
from skrank.trec._evaluate import TrecReport as TrecReport
from skrank.trec._evaluate import evaluate as evaluate
from skrank.trec._interop import ir_measure as ir_measure
from skrank.trec._trec_eval import trec_eval_lines as trec_eval_lines
