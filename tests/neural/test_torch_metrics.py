"""Metrics of batches, and losses and metrics of two processes, are those of all queries."""

from datetime import timedelta

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

from torch import distributed  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import skrank  # noqa: E402
from skrank.torch import MetricAccumulator, QueryDataset, RankingLoss  # noqa: E402

METRICS = [
    "gap", "ndcg@10", "err@20", "ap(average=geometric)", "precision(average=micro)@5", "bpref",
    "ndcg(condensed=True)@5", "ap(empty=0)", "q",
]  # fmt: skip


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_to_evaluate(padded, weighted):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 12, 20)
    qid = np.repeat(np.arange(20), sizes)
    labels = rng.choice([0, 1, 2, 3, np.nan], size=len(qid), p=[0.5, 0.2, 0.1, 0.1, 0.1])
    labels[qid == 0] = 0
    scores = rng.integers(0, 9, len(qid)) / 8
    per_row = np.linspace(0.5, 2, 20)[qid] if weighted else None
    report = skrank.evaluate(
        labels, scores, groups=qid, metrics=METRICS, max_grade=4, sample_weight=per_row
    )
    found = MetricAccumulator(*METRICS, max_grade=4)
    data = QueryDataset(scores[:, None], labels, qid, sample_weight=per_row, dtype=torch.float64)
    for _ in range(2):
        for numbers in np.array_split(rng.permutation(20), 6):
            batch = data.__getitems__(numbers)
            more = {"weights": batch.weights, "ids": batch.ids}
            if padded:
                X, marks, mask = batch.padded()
                found.update(X[:, :, 0], marks, mask=mask, **more)
            else:
                found.update(batch.X[:, 0], batch.labels, batch.offsets, **more)
        means = found.compute()
        assert list(means) == list(report.mean)
        np.testing.assert_allclose(list(means.values()), report.averages[0], rtol=1e-12)
        found.reset()


def test_a_batch_that_is_refused_changes_nothing():
    found = MetricAccumulator("err", max_grade=2)
    good = torch.tensor([2.0, 1, 3, 1]), torch.tensor([0, 1, 1, 0]), torch.tensor([0, 2, 4])
    ids, nan = torch.tensor([7, 8]), float("nan")
    refused = [
        ((good[0] * nan, *good[1:]), {"ids": ids}, "score of row 0"),
        ((good[0], good[1] * 9, good[2]), {"ids": ids}, "label 9"),
        (good, {"ids": torch.tensor([7, 7])}, "query 7"),
        (good, {"ids": torch.tensor([7])}, "ids"),
        (good, {"weights": [3.0, -1.0]}, "weight of query 1"),
    ]
    for batch, more, message in refused:
        with pytest.raises(ValueError, match=message):
            found.update(*batch, **more)
    found.update(*good, ids=ids, weights=[1e300, 1e300])
    with pytest.raises(ValueError, match="query 7"):
        found.update(*good, ids=ids)
    alone = MetricAccumulator("err", max_grade=2)
    alone.update(*good)
    assert found.compute() == alone.compute()


def train(n_queries, objective, path, rank=0, world_size=1):
    """Gradient, means and loss of one batch: of each `world_size`-th query."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(n_queries), rng.integers(2, 9, n_queries))
    X, y = rng.normal(size=(len(qid), 4)), rng.integers(0, 3, len(qid))
    data = QueryDataset(X, y, qid, dtype=torch.float64)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1, dtype=torch.float64)
    net = DistributedDataParallel(model) if world_size > 1 else model
    found = MetricAccumulator("gap", "ndcg@5")
    batch = data.__getitems__(np.arange(rank, n_queries, world_size))
    scores = net(batch.X).squeeze(1)
    value = RankingLoss(objective, path=path)(scores, batch.labels, batch.offsets)
    value.backward()
    value = value.detach() / world_size
    found.update(scores, batch.labels, batch.offsets, ids=batch.ids)
    if world_size > 1:
        distributed.all_reduce(value)
    return model.weight.grad, found.compute(), value.item()


# with one query in all, one of two processes has no query, and does not hang
BATCHES = [(12, "gap", "kernels"), (1, "ndcg", "native")]


def work(rank, folder):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", f"file://{folder}/store", timedelta(minutes=2), 2, rank)
    torch.save([train(*batch, rank, 2) for batch in BATCHES], folder / str(rank))
    distributed.destroy_process_group()


@pytest.mark.skipif(
    not (distributed.is_available() and distributed.is_gloo_available()), reason="no gloo"
)
def test_two_processes_compute_the_results_of_one(tmp_path):
    torch.multiprocessing.spawn(work, (tmp_path,), nprocs=2)
    for rank in "01":
        found = torch.load(tmp_path / rank, weights_only=False)
        for batch, (slopes, means, value) in zip(BATCHES, found, strict=True):
            expected_slopes, expected_means, expected = train(*batch)
            torch.testing.assert_close(slopes, expected_slopes, rtol=1e-10, atol=1e-12)
            assert means == pytest.approx(expected_means, rel=1e-12)
            assert value == pytest.approx(expected, rel=1e-10)
