"""Time and memory of losses in torch: skrank's two paths against formulas written plainly.

The plain formulas are those that allRank, Rax and TF-Ranking have, on padded batches: LambdaRank
and ApproxNDCG as tensors of all pairs, softmax cross-entropy as tensors of documents. Each is timed
forward and backward, interleaved with the others, as the median of processor seconds, and of
seconds by the clock. Memory is the peak of what tensors hold; the kernels' own is that of a query.

    python benchmarks/torch_losses.py [--queries 32 256 1024] [--documents 50 120 500]
        [--repeats 7] [--threads 1] [--compile] [--device cuda]

It goes on to what the kernels add to a training step of a network of 100 features.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

import skrank
from skrank.torch import RankingLoss

MAX_GRADE = 4
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def ranks_of(scores: torch.Tensor) -> torch.Tensor:
    """Rank of each document, from 1."""
    order = scores.argsort(1, descending=True)
    places = torch.arange(1, scores.shape[1] + 1, device=scores.device).expand_as(order)
    return torch.zeros_like(order).scatter_(1, order, places)


def plain_lambdarank(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """LambdaRank on nDCG as allRank's lambdaLoss has it: tensors of all pairs."""
    gain = torch.exp2(labels) - 1
    ranks = torch.arange(1, scores.shape[1] + 1, device=scores.device)
    best = (gain.sort(1, descending=True).values / torch.log2(1.0 + ranks)).sum(1)
    gain = gain / best[:, None]
    discount = 1 / torch.log2(1.0 + ranks_of(scores.detach()))
    apart = (discount[:, :, None] - discount[:, None]).abs()
    weight = (gain[:, :, None] - gain[:, None]).abs() * apart
    pairs = labels[:, :, None] > labels[:, None]
    cost = torch.nn.functional.softplus(scores[:, None] - scores[:, :, None])
    return (weight * cost)[pairs].sum() / len(scores)


def plain_approx_ndcg(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """ApproxNDCG as Rax and TF-Ranking have it: ranks as sums of sigmoids of all pairs."""
    gain = torch.exp2(labels) - 1
    ranks = torch.arange(1, scores.shape[1] + 1, device=scores.device)
    best = (gain.sort(1, descending=True).values / torch.log2(1.0 + ranks)).sum(1)
    rank = 0.5 + torch.sigmoid(scores[:, None] - scores[:, :, None]).sum(2)
    return 1 - ((gain / torch.log2(1 + rank)).sum(1) / best).mean()


def plain_softmax(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of softmax."""
    gain = torch.exp2(labels) - 1
    share = gain / gain.sum(1, keepdim=True)
    return -(share * torch.log_softmax(scores, 1)).sum(1).mean()


def contestants(device: str, compiled: bool) -> dict[str, dict[str, Loss]]:
    """Losses by objective: skrank's kernels and native paths, and the plain formula."""
    objectives = {
        "LambdaRank gap": skrank.LambdaRank("gap"),
        "LambdaRank ndcg": skrank.LambdaRank("ndcg", norm=False),
        "SoftRank gap": skrank.SoftRank("gap"),
        "SoftRank ndcg": skrank.SoftRank("ndcg"),
        "Softmax": skrank.Softmax(),
    }
    plain = {
        "LambdaRank ndcg": plain_lambdarank,
        "SoftRank ndcg": plain_approx_ndcg,
        "Softmax": plain_softmax,
    }
    found: dict[str, dict[str, Loss]] = {}
    for name, objective in objectives.items():
        ways = {
            path: RankingLoss(objective, max_grade=MAX_GRADE, path=path).to(device)
            for path in ("kernels", "native")
        }
        if compiled:
            ways["compiled"] = torch.compile(ways["native"])
        if name in plain:
            ways["plain"] = plain[name]
        found[name] = ways
    return found


def step(loss: Loss, scores: torch.Tensor, labels: torch.Tensor) -> None:
    """Forward and backward."""
    scores.grad = None
    loss(scores, labels).backward()
    if scores.is_cuda:
        torch.cuda.synchronize()


def peak_memory(loss: Loss, scores: torch.Tensor, labels: torch.Tensor) -> float:
    """Peak of what tensors hold, in MB, beyond what is there before."""
    if scores.is_cuda:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step(loss, scores, labels)
        return (torch.cuda.max_memory_allocated() - before) / 1e6
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        step(loss, scores, labels)
    held, peak = 0, 0
    for event in record.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak / 1e6


def measure(ways: dict[str, Loss], n_queries: int, n: int, repeats: int, device: str) -> None:
    """Print a line per way."""
    rng = np.random.default_rng(0)
    grades = rng.choice(5, size=(n_queries, n), p=[0.52, 0.32, 0.13, 0.02, 0.01])
    grades[:, 0] = 1  # the plain formulas divide by the best value
    labels = torch.tensor(grades, dtype=torch.float32, device=device)
    scores = torch.randn(n_queries, n, device=device, requires_grad=True)
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    memory = {}
    for name, loss in ways.items():
        step(loss, scores, labels)
        memory[name] = peak_memory(loss, scores, labels)
    for _ in range(repeats):
        for name, loss in ways.items():
            clock, processor = time.perf_counter(), time.process_time()
            step(loss, scores, labels)
            seconds[name].append((time.process_time() - processor, time.perf_counter() - clock))
    base = None
    for name, pairs in seconds.items():
        processor, clock = np.median(pairs, axis=0) * 1e3
        base = base or processor
        print(
            f"    {name:9} {processor:9.2f} ms of processor  {clock:9.2f} ms by the clock  "
            f"x{processor / base:6.2f}  {memory[name]:9.1f} MB",
            flush=True,
        )


def training_step(n_queries: int, n: int, repeats: int, widths: tuple[int, int]) -> None:
    """What the kernels add to a step of a network with 100 features and two hidden layers."""
    X = torch.randn(n_queries * n, 100)
    labels = torch.randint(0, 5, (n_queries * n,)).float()
    offsets = torch.arange(n_queries + 1) * n
    network = torch.nn.Sequential(
        torch.nn.Linear(100, widths[0]), torch.nn.ReLU(),
        torch.nn.Linear(widths[0], widths[1]), torch.nn.ReLU(),
        torch.nn.Linear(widths[1], 1),
    )  # fmt: skip
    optimizer = torch.optim.Adam(network.parameters())
    loss = RankingLoss("gap", path="kernels")
    shares = []
    for _ in range(repeats + 1):
        optimizer.zero_grad()
        start = time.process_time()
        scores = network(X).squeeze(1)
        before = time.process_time()
        value = loss(scores, labels, offsets)
        after = time.process_time()
        value.backward()
        optimizer.step()
        end = time.process_time()
        shares.append((after - before) / (end - start - (after - before)))
    print(
        f"    layers of {widths[0]} and {widths[1]}: the loss adds {np.median(shares[1:]):.1%} to "
        "the rest of the step"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, nargs="+", default=[32, 256, 1024, 4096])
    parser.add_argument("--documents", type=int, nargs="+", default=[50, 120, 500])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--most-pairs", type=float, default=3e8, help="skip larger batches")
    parser.add_argument("--compile", action="store_true", help="also with torch.compile")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    devices = ["cpu"]
    if torch.cuda.is_available():
        devices.append("cuda")
    for device in devices:
        print(f"on {device}, torch {torch.__version__}, {options.threads} threads")
        for name, ways in contestants(device, options.compile).items():
            for n_queries, n in itertools.product(options.queries, options.documents):
                if n_queries * n * n <= options.most_pairs:
                    print(f"  {name}, {n_queries} queries of {n} documents")
                    measure(ways, n_queries, n, options.repeats, device)
    if len(devices) == 1:
        print("there is no GPU here: nothing was measured on one")
    print("  training step, 256 queries of 120 documents")
    for widths in ((64, 32), (256, 128), (512, 256)):
        training_step(256, 120, options.repeats, widths)


if __name__ == "__main__":
    main()
