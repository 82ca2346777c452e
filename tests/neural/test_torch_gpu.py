"""skrank.torch on a GPU, beside the kernels on the host."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

import skrank  # noqa: E402
from skrank.datasets import make_ranking  # noqa: E402
from skrank.torch import NeuralRanker, RankingLoss  # noqa: E402
from tests.helpers.torch_batches import close, make, named, pad, step  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")

OBJECTIVES = [
    skrank.LambdaRank("gap"),
    skrank.LambdaRank("ndcg@10", truncation_level=5),
    skrank.LambdaRank("q"),  # has kernels only
    skrank.SoftRank("gap"),
    skrank.SoftRank("ndcg", relative=True),
    skrank.Softmax(),
    skrank.SquaredError(),
]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=named)
def test_losses_on_the_gpu_are_those_of_the_host(objective):
    """Flat and padded, in single and double precision, with weights of queries."""
    for dtype, share in ((torch.float32, 5e-5), (torch.float64, 1e-10)):
        scores, labels, offsets = make(dtype, n_queries=300, longest=60)
        weights = torch.rand(300, generator=torch.Generator().manual_seed(0))
        loss = RankingLoss(objective, max_grade=4)
        expected, slopes = step(loss, scores, labels, offsets, weights=weights)
        loss, weights = loss.to("cuda"), weights.cuda()
        found, grad = step(loss, scores.cuda(), labels.cuda(), offsets, weights=weights)
        lines, marks = (pad(one, offsets, 63, 2).cuda() for one in (scores, labels))
        padded, rows = step(loss, lines.nan_to_num(0.0), marks, weights=weights)
        for value, slope in ((found, grad), (padded, rows[~marks.isnan()])):
            assert value.is_cuda
            torch.testing.assert_close(value.cpu(), expected)
            close(slope.cpu(), slopes, share)


def test_bad_scores_on_the_gpu_make_the_loss_nan():
    value, grad = step(RankingLoss("gap"), torch.tensor([[1.0, np.nan]]).cuda(), [[1.0, 0.0]])
    assert value.isnan()
    assert grad.isnan().all()


def test_rankers_trained_on_the_gpu_rank_as_those_of_the_host():
    data = make_ranking(n_queries=60, n_docs=(5, 20), n_features=8, random_state=0)
    labels = skrank.with_groups(data.relevance, data.qid)
    scores = {}
    for device in ("cpu", "cuda"):
        ranker = NeuralRanker(
            "gap", hidden=(8,), epochs=5, random_state=0, net_params={"device": device}
        )
        scores[device] = ranker.fit(data.X, labels).predict(data.X)
    assert np.corrcoef(scores["cuda"], scores["cpu"])[0, 1] > 0.999


def test_dropout_on_the_gpu_draws_by_the_seed_of_the_ranker():
    data = make_ranking(n_queries=20, n_features=8, random_state=0)
    dropping = {"device": "cuda", "module__dropout": 0.5}
    ranker = NeuralRanker("gap", hidden=(8,), epochs=2, random_state=0, net_params=dropping)
    before = torch.cuda.get_rng_state()
    first, second = (
        ranker.fit(data.X, data.relevance, data.qid).module_[0].weight.detach() for _ in range(2)
    )
    torch.testing.assert_close(first, second)
    assert torch.equal(torch.cuda.get_rng_state(), before)
