"""MetricAccumulator: metrics of batches are those of all queries together."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

import skrank  # noqa: E402
from skrank.torch import MetricAccumulator, QueryBatchSampler, QueryDataset  # noqa: E402

METRICS = [
    "gap", "ndcg@10", "err@20", "ap(average=geometric)", "precision(average=micro)@5", "bpref",
    "ndcg(condensed=True)@5", "ap(empty=0)", "q", "0.5*gap+0.5*ndcg@3",
]  # fmt: skip


def rows(seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, 20)
    labels = rng.choice([0, 1, 2, 3, np.nan], size=sizes.sum(), p=[0.5, 0.2, 0.1, 0.1, 0.1])
    labels[: sizes[0]] = 0
    return rng.integers(0, 9, sizes.sum()) / 8, labels, np.repeat(np.arange(20), sizes)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_to_evaluate(padded, weighted):
    scores, labels, qid = rows()
    per_row = np.linspace(0.5, 2, 20)[qid] if weighted else None
    report = skrank.evaluate(
        labels, scores, groups=qid, metrics=METRICS, max_grade=4, sample_weight=per_row
    )
    found = MetricAccumulator(*METRICS, max_grade=4)
    data = QueryDataset(scores[:, None], labels, qid, sample_weight=per_row, dtype=torch.float64)
    for _ in range(2):
        for numbers in QueryBatchSampler(data, max_documents=40):
            batch = data.__getitems__(numbers)
            more = {"weights": batch.weights, "ids": batch.ids}
            if padded:
                X, marks, mask = batch.padded()
                found.update(X[:, :, 0], marks, mask=mask, **more)
            else:
                found.update(batch.X[:, 0], batch.labels, batch.offsets, **more)
        means = found.compute()
        assert list(means) == list(report.mean.index)
        np.testing.assert_allclose(list(means.values()), report.mean, rtol=1e-12)
        found.reset()


def test_padding_without_a_mask_is_nan():
    nan = float("nan")
    found = MetricAccumulator("ap")
    found.update(torch.tensor([[2.0, 1, 9], [nan] * 3]), torch.tensor([[0, 1, nan], [nan] * 3]))
    assert found.compute() == {"ap": 0.5}


def test_a_query_that_comes_twice_is_refused():
    found = MetricAccumulator("gap")
    batch = {"scores": torch.tensor([1.0, 0.0]), "labels": [1, 0], "offsets": [0, 2], "ids": [7]}
    found.update(**batch)
    with pytest.raises(ValueError, match="query 7 comes twice"):
        found.update(**batch)
    found.reset()
    found.update(**batch)


def test_a_batch_that_is_refused_changes_nothing():
    found = MetricAccumulator("err", max_grade=2)
    good = torch.tensor([2.0, 1, 3, 1]), torch.tensor([0, 1, 1, 0]), torch.tensor([0, 2, 4])
    ids, nan = torch.tensor([7, 8]), float("nan")
    refused = [
        ((good[0] * nan, *good[1:]), {"ids": ids}, "score of row 0 is nan"),
        ((good[0], good[1] * 9, good[2]), {"ids": ids}, "label 9 .* is above max_grade=2"),
        (good, {"ids": torch.tensor([7, 7])}, "query 7 comes twice"),
        (good, {"ids": torch.tensor([7])}, "give one whole number per query"),
        (good, {"ids": torch.tensor([7.0, 8.0])}, "give one whole number per query"),
        *(
            (good, {"weights": [3.0, one]}, f"weight of query 1 of the batch is {one:g}")
            for one in (-1.0, nan, float("inf"))
        ),
    ]
    for batch, more, message in refused:
        with pytest.raises(ValueError, match=message):
            found.update(*batch, **more)
    found.update(*good, ids=ids, weights=[1e300, 1e300])
    alone = MetricAccumulator("err", max_grade=2)
    alone.update(*good)
    assert found.compute() == alone.compute()


def test_labels_and_scores_keep_their_precision():
    """In single precision, 0.7 is below the threshold, and the scores are equal."""
    found = MetricAccumulator("ap(rel=0.7)")
    labels = torch.tensor([0.7, 0.0], dtype=torch.float64)
    found.update(torch.tensor([2**24 + 1, 2**24]), labels, [0, 2])
    assert found.compute() == {"ap(rel=0.7)": 1.0}


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="process_group=3 is not a process group"):
        MetricAccumulator("gap", process_group=3)
    with pytest.raises(ValueError, match="err depends on the highest grade"):
        MetricAccumulator("err")


def test_metrics_without_a_query_are_nan():
    with pytest.warns(RuntimeWarning, match="gap is NaN"):
        assert np.isnan(MetricAccumulator("gap").compute()["gap"])
