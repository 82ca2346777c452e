"""Metrics of rankings.

`metric` makes a metric from a name; the docstring of each class has its definition. A metric is a
frozen dataclass. Metrics of one family share a compiled kernel:

- `quadratic`, sums over documents and pairs of documents (GAP, AP, nDCG, Q-measure, precision);
- `cascade`, a user who stops when satisfied (ERR, PFound, reciprocal rank, success);
- `preference`, worse documents above each relevant document (bpref, rpref);
- `strict`, metrics without a closed form for ties (interpolated precision, infAP);
- `user_models`, users whose reading depends on the gains seen (INST, BPM), also without a closed
  form for ties;
- functions of one list, in Python (compatibility, nearly ERR, `metric_from_function`).

`metric_from_function` makes a metric from a function of one ranked list; `register` adds a class.
"""

from skrank._engine.judgments import aggregate_judgments
from skrank._engine.metric import Metric
from skrank._engine.names import metric, register, registered, unregister
from skrank.metrics._curves import GradedCurve, eleven_point_curve, graded_precision_recall_curve
from skrank.metrics._from_function import metric_from_function
from skrank.metrics.accuracy import Accuracy, Error, Utility
from skrank.metrics.adaptive_users import BPM, INST, NearlyERR
from skrank.metrics.ap import AP, InfAP
from skrank.metrics.bpref import BPref, RPref
from skrank.metrics.compat import Compat
from skrank.metrics.counts import (
    NumNonrelevantRetrieved,
    NumQueries,
    NumRelevant,
    NumRelevantRetrieved,
    NumRetrieved,
)
from skrank.metrics.dcg import CG, DCG, NDCG
from skrank.metrics.err import ERR, NERR
from skrank.metrics.gap import GAP
from skrank.metrics.iprec import InterpolatedAP, InterpolatedPrecision
from skrank.metrics.pfound import PFound
from skrank.metrics.q import QMeasure
from skrank.metrics.r_precision import RPrecision
from skrank.metrics.rbp import RBP, RBPResidual
from skrank.metrics.rr import RR, Success
from skrank.metrics.sets import FBeta, Judged, Precision, Recall, RelativePrecision, SetAP
from skrank.metrics.user_models import INSQ, SDCG

__all__ = [
    "AP", "BPM", "CG", "DCG", "ERR", "GAP", "INSQ", "INST", "NDCG", "NERR", "RBP", "RR", "SDCG",
    "Accuracy", "BPref", "Compat", "Error", "FBeta", "GradedCurve", "InfAP", "InterpolatedAP",
    "InterpolatedPrecision", "Judged", "Metric", "NearlyERR",
    "NumNonrelevantRetrieved", "NumQueries", "NumRelevant", "NumRelevantRetrieved", "NumRetrieved",
    "PFound", "Precision", "QMeasure", "RBPResidual", "RPrecision", "RPref", "Recall",
    "RelativePrecision", "SetAP", "Success", "Utility", "aggregate_judgments",
    "eleven_point_curve", "graded_precision_recall_curve", "metric", "metric_from_function",
    "register", "registered", "unregister",
]  # fmt: skip
