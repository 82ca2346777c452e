"""Losses of two processes are those of all queries."""

from datetime import timedelta

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

from torch import distributed  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from skrank.torch import QueryDataset, RankingLoss  # noqa: E402


def train(n_queries, objective, path, rank=0, world_size=1):
    """Gradient and loss of one batch: of each `world_size`-th query."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(n_queries), rng.integers(2, 9, n_queries))
    X, y = rng.normal(size=(len(qid), 4)), rng.integers(0, 3, len(qid))
    data = QueryDataset(X, y, qid, dtype=torch.float64)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1, dtype=torch.float64)
    net = DistributedDataParallel(model) if world_size > 1 else model
    batch = data.__getitems__(np.arange(rank, n_queries, world_size))
    scores = net(batch.X).squeeze(1)
    value = RankingLoss(objective, path=path)(scores, batch.labels, batch.offsets)
    value.backward()
    value = value.detach() / world_size
    if world_size > 1:
        distributed.all_reduce(value)
    return model.weight.grad, value.item()


# with one query in all, one of two processes has no query, and does not hang
BATCHES = [(12, "gap", "kernels"), (1, "ndcg", "native")]


def work(rank, folder):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", f"file://{folder}/store", timedelta(minutes=2), 2, rank)
    torch.save([train(*batch, rank, 2) for batch in BATCHES], folder / str(rank))
    distributed.destroy_process_group()


def work_of_second(_, folder):
    work(1, folder)


@pytest.mark.skipif(
    not (distributed.is_available() and distributed.is_gloo_available()), reason="no gloo"
)
def test_two_processes_compute_the_results_of_one(tmp_path):
    other = torch.multiprocessing.spawn(work_of_second, (tmp_path,), nprocs=1, join=False)
    work(0, tmp_path)
    other.join()
    for rank in "01":
        found = torch.load(tmp_path / rank, weights_only=False)
        for batch, (slopes, value) in zip(BATCHES, found, strict=True):
            expected_slopes, expected = train(*batch)
            torch.testing.assert_close(slopes, expected_slopes, rtol=1e-10, atol=1e-12)
            assert value == pytest.approx(expected, rel=1e-10)
