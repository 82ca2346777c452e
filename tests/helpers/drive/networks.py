"""Losses, metrics over batches, data sets, samplers and rankers of skrank.torch."""

import math
import tempfile
import warnings
from importlib.util import find_spec
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

import skrank
from skrank.torch import (
    MetricAccumulator,
    NeuralRanker,
    QueryBatchSampler,
    QueryDataset,
    RankingLoss,
    keep_batch,
    query_offsets,
)
from tests.helpers import odd
from tests.helpers.catalogue import Lists
from tests.helpers.drive import Call, case
from tests.helpers.drive.measures import CATALOGUE
from tests.helpers.drive.training import DATA, TRAINABLE, Y

NAN, INF = odd.NAN, odd.INF
REALS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
TYPES = (*REALS, torch.int64, torch.int8, torch.uint8, torch.bool, torch.complex64)
LABELS = st.sampled_from((0.0, 1.0, 2.0, 3.0))
SCORES = st.integers(-9, 9).map(lambda n: n / 2)  # the same in any precision
WEIGHTS = st.sampled_from((0.5, 1.0, 2.0, 1e-30))
ODD_WEIGHTS = st.sampled_from((0.0, -1.0, NAN, INF, 1e300, 5e-324, 1e16, 1.0))


@st.composite
def odd_tensors(draw, elements, shape):
    """Tensors or arrays of any type and shape, or other objects."""
    if draw(st.integers(0, 4)) == 0:
        return draw(odd.anything)
    if draw(st.integers(0, 4)) == 0:
        shape = draw(st.sampled_from(((), (0,), (3,), (1, 2), (2, 1, 1), (1, *shape))))
    n = math.prod(shape)
    values = np.array(draw(st.lists(elements, min_size=n, max_size=n)), dtype="f8").reshape(shape)
    if draw(st.integers(0, 3)) == 0:
        return odd.of_dtype(values, draw(odd.dtypes))
    found = torch.tensor(values).to(draw(st.sampled_from(TYPES)))
    return found.requires_grad_() if found.is_floating_point() and draw(st.booleans()) else found


def as_numbers(values):
    """Values of a tensor or an array-like, in double precision."""
    if isinstance(values, torch.Tensor):
        return values.detach().double().numpy()
    return odd.as_floats(values).reshape(np.shape(values))


class Batch:
    """Arguments for a batch of whole queries, flat or padded."""

    def __init__(self, draw, dtype):
        sizes = [draw.size(0, 4) for _ in range(draw.size(1, 3))]
        self.n_drawn = len(sizes)
        filled = np.arange(max(sizes) + draw.size(0, 2)) < np.array(sizes)[:, None]
        if not draw.pick(False, True):  # flat
            filled = np.ones(sum(sizes), bool)
        labels, scores = np.full((2, *filled.shape), NAN)
        labels[filled] = draw.some(LABELS | st.just(NAN), int(filled.sum()))
        scores[filled] = draw.some(SCORES, int(filled.sum()))
        self.options = {}
        if filled.ndim == 1:
            offsets = torch.tensor(np.append(0, np.cumsum(sizes)))
            others = odd_tensors(st.integers(-1, 9), offsets.shape)
            self.options["offsets"] = draw(st.just(offsets), others)
        elif draw.pick(False, True):
            mask = draw(st.just(torch.tensor(filled)), odd_tensors(st.integers(0, 1), filled.shape))
            self.options["mask"] = mask
        if draw.pick(False, True):
            weights = torch.tensor(draw.some(WEIGHTS, len(sizes)), dtype=torch.float64)
            self.options["weights"] = draw(
                st.just(weights), odd_tensors(ODD_WEIGHTS, weights.shape)
            )
        labels = torch.tensor(labels, dtype=draw.pick(torch.float64, torch.float32))
        scores = torch.tensor(scores).to(dtype)
        self.scores = draw(st.just(scores), odd_tensors(odd.scores, scores.shape))
        self.labels = draw(st.just(labels), odd_tensors(odd.labels, labels.shape))

    def update(self, found):
        """Add the batch to a MetricAccumulator."""
        found.update(self.scores, self.labels, **self.options)

    @property
    def groups(self):
        """Number of the query of each entry."""
        shape = np.shape(self.labels)
        if len(shape) == 2:
            return np.repeat(np.arange(shape[0])[:, None], shape[1], axis=1)
        sizes = np.diff(np.asarray(self.options["offsets"]).astype(np.int64))
        return np.repeat(np.arange(len(sizes)), sizes)

    @property
    def n_queries(self):
        """Number of queries, with those that have no document."""
        shape = np.shape(self.labels)
        return shape[0] if len(shape) == 2 else len(self.options["offsets"]) - 1

    def kept(self, *, unjudged=False):
        """True for documents that count."""
        labels, mask = as_numbers(self.labels), self.options.get("mask")
        kept = ~np.isnan(labels)
        if mask is None:
            return np.ones_like(kept) if unjudged and kept.ndim == 1 else kept
        mask = as_numbers(mask) != 0
        return mask if unjudged else mask & kept

    def lists(self, *, unjudged=False):
        """Labels, scores and queries of the documents that count."""
        kept = self.kept(unjudged=unjudged)
        return Lists(
            as_numbers(self.labels)[kept], as_numbers(self.scores)[kept], self.groups[kept]
        )

    @property
    def weights(self):
        """Weight of each query."""
        given = self.options.get("weights")
        return np.ones(self.n_queries) if given is None else as_numbers(given)


# losses -------------------------------------------------------------------------------------------

OBJECTIVES = [
    *(skrank.LambdaRank(point.metric, tie_order="stable") for point in TRAINABLE),
    skrank.LambdaRank("gap", norm=False, sigmoid=2.0, tie_order="stable"),
    skrank.LambdaRank("ndcg", truncation_level=2, tie_order="stable"),
    skrank.LambdaLoss("ndcg", tie_order="stable"),
    skrank.SoftRank("gap"), skrank.SoftRank("ap", sigma=0.5), skrank.SoftRank("ndcg"),
    skrank.SoftRank("ndcg@2", form="distribution"), skrank.Softmax(), skrank.Softmax(gain="linear"),
    skrank.SquaredError(), skrank.SquaredError(centered=True),
    0.5 * skrank.SoftRank("gap") + 2.0 * skrank.SquaredError(),
]  # fmt: skip
SCALE = 3


def has_native(objective):
    """True if an objective has a native path."""
    try:
        RankingLoss(objective, max_grade=SCALE, path="native")
    except ValueError:
        return False
    return True


NATIVE = [one for one in OBJECTIVES if has_native(one)]


def query_by_query(objective, batch):
    """Loss of each query, and gradients, from a call per query in double precision."""
    losses, gradient = np.zeros(batch.n_queries), np.zeros(np.shape(batch.labels))
    kept, groups = batch.kept(), batch.groups
    scores, labels = as_numbers(batch.scores), as_numbers(batch.labels)
    one = RankingLoss(objective, max_grade=SCALE, path="kernels")
    for query in range(batch.n_queries):
        rows = kept & (groups == query)
        if rows.any():
            x = torch.tensor(scores[rows], requires_grad=True)
            found = one(x, torch.tensor(labels[rows]), torch.tensor([0, rows.sum()]))
            found.backward()
            losses[query], gradient[rows] = found.item(), x.grad.numpy()
    return losses, gradient


def shares(batch, reduction):
    """Factor of the loss of each query in the result."""
    filled = np.bincount(batch.groups[batch.kept()], minlength=batch.n_queries) > 0
    weights = np.where(filled, batch.weights, 0.0)
    total = weights.sum() if reduction == "mean" else 1.0
    return weights / total if total > 0 else 0.0 * weights


@case("torch.RankingLoss")
def _(draw):
    way = draw.pick("auto", "kernels", "native")
    path, objective = draw(st.just(way)), draw.pick(*(NATIVE if way == "native" else OBJECTIVES))
    options = {"max_grade": draw(st.just(SCALE)), "path": path}
    options["reduction"] = draw.of("mean", "sum", "none")
    batch, given = Batch(draw, draw.pick(*REALS)), draw(st.just(objective))

    def call():
        scores = batch.scores
        if isinstance(scores, torch.Tensor) and scores.is_floating_point():
            scores = scores.detach().requires_grad_()
        loss = RankingLoss(given, **options)
        value = loss(scores, batch.labels, **batch.options)
        if value.requires_grad:
            value.sum().backward()
        return value.detach(), getattr(scores, "grad", None)

    def verify(found):
        value, grad = found
        share = shares(batch, options["reduction"])
        losses, gradient = query_by_query(given, batch)
        expected = losses * share if options["reduction"] == "none" else losses @ share
        close(value.double().numpy(), expected, value.dtype, share.max(initial=0.0))
        if grad is not None:
            spread = share[batch.groups] if np.ndim(batch.labels) == 1 else share[:, None]
            close(grad.double().numpy(), gradient * spread, grad.dtype, share.max(initial=0.0))

    return Call(call, verify)


def close(found, expected, dtype, unit):
    """Compare within the precision of sums whose terms are up to `unit`."""
    tolerance = {torch.float64: 1e-9, torch.float32: 1e-4}.get(dtype, 2e-2)
    largest = max(unit, np.abs(expected).max(initial=0.0))
    underflow = torch.finfo(dtype).smallest_normal
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * largest + underflow)


@case("torch.query_offsets")
def _(draw):
    ids = draw.some(st.sampled_from("ab") | st.integers(0, 2), draw.size(1, 5))
    runs = [(name, draw.size(1, 3)) for name in dict.fromkeys(ids)]
    usual = [name for name, size in runs for _ in range(size)]
    groups = draw(st.just(usual), odd.arrays(odd.ids, len(usual)))

    def verify(found):
        sizes = [len(list(rows)) for _, rows in groupby(plain(groups))]
        assert found.tolist() == np.append(0, np.cumsum(sizes)).tolist()

    return Call(lambda: query_offsets(groups), verify)


# metrics ------------------------------------------------------------------------------------------

MEANS = [point for point in CATALOGUE if point.metric.average == "macro"]


@case("torch.MetricAccumulator")
def _(draw):
    points = [draw.pick(*MEANS) for _ in range(draw.size(1, 2))]
    metrics = {str(point.settled): draw(st.just(point.settled)) for point in points}
    max_grade = draw(st.just(SCALE))
    batches = [Batch(draw, draw.pick(*REALS)) for _ in range(draw.size(1, 3))]
    ids = [list(range(9 * i, 9 * i + batch.n_drawn)) for i, batch in enumerate(batches)]
    ids = draw.pick(None, [draw(st.just(some)) for some in ids])

    def call():
        found = MetricAccumulator(*metrics.values(), max_grade=max_grade)
        for i, batch in enumerate(batches):
            batch.options |= {} if ids is None else {"ids": ids[i]}
            batch.update(found)
        return found.compute()

    def verify(found):
        rows, weights = [], []
        for i, batch in enumerate(batches):
            lists = batch.lists(unjudged=True)
            rows.append((lists.relevance, lists.scores, lists.groups + 9 * i))
            weights.append(batch.weights[lists.groups])
        labels, scores, groups = map(np.concatenate, zip(*rows, strict=True))
        weights = np.concatenate(weights)
        if len(labels) == 0 or not weights.any():
            assert all(map(math.isnan, found.values()))
            return
        with warnings.catch_warnings(action="ignore"):
            report = skrank.evaluate(
                labels, scores, groups=groups, metrics=list(metrics.values()),
                max_grade=max_grade, sample_weight=weights,
            )  # fmt: skip
        np.testing.assert_allclose(list(found.values()), report.mean, rtol=1e-12)

    return Call(call, verify)


# data ---------------------------------------------------------------------------------------------


def check_batches(found, X, labels, names, weights, dtype):
    """Check that batches from `read_all` hold the rows of each query, in the order of rows."""
    data, single, everything = found
    order = list(dict.fromkeys(names))
    rows = [[row for row, one in enumerate(names) if one == name] for name in order]
    assert len(data) == len(rows)
    assert data.sizes.tolist() == [len(one) for one in rows]
    reverse = [row for one in rows[::-1] for row in one]
    for batch, chosen in zip([*single, everything], [*rows, reverse], strict=True):
        for part, given in ((batch.X, X), (batch.labels, labels)):
            assert part.dtype == dtype
            expected = torch.tensor(given[chosen]).to(dtype)
            torch.testing.assert_close(part, expected, rtol=0, atol=0, equal_nan=True)
    assert everything.offsets.tolist() == [0, *np.cumsum([len(one) for one in rows[::-1]])]
    if weights is not None:
        expected = torch.tensor(weights[[one[0] for one in rows][::-1]]).to(dtype)
        assert everything.weights.tolist() == expected.tolist()
    padded, marks, mask = everything.padded()
    torch.testing.assert_close(padded[mask], everything.X, equal_nan=True)
    torch.testing.assert_close(marks[mask], everything.labels, equal_nan=True)
    assert marks[~mask].isnan().all()


def read_all(data):
    """The data set, each query by itself, and all queries in one batch, in reverse order."""
    n = len(data)
    return data, [data[i] for i in range(n)], data.__getitems__(list(range(n))[::-1])


def plain(values):
    """Ids as a list of Python objects."""
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    return [one[0] if isinstance(one, list) else one for one in values]


@case("torch.QueryDataset")
def _(draw):
    return draw.pick(from_arrays, *([from_parquet] if find_spec("pyarrow") else []))(draw)


def from_arrays(draw):
    """Rows in memory."""
    n = draw.size(2, 7)
    X = draw.matrix(st.integers(-9, 9).map(float) | st.just(NAN), n, draw.size(1, 3))
    labels = draw.vector(odd.grades, n, odd.labels)
    ids = draw.some(st.integers(0, 2), n)
    groups = draw(st.just(odd.in_container(ids, draw.pick(*odd.FLAT))), odd.arrays(odd.ids, n))
    options = {"dtype": draw.of(*REALS)}
    if draw.pick(False, True):
        usual = st.just(np.array(ids) / 2 + 0.5)
        options["sample_weight"] = draw(usual, odd.arrays(ODD_WEIGHTS, n))

    def verify(found):
        weights = options.get("sample_weight")
        check_batches(
            found, np.asarray(X, dtype=np.float64), odd.as_floats(labels), plain(groups),
            None if weights is None else odd.as_floats(weights), options["dtype"],
        )  # fmt: skip

    return Call(lambda: read_all(QueryDataset(X, labels, groups, **options)), verify)


def from_parquet(draw):
    """Rows of two files."""
    import pyarrow as arrow
    import pyarrow.parquet

    n = draw.size(2, 7)
    values = (None, 0, 1, 2, -1, 2**53, 2**53 + 1)
    usual_and_odd = {
        "qid": (sorted(draw.some(st.integers(0, 3), n)), values),
        "relevance": (draw.some(st.integers(0, 3) | st.none(), n), (*values, *odd.ODD_LABELS)),
        "a": (draw.some(st.integers(-9, 9) | st.none(), n), values),
        "b": (draw.some(SCORES, n), odd.ODD_SCORES),
    }
    kinds = st.sampled_from((None, "int64", "uint64", "float64", "string", "bool", "dictionary"))
    columns = {}
    for name, (usual, others) in usual_and_odd.items():
        chosen = draw(st.just(usual), st.lists(st.sampled_from(others), min_size=n, max_size=n))
        columns[name] = column_of(arrow, chosen, draw(st.none(), kinds))
    features = draw.of(None, ["a", "b"], ["b"])
    options = {"dtype": draw.of(*REALS), "features": features} | draw.options(
        open_parts=st.integers(1, 2), relevance=st.just("relevance"), groups=st.just("qid")
    )
    cut, paths = draw.size(0, n), draw(st.none())

    def call():
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for i, (start, stop) in enumerate(((0, cut), (cut, n))):
                files.append(Path(folder) / f"{i}.parquet")
                part = {name: one[start:stop] for name, one in columns.items()}
                pyarrow.parquet.write_table(arrow.table(part), files[-1], row_group_size=2)
            return read_all(QueryDataset.from_parquet(files if paths is None else paths, **options))

    def verify(found):
        names = [features] if isinstance(features, str) else features or ["a", "b"]
        *X, labels = (
            np.array([NAN if one is None else float(one) for one in columns[name].to_pylist()])
            for name in (*names, "relevance")
        )
        ids = columns["qid"].to_pylist()
        check_batches(found, np.stack(X, axis=1), labels, ids, None, options["dtype"])

    return Call(call, verify)


def column_of(arrow, values, kind):
    """Values in a column of a type, or of the type that pyarrow chooses."""
    try:
        if kind != "dictionary":
            return arrow.array(values, kind)
        column = arrow.array(values)  # pyarrow writes no dictionary of nulls alone
        return column if column.null_count == len(column) else column.dictionary_encode()
    except (arrow.lib.ArrowException, OverflowError, TypeError):
        return arrow.array([None if one is None else float(one) for one in values])


@case("torch.keep_batch")
def _(draw):
    batch = draw(st.just("batch"))
    return Call(lambda: keep_batch(batch), lambda found: found is batch or pytest.fail("copied"))


@case("torch.QueryBatchSampler")
def _(draw):
    sizes = draw.vector(st.integers(0, 5), draw.size(0, 6), containers=odd.PLAIN)
    options = draw.options(
        max_documents=st.integers(1, 9), max_queries=st.integers(1, 4), shuffle=st.booleans(),
        random_state=st.integers(-9, 9),
    )  # fmt: skip
    world_size = draw(st.sampled_from((None, 1, 2, 3)))
    epoch = draw(st.integers(0, 3))

    def call():
        known, found = isinstance(world_size, (int, np.integer)) and world_size in (1, 2, 3), []
        for rank in range(world_size if known else 1):
            more = {} if world_size is None else {"rank": rank, "world_size": world_size}
            sampler = QueryBatchSampler(sizes, **options, **more)
            sampler.set_epoch(epoch)
            found.append(list(sampler))
            assert len(sampler) == len(found[-1])
        return found

    def verify(found):
        documents = np.asarray(sizes)
        batches = [one for turn in zip(*found, strict=True) for one in turn if one]
        queries = [query for batch in batches for query in batch]
        assert sorted(queries) == list(range(len(documents)))
        if not options.get("shuffle", True):
            assert queries == sorted(queries)
        most, places = options.get("max_documents", 4096), options.get("max_queries") or INF
        for batch in batches:
            assert len(batch) <= places
            assert len(batch) == 1 or documents[batch].sum() <= most
        for batch, following in pairwise(batches):  # the next query does not fit
            assert len(batch) == places or documents[[*batch, following[0]]].sum() > most

    return Call(call, verify)


# rankers ------------------------------------------------------------------------------------------


FIRST = np.append(True, DATA.qid[1:] != DATA.qid[:-1])  # row of each query
RELEVANT = Y.where(~FIRST, Y.clip(lower=1))  # so that any validation part has a relevant document


@case("torch.NeuralRanker")
def _(draw):
    options = {"hidden": (4,), "epochs": 1, "random_state": 0} | draw.options(
        hidden=st.sampled_from((3, (3,), [2, 2])), epochs=st.integers(1, 2),
        learning_rate=st.floats(1e-4, 0.1), weight_decay=st.floats(0, 0.1),
        dropout=st.floats(0, 0.9), batch_queries=st.integers(1, 5), standardize=st.booleans(),
        eval_metric=st.sampled_from(("gap", ["ndcg@3", "ap"])), warm_start=st.booleans(),
        validation_fraction=st.floats(0.2, 0.5), early_stopping_rounds=st.none() | st.just(1),
        unjudged=st.sampled_from(("raise", "drop", "zero")), max_queries=st.integers(5, 9),
        scoring=st.sampled_from(("gap", "ndcg@3")), device=st.just("cpu"), module=st.none(),
        progress=st.just(False), random_state=st.integers(0, 9),
    )  # fmt: skip
    objective = draw.of("gap", "ndcg", skrank.Softmax(), skrank.SoftRank("ap"))
    X, y = draw(st.just(DATA.X)), draw(st.just(RELEVANT))
    more = draw.options(sample_weight=st.just(1.0 + DATA.qid % 2), groups=st.just(DATA.qid))
    scale = draw.pick(1.0, 2.0**500, 2.0**-500)

    again = draw.pick(False, True)

    def call():
        found = NeuralRanker(objective, **options).fit(X, y, **more)
        if found.standardize:  # whatever the unit of the features
            same = NeuralRanker(objective, **options).fit(np.multiply(X, scale), y, **more)
            scores = same.predict(np.multiply(X, scale))
        else:
            scores = found.predict(X)
        return found.fit(X, y, **more) if again else found, scores

    def verify(found):
        ranker, scores = found
        epochs = options["epochs"]
        assert scores.shape == (len(DATA.X),)
        assert np.isfinite(scores).all()
        assert 1 <= ranker.best_epoch_ <= ranker.n_epochs_ <= 2 * epochs
        rows = torch.tensor(np.asarray(X), dtype=torch.float64)
        expected = ranker.module_.eval().double()(rows).detach().numpy().ravel()
        ranker.module_.float()
        np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-4, atol=1e-4)
        if ranker.n_epochs_ <= epochs and ranker.random_state is not None:
            assert scores.tolist() == ranker.predict(X).tolist()

    return Call(call, verify)
