"""Networks of NeuralRanker, and the standardization of their features."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from torch import nn

_NOISE = 4  # rounding errors up to which a feature counts as constant


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
