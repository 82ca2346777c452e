"""Training on an objective raises its metric in both boosters."""

import numpy as np
import pytest

from skrank import LambdaLoss, LambdaRank, Softmax, SoftRank, SquaredError
from tests.helpers.boosters import Data, LightGBM, XGBoost

OBJECTIVES = [
    LambdaRank("gap"), LambdaLoss("ndcg@5"), SoftRank("gap"), SquaredError(centered=True),
    Softmax(random_gains=True), SoftRank("ap", sigma=0.2, relative=True),
]  # fmt: skip
PARAMS = {
    LightGBM: {"num_leaves": 7, "min_data_in_leaf": 20, "learning_rate": 0.2},
    XGBoost: {"max_depth": 3, "learning_rate": 0.3, "min_child_weight": 0.1, "lambda": 0.1},
}


@pytest.fixture(scope="module")
def data():
    return Data(0)


@pytest.mark.parametrize("library", PARAMS)
@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_training_raises_the_metric(objective, library, data):
    """The curve ends well above its start; that of SoftRank never falls far below its best."""
    name = str(getattr(objective, "metric", "ndcg@10"))
    booster, log = library.train(
        library.build(data), library.module.objective(objective), 40, [library.build(data)],
        library.module.eval_metric(name), **PARAMS[library],
    )  # fmt: skip
    curve = np.array(next(iter(log.values()))[name])
    assert curve[-1] > curve[0] + 0.05
    assert curve[-1] > curve.max() - 0.02
    if isinstance(objective, SoftRank):
        assert (curve >= np.maximum.accumulate(curve) - 0.02).all()
    assert np.isfinite(library.scores(booster, data)).all()
