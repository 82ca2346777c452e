"""Metrics of rankings: what a ranking is worth.

`metric` makes one from a name; each class says what it measures. A class is data that a compiled
kernel of its family reads: `quadratic` (sums over documents and pairs) or `cascade` (a user who
stops).
"""

from skrank.metrics.base import Metric as Metric
from skrank.metrics.base import metric as metric
from skrank.metrics.base import registered as registered
from skrank.metrics.cascade import ERR as ERR
from skrank.metrics.cascade import RR as RR
from skrank.metrics.dcg import DCG as DCG
from skrank.metrics.dcg import NDCG as NDCG
from skrank.metrics.functions import average_precision_score as average_precision_score
from skrank.metrics.functions import dcg_score as dcg_score
from skrank.metrics.functions import err_score as err_score
from skrank.metrics.functions import gap_score as gap_score
from skrank.metrics.functions import ndcg_score as ndcg_score
from skrank.metrics.functions import precision_at_k_score as precision_at_k_score
from skrank.metrics.functions import reciprocal_rank_score as reciprocal_rank_score
from skrank.metrics.gap import GAP as GAP
from skrank.metrics.precision import AP as AP
from skrank.metrics.precision import Precision as Precision
