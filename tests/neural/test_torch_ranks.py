"""Two processes compute the gradients and the metrics of one process."""

from datetime import timedelta

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

from torch import distributed  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from skrank.torch import (  # noqa: E402
    MetricAccumulator,
    QueryBatchSampler,
    QueryDataset,
    RankingLoss,
)

if not distributed.is_available() or not distributed.is_gloo_available():
    pytest.skip("torch has no gloo here", allow_module_level=True)


def train(n_queries, objective, path, world_size):
    """Gradient, means, loss and number of stored batches of a linear network after one epoch."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 9, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    X, y = rng.normal(size=(len(qid), 4)), rng.integers(0, 3, len(qid))
    data = QueryDataset(X, y, qid, dtype=torch.float64)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1, dtype=torch.float64)
    net = DistributedDataParallel(model) if world_size > 1 else model
    loss, found = RankingLoss(objective, path=path), MetricAccumulator("gap", "ndcg@5")
    # all queries in one batch of one process, or in one batch of each
    share = sizes.sum() if world_size == 1 else -(-sizes.sum() // world_size) + 8
    value = torch.zeros((), dtype=torch.float64)
    for numbers in QueryBatchSampler(data, max_documents=int(share), shuffle=False):
        batch = data.__getitems__(numbers)
        scores = net(batch.X).squeeze(1)
        some = loss(scores, batch.labels, batch.offsets)
        some.backward()
        value += some.detach() / world_size
        found.update(scores, batch.labels, batch.offsets, ids=batch.ids)
    if world_size > 1:
        distributed.all_reduce(value)
    return model.weight.grad, found.compute(), value.item(), len(found._values)


def work(rank, world_size, folder):
    """Save the results of one process of several."""
    torch.set_num_threads(1)
    if world_size > 1:
        distributed.init_process_group(
            "gloo", f"file://{folder}/store", timedelta(minutes=2), world_size, rank
        )
    results = [train(12, "gap", "kernels", world_size), train(1, "ndcg", "native", world_size)]
    torch.save(results, folder / f"{world_size}-{rank}")
    if world_size > 1:
        distributed.destroy_process_group()


def test_two_processes_compute_the_results_of_one(tmp_path):
    """With one query in all, one of two processes has no query, and does not hang."""
    for world_size in (1, 2):
        torch.multiprocessing.spawn(work, (world_size, tmp_path), nprocs=world_size)
    alone, *both = (
        torch.load(tmp_path / name, weights_only=False) for name in ("1-0", "2-0", "2-1")
    )
    for case, (grad, means, value, _) in enumerate(alone):
        for slopes, found, total, _ in (cases[case] for cases in both):
            torch.testing.assert_close(slopes, grad, rtol=1e-10, atol=1e-12)
            assert found == pytest.approx(means, rel=1e-12)
            assert total == pytest.approx(value, rel=1e-10)
    assert [cases[0][3] for cases in both] == [1, 1]
    assert sorted(cases[1][3] for cases in both) == [0, 1]
