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

from skrank import _renamed
from skrank._engine.judgments import aggregate_judgments as aggregate_judgments
from skrank._engine.metric import Metric as Metric
from skrank._engine.metric import Mixture as Mixture
from skrank._engine.metric import metric as metric
from skrank._engine.names import register as register
from skrank._engine.names import registered as registered
from skrank._engine.names import unregister as unregister
from skrank.metrics._curves import GradedCurve as GradedCurve
from skrank.metrics._curves import eleven_point_curve as eleven_point_curve
from skrank.metrics._curves import graded_precision_recall_curve as graded_precision_recall_curve
from skrank.metrics._from_function import FunctionMetric as FunctionMetric
from skrank.metrics._from_function import metric_from_function as metric_from_function
from skrank.metrics.accuracy import Accuracy as Accuracy
from skrank.metrics.accuracy import Error as Error
from skrank.metrics.accuracy import Utility as Utility
from skrank.metrics.adaptive_users import BPM as BPM
from skrank.metrics.adaptive_users import INST as INST
from skrank.metrics.adaptive_users import NearlyERR as NearlyERR
from skrank.metrics.ap import AP as AP
from skrank.metrics.ap import InfAP as InfAP
from skrank.metrics.bpref import BPref as BPref
from skrank.metrics.bpref import RPref as RPref
from skrank.metrics.compat import Compat as Compat
from skrank.metrics.counts import NumNonrelevantRetrieved as NumNonrelevantRetrieved
from skrank.metrics.counts import NumQueries as NumQueries
from skrank.metrics.counts import NumRelevant as NumRelevant
from skrank.metrics.counts import NumRelevantRetrieved as NumRelevantRetrieved
from skrank.metrics.counts import NumRetrieved as NumRetrieved
from skrank.metrics.dcg import CG as CG
from skrank.metrics.dcg import DCG as DCG
from skrank.metrics.dcg import NDCG as NDCG
from skrank.metrics.err import ERR as ERR
from skrank.metrics.err import NERR as NERR
from skrank.metrics.gap import GAP as GAP
from skrank.metrics.iprec import InterpolatedAP as InterpolatedAP
from skrank.metrics.iprec import InterpolatedPrecision as InterpolatedPrecision
from skrank.metrics.pfound import PFound as PFound
from skrank.metrics.q import QMeasure as QMeasure
from skrank.metrics.r_precision import RPrecision as RPrecision
from skrank.metrics.rbp import RBP as RBP
from skrank.metrics.rbp import RBPResidual as RBPResidual
from skrank.metrics.rr import RR as RR
from skrank.metrics.rr import Success as Success
from skrank.metrics.sets import FBeta as FBeta
from skrank.metrics.sets import Judged as Judged
from skrank.metrics.sets import Precision as Precision
from skrank.metrics.sets import Recall as Recall
from skrank.metrics.sets import RelativePrecision as RelativePrecision
from skrank.metrics.sets import SetAP as SetAP
from skrank.metrics.user_models import INSQ as INSQ
from skrank.metrics.user_models import SDCG as SDCG

_renamed.refuse_old_names(__name__)
