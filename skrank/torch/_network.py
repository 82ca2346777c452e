"""The networks of NeuralRanker."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis
from torch import nn


class Standardize(nn.Module):
    """Features less their mean, in units of their standard deviation; constant ones become 0."""

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, mean: np.ndarray, deviation: np.ndarray) -> None:
        super().__init__()
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        self.register_buffer("scale", torch.tensor(scale, dtype=torch.float32))

    @classmethod
    def of(cls, X: Any) -> Standardize:
        """Standardize by the rows of X, dense or sparse."""
        if issparse(X):
            mean, variance = mean_variance_axis(X, axis=0)
        else:
            mean, variance = X.mean(0, dtype=np.float64), X.var(0, dtype=np.float64)
        tiny = 1e-12 * np.square(mean)  # the rounding of a constant
        return cls(mean, np.sqrt(np.where(variance > tiny, variance, 0.0)))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Standardized features, of the shape of X."""
        return (X - self.mean) * self.scale


def layers(n_features: int, hidden: tuple[int, ...], dropout: float) -> nn.Sequential:
    """Linear layers with ReLU and dropout between them, and one score at the end."""
    parts: list[nn.Module] = []
    for width in hidden:
        parts += [nn.Linear(n_features, width), nn.ReLU()]
        if dropout > 0:
            parts.append(nn.Dropout(dropout))
        n_features = width
    return nn.Sequential(*parts, nn.Linear(n_features, 1))
