"""Time and memory of losses in PyTorch: skrank's two paths, and formulas of tensor operations.

"Plain" formulas are those of allRank, Rax and TF-Ranking on padded batches: LambdaRank and
ApproxNDCG with tensors of all pairs, softmax cross-entropy with tensors of documents. Times are
medians of forward plus backward passes, in milliseconds of processor time or of GPU events; the
losses alternate. Memory is the peak of all tensors; the workspace of the kernels, which is that of
a single query, is not included. Plain formulas that need more than --gigabytes are left out.

    python benchmarks/torch_losses.py [--queries 32 256 1024 4096] [--documents 50 120 500]
        [--repeats 7] [--threads 1] [--gigabytes 4] [--compile] [--only gap] [--devices cpu cuda]

A second table shows the share of the loss in a training step of networks with 100 features, on the
host.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, nargs="+", default=[32, 256, 1024, 4096])
    parser.add_argument("--documents", type=int, nargs="+", default=[50, 120, 500])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--gigabytes", type=float, default=4.0, help="that a plain formula may take"
    )
    parser.add_argument("--compile", action="store_true", help="also with torch.compile")
    parser.add_argument("--only", default="", help="losses with this in their name, or step")
    parser.add_argument(
        "--devices", nargs="+", default=["cpu", "cuda"], help="a GPU that is missing is left out"
    )
    return parser.parse_args()


options = parse()
os.environ["NUMBA_NUM_THREADS"] = str(options.threads)
os.environ["SKRANK_COMPILE"] = "1"  # compile also for few rows

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402

import skrank  # noqa: E402
from skrank.torch import RankingLoss  # noqa: E402

MAX_GRADE = 4
GRADES = (0.52, 0.32, 0.13, 0.02, 0.01)  # as in MSLR-WEB
WAYS = ("kernels", "native", "compiled", "plain")
BYTES = {"LambdaRank ndcg": 32, "SoftRank ndcg": 9}  # memory of plain formulas per document pair
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def ranks_of(scores: torch.Tensor) -> torch.Tensor:
    """Rank of each document, from 1."""
    order = scores.argsort(1, descending=True)
    places = torch.arange(1, scores.shape[1] + 1, device=scores.device).expand_as(order)
    return torch.zeros_like(order).scatter_(1, order, places)


def plain_lambdarank(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """LambdaRank on nDCG as in allRank's lambdaLoss, with tensors of all pairs."""
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
    """ApproxNDCG as in Rax and TF-Ranking: ranks are sums of sigmoids over all pairs."""
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
    """Losses by objective and path: "kernels", "native", "compiled" and "plain"."""
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


def peak_memory(loss: Loss, scores: torch.Tensor, labels: torch.Tensor) -> float:
    """Peak memory of tensors in MB, minus the memory before."""
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


def milliseconds(loss: Loss, scores: torch.Tensor, labels: torch.Tensor) -> float:
    """Milliseconds of processor time, or between two events on a GPU."""
    if scores.is_cuda:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        step(loss, scores, labels)
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end)
    start = time.process_time()
    step(loss, scores, labels)
    return 1e3 * (time.process_time() - start)


def measure(name: str, ways: dict[str, Loss], n_queries: int, n: int, device: str) -> None:
    """Print a line of a table."""
    rng = np.random.default_rng(0)
    grades = rng.choice(5, size=(n_queries, n), p=GRADES)
    grades[:, 0] = 1  # the plain formulas divide by the best value
    labels = torch.tensor(grades, dtype=torch.float32, device=device)
    scores = torch.randn(n_queries, n, device=device, requires_grad=True)
    needed = BYTES.get(name, 0) * n_queries * n * n / 1e9
    chosen = {
        way: loss for way, loss in ways.items() if way != "plain" or needed <= options.gigabytes
    }
    memory = {}
    for way, loss in chosen.items():
        step(loss, scores, labels)  # compiles, and fills caches
        memory[way] = f"{peak_memory(loss, scores, labels):.1f}"
    found: dict[str, list[float]] = {way: [] for way in chosen}
    for _ in range(options.repeats):
        for way, loss in chosen.items():
            found[way].append(milliseconds(loss, scores, labels))
    times = {way: f"{np.median(values):.1f}" for way, values in found.items()}
    if "plain" in ways and "plain" not in chosen:
        times["plain"], memory["plain"] = "left out", f"needs {1e3 * needed:.0f}"
    shown = [way for way in WAYS if way != "compiled" or options.compile]
    cells = [name, f"{n_queries} x {n}"]
    cells += [values.get(way, "") for values in (times, memory) for way in shown]
    print("| " + " | ".join(cells) + " |", flush=True)


def compare(device: str) -> None:
    """Print a table of all losses and sizes."""
    print(f"\non {device}, torch {torch.__version__}, {options.threads} threads\n")
    shown = [way for way in WAYS if way != "compiled" or options.compile]
    titles = ["loss", "queries x documents"]
    titles += [f"{way}, {unit}" for unit in ("ms", "MB") for way in shown]
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    for name, ways in contestants(device, options.compile).items():
        if options.only in name:
            for n_queries, n in itertools.product(options.queries, options.documents):
                measure(name, ways, n_queries, n, device)


def training_step(n_queries: int, n: int, widths: tuple[int, int]) -> None:
    """Print the share of the kernels in a training step of a network with two hidden layers."""
    X = torch.randn(n_queries * n, 100)
    labels = torch.tensor(np.random.default_rng(0).choice(5, size=n_queries * n, p=GRADES)).float()
    offsets = torch.arange(n_queries + 1) * n
    network = torch.nn.Sequential(
        torch.nn.Linear(100, widths[0]), torch.nn.ReLU(),
        torch.nn.Linear(widths[0], widths[1]), torch.nn.ReLU(),
        torch.nn.Linear(widths[1], 1),
    )  # fmt: skip
    optimizer = torch.optim.Adam(network.parameters())
    loss = RankingLoss("gap", path="kernels")
    shares = []
    for _ in range(options.repeats + 2):
        optimizer.zero_grad()
        times = [(time.process_time(), time.perf_counter())]
        scores = network(X).squeeze(1)
        times.append((time.process_time(), time.perf_counter()))
        value = loss(scores, labels, offsets)
        times.append((time.process_time(), time.perf_counter()))
        value.backward()
        optimizer.step()
        times.append((time.process_time(), time.perf_counter()))
        there, lossy, back = np.diff(times, axis=0)
        shares.append(np.append(lossy / (there + back), 1e3 * lossy))
    processor, clock, spent, _ = np.median(shares[2:], axis=0)
    print(
        f"| {n_queries} x {n} | {widths[0]}, {widths[1]} | {spent:.2f} | {processor:.1%} "
        f"| {clock:.1%} |",
        flush=True,
    )


def main() -> None:
    torch.set_num_threads(options.threads)
    for device in options.devices if options.only != "step" else []:
        if device == "cuda" and not torch.cuda.is_available():
            print("\nthere is no GPU here: nothing was measured on one")
        else:
            compare(device)
    if "cpu" not in options.devices:
        return
    print(
        f"\nWhat the loss on the kernels' path adds to the rest of a training step, "
        f"{options.threads} threads\n\n"
        "| queries x documents | hidden layers | loss, ms | of processor time | by the clock |\n"
        "|---|---|---|---|---|"
    )
    for n_queries, n in ((16, 120), (64, 120), (256, 120), (256, 50)):
        for widths in ((64, 32), (128, 64), (256, 128), (512, 256)):
            training_step(n_queries, n, widths)


if __name__ == "__main__":
    main()
