"""Training of a network, epoch by epoch, from a state that a later fit can continue."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import nn

from skrank.rankers._fit import Validator
from skrank.torch._checks import are_finite
from skrank.torch._dataset import QueryDataset
from skrank.torch._loss import RankingLoss
from skrank.torch._network import rows_for, scores_of
from skrank.torch._sampler import QueryBatchSampler

StateDict: TypeAlias = dict[str, Any]  # of an optimizer of torch

_ROWS, _CELLS = 2**16, 2**24  # most rows, and most entries of X, that are scored at a time
_SMALL = 100_000  # parameters of a network up to which one thread is used


@dataclass
class Progress:
    """State of a training, from which a later fit can continue."""

    seed: int
    epoch: int = 0  # number of completed epochs
    last: dict[str, torch.Tensor] | None = None  # weights after the last epoch
    best: dict[str, torch.Tensor] | None = None  # weights after the best epoch; None without one
    optimizer: StateDict | None = None
    rounds: int = 0  # number of batches that the loss has seen
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
        self.loss.rounds.fill_(state.rounds)

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
                rounds=int(self.loss.rounds),
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
            _check_rows(rows.numpy(), values, first)
            found = scores_of(network, rows.to(device)).double().cpu().numpy()
            _check_scores(found, first)
            scores[first : first + step] = found
    return scores


def _check_rows(rows: np.ndarray, values: np.ndarray, first_row: int) -> None:
    """Check that the input `rows` of a network, made from the features `values`, are finite."""
    if are_finite(rows):
        return
    row, feature = np.argwhere(~np.isfinite(rows))[0]
    raise ValueError(
        f"feature {feature} of row {first_row + row} of X is {values[row, feature]:g}, too far "
        "from the training rows for single precision: look for an error in the data, or train on "
        "such rows."
    )


def _check_scores(scores: np.ndarray, first_row: int) -> None:
    """Check that the scores of a network are finite."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise ValueError(
            f"the network gives row {first_row + bad[0]} of X the score {scores[bad[0]]}: its "
            "features are too far from those of the training rows, or its training has diverged. "
            "Scale the features, or lower learning_rate."
        )


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
