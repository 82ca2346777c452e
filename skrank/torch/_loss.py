"""RankingLoss: any objective of skrank as a loss of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import distributed, nn
from torch.autograd.function import once_differentiable

from skrank import _validation as check
from skrank.extending import plain_up_to
from skrank.metrics import Metric
from skrank.objectives import LambdaRank, Objective, Softmax, SoftRank, as_objective
from skrank.torch._batch import Batch, Values
from skrank.torch._native import Terms, native_losses, why_no_native_path

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


class RankingLoss(nn.Module):
    r"""A loss over queries: any objective of skrank, on any metric that it can train on.

    Scores come in either of two layouts: flat, ``(rows,)`` with the offsets of the queries, or
    padded, ``(queries, documents)``, with a mask or with labels NaN where there is no document. A
    document whose label is NaN is left out, as padding or not judged.

    Parameters
    ----------
    objective : str, Metric or Objective
        A metric, which is short for `skrank.LambdaRank` on this metric; or LambdaRank, LambdaLoss,
        SoftRank, Softmax, SquaredError, or a mixture of them; or a text such as
        ``"softrank:ndcg"``.
    max_grade : int, optional
        Highest grade of the collection. Metrics such as ERR need it, as a batch may lack the
        highest grade.
    reduction : {"mean", "sum", "none"}
        Weighted mean of the losses of the queries, their weighted sum, or one loss per query.
        Queries without documents do not count.
    path : {"auto", "kernels", "native"}
        How the loss is computed:

        - "kernels": compiled loops on the host, for all objectives. Memory grows with the number
          of documents.
        - "native": tensor operations on the device of the scores, with tensors of all pairs of
          documents, in blocks of queries. For Softmax, SquaredError, SoftRank by moments, and
          LambdaRank on sums over documents and pairs, such as GAP, AP and nDCG. Other objectives,
          such as LambdaRank on Q-measure, R-precision and ERR, are refused. Labels, offsets and
          weights are read on the host, and are best left there.
        - "auto": "kernels" for scores on the host. For scores on a device, "native" if the
          objective has this path, else "kernels".
    process_group : torch.distributed process group, optional
        The processes whose queries the mean is over, in training mode, if torch.distributed is
        initialised. The average over processes of their gradients, which
        `DistributedDataParallel` computes, is the gradient of this mean. All processes must call
        the loss equally often; a batch may be empty. Default: the default group.

    Attributes
    ----------
    objective : Objective

    Raises
    ------
    ValueError
        If the objective cannot be trained on batches, or does not have the path. In a call: if
        shapes or offsets do not fit, a score is NaN or infinite, a label is negative, infinite or
        above `max_grade`, or a weight is not allowed. The native path does not read scores from a
        device, as reading would wait for the device: if one is NaN or infinite there, the loss and
        its gradients are NaN.

    Notes
    -----
    A loss and its gradient are functions of scores, labels and the seed of the objective: random
    draws, such as the order of ties, depend on the scores. Without draws, both paths have the same
    gradients. For SoftRank, Softmax and SquaredError, the loss is the
    value of the function whose gradient is computed; for SoftRank, it is one minus the smooth
    metric. LambdaRank and LambdaLoss treat the weights of pairs as constants, so that their
    gradients are not the gradients of a function. The loss of LambdaRank is ``S / (2 sigmoid)``,
    with S the sum of the absolute values of all gradients of pairs of a query; with `norm` True or
    "sum", ``log2(1 + S)`` replaces S. The loss of LambdaLoss, and of objectives of users, is half
    the sum of the absolute gradients of the documents. Both may rise while the metric improves, as
    the weights of pairs change with the ranks: watch a metric. Their gradients in torch are those
    of the objective, not the derivatives of the values.

    The loss is computed in single precision, for double scores in double precision, with and
    without autocast; gradients have the dtype of the scores. There are no second derivatives.

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

    def __init__(
        self,
        objective: str | Metric | Objective,
        *,
        max_grade: int | None = None,
        reduction: str = "mean",
        path: str = "auto",
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__()
        self.max_grade = check.check_max_grade(max_grade)
        self.reduction = check.check_choice("reduction", reduction, ("mean", "sum", "none"))
        self.path = check.check_choice("path", path, ("auto", "kernels", "native"))
        self.process_group = process_group
        self.objective = _prepared(as_objective(objective), self.max_grade)
        self._without_native = why_no_native_path(self.objective, self.max_grade)
        if self.path == "native" and self._without_native:
            raise ValueError(f'no native path: {self._without_native}. Use path="kernels".')

    def extra_repr(self) -> str:
        """Parameters that ``repr`` shows."""
        return f"{self.objective}, reduction={self.reduction!r}, path={self.path!r}"

    @torch.compiler.disable
    def forward(
        self,
        scores: torch.Tensor,
        labels: Values,
        offsets: Values | None = None,
        *,
        mask: Values | None = None,
        weights: Values | None = None,
    ) -> torch.Tensor:
        """The loss of a batch of whole queries.

        Parameters
        ----------
        scores : Tensor of shape (n_rows,) or (n_queries, n_documents)
        labels : Tensor or array-like of the same shape
            At least 0; NaN = left out, as padding or not judged.
        offsets : int Tensor or array-like of shape (n_queries + 1,), for flat rows
            First row of each query, and the number of rows.
        mask : bool Tensor or array-like of the shape of padded `scores`, optional
            Where there is a document. Default: where there is a label.
        weights : Tensor or array-like of shape (n_queries,), optional
            Weight of each query, from 0 to 1e15.

        Returns
        -------
        Tensor of shape (), or (n_queries,) without a reduction
        """
        # compiled for few rows, too: a training calls the loss for each batch
        with torch.no_grad(), plain_up_to(-1):
            batch = Batch(scores, labels, offsets, mask, max_grade=self.max_grade)
            on_device = batch.device.type != "cpu"
            weight = batch.put(self._weight(batch, weights))
            value = batch.scores.new_zeros(len(batch))
            gradient = torch.zeros_like(batch.scores)
            if len(batch.labels):
                native = self.path == "native" or (self.path == "auto" and on_device)
                compute = native_losses if native and not self._without_native else kernel_losses
                losses, slopes = compute(self.objective.terms, batch, self.max_grade)
                value[batch.put(np.flatnonzero(batch.filled))] = losses
                if on_device:
                    weight = weight.masked_fill(~batch.scores.isfinite().all(), torch.nan)
                value, gradient = value * weight, slopes * batch.spread(weight)
            if self.reduction != "none":
                value = value.sum()
        return _WithGradient.apply(scores, value, gradient, batch)

    def _weight(self, batch: Batch, weights: Values | None) -> np.ndarray:
        """Factor of the loss of each query, (n_queries,)."""
        weight = batch.filled.astype(np.float64)
        if weights is not None:
            weight *= batch.weights(weights)
        if self.reduction == "mean":
            total, n_processes = self._over_processes(float(weight.sum()), batch.device)
            if total > 0:
                weight = weight / total * n_processes  # one over the sum may be infinite
        return weight

    def _over_processes(self, number: float, device: torch.device) -> tuple[float, int]:
        """Sum of a number over the processes that train together, and how many these are."""
        together = self.training and distributed.is_available() and distributed.is_initialized()
        n_processes = distributed.get_world_size(self.process_group) if together else 1
        if n_processes <= 1:  # -1 if this process is not in the group
            return number, 1
        total = torch.tensor(number, dtype=torch.float64, device=device)
        distributed.all_reduce(total, group=self.process_group)
        return total.item(), n_processes


class _WithGradient(torch.autograd.Function):
    """A value, or one value per query, with a gradient that is computed already."""

    @staticmethod
    def forward(
        ctx: Any, scores: torch.Tensor, values: torch.Tensor, gradient: torch.Tensor, batch: Batch
    ) -> torch.Tensor:
        ctx.save_for_backward(gradient)
        ctx.batch, ctx.dtype = batch, scores.dtype
        return values.clone()  # callers may divide it in place: torch refuses that for an input

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        if slope.ndim:
            slope = ctx.batch.spread(slope)
        return ctx.batch.unpacked(gradient * slope).to(ctx.dtype), None, None, None


def _prepared(objective: Objective, max_grade: int | None) -> Objective:
    """The objective with the highest grade `max_grade`; raises if it needs one."""
    for _, term in objective.terms:
        if max_grade is None and (term.needs_scale or getattr(term, "metric", term).needs_scale):
            who = getattr(term, "metric", type(term).__name__)
            raise ValueError(f"{who} needs max_grade, such as max_grade=4: a batch may lack it.")
    return objective if max_grade is None else objective.on_scale(max_grade)


def kernel_losses(
    terms: Terms, batch: Batch, max_grade: int | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss of each query with documents, and gradient of each document, from compiled loops.

    Losses are defined in `RankingLoss`, Notes.
    """
    real = np.float64 if batch.scores.dtype == torch.float64 else np.float32
    scores, judgments = batch.scores.double().numpy(force=True), batch.judgments
    losses: np.ndarray = np.zeros(len(judgments.queries), real)
    total: np.ndarray = np.zeros(len(scores), real)
    grad, hess = np.zeros((2, len(scores)), real)
    for weight, term in terms:
        bound: Any = term.bind(judgments, max_grade=max_grade)
        # with random gains or a relative sigma, the loss is a value, but not `is_function`
        if term.is_function or isinstance(term, (Softmax, SoftRank)):
            value = bound.losses(scores, grad, hess)
        else:
            bound.gradient(scores, grad, hess)
            if isinstance(term, LambdaRank):
                pairs = np.log2(1.0 + bound.totals) if bound.sum_norm else bound.totals
                value = pairs / (2.0 * term.sigmoid)
            else:
                absolute = np.abs(grad, dtype=np.float64)
                value = 0.5 * np.add.reduceat(absolute, judgments.indptr[:-1])
        losses += weight * value
        total += weight * grad
    return batch.put(losses), batch.put(total)
