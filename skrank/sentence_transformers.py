"""Losses and metrics of skrank for training cross-encoders with sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    from sentence_transformers.base.evaluation import BaseEvaluator
    from sentence_transformers.util import batch_to_device
except ImportError as error:
    raise ImportError(
        "skrank.sentence_transformers needs sentence-transformers 6 or later, which is not "
        "installed: pip install sentence-transformers"
    ) from error
import torch
from torch import nn

from skrank import _validation as check
from skrank.evaluation import evaluate
from skrank.extending import unique_metrics
from skrank.metrics import Metric
from skrank.objectives import Objective
from skrank.torch import RankingLoss

__all__ = ["CrossEncoderEvaluator", "CrossEncoderLoss"]


class CrossEncoderLoss(nn.Module):
    """Loss for ``CrossEncoderTrainer`` from any objective of skrank, on one list per query.

    The training data has a column of queries, a column of lists of documents, and a column of lists
    of labels, as for the ``LambdaLoss`` of sentence-transformers.

    Parameters
    ----------
    model : CrossEncoder
        With one output.
    objective : str, Metric or Objective
        See `skrank.torch.RankingLoss`.
    max_grade : int, optional
        Highest grade of the collection. Metrics such as ERR need it.
    path : {"auto", "kernels", "native"}
        See `skrank.torch.RankingLoss`.
    """

    def __init__(
        self,
        model: Any,
        objective: str | Metric | Objective,
        *,
        max_grade: int | None = None,
        path: str = "auto",
    ) -> None:
        super().__init__()
        if model.num_labels != 1:
            raise ValueError(f"the model has {model.num_labels} outputs: choose num_labels=1.")
        self.model = model
        self.ranking_loss = RankingLoss(objective, max_grade=max_grade, path=path)

    def forward(
        self,
        inputs: list[Any],
        labels: list[torch.Tensor],
        prompt: str | None = None,
        task: str | None = None,
    ) -> torch.Tensor:
        """The loss of a batch of queries, each with a list of documents.

        Parameters
        ----------
        inputs : list of (list of str, list of list of str)
            Queries, and the documents of each.
        labels : list of Tensor
            Labels of the documents of each query; NaN = left out.
        prompt, task : str, optional
            Passed to the preprocessing of the model.

        Returns
        -------
        Tensor of shape ()
        """
        if isinstance(labels, torch.Tensor) or len(inputs) != 2:
            raise ValueError("the 3 columns must be queries, lists of documents, lists of labels.")
        queries, documents = inputs
        pairs, sizes = _pairs(queries, documents, labels)
        tokens = self.model.preprocess(pairs, prompt=prompt, task=task)
        scores = self.model(batch_to_device(tokens, self.model.device))["scores"].view(-1)
        return self.ranking_loss(scores, torch.cat(list(labels)), np.append(0, np.cumsum(sizes)))

    def get_config_dict(self) -> dict[str, str]:
        """Parameters for the model card."""
        return {"objective": str(self.ranking_loss.objective)}


class CrossEncoderEvaluator(BaseEvaluator):
    """The argument ``evaluator`` of ``CrossEncoderTrainer``, with metrics of skrank.

    Parameters
    ----------
    queries : sequence of str
    documents : sequence of sequences of str
        The documents of each query.
    labels : sequence of sequences of numbers
        The labels of these documents, at least 0; NaN = not judged.
    metrics : str, Metric or sequence of these
        The first metric decides which checkpoint is best.
    name : str
        Prefix of the names of the metrics.
    batch_size : int
        Number of pairs of a query and a document that the model scores at once.

    Attributes
    ----------
    primary_metric : str
    greater_is_better : bool

    Examples
    --------
    >>> evaluator = CrossEncoderEvaluator(["q"], [["d1", "d2"]], [[1, 0]], ["ndcg@10", "gap"])
    >>> evaluator.primary_metric
    'ndcg@10'
    """

    def __init__(
        self,
        queries: Sequence[str],
        documents: Sequence[Sequence[str]],
        labels: Sequence[Sequence[float]],
        metrics: str | Metric | Sequence[str | Metric] = "ndcg@10",
        *,
        name: str = "",
        batch_size: int = 32,
    ) -> None:
        super().__init__()
        self.metrics = unique_metrics(metrics)
        self.pairs, sizes = _pairs(queries, documents, labels)
        self.labels = np.concatenate(labels, dtype=np.float64)
        self.groups = np.repeat(np.arange(len(queries)), sizes)
        self.name = name
        self.batch_size = check.check_count("batch_size", batch_size, "pairs scored at once")
        first, metric = next(iter(self.metrics.items()))
        self.primary_metric = f"{name}_{first}" if name else first
        self.greater_is_better = metric.greater_is_better

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Score all pairs and measure the rankings.

        Parameters
        ----------
        model : CrossEncoder
        output_path : ignored
        epoch, steps : int
            Stored with the values in the card of the model.

        Returns
        -------
        dict of str to float
        """
        scores = model.predict(self.pairs, batch_size=self.batch_size, show_progress_bar=False)
        metrics = list(self.metrics.values())
        report = evaluate(self.labels, scores, groups=self.groups, metrics=metrics)
        means = dict(zip(self.metrics, report.averages[0].tolist(), strict=True))
        values: dict[str, float] = self.prefix_name_to_metrics(means, self.name)
        self.store_metrics_in_model_card_data(model, values, epoch, steps)
        return values


def _pairs(
    queries: Sequence[str], documents: Sequence[Sequence[str]], labels: Sequence[Any]
) -> tuple[list[tuple[str, str]], list[int]]:
    """All pairs of a query and a document, and the number of documents of each query."""
    sizes, n_labels = list(map(len, documents)), list(map(len, labels))
    if len(queries) != len(sizes) or sizes != n_labels:
        raise ValueError(
            f"there are {len(queries)} queries, documents of sizes {sizes[:9]} and labels of sizes "
            f"{n_labels[:9]}: give a label for each document of each query."
        )
    by_query = zip(queries, documents, strict=True)
    return [(query, document) for query, texts in by_query for document in texts], sizes
