"""Training of a network, epoch by epoch, in a state that can be taken up again."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import nn

from skrank import _validation as check
from skrank.rankers._training import HeldOut
from skrank.torch._dataset import QueryDataset
from skrank.torch._loss import RankingLoss
from skrank.torch._network import rows_for, scores_of
from skrank.torch._sampler import QueryBatchSampler

_ROWS, _CELLS = 2**16, 2**24  # rows, and features in all, that are scored at a time


@dataclass
class Progress:
    """Where a training stands.

    Attributes
    ----------
    seed : int
    epoch : int
        Epochs that are done.
    last, best : weights after the last and after the best epoch
        None before the first epoch; `best` also without validation.
    optimizer : state of the optimizer
    rounds : batches that the loss has seen
    best_epoch, best_value : of the metric that is followed
    patient_from : int
        Epoch from which patience counts, where that is later than the best epoch.
    values : values per epoch, by metric
        NaN for epochs in which a metric was not measured.
    """

    seed: int
    epoch: int = 0
    last: dict[str, torch.Tensor] | None = None
    best: dict[str, torch.Tensor] | None = None
    optimizer: dict[str, Any] | None = None
    rounds: int = 0
    best_epoch: int = 0
    best_value: float | None = None
    patient_from: int = 0
    values: dict[str, list[float]] = field(default_factory=dict)


@dataclass
class NeuralTraining:
    """What one training works with.

    Attributes
    ----------
    network : module that gives each row a score
    loss : RankingLoss
    data : QueryDataset
    held_out : (features, HeldOut) or None
    batch_queries : int
    learning_rate, weight_decay : float, of Adam
    patience : epochs without improvement after which training stops, or None
    device : torch.device
    progress : bool
    """

    network: nn.Module
    loss: RankingLoss
    data: QueryDataset
    held_out: tuple[Any, HeldOut] | None
    batch_queries: int
    learning_rate: float
    weight_decay: float
    patience: int | None
    device: torch.device
    progress: bool

    def run(self, epochs: int, state: Progress) -> None:
        """Train for so many epochs more, or until the patience ends; `state` is kept up to date.

        The network ends with the best weights, or the last ones without validation, also if the
        training is interrupted.
        """
        optimizer = torch.optim.Adam(
            self.network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay
        )
        first = copy.deepcopy(self.network.state_dict())
        try:
            self._take_up(state, optimizer)
            self._train(epochs, state, optimizer)
        finally:
            self.network.load_state_dict(state.best or state.last or first)

    def _take_up(self, state: Progress, optimizer: torch.optim.Optimizer) -> None:
        """Go on where a training stands, with the rows and the options of this one."""
        if self.held_out is None:  # the best epoch of an earlier fit is no matter any more
            state.best, state.best_value, state.best_epoch = None, None, 0
        elif state.best is not None:  # which may have been measured on other rows
            self.network.load_state_dict(state.best)
            state.best_value = next(iter(self._measure().values()))
        if self._is_done(state):
            state.patient_from = state.epoch
        if state.last is not None:
            self.network.load_state_dict(state.last)
            optimizer.load_state_dict(copy.deepcopy(state.optimizer))
            for group in optimizer.param_groups:
                group.update(lr=self.learning_rate, weight_decay=self.weight_decay)
        self.loss.rounds.fill_(state.rounds)

    def _train(self, epochs: int, state: Progress, optimizer: torch.optim.Optimizer) -> None:
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
                self._epoch(sampler, optimizer)
            done = replace(
                state,
                epoch=state.epoch + 1,
                rounds=int(self.loss.rounds),
                last=copy.deepcopy(self.network.state_dict()),
                optimizer=copy.deepcopy(optimizer.state_dict()),
            )
            self._validate(done)
            vars(state).update(vars(done))  # in one step, which no interrupt divides
            if self.progress:
                self._show(state, last)

    def _epoch(self, sampler: QueryBatchSampler, optimizer: torch.optim.Optimizer) -> None:
        self.network.train()
        self.loss.train()
        for numbers in sampler:
            batch = self.data.__getitems__(numbers)
            optimizer.zero_grad()
            scores = scores_of(self.network, rows_for(self.network, batch.X).to(self.device))
            self.loss(scores, batch.labels, batch.offsets, weights=batch.weights).backward()
            optimizer.step()

    def _is_done(self, state: Progress) -> bool:
        if self.patience is None or state.best_value is None:
            return False
        return state.epoch - max(state.best_epoch, state.patient_from) >= self.patience

    def _validate(self, state: Progress) -> None:
        """Measure the held-out queries, and keep the weights if they are the best so far."""
        if self.held_out is None:
            return
        means, before = self._measure(), state.best_value
        state.values = state.values | {
            name: [*padded(state.values.get(name, []), state.epoch - 1), value]
            for name, value in means.items()
        }
        name, value = next(iter(means.items()))
        better = self.held_out[1].plans[name].metric.greater_is_better
        if before is None or (value > before if better else value < before):
            state.best_value, state.best_epoch = value, state.epoch
            state.best = state.last

    def _measure(self) -> dict[str, float]:
        """Metrics of the network on the held-out queries, by name; the first decides."""
        assert self.held_out is not None
        X, held_out = self.held_out
        means = held_out.means(predict(self.network, X, self.device))
        name, value = next(iter(means.items()))
        if math.isnan(value):
            raise ValueError(
                f"eval_metric {name} is NaN on the validation queries, and cannot decide when to "
                'stop: choose empty="skip", or another metric.'
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
    """Values per epoch, NaN where there are none."""
    return [*values, *([math.nan] * (n_epochs - len(values)))]


def predict(network: nn.Module, X: Any, device: torch.device) -> np.ndarray:
    """Finite scores of rows, some at a time."""
    network.eval()
    scores = np.empty(X.shape[0])
    step = min(_ROWS, max(1, _CELLS // X.shape[1]))
    with torch.inference_mode():
        for first in range(0, len(scores), step):
            some = X[first : first + step]
            some = np.array(some.toarray() if issparse(some) else some, dtype=np.float64)
            rows = rows_for(network, torch.from_numpy(some))
            check.check_single_precision(rows.numpy(), some, first)
            found = scores_of(network, rows.to(device)).double().cpu().numpy()
            check.check_predicted(found, first)
            scores[first : first + step] = found
    return scores


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Draw from a seed inside the block, and leave the generators of the caller as they were."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
