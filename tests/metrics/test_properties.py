"""Properties of every metric, such as equality with its literal definition."""

from skrank.metrics import Mixture, registered
from skrank.testing import check_metric
from tests.helpers.catalogue import every_point, trainable

# a better document further up may be worth less
ODD = (
    "q", "rpref", "infap", "judged", "num_nonrel_judged_ret", "bpm",
    *(name for name in registered() if name.endswith("_residual")),
)  # fmt: skip
ALWAYS = {
    "its values are those of its definition",
    "only the order of scores counts",
    "queries are measured alone",
    "copies are equal",
    "scorers measure it",
    "eval metrics of XGBoost measure it",
}


@every_point
def test_every_property(point):
    held = set(check_metric(point.metric, point.value, monotone=point.name not in ODD))
    assert held >= ALWAYS
    assert ("ties count as the mean over their orders" in held) != point.metric.strict
    assert ("gradients balance" in held) == trainable(point)
    assert ("its name parses back" in held) != isinstance(point.metric, Mixture)
