"""Building blocks for your own metrics and objectives.

A metric is a frozen dataclass that derives from `skrank.Metric`. Its method `tables` returns the
gains of labels and the weights of ranks, as arrays that the compiled loops of a family read:

- `QuadraticTables`: sums over documents and pairs of documents (`PairWorth`): DCG, AP, Q-measure;
- `CascadeTables`: a user who reads down the list until satisfied: ERR, PFound, reciprocal rank;
- `PreferenceTables`: worse documents above each relevant one: bpref, rpref;
- `StrictTables`: metrics without a closed form for ties: interpolated and inferred precision;
- `SetMetric` and `RelevantSet` are bases of ratios of two counts over the documents shown:
  precision, recall.

`tables` gets a `Scale`: the distinct labels of the data, the highest grade, the length of the
longest list and, if `reads_judgments`, the judgments. `values` maps the sums of queries, and their
numbers of documents, to values, linear in the sums, and weights; a subclass of `SetMetric` has
`counts` in its place, numerator and denominator.

An objective derives from `skrank.Objective`. Its method `bind` takes `Judgments` and returns a
`BoundObjective`, which has `losses` if its gradient is the gradient of a function.

A `Ranking` is the order that scores give to the documents of `Judgments`, and `measure` computes
the values of metrics for rankings of the same judgments, and their means. `run_chunks` calls a
function on chunks of queries in several threads; inside `plain_up_to`, loops over few rows run as
plain Python, which starts sooner than compiled code. `require_groups` finds the query of each row,
`predicted_scores` the scores of a fitted model, and `trained_grade` the highest label that the
model was trained on, as skrank's scorers do. `unique_metrics` returns metrics by name.
`restored_on_failure` keeps the attributes of an estimator whose `fit` fails.

`skrank.register` gives a metric a name; `skrank.testing` tests metrics and objectives.
"""

from skrank._engine.cascade import CascadeTables as CascadeTables
from skrank._engine.groups import require_groups as require_groups
from skrank._engine.judgments import Judgments as Judgments
from skrank._engine.names import unique_metrics as unique_metrics
from skrank._engine.plan import Measured as Measured
from skrank._engine.plan import measure as measure
from skrank._engine.preference import PreferenceTables as PreferenceTables
from skrank._engine.quadratic import PairWorth as PairWorth
from skrank._engine.quadratic import QuadraticTables as QuadraticTables
from skrank._engine.queries import Queries as Queries
from skrank._engine.ranking import Ranking as Ranking
from skrank._engine.strict import StrictTables as StrictTables
from skrank._engine.tables import Scale as Scale
from skrank._engine.tables import Tables as Tables
from skrank._engine.tables import discounts as discounts
from skrank._engine.threads import plain_up_to as plain_up_to
from skrank._engine.threads import run_chunks as run_chunks
from skrank._fitted import predicted_scores as predicted_scores
from skrank._fitted import restored_on_failure as restored_on_failure
from skrank._fitted import trained_grade as trained_grade
from skrank.metrics import Metric as Metric
from skrank.metrics.sets import RelevantSet as RelevantSet
from skrank.metrics.sets import SetMetric as SetMetric
from skrank.objectives._bound import BoundObjective as BoundObjective
from skrank.objectives.base import Objective as Objective
