"""Metrics of rankings: what a ranking is worth.

`metric` makes one from a name; each class says what it measures. A class is data that a
compiled kernel of its family reads:

- `quadratic`, sums over documents and pairs of documents (GAP, AP, nDCG, Q-measure, precision);
- `cascade`, a user who stops when satisfied (ERR, PFound, reciprocal rank, success);
- `preference`, worse documents above each relevant one (bpref, rpref);
- `strict`, what has no closed form for ties (interpolated precision, infAP).

`metric_from_function` makes one of a Python function of one ranked list; `register` adds a class.
"""

from skrank._engine.assessors import aggregate_judgments as aggregate_judgments
from skrank._engine.metric import Metric as Metric
from skrank._engine.names import metric as metric
from skrank._engine.names import register as register
from skrank._engine.names import registered as registered
from skrank._engine.names import unregister as unregister
from skrank.metrics._curves import GradedCurve as GradedCurve
from skrank.metrics._curves import eleven_point_curve as eleven_point_curve
from skrank.metrics._curves import graded_precision_recall_curve as graded_precision_recall_curve
from skrank.metrics._from_function import FunctionMetric as FunctionMetric
from skrank.metrics._from_function import metric_from_function as metric_from_function
from skrank.metrics._functions import *
from skrank.metrics.accuracy import Accuracy as Accuracy
from skrank.metrics.ap import AP as AP
from skrank.metrics.bpref import BPref as BPref
from skrank.metrics.cg import CG as CG
from skrank.metrics.dcg import DCG as DCG
from skrank.metrics.err import ERR as ERR
from skrank.metrics.error import Error as Error
from skrank.metrics.f_beta import FBeta as FBeta
from skrank.metrics.gap import GAP as GAP
from skrank.metrics.iap import InterpolatedAP as InterpolatedAP
from skrank.metrics.infap import InfAP as InfAP
from skrank.metrics.iprec import InterpolatedPrecision as InterpolatedPrecision
from skrank.metrics.judged import Judged as Judged
from skrank.metrics.mixture import Mixture as Mixture
from skrank.metrics.ndcg import NDCG as NDCG
from skrank.metrics.nerr import NERR as NERR
from skrank.metrics.num_nonrel_judged_ret import NumNonrelevantRetrieved as NumNonrelevantRetrieved
from skrank.metrics.num_q import NumQueries as NumQueries
from skrank.metrics.num_rel import NumRelevant as NumRelevant
from skrank.metrics.num_rel_ret import NumRelevantRetrieved as NumRelevantRetrieved
from skrank.metrics.num_ret import NumRetrieved as NumRetrieved
from skrank.metrics.pfound import PFound as PFound
from skrank.metrics.precision import Precision as Precision
from skrank.metrics.q import QMeasure as QMeasure
from skrank.metrics.r_precision import RPrecision as RPrecision
from skrank.metrics.rbp import RBP as RBP
from skrank.metrics.rbp_residual import RBPResidual as RBPResidual
from skrank.metrics.recall import Recall as Recall
from skrank.metrics.relative_precision import RelativePrecision as RelativePrecision
from skrank.metrics.rpref import RPref as RPref
from skrank.metrics.rr import RR as RR
from skrank.metrics.set_ap import SetAP as SetAP
from skrank.metrics.success import Success as Success
from skrank.metrics.utility import Utility as Utility
