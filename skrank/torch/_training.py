"""Networks of NeuralRanker: their layers, and training that a later fit can continue."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from torch import nn

from skrank.rankers._fit import Validator
from skrank.torch._dataset import QueryDataset
from skrank.torch._loss import RankingLoss
from skrank.torch._sampler import QueryBatchSampler

StateDict: TypeAlias = dict[str, Any]  # of an optimizer of torch

_NOISE = 4  # rounding errors up to which a feature counts as constant
_ROWS, _CELLS = 2**16, 2**24  # most rows, and most entries of X, that are scored at a time
_SMALL = 100_000  # parameters of a network up to which one thread is used


class Standardize(nn.Module):
    """Subtract the mean of each feature and divide by its standard deviation.

    Constant features become 0. Means and deviations stay on the host, in double precision, which
    some devices lack.

    Parameters
    ----------
    mean, deviation : float64 Tensors of shape (n_features,)
        The deviation of a constant feature is infinite.
    """

    def __init__(self, mean: torch.Tensor, deviation: torch.Tensor) -> None:
        super().__init__()
        self.mean, self.deviation = mean, deviation

    @classmethod
    def of(cls, X: np.ndarray | csr_matrix) -> Standardize:
        """Standardization by the rows of X."""
        dense = isinstance(X, np.ndarray)
        low, high = (X.min(0), X.max(0)) if dense else min_max_axis(X, axis=0)
        low, high = low.astype(np.float64), high.astype(np.float64)
        size = np.maximum(np.abs(low), np.abs(high))
        unit = np.ldexp(1.0, np.frexp(size)[1])  # squares of X / unit do not overflow
        if isinstance(X, np.ndarray):
            scaled = X / unit
            mean, variance = scaled.mean(0), scaled.var(0)
        else:
            scaled = csr_matrix((X.data / unit[X.indices], X.indices, X.indptr), X.shape)
            mean, variance = mean_variance_axis(scaled, axis=0)
        deviation = np.sqrt(variance) * unit
        noise = _NOISE * np.finfo(X.dtype).eps * size
        deviation[(low == high) | (deviation <= noise)] = np.inf
        return cls(torch.from_numpy(mean * unit), torch.from_numpy(deviation))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Standardized features, with the shape, dtype and device of X."""
        dtype = X.dtype if X.is_floating_point() else torch.float32
        exact = (X.to("cpu", torch.float64) - self.mean) / self.deviation
        return exact.to(X.device, dtype)

    def get_extra_state(self) -> dict[str, torch.Tensor]:
        """State that is saved with the network."""
        return {"mean": self.mean, "deviation": self.deviation}

    def set_extra_state(self, state: dict[str, torch.Tensor]) -> None:
        """Restore saved state."""
        self.mean, self.deviation = state["mean"], state["deviation"]


def layers(n_features: int, hidden: tuple[int, ...], dropout: float) -> nn.Sequential:
    """Linear layers with ReLU and dropout between them, and one score as output."""
    parts: list[nn.Module] = []
    for width in hidden:
        parts += [nn.Linear(n_features, width), nn.ReLU()]
        if dropout > 0:
            parts.append(nn.Dropout(dropout))
        n_features = width
    return nn.Sequential(*parts, nn.Linear(n_features, 1))


def is_standardized(network: nn.Module) -> TypeGuard[nn.Sequential]:
    """True if the first layer of a network is Standardize."""
    return isinstance(network, nn.Sequential) and isinstance(network[0], Standardize)


def rows_for(network: nn.Module, X: torch.Tensor) -> torch.Tensor:
    """Rows in single precision, standardized on the host if the network begins with Standardize.

    Parameters
    ----------
    network : nn.Module
        Network of a NeuralRanker.
    X : float64 Tensor of shape (n_rows, n_features), on the host
    """
    return (network[0](X) if is_standardized(network) else X).to(torch.float32)


def scores_of(network: nn.Module, rows: torch.Tensor) -> torch.Tensor:
    """One score per row from `rows_for`, on the device of the network."""
    scores = (network[1] if is_standardized(network) else network)(rows)
    if not isinstance(scores, torch.Tensor) or scores.shape not in ((len(rows),), (len(rows), 1)):
        shape = tuple(scores.shape) if isinstance(scores, torch.Tensor) else type(scores).__name__
        raise ValueError(
            f"module returns {shape} for {len(rows)} rows: it must return one score per row, a "
            "Tensor of shape (n_rows,) or (n_rows, 1)."
        )
    return scores.reshape(-1)


@dataclass
class Progress:
    """State of a training, from which a later fit can continue."""

    seed: int
    epoch: int = 0  # number of completed epochs
    last: dict[str, torch.Tensor] | None = None  # weights after the last epoch
    best: dict[str, torch.Tensor] | None = None  # weights after the best epoch; None without one
    optimizer: StateDict | None = None
    best_epoch: int = 0  # by the first metric
    best_value: float | None = None
    patient_from: int = 0  # epoch from which patience counts, if later than the best epoch
    values: dict[str, list[float]] = field(default_factory=dict)  # per epoch; NaN without a value


@dataclass
class NeuralTraining:
    """Network, loss, data and options of one fit."""

    network: nn.Module
    loss: RankingLoss
    data: QueryDataset
    held_out: tuple[np.ndarray | csr_matrix, Validator] | None  # features and metrics
    batch_queries: int
    optimizer: torch.optim.Optimizer
    patience: int | None  # epochs without improvement after which training stops
    device: torch.device
    progress: bool

    def run(self, epochs: int, state: Progress) -> None:
        """Train for `epochs` more epochs, or until patience ends, and update `state`.

        At the end, and after an interrupt, the network has the best weights, or the last weights
        without validation.
        """
        first = copy.deepcopy(self.network.state_dict())
        try:
            self._resume(state)
            self._train(epochs, state)
        finally:
            self.network.load_state_dict(state.best or state.last or first)

    def _resume(self, state: Progress) -> None:
        """Restore the weights and the optimizer of `state`, with the options of this fit."""
        if self.held_out is None:  # the best epoch of an earlier fit does not count
            state.best, state.best_value, state.best_epoch = None, None, 0
        elif state.best is not None:  # its value may be that of other rows
            self.network.load_state_dict(state.best)
            state.best_value = next(iter(self._measure().values()))
        if self._is_done(state):
            state.patient_from = state.epoch
        if state.last is not None:
            assert state.optimizer is not None
            self.network.load_state_dict(state.last)
            options = {"param_groups": self.optimizer.state_dict()["param_groups"]}
            self.optimizer.load_state_dict(copy.deepcopy(state.optimizer) | options)

    def _train(self, epochs: int, state: Progress) -> None:
        sampler = QueryBatchSampler(
            self.data,
            max_documents=int(self.data.sizes.sum()),
            max_queries=self.batch_queries,
            random_state=state.seed,
            rank=0,
            world_size=1,
        )
        last = state.epoch + epochs
        while state.epoch < last and not self._is_done(state):
            with seeded((state.seed + state.epoch) % 2**63, self.device):
                sampler.set_epoch(state.epoch)
                self._epoch(sampler)
            done = replace(
                state,
                epoch=state.epoch + 1,
                last=copy.deepcopy(self.network.state_dict()),
                optimizer=copy.deepcopy(self.optimizer.state_dict()),
            )
            self._validate(done)
            vars(state).update(vars(done))  # one step, so that an interrupt cannot split it
            if self.progress:
                self._show(state, last)

    def _epoch(self, sampler: QueryBatchSampler) -> None:
        self.network.train()
        self.loss.train()
        for numbers in sampler:
            batch = self.data.__getitems__(numbers)
            self.optimizer.zero_grad()
            scores = scores_of(self.network, rows_for(self.network, batch.X).to(self.device))
            self.loss(scores, batch.labels, batch.offsets, weights=batch.weights).backward()
            self.optimizer.step()

    def _is_done(self, state: Progress) -> bool:
        if self.patience is None or state.best_value is None:
            return False
        return state.epoch - max(state.best_epoch, state.patient_from) >= self.patience

    def _validate(self, state: Progress) -> None:
        """Evaluate the held-out queries; store the weights if they are the best so far."""
        if self.held_out is None:
            return
        means, before = self._measure(), state.best_value
        state.values = state.values | {
            name: [*padded(state.values.get(name, []), state.epoch - 1), value]
            for name, value in means.items()
        }
        name, value = next(iter(means.items()))
        rising = self.held_out[1].plans[name].metric.greater_is_better
        if before is None or (value > before if rising else value < before):
            state.best_value, state.best_epoch = value, state.epoch
            state.best = state.last

    def _measure(self) -> dict[str, float]:
        """Metrics of the network on the held-out queries, by name."""
        assert self.held_out is not None
        X, held_out = self.held_out
        means = held_out.means(predict(self.network, X, self.device))
        name, value = next(iter(means.items()))
        if math.isnan(value):
            raise ValueError(
                f"eval_metric {name} is NaN on the validation queries, so that early stopping "
                'cannot use it: choose empty="skip", or another metric.'
            )
        return means

    def _show(self, state: Progress, last: int) -> None:
        text = f"\repoch {state.epoch}/{last}"
        for name, values in state.values.items():
            if len(values) == state.epoch:
                text += f"  {name} {values[-1]:.4f}"
        if state.best_value is not None:
            text += f"  (best {state.best_value:.4f} in epoch {state.best_epoch})"
        sys.stderr.write(text + ("\n" if state.epoch == last or self._is_done(state) else ""))
        sys.stderr.flush()


def padded(values: list[float], n_epochs: int) -> list[float]:
    """Values per epoch, with NaN for the missing epochs at the end."""
    return [*values, *([math.nan] * (n_epochs - len(values)))]


def predict(network: nn.Module, X: np.ndarray | csr_matrix, device: torch.device) -> np.ndarray:
    """Scores of rows, after a check that they are finite; in chunks of rows."""
    network.eval()
    scores = np.empty(X.shape[0])
    step = min(_ROWS, max(1, _CELLS // X.shape[1]))
    with torch.inference_mode():
        for first in range(0, len(scores), step):
            chunk = X[first : first + step]
            dense = chunk if isinstance(chunk, np.ndarray) else chunk.toarray()
            values = np.array(dense, dtype=np.float64)
            rows = rows_for(network, torch.from_numpy(values))
            if not rows.isfinite().all():
                row, feature = (int(one) for one in torch.nonzero(~rows.isfinite())[0])
                raise ValueError(
                    f"feature {feature} of row {first + row} of X is {values[row, feature]:g}, too "
                    "far from the training rows for single precision: look for an error in the "
                    "data, or train on such rows."
                )
            scores[first : first + step] = scores_of(network, rows.to(device)).double().cpu()
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise ValueError(
            f"the network gives row {bad[0]} of X the score {scores[bad[0]]}: its features are too "
            "far from those of the training rows, or its training has diverged. Scale the "
            "features, or lower learning_rate."
        )
    return scores


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed the generators of torch inside the block, and restore them afterwards."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


@contextmanager
def threads_for(network: nn.Module, device: torch.device) -> Iterator[None]:
    """Use one thread of torch while a small network is trained on the processor."""
    size = sum(one.numel() for one in network.parameters())
    before = torch.get_num_threads()
    if device.type == "cpu" and size <= _SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
