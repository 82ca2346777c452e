"""RankingLoss: what a network is trained on."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn

from skrank import _validation as check
from skrank.metrics import Metric
from skrank.objectives import Objective, as_objective
from skrank.torch._batch import Batch, query_weights
from skrank.torch._kernel_path import kernel_losses
from skrank.torch._native import native_losses, refusal
from skrank.torch._ranks import check_group, n_ranks, total_over
from skrank.torch._tensors import can_look, check_is_tensor

PATHS = ("auto", "kernels", "native")
REDUCTIONS = ("mean", "sum", "none")


class RankingLoss(nn.Module):
    r"""A loss over queries: any objective of skrank, on any metric that it can train on.

    Scores come in either of two layouts: flat, ``(rows,)`` with the offsets of the queries, or
    padded, ``(queries, documents)``, with a mask or with labels NaN where there is no document. A
    document whose label is NaN is left out: it is padding, or was not judged.

    Parameters
    ----------
    objective : str, Metric or Objective
        A metric, which stands for `skrank.LambdaRank` on it, or LambdaRank, LambdaLoss, SoftRank,
        Softmax, SquaredError, or a mixture of them.
    max_grade : int, optional
        Highest grade of the collection. Metrics such as ERR need it, for a batch does not tell it;
        with it, the native path reads no label on the host.
    reduction : {"mean", "sum", "none"}
        Of the losses of the queries: their mean by weight, their sum, or one loss per query.
        Queries without a document do not count.
    path : {"auto", "kernels", "native"}
        "kernels": compiled loops on the host, whatever the objective; memory grows with the number
        of documents, not of pairs. "native": operations of torch on the device of the scores, for
        SoftRank by moments, LambdaRank on sums over documents and pairs such as GAP, AP and nDCG,
        Softmax and SquaredError, and labels that are whole numbers; others, such as Q-measure,
        R-precision and ERR, are refused. "auto": kernels for scores on the host; on a device native
        where there is such a form, else kernels.
    process_group : torch.distributed process group, optional
        Where a process group is initialised, the mean is over the queries of all its processes, in
        training mode: the value of each process is such that `DistributedDataParallel`, which
        averages over processes, gives the gradient of that mean. Default: the default group. All
        processes must call the loss equally often; one without a query contributes nothing.

    Attributes
    ----------
    objective : Objective
    rounds : int64 Tensor of shape ()
        Calls in training mode: what is drawn anew each round depends on it.

    Raises
    ------
    ValueError
        If the objective cannot be trained on batches, or has no such path. In a call: if shapes or
        offsets do not fit, a score is NaN or infinite, or a label is negative or above the scale.
        (On a device values are checked by assertions there.)

    Notes
    -----
    Gradients are those of the objective's kernels. SoftRank, Softmax and SquaredError are
    functions, and their value is the loss: for SoftRank one less the smooth metric. LambdaRank and
    LambdaLoss, which hold the weights of pairs fixed, are the gradients of no function: their value
    is the sum of the sizes of the pulls at pairs over `sigmoid`, ``log2(1 + S) / 2`` in place of
    ``S / 2`` with `sum_norm`. It falls as pairs come into the right order, and its gradient in
    torch is LambdaRank's, not the slope of the value.

    Reckoning is in single precision, for double scores in double, and autocast is left aside;
    gradients have the type of the scores. There are no second derivatives.

    Examples
    --------
    >>> import torch
    >>> from skrank.torch import RankingLoss
    >>> scores = torch.tensor([0.3, 0.2, 0.1, 0.5, 0.4], requires_grad=True)
    >>> loss = RankingLoss("gap")(scores, torch.tensor([0, 2, 1, 0, 1]), torch.tensor([0, 3, 5]))
    >>> loss.backward()
    >>> scores.grad.sum().abs().item() < 1e-6
    True
    """

    rounds: torch.Tensor

    def __init__(
        self,
        objective: str | Metric | Objective,
        *,
        max_grade: int | None = None,
        reduction: str = "mean",
        path: str = "auto",
        process_group: Any = None,
    ) -> None:
        super().__init__()
        self.max_grade = check.check_max_grade(max_grade)
        self.reduction = check.check_choice("reduction", reduction, REDUCTIONS)
        self.path = check.check_choice("path", path, PATHS)
        self.process_group = check_group(process_group)
        self.objective = _prepared(as_objective(objective), self.max_grade)
        self._refusal = refusal(self.objective)
        if self.path == "native" and self._refusal:
            raise ValueError(f'no native path: {self._refusal}. Use path="kernels".')
        self.register_buffer("rounds", torch.zeros((), dtype=torch.int64))

    def extra_repr(self) -> str:
        """What the loss shows of itself."""
        return f"{self.objective}, reduction={self.reduction!r}, path={self.path!r}"

    def forward(
        self,
        scores: torch.Tensor,
        labels: torch.Tensor,
        offsets: torch.Tensor | None = None,
        *,
        mask: torch.Tensor | None = None,
        weights: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The loss of a batch of whole queries.

        Parameters
        ----------
        scores : Tensor of shape (n_rows,) or (n_queries, n_documents)
        labels : Tensor of the same shape
            At least 0; NaN = padding, or not judged: left out.
        offsets : int Tensor of shape (n_queries + 1,), for flat rows
            First row of each query, and the end. Best kept on the host.
        mask : bool Tensor of the shape of padded `scores`, optional
            Where there is a document. Default: where there is a label.
        weights : Tensor of shape (n_queries,), optional
            Weight of each query, from 0 to 1e15.

        Returns
        -------
        Tensor of shape (), or (n_queries,) without a reduction
        """
        check_is_tensor(scores)
        if torch.compiler.is_compiling() and _leaves_graph(scores.device):
            return _outside_of_graph(self, scores, labels, offsets, mask=mask, weights=weights)
        with torch.no_grad(), _full_precision(scores.device):
            batch = Batch(scores, labels, offsets, mask)
            losses, gradient = self._losses(batch)
            weight = self._weight(batch, weights)
            if self.training:
                self.rounds.add_(1)
            gradient *= batch.spread(weight) if isinstance(weight, torch.Tensor) else weight
            value = losses * weight
            row_query = None
            if self.reduction != "none":
                value = value.sum()
            elif batch.flat:
                row_query = batch.row_query
        return _WithGradient.apply(scores, value, gradient, row_query)

    def _weight(self, batch: Batch, weights: torch.Tensor | None) -> torch.Tensor | float:
        """What each query counts for, or all alike, where the others are known to have no rows."""
        mean, dtype = self.reduction == "mean", batch.scores.dtype
        if weights is None and batch.whole:
            return self._shares(1.0, batch.n_filled) if mean else 1.0
        weight = (batch.sizes > 0).to(dtype)
        if weights is not None:
            weight = weight * query_weights(weights, batch, check.HEAVIEST_QUERY)
        return (self._shares(weight, weight.sum()) if mean else weight).to(dtype)

    def _losses(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss of each query, and gradient in the layout of the scores."""
        self._check_scale(batch)
        if batch.scores.numel() == 0:
            return batch.scores.new_zeros(len(batch)), torch.zeros_like(batch.scores)
        native = self.path == "native" or (self.path == "auto" and batch.device.type != "cpu")
        if not native or self._refusal:
            return kernel_losses(self.objective, batch, self.max_grade, self.rounds)
        return native_losses(self.objective, batch, self.max_grade, self.rounds)

    def _check_scale(self, batch: Batch) -> None:
        """Labels at most the highest grade."""
        if self.max_grade is None or batch.labels.numel() == 0:
            return
        if batch.whole and batch.extremes[1] <= self.max_grade:
            return
        above = (batch.labels > self.max_grade) & batch.kept
        if torch.compiler.is_compiling() or batch.device.type != "cpu":
            torch._assert_async(~above.any(), "a label is above max_grade")
        elif above.any():
            raise check.label_above_scale(float(batch.labels[above][0]), self.max_grade)

    def _shares(self, weight: Any, total: torch.Tensor | int) -> Any:
        """What weights count for in the mean, `total` being their sum in this process."""
        ranks = n_ranks(self.process_group) if self.training else 1
        if ranks > 1:  # in one type for all processes
            total = torch.as_tensor(total, dtype=torch.float64)
            total = total_over(total, self.process_group)
        if isinstance(total, torch.Tensor) and not can_look(total.device):
            return torch.where(total > 0, weight / total * ranks, torch.zeros_like(weight))
        total = float(total)
        # divided first: one over the sum of tiny weights is infinite
        return weight / total * ranks if total > 0 else weight * 0.0


def _full_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Where autocast is left aside."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


class _WithGradient(torch.autograd.Function):
    """A value, or values per query, whose gradient is known."""

    @staticmethod
    def forward(
        ctx: Any,
        scores: torch.Tensor,
        values: torch.Tensor,
        gradient: torch.Tensor,
        row_query: torch.Tensor | None,
    ) -> torch.Tensor:
        ctx.save_for_backward(gradient, row_query)
        ctx.dtype = scores.dtype
        return values.clone()

    @staticmethod
    def backward(ctx: Any, slope: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        gradient, row_query = ctx.saved_tensors
        if slope.ndim:
            slope = slope[:, None] if row_query is None else slope[row_query]
        return (gradient * slope).to(ctx.dtype), None, None, None


def _prepared(objective: Objective, max_grade: int | None) -> Objective:
    """The objective on its scale, if batches can be trained on."""
    for _, one in objective.terms:
        if one.takes_positions:
            raise ValueError(
                f"{type(one).__name__} learns about positions from round to round over one data "
                "set, and batches change: train on the objective inside it."
            )
        needy = one.needs_scale or getattr(one, "metric", one).needs_scale
        if needy and max_grade is None:
            raise check.needs_max_grade(getattr(one, "metric", type(one).__name__))
    return objective if max_grade is None else objective.on_scale(max_grade)


def _leaves_graph(device: torch.device) -> bool:
    """Whether a loss is quicker outside of what is compiled: on the host, where it looks at data.

    There it sorts, and meets pairs that count, by what the batch is like, which no graph does.
    """
    return device.type == "cpu"


@torch.compiler.disable
def _outside_of_graph(loss: RankingLoss, *arguments: Any, **others: Any) -> torch.Tensor:
    return loss.forward(*arguments, **others)
