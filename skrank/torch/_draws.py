"""Random draws of torch by one thread, from generators of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

# Functions and methods of torch that draw, and have an argument `generator`. A mode sees
# `torch.nn.init.kaiming_uniform_`, but not the `uniform_` inside it.
_DRAWING = {
    "bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "kaiming_uniform_",
    "log_normal_", "multinomial", "normal", "normal_", "poisson", "rand", "randint", "randn",
    "random_", "randperm", "uniform_",
}  # fmt: skip


class OwnDraws(TorchFunctionMode):
    """Draws of the calling thread are a function of `rng`, whatever other threads draw.

    The generator of torch, which all threads share, is neither seeded nor advanced. Other functions
    that draw, such as `torch.randn_like`, and draws inside functions of torch, such as
    `torch.nn.AlphaDropout` and dropout in attention, still use it.
    """

    def __init__(self, rng: np.random.RandomState) -> None:
        super().__init__()
        self.rng = rng  # of NumPy: it can be pickled, and serves all devices

    def generator(self, device: torch.device | str = "cpu") -> torch.Generator:
        """A new generator."""
        return torch.Generator(device).manual_seed(int(self.rng.randint(2**31)))

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        named = dict(kwargs or {})
        if function is functional.dropout:
            return self._dropout(*args, **named)
        name = getattr(function, "__name__", "")
        if name in _DRAWING and named.get("generator") is None:
            values = (*args, *named.values(), torch.empty(0))  # the last is on the default device
            tensor = next(value for value in values if isinstance(value, torch.Tensor))
            device = torch.device(named.get("device") or tensor.device)
            if device.type != "meta":  # tensors without values
                named["generator"] = self.generator(device)
        return function(*args, **named)

    def _dropout(
        self, input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> torch.Tensor:
        if not (training and 0 < p < 1):  # nothing to draw
            return functional.dropout(input, p, training, inplace)
        kept = torch.empty_like(input)
        kept.bernoulli_(1 - p, generator=self.generator(input.device)).div_(1 - p)
        return input.mul_(kept) if inplace else input * kept
