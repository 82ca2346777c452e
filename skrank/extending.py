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

from skrank._engine.cascade import CascadeTables
from skrank._engine.groups import require_groups
from skrank._engine.judgments import Judgments
from skrank._engine.metric import Measured, measure
from skrank._engine.names import unique_metrics
from skrank._engine.preference import PreferenceTables
from skrank._engine.quadratic import PairWorth, QuadraticTables
from skrank._engine.queries import Queries
from skrank._engine.ranking import Ranking
from skrank._engine.strict import StrictTables
from skrank._engine.tables import Scale, Tables, discounts
from skrank._engine.threads import plain_up_to, run_chunks
from skrank._fitted import predicted_scores, restored_on_failure, trained_grade
from skrank.metrics import Metric
from skrank.metrics.sets import RelevantSet, SetMetric
from skrank.objectives._bound import BoundObjective
from skrank.objectives.base import Objective

__all__ = [
    "BoundObjective", "CascadeTables", "Judgments", "Measured", "Metric", "Objective", "PairWorth",
    "PreferenceTables", "QuadraticTables", "Queries", "Ranking", "RelevantSet", "Scale",
    "SetMetric", "StrictTables", "Tables", "discounts", "measure", "plain_up_to",
    "predicted_scores", "require_groups", "restored_on_failure", "run_chunks", "trained_grade",
    "unique_metrics",
]  # fmt: skip
