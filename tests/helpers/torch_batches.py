"""Batches of queries in torch, and steps of losses on them.

torch is imported where it is used: tests skip where it is not installed.
"""

from itertools import pairwise

import numpy as np


def make(dtype, n_queries=9, longest=24, seed=0):
    """Scores, labels and offsets of ragged queries: one without a relevant document."""
    import torch

    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest + 1, n_queries)
    offsets = torch.from_numpy(np.append(0, np.cumsum(sizes)))
    labels = torch.tensor(rng.choice(5, size=sizes.sum(), p=[0.5, 0.2, 0.1, 0.1, 0.1])).double()
    labels[offsets[2] : offsets[3]] = 0
    return torch.tensor(rng.normal(size=sizes.sum())).to(dtype), labels, offsets


def pad(values, offsets, length, first=0):
    """Flat values as lines with NaN around them."""
    lines = values.new_full((len(offsets) - 1, length), float("nan"))
    for q, (start, stop) in enumerate(pairwise(offsets)):
        lines[q, first : first + stop - start] = values[start:stop]
    return lines


def step(loss, scores, *batch, **more):
    scores = scores.detach().clone().requires_grad_()
    value = loss(scores, *batch, **more)
    value.backward()
    return value.detach(), scores.grad


def named(objective):
    names = [type(one).__name__ + str(getattr(one, "metric", "")) for _, one in objective.terms]
    return "+".join(names)


def close(found, expected, share):
    """Assert that values differ by no more than a share of the largest expected value."""
    assert (found - expected).abs().max() <= share * expected.abs().max()
