"""RankingLoss: both paths and layouts have the gradients of the kernels, eager and compiled."""

from dataclasses import dataclass
from itertools import pairwise, product
from typing import ClassVar

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

import skrank  # noqa: E402
from skrank.extending import PairWorth, QuadraticTables, discounts  # noqa: E402
from skrank.torch import RankingLoss  # noqa: E402
from tests.helpers.torch_batches import close, make, named, pad, step  # noqa: E402

QUADRATIC = [
    "gap", "gap@5", "gap(thresholds=[0.1,0.2,0.3,0.4])", "ap", "ap(rel=2)@7", "ap(rel=9)",
    "ndcg", "ndcg@10", "ndcg(gain=linear)", "dcg(discount=letor)@4", "rbp", "precision@5",
    "recall@6", "f1@5", "cg@3",
]  # fmt: skip
FUNCTIONS = [
    skrank.SoftRank("gap", sigma=0.3),
    skrank.SoftRank("ap", sigma=0.5),
    skrank.SoftRank("ndcg", sigma=0.4),
    skrank.SoftRank("dcg(discount=romip)"),
    skrank.Softmax(),
    skrank.Softmax(gain="linear"),
    skrank.SquaredError(),
    skrank.SquaredError(centered=True),
    0.5 * skrank.SoftRank("gap") + 2 * skrank.SquaredError(centered=True),
]
NATIVE = [
    *(skrank.LambdaRank(name) for name in QUADRATIC),
    skrank.LambdaRank("gap", norm=False),
    skrank.LambdaRank("gap", norm="sum", sigmoid=2.0, truncation_level=3),
    skrank.LambdaRank("ndcg@5", norm="score", truncation_level=7),
    skrank.SoftRank("gap", sigma=0.5, relative=True),
    0.9 * skrank.LambdaRank("gap") + 0.1 * skrank.Softmax(),
    *FUNCTIONS,
]
KERNELS_ONLY = [
    skrank.LambdaRank("err"),
    skrank.LambdaRank("q"),
    skrank.LambdaRank("r_precision"),
    skrank.LambdaLoss("ndcg@5"),
    skrank.Softmax(random_gains=True),
]


every_path = pytest.mark.parametrize("path", ["kernels", "native"])


@pytest.mark.parametrize(
    ("objective", "path"),
    [*product(NATIVE, ("kernels", "native")), *product(KERNELS_ONLY, ("kernels",))],
    ids=lambda one: one if isinstance(one, str) else named(one),
)
def test_gradients_are_those_of_the_first_round_of_training(objective, path):
    for dtype, share in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        scores, labels, offsets = make(dtype)
        groups = np.repeat(np.arange(len(offsets) - 1), offsets.diff().numpy())
        grad, _ = objective.on_scale(4)(labels.numpy(), scores.double().numpy(), groups=groups)
        _, found = step(RankingLoss(objective, max_grade=4, path=path), scores, labels, offsets)
        assert found.dtype == dtype
        close(found.double(), torch.tensor(grad) / (len(offsets) - 1), share)


@pytest.mark.parametrize("objective", NATIVE, ids=named)
def test_both_paths_have_the_same_loss(objective):
    losses = [RankingLoss(objective, max_grade=4, path=path) for path in ("kernels", "native")]
    torch.testing.assert_close(*(loss(*make(torch.float64)) for loss in losses))


@every_path
@pytest.mark.parametrize("objective", FUNCTIONS, ids=named)
def test_gradients_are_finite_differences(objective, path):
    scores, labels, offsets = make(torch.float64, n_queries=3, longest=6)
    loss = RankingLoss(objective, max_grade=4, path=path)
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(x, labels, offsets), (scores,), atol=1e-7)


@every_path
@pytest.mark.parametrize("norm", [False, "score"])
def test_the_loss_of_lambdarank_is_the_sum_of_pair_weights_and_chances(path, norm):
    """The weights of pairs are computed by swapping; the chance is that of the wrong order."""
    rng = np.random.default_rng(1)
    labels, scores = np.array([0, 2, 1, 0, 3, 1.0]), rng.normal(size=6)
    metric = skrank.metric("gap")
    objective = skrank.LambdaRank(metric, norm=norm)
    better, worse = np.nonzero(labels[:, None] > labels)
    weight = np.empty(len(better))
    for pair, (i, j) in enumerate(zip(better, worse, strict=True)):
        swapped = scores.copy()
        swapped[[i, j]] = scores[[j, i]]
        weight[pair] = abs(metric(labels, swapped) - metric(labels, scores))
    if norm:
        weight /= 0.01 + np.abs(scores[better] - scores[worse])

    wrong = 1 / (1 + np.exp(scores[better] - scores[worse]))
    value = RankingLoss(objective, path=path)(torch.tensor(scores), labels, [0, 6])
    assert value.item() == pytest.approx(weight @ wrong)


@every_path
@pytest.mark.parametrize(
    "objective",
    [skrank.LambdaRank("gap", tie_order="stable"), FUNCTIONS[0], FUNCTIONS[2], FUNCTIONS[4]],
    ids=named,
)
def test_layouts_agree(objective, path):
    """Flat rows, and padding on either side, with a mask or with labels NaN."""
    scores, labels, offsets = make(torch.float64)
    loss = RankingLoss(objective, path=path)
    value, grad = step(loss, scores, labels, offsets)

    for first, length in ((0, 24), (3, 40)):
        lines, marks = pad(scores, offsets, length, first), pad(labels, offsets, length, first)
        mask = ~torch.isnan(marks)
        found, slopes = step(loss, lines, marks)
        torch.testing.assert_close(found, value)
        torch.testing.assert_close(slopes[mask], grad)
        assert not slopes[~mask].any()
        found, slopes = step(loss, lines.nan_to_num(7.0), marks.nan_to_num(3.0), mask=mask)
        torch.testing.assert_close(found, value)
        torch.testing.assert_close(slopes[mask], grad)


@every_path
def test_reductions_and_weights(path):
    """For SoftRank, the loss of a query is one minus the smooth metric."""
    scores, labels, offsets = make(torch.float64)
    n = len(offsets) - 1
    weights = torch.linspace(0, 2, n, dtype=torch.float64)
    each = RankingLoss(FUNCTIONS[0], reduction="none", path=path)(scores, labels, offsets)
    assert each.shape == (n,)
    assert each[2] == 0  # no relevant document
    total = weights @ each
    for reduction, expected in (("mean", total / weights.sum()), ("sum", total)):
        loss = RankingLoss(FUNCTIONS[0], reduction=reduction, path=path)
        torch.testing.assert_close(loss(scores, labels, offsets, weights=weights), expected)
        arrays = labels.tolist(), offsets.numpy()
        torch.testing.assert_close(loss(scores, *arrays, weights=weights.numpy()), expected)
    groups = np.repeat(np.arange(n), offsets.diff().numpy())
    known = [q for q in range(n) if labels[offsets[q] : offsets[q + 1]].any()]
    expected = FUNCTIONS[0].value(labels.numpy(), scores.numpy(), groups=groups)
    assert 1 - each[known].mean().item() == pytest.approx(expected)


@every_path
@pytest.mark.parametrize(
    "objective", [skrank.LambdaRank("gap"), skrank.SoftRank("ndcg")], ids=named
)
def test_half_precision_and_autocast(objective, path):
    scores, labels, offsets = make(torch.float32)
    loss = RankingLoss(objective, path=path)
    for dtype in (torch.bfloat16, torch.float16):
        value, grad = step(loss, scores.to(dtype), labels, offsets)
        _, exact = step(loss, scores.to(dtype).float(), labels, offsets)
        assert grad.dtype == dtype
        assert value.dtype == torch.float32
        torch.testing.assert_close(grad, exact.to(dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        _, inside = step(loss, scores, labels, offsets)
    _, outside = step(loss, scores, labels, offsets)
    assert torch.equal(inside, outside)


@every_path
def test_losses_do_not_depend_on_earlier_batches(path):
    """Lists of the same lengths with other labels, and offsets that change in place."""
    scores, labels, offsets = make(torch.float64)
    loss = RankingLoss("gap", max_grade=4, reduction="none", path=path)
    for turn in range(4):
        found = loss(scores, labels, offsets)
        for q, (start, stop) in enumerate(pairwise(offsets.tolist())):
            rows = slice(start, stop)
            alone = loss(scores[rows], labels[rows], torch.tensor([0, stop - start]))
            torch.testing.assert_close(found[q : q + 1], alone)
        if turn == 1:
            offsets[3] = offsets[4]  # the fourth query has no documents
        labels = labels.roll(5)


@every_path
def test_ties_are_drawn_by_scores_and_seed(path):
    labels, offsets = torch.tensor([2, 0, 1, 0, 0, 1.0]), torch.tensor([0, 6])
    loss = RankingLoss("ndcg", path=path)
    grads = [step(loss, torch.full((6,), float(i)), labels, offsets)[1] for i in range(6)]
    assert len({tuple(grad.tolist()) for grad in grads}) > 1
    for i in (4, 1, 1):
        found = step(loss, torch.full((6,), float(i)), labels, offsets)[1]
        assert torch.equal(found, grads[i])
    assert not loss.state_dict()


FLAT = {"scores": [1.0, 2, 3], "labels": [1.0, 0, 2], "offsets": [0, 3]}
PADDED = {"scores": [[1.0, 2], [3, 4]], "labels": [[1.0, 0], [0, 1]]}
NAN = float("nan")


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (FLAT | {"offsets": [1, 3]}, "offsets"),
        (FLAT | {"offsets": [0, 3, 2, 3]}, "offsets"),
        (FLAT | {"labels": [1.0, 0]}, "labels"),
        (FLAT | {"labels": [2**53 + 1, 0, 0]}, "row 0 of labels"),
        (FLAT | {"labels": [1.0, 0, -2]}, "label of row 2 is -2"),
        (FLAT | {"labels": [1.0, 0, 5]}, "label of row 2 is 5: .*max_grade=4"),
        (FLAT | {"scores": [1.0, NAN, 3]}, "score of row 1 is nan"),
        (FLAT | {"weights": [-3.0]}, "weight of query 0 is -3"),
        (PADDED | {"scores": [[1.0, NAN], [3, 4]]}, "score of document 1 of query 0 is nan"),
        (PADDED | {"mask": [[0.5, 1], [1, 1]]}, "mask of document 0 of query 0 is 0.5"),
        (PADDED | {"weights": [1.0, 1e16]}, r"weight of query 1 is 1e\+16"),
    ],
)
def test_bad_batches_are_refused(batch, message):
    loss, scores = RankingLoss("gap", max_grade=4), torch.tensor(batch["scores"])
    with pytest.raises(ValueError, match=message):
        loss(**batch | {"scores": scores})


@pytest.mark.parametrize(
    ("objective", "options", "message"),
    [
        ("err", {}, "err needs max_grade"),
        (skrank.SquaredError(), {}, "SquaredError needs max_grade"),
        ("bpref(condensed=True)", {}, "bpref"),
        ("gap", {"path": "fast"}, "path='fast'"),
        ("q", {"path": "native"}, "native path"),
    ],
)
def test_bad_options_are_refused(objective, options, message):
    with pytest.raises(ValueError, match=message):
        RankingLoss(objective, **options)


@pytest.mark.parametrize("without_values", [torch.Tensor.numpy, torch.Tensor.to_sparse])
def test_scores_and_labels_are_named(without_values):
    scores = torch.ones(2)
    with pytest.raises(ValueError, match=r"scores .*(ndarray|sparse)"):
        RankingLoss("ndcg")(without_values(scores), [1, 0], [0, 2])
    with pytest.raises(ValueError, match=r"^(?!.*max_grade).*row 1 is -2"):
        RankingLoss("ndcg")(scores, [1, -2], [0, 2])


@every_path
@pytest.mark.parametrize(
    "objective", [skrank.LambdaRank("ndcg(gain={2:1,4:3})"), skrank.SquaredError({2: 1, 4: 3})]
)
def test_a_gain_for_each_label_that_occurs_is_enough(objective, path):
    loss = RankingLoss(objective, path=path)
    assert loss(torch.zeros(2), [2, 4], [0, 2]) > 0


def test_second_derivatives_are_refused():
    scores = torch.ones(2, requires_grad=True)
    loss = RankingLoss("ndcg")(scores, [1, 0], [0, 2])
    (grad,) = torch.autograd.grad(loss**2, scores, create_graph=True)
    with pytest.raises(RuntimeError, match="twice"):
        grad.sum().backward()


def test_labels_are_not_rounded_to_the_precision_of_scores():
    """0.7 rounds down in single precision, below the threshold ``rel=0.7``."""
    labels = torch.tensor([0.7, 0, 0.2, 0], dtype=torch.float64)
    loss = RankingLoss("ap(rel=0.7)")
    value, grad = step(loss, torch.zeros(4), labels, torch.tensor([0, 4]))
    assert value > 0
    assert grad[0] < 0
    large = torch.tensor([2**24 + 1, 2**24])  # equal in single precision
    assert RankingLoss("ap(rel=16777217)")(torch.zeros(2), large, torch.tensor([0, 2])) > 0


@every_path
@pytest.mark.parametrize("n_rows", [0, 3])
def test_batches_without_labels_have_the_loss_0(path, n_rows):
    loss, blank = RankingLoss("gap", path=path), torch.full((n_rows,), float("nan"))
    value, grad = step(loss, torch.zeros(n_rows), blank, torch.tensor([0, n_rows]))
    assert value == 0
    assert not grad.any()
    value, _ = step(loss, torch.zeros(0), torch.zeros(0), torch.tensor([0]))
    assert value == 0


@dataclass(frozen=True, kw_only=True)
class WorthOfPairs(skrank.Metric):
    """Gains by label, and pairs with the worth ``join(gain, gain)``."""

    names: ClassVar = ("worth_of_pairs",)
    gain: tuple = (0.0, 1.0, 2.0, 3.0, 4.0)
    join: str = "minimum"

    def tables(self, scale, k):
        gain = np.array(self.gain)[: len(scale.labels)]
        weights = discounts(lambda rank: 1 / rank, scale.longest, k)
        pairs = PairWorth(weights, gain, gain, getattr(np, self.join))
        return QuadraticTables(gain, weights, pairs, ideal=(gain, weights))


@pytest.mark.parametrize("more", [{}, {"gain": (0, 1, 2, 4, 3)}, {"join": "multiply"}], ids=str)
def test_user_defined_metrics_have_a_native_path(more):
    scores, labels, offsets = make(torch.float64)
    metric = WorthOfPairs(**more)
    ways = [RankingLoss(metric, max_grade=4, path=path) for path in ("kernels", "native")]
    (_, expected), (_, found) = (step(loss, scores, labels, offsets) for loss in ways)
    close(found, expected, 1e-12)


# the native path on large batches and extreme scores, and compiled

LARGE = [
    skrank.LambdaRank("gap"),
    skrank.LambdaRank("ndcg@10", truncation_level=5),
    skrank.SoftRank("gap"),
    skrank.SoftRank("ndcg"),
]


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


@pytest.mark.parametrize("objective", [*LARGE, skrank.Softmax(), skrank.SquaredError()], ids=named)
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
