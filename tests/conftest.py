"""Fixtures, and the compilation of large kernels before many tests."""

import pytest

# pytest would import these under a second name to find doctests.
collect_ignore = ["helpers"]
collect_ignore_glob = ["*conftest.py"]


@pytest.fixture
def random():
    """A generator for one test, so that data do not depend on which tests run before."""
    import numpy as np

    return np.random.default_rng(0)


def pytest_collection_finish(session) -> None:
    """Compile the large kernels before many tests, each in one worker of pytest-xdist.

    Tests start when all workers are ready. Without this, workers compile the same kernels.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or len(session.items) < 2000:
        return
    import numpy as np

    from skrank import LambdaLoss, LambdaRank, Softmax, SoftRank
    from skrank.extending import Judgments, Queries

    soft = SoftRank("gap"), SoftRank("ndcg"), Softmax()
    others = LambdaRank("gap"), LambdaRank("err"), LambdaLoss("ndcg")
    judgments = Judgments(np.array([2.0, 0, 1]), Queries.single(3))
    scores = np.arange(3.0)
    for objective in (soft, others)[int(worker["workerid"].removeprefix("gw")) % 2]:
        bound = objective.bind(judgments)
        for dtype in (np.float32, np.float64):
            for factor in (1, 1e5):  # pairs of queries with a wide range of scores, too
                bound.gradient(factor * scores, *np.empty((2, 3), dtype))
