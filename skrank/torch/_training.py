"""Training of a network, epoch by epoch, in a state that can be taken up again."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import nn

from skrank.rankers._training import HeldOut
from skrank.torch._dataset import QueryDataset
from skrank.torch._loss import RankingLoss
from skrank.torch._sampler import QueryBatchSampler

_ROWS = 2**16  # that are scored at a time


@dataclass
class Progress:
    """Where a training stands.

    Attributes
    ----------
    seed : int
    epoch : int
        Epochs that are done.
    last, best : weights after the last and after the best epoch
    optimizer : state of the optimizer
    rounds : batches that the loss has seen
    best_epoch, best_value : of the metric that is followed; None without validation
    values : values per epoch, by metric
    """

    seed: int
    epoch: int = 0
    last: dict[str, torch.Tensor] | None = None
    best: dict[str, torch.Tensor] | None = None
    optimizer: dict[str, Any] | None = None
    rounds: int = 0
    best_epoch: int = 0
    best_value: float | None = None
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
        """Train for so many epochs more, or until the patience ends; `state` is kept up to date."""
        optimizer = torch.optim.Adam(
            self.network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay
        )
        if state.last is not None:
            self.network.load_state_dict(state.last)
            optimizer.load_state_dict(copy.deepcopy(state.optimizer))
            for group in optimizer.param_groups:  # as they are set now
                group.update(lr=self.learning_rate, weight_decay=self.weight_decay)
        self.loss.rounds.fill_(state.rounds)
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
            state.epoch += 1
            state.rounds = int(self.loss.rounds)
            state.last = _copy(self.network)
            state.optimizer = copy.deepcopy(optimizer.state_dict())
            self._validate(state)
            if self.progress:
                self._show(state, last)
        self.network.load_state_dict(state.best or state.last or self.network.state_dict())

    def _epoch(self, sampler: QueryBatchSampler, optimizer: torch.optim.Optimizer) -> None:
        self.network.train()
        self.loss.train()
        for numbers in sampler:
            batch = self.data.__getitems__(numbers).to(self.device)
            optimizer.zero_grad()
            scores = self.network(batch.X).reshape(-1)
            self.loss(scores, batch.labels, batch.offsets, weights=batch.weights).backward()
            optimizer.step()

    def _is_done(self, state: Progress) -> bool:
        if self.patience is None or state.best_value is None:
            return False
        return state.epoch - state.best_epoch >= self.patience

    def _validate(self, state: Progress) -> None:
        """Measure the held-out queries, and keep the weights if they are the best so far."""
        if self.held_out is None:
            return
        X, held_out = self.held_out
        means = held_out.means(predict(self.network, X, self.device))
        for name, value in means.items():
            state.values.setdefault(name, []).append(value)
        name, value = next(iter(means.items()))
        better = held_out.plans[name].metric.greater_is_better
        before = state.best_value
        if before is None or (value > before if better else value < before):
            state.best_value, state.best_epoch = value, state.epoch
            state.best = state.last

    def _show(self, state: Progress, last: int) -> None:
        text = f"\repoch {state.epoch}/{last}"
        for name, values in state.values.items():
            text += f"  {name} {values[-1]:.4f}"
        if state.best_value is not None:
            text += f"  (best {state.best_value:.4f} in epoch {state.best_epoch})"
        sys.stderr.write(text + ("\n" if state.epoch == last or self._is_done(state) else ""))
        sys.stderr.flush()


def predict(network: nn.Module, X: Any, device: torch.device) -> np.ndarray:
    """Scores of rows, some at a time."""
    network.eval()
    scores = np.empty(X.shape[0])
    with torch.inference_mode():
        for first in range(0, len(scores), _ROWS):
            some = X[first : first + _ROWS]
            some = some.toarray() if issparse(some) else some
            rows = torch.tensor(np.asarray(some), dtype=torch.float32, device=device)
            scores[first : first + _ROWS] = network(rows).reshape(-1).double().cpu().numpy()
    return scores


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Draw from a seed inside the block, and leave the generators of the caller as they were."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def _copy(network: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}
