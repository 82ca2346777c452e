"""The native path on batches of many parts, and compiled."""

import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

import skrank  # noqa: E402
from skrank.torch import RankingLoss  # noqa: E402
from skrank.torch._batch import Batch  # noqa: E402
from skrank.torch._lists import BatchInLists  # noqa: E402
from skrank.torch._pairs import (  # noqa: E402
    pair_blocks,
    stripe_of_first,
    stripes_by_level,
    stripes_in_order,
)
from tests.helpers.torch_batches import close, make, pad, step  # noqa: E402


def meetings(n_queries, n, stripes):
    """How often each first document meets each second one."""
    met = np.zeros((n_queries, n, n), np.int8)
    for blocks in pair_blocks(torch.empty(n_queries, n), stripes, 2):
        for block in blocks:
            met[block.queries, block.first, block.second] += 1
            assert [room.shape for room in block.rooms] == [met[block[:3]].shape] * 2
            assert block.rooms[0].numel() <= max(2**18, n)
    return met


def test_first_documents_meet_all():
    for n_queries, n, first in ((1, 1, 1), (300, 40, 40), (2, 800, 700), (700, 33, 5), (3, 9, 2)):
        met = meetings(n_queries, n, stripe_of_first(np.full(n_queries, first)))
        assert (met[:, :first] == 1).all()
        assert not met[:, first:].any()
    met = meetings(3, 9, stripe_of_first(np.array([0, 3, 1])))
    assert (met[1, :3] == 1).all()
    assert (met[2, 0] == 1).all()
    assert not meetings(2, 9, stripe_of_first(np.zeros(2, int))).any()
    assert (meetings(2, 9, None) == 1).all()


def test_documents_in_order_meet_those_behind():
    for n_queries, n in ((300, 40), (5, 700), (2, 1)):
        met = meetings(n_queries, n, stripes_in_order(n_queries, n))
        rows, columns = np.triu_indices(n)
        assert (met[:, rows, columns] == 1).all()
        assert met.sum() <= n_queries * (len(rows) + n * n / 8 + n)


@pytest.mark.parametrize("n_queries", [3, 3000])
def test_documents_meet_those_of_lower_levels(n_queries):
    rng = np.random.default_rng(0)
    labels = -np.sort(-rng.choice(4, size=(n_queries, 50), p=[0.6, 0.2, 0.15, 0.05]), axis=1)
    labels[0] = 0
    reached = np.stack([(labels >= level).sum(1) for level in (1, 2, 3)])
    met = meetings(n_queries, 50, stripes_by_level(reached, 50))
    apart = labels[:, :, None] > labels[:, None]
    assert (met[apart] == 1).all()
    assert met.max() == 1
    if n_queries == 3000:  # enough for a stripe per level
        whole = n_queries * reached[0].max() * 50
        assert apart.sum() < met.sum() < 0.8 * whole


@pytest.mark.parametrize("flat", [False, True])
def test_parts_hold_each_document_once(flat):
    scores, labels, offsets = make(torch.float64, n_queries=900, longest=90)
    labels[offsets[5] : offsets[7]] = float("nan")  # two queries without a document
    batch = Batch(scores, labels, offsets)
    if not flat:
        batch = Batch(pad(scores, offsets, 95, 3).nan_to_num(0.0), pad(labels, offsets, 95, 3))
    found = torch.full_like(batch.labels, float("nan")).reshape(-1)
    seen = []
    parts = list(BatchInLists(batch, 4))
    assert len(parts) > 1
    for part in parts:
        seen += part.queries.tolist()
        places = part.places[part.lists.valid]
        assert (places < len(found)).all()
        found[places] = part.lists.labels[part.lists.valid]
        assert (part.lists.labels[~part.lists.valid] == -1).all()
    torch.testing.assert_close(found.view(batch.labels.shape), batch.labels, equal_nan=True)
    assert len(seen) == len(set(seen))


OBJECTIVES = [
    skrank.LambdaRank("gap"),
    skrank.LambdaRank("ndcg@10", truncation_level=5),
    skrank.SoftRank("gap"),
    skrank.SoftRank("ndcg"),
]


def named(objective):
    """A short name of an objective in a test."""
    return f"{type(objective).__name__} {objective.metric}"


@pytest.mark.parametrize("objective", OBJECTIVES, ids=named)
def test_many_ragged_queries(objective):
    scores, labels, offsets = make(torch.float32, n_queries=900, longest=90)
    lines, marks = pad(scores, offsets, 95, 3), pad(labels, offsets, 95, 3)
    ways = [RankingLoss(objective, max_grade=4, path=path) for path in ("kernels", "native")]
    (expected, slopes), (found, grad) = (step(loss, scores, labels, offsets) for loss in ways)
    torch.testing.assert_close(found, expected)
    close(grad, slopes, 2e-5)
    padded, rows = step(ways[1], lines.nan_to_num(0.0), marks)
    torch.testing.assert_close(padded, expected)
    close(rows[~marks.isnan()], slopes, 2e-5)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=named)
def test_long_lists_are_met_in_parts(objective):
    """More pairs of one query than a block holds."""
    rng = np.random.default_rng(0)
    labels, offsets = torch.tensor(rng.choice(3, size=1000) * 1.0), torch.tensor([0, 900, 1000])
    scores = torch.tensor(rng.normal(size=1000))
    ways = [RankingLoss(objective, max_grade=4, path=path) for path in ("kernels", "native")]
    (expected, slopes), (found, grad) = (step(loss, scores, labels, offsets) for loss in ways)
    torch.testing.assert_close(found, expected)
    close(grad, slopes, 1e-12)


def test_ties_keep_their_order():
    scores, labels, offsets = make(torch.float32, n_queries=60, longest=40)
    objective = skrank.LambdaRank("gap", tie_order="stable")
    some = scores.round(decimals=1)
    ways = [RankingLoss(objective, path=path) for path in ("kernels", "native")]
    (expected, slopes), (found, grad) = (step(loss, some, labels, offsets) for loss in ways)
    torch.testing.assert_close(found, expected)
    close(grad, slopes, 1e-5)


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("spread", [1e-3, 50.0, 170.0, 180.0, 1e5])
def test_scores_may_be_far_apart(spread, norm):
    """Powers of two are products while each score's own fits into single precision."""
    scores, labels, offsets = make(torch.float32, n_queries=60, longest=40)
    scores *= spread / (scores.max() - scores.min())
    objective = skrank.LambdaRank("gap", norm=norm)
    expected, slopes = step(
        RankingLoss(objective, path="kernels"), scores.double(), labels, offsets
    )
    found, grad = step(RankingLoss(objective, path="native"), scores, labels, offsets)
    torch.testing.assert_close(found, expected.float())
    close(grad, slopes, 5e-5)


@pytest.mark.parametrize("metric", ["gap", "ndcg"])
@pytest.mark.parametrize("scale", [0.0, 1e-44, 1e-30, 1e-21, 1e-6])
def test_scores_may_be_next_to_equal(metric, scale):
    """Chances are gelu(x) / x: at x = 0, and where single precision ends."""
    objective = skrank.SoftRank(metric)
    labels, offsets = torch.tensor([0, 2, 1, 0, 3.0]), torch.tensor([0, 5])
    scores = scale * torch.tensor([1.0, -1, 0, 1, 2])
    ways = [RankingLoss(objective, max_grade=4, path=path) for path in ("kernels", "native")]
    (expected, slopes), (found, grad) = (step(loss, scores, labels, offsets) for loss in ways)
    torch.testing.assert_close(found, expected)
    close(grad, slopes, 1e-5)


@pytest.mark.parametrize("path", ["kernels", "native"])
def test_gains_need_no_more_labels_than_there_are(path):
    loss = RankingLoss("ndcg(gain=[0,1,3])", path=path)
    scores, labels = torch.tensor([0.3, 0.2, 0.1]), torch.tensor([0, 2, 1])
    _, grad = step(loss, scores, labels, torch.tensor([0, 3]))
    _, expected = step(RankingLoss("ndcg", path=path), scores, labels, torch.tensor([0, 3]))
    torch.testing.assert_close(grad, expected)


# compiled
# ------------------------------------------------------------------------------------------------


@pytest.fixture
def in_graph(monkeypatch):
    """On the host, losses stay in the graph, as they do on a device."""
    monkeypatch.setattr("skrank.torch._loss._leaves_graph", lambda device: False)


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("in_graph")
@pytest.mark.parametrize(
    "objective",
    [skrank.LambdaRank("gap"), skrank.SoftRank("gap"), skrank.Softmax()],
    ids=lambda one: type(one).__name__,
)
def test_compiled_and_eager_agree(objective):
    """On ragged batches of any shape."""
    for path in ("native", "kernels"):
        eager, compiled = (RankingLoss(objective, max_grade=4, path=path) for _ in range(2))
        compiled = torch.compile(compiled, backend="aot_eager", dynamic=True)
        for n_queries, length in ((9, 24), (5, 31)):
            scores, labels, offsets = make(torch.float32, n_queries, length, seed=length)
            lines, marks = (
                pad(scores, offsets, length).nan_to_num(0.0),
                pad(labels, offsets, length),
            )
            value, grad = step(eager, lines, marks)
            found, slopes = step(compiled, lines, marks)
            torch.testing.assert_close(found, value)
            torch.testing.assert_close(slopes, grad, atol=1e-6, rtol=1e-5)
    torch._dynamo.reset()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", ["native", "kernels"])
def test_on_the_host_a_compiled_model_has_the_eager_loss(path):
    """In either layout, with messages that name the place."""
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
    torch._dynamo.reset()


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("in_graph")
@pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no compiler of C++"
)
def test_generated_code_agrees():
    """What torch.compile makes by default: loops in C++."""
    eager, compiled = (RankingLoss(skrank.Softmax(), max_grade=4, path="native") for _ in range(2))
    compiled = torch.compile(compiled, dynamic=True)
    for n_queries, length in ((4, 7), (3, 12)):
        scores, labels, offsets = make(torch.float32, n_queries, length, seed=length)
        lines, marks = pad(scores, offsets, length).nan_to_num(0.0), pad(labels, offsets, length)
        value, grad = step(eager, lines, marks)
        found, slopes = step(compiled, lines, marks)
        torch.testing.assert_close(found, value)
        torch.testing.assert_close(slopes, grad, atol=1e-6, rtol=1e-5)
    torch._dynamo.reset()
