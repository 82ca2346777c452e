"""The native path of RankingLoss on large batches and extreme scores, and compiled."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

import skrank  # noqa: E402
from skrank.torch import RankingLoss  # noqa: E402
from tests.helpers.torch_batches import close, make, named, pad, step  # noqa: E402

OBJECTIVES = [
    skrank.LambdaRank("gap"),
    skrank.LambdaRank("ndcg@10", truncation_level=5),
    skrank.SoftRank("gap"),
    skrank.SoftRank("ndcg"),
]


def agree(objective, scores, labels, offsets, tolerance):
    """Loss and gradients of the kernels, which those of the native path are close to."""
    ways = [RankingLoss(objective, max_grade=4, path=path) for path in ("kernels", "native")]
    (expected, slopes), (found, grad) = (step(loss, scores, labels, offsets) for loss in ways)
    torch.testing.assert_close(found, expected)
    close(grad, slopes, tolerance)
    return expected, slopes


@pytest.mark.parametrize("objective", OBJECTIVES, ids=named)
def test_many_queries_and_long_lists(objective):
    """More pairs of documents than a block holds, flat and padded; lists of 1000 documents."""
    scores, labels, offsets = make(torch.float32, n_queries=900, longest=90)
    lines, marks = pad(scores, offsets, 95, 3), pad(labels, offsets, 95, 3)
    expected, slopes = agree(objective, scores, labels, offsets, 2e-5)
    native = RankingLoss(objective, max_grade=4, path="native")
    padded, rows = step(native, lines.nan_to_num(0.0), marks)
    torch.testing.assert_close(padded, expected)
    close(rows[~marks.isnan()], slopes, 2e-5)
    agree(objective, *make(torch.float64, n_queries=3, longest=1000), 1e-12)


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("spread", [1e-3, 50.0, 170.0, 180.0, 1e5])
def test_scores_may_be_far_apart(spread, norm):
    """The sigmoid of the largest gap is 0 in single precision."""
    scores, labels, offsets = make(torch.float32, n_queries=60, longest=40)
    scores *= spread / (scores.max() - scores.min())
    objective = skrank.LambdaRank("gap", norm=norm)
    kernels, native = (RankingLoss(objective, path=path) for path in ("kernels", "native"))
    expected, slopes = step(kernels, scores.double(), labels, offsets)
    found, grad = step(native, scores, labels, offsets)
    torch.testing.assert_close(found, expected.float())
    close(grad, slopes, 5e-5)


@pytest.mark.parametrize(
    "objective",
    [skrank.SoftRank("gap"), skrank.SoftRank("ndcg"), skrank.LambdaRank("gap", tie_order="stable")],
    ids=named,
)
@pytest.mark.parametrize("scale", [0.0, 1e-44, 1e-30, 1e-21, 1e-6])
def test_scores_may_be_almost_equal(objective, scale):
    """Ties, and gaps below the least normal number of single precision."""
    labels, offsets = torch.tensor([0, 2, 1, 0, 3.0]), torch.tensor([0, 5])
    scores = scale * torch.tensor([1.0, -1, 0, 1, 2])
    agree(objective, scores, labels, offsets, 1e-5)


@pytest.mark.parametrize(
    "objective", [*OBJECTIVES, skrank.Softmax(), skrank.SquaredError()], ids=named
)
def test_scores_are_not_read_from_a_device(objective):
    loss = RankingLoss(objective, max_grade=4, path="native")
    scores, labels = torch.zeros(3, 8, device="meta"), torch.arange(24).view(3, 8) % 5
    for batch in ((scores, labels), (scores.ravel(), labels.ravel(), [0, 8, 16, 24])):
        value, grad = step(loss, *batch, weights=torch.ones(3))
        assert value.shape == ()
        assert grad.shape == batch[0].shape


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", ["native", "kernels"])
def test_compiled_models_have_the_eager_loss(path):
    """In both layouts, with errors that name the row."""
    torch.manual_seed(0)
    scores, labels, offsets = make(torch.float32, 9, 24)
    X, flat = torch.randn(len(scores), 3), torch.nn.Linear(3, 1)
    eager = RankingLoss("gap", max_grade=4, path=path)

    def run(X, labels, offsets):
        return eager(flat(X).squeeze(-1), labels, offsets)

    compiled, found = torch.compile(run, backend="aot_eager", dynamic=True), []
    lines = pad(X[:, 0], offsets, 24).nan_to_num(0.0)[..., None].expand(-1, -1, 3)
    for batch in ((X, labels, offsets), (lines, pad(labels, offsets, 24), None)):
        for one in (run, compiled):
            flat.weight.grad = None
            value = one(*batch)
            value.backward()
            found.append((value.item(), flat.weight.grad.clone()))
    for (value, grad), (other, slope) in (found[:2], found[2:]):
        assert value == other
        torch.testing.assert_close(slope, grad, atol=0, rtol=1e-6)
    X[5] = float("nan")
    with pytest.raises(ValueError, match="row 5"):
        compiled(X, labels, offsets)
    torch.compiler.reset()
