"""Two processes compute the gradients and the metrics of one process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("torch has no gloo here", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]

WORK = """
import sys
import numpy as np
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from skrank.torch import MetricAccumulator, QueryBatchSampler, QueryDataset, RankingLoss

rank, world_size, place, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
torch.set_num_threads(1)
if world_size > 1:
    distributed.init_process_group(
        "gloo", init_method=f"file://{place}", rank=rank, world_size=world_size
    )


def train(n_queries, objective, path):
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


torch.save([train(12, "gap", "kernels"), train(1, "ndcg", "native")], f"{out}{rank}")
if world_size > 1:
    distributed.destroy_process_group()
"""


def run(world_size, folder):
    """Results of each process."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    place, out = folder / f"store{world_size}", folder / f"out{world_size}-"
    calls = [
        subprocess.Popen(
            [sys.executable, "-c", WORK, str(rank), str(world_size), place, out],
            env=environment, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(world_size)
    ]  # fmt: skip
    for call in calls:
        _, error = call.communicate(timeout=120)
        assert call.returncode == 0, error
    return [torch.load(f"{out}{rank}", weights_only=False) for rank in range(world_size)]


def test_two_processes_compute_the_results_of_one(tmp_path):
    """With one query in all, one of two processes has no query, and does not hang."""
    (alone,) = run(1, tmp_path)
    both = run(2, tmp_path)
    for case, (grad, means, value, _) in enumerate(alone):
        for slopes, found, total, _ in (cases[case] for cases in both):
            torch.testing.assert_close(slopes, grad, rtol=1e-10, atol=1e-12)
            assert found == pytest.approx(means, rel=1e-12)
            assert total == pytest.approx(value, rel=1e-10)
    assert [cases[0][3] for cases in both] == [1, 1]
    assert sorted(cases[1][3] for cases in both) == [0, 1]
