"""Losses and metrics of skrank for training cross-encoders with sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

try:
    from sentence_transformers.base.evaluation import BaseEvaluator
except ImportError as error:
    raise ImportError(
        "skrank.sentence_transformers needs sentence-transformers 6 or later, which is not "
        "installed: pip install sentence-transformers"
    ) from error
import torch
from torch import nn

from skrank import _validation as check
from skrank._engine.names import unique_metrics
from skrank.evaluation import evaluate
from skrank.metrics import Metric
from skrank.objectives import Objective
from skrank.torch import RankingLoss


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
            raise ValueError(
                "the data must have 3 columns: queries, lists of documents and lists of labels."
            )
        queries, documents = inputs
        sizes = _checked_sizes(documents, labels)
        pairs = _pairs(queries, documents)
        tokens = self.model.preprocess(pairs, prompt=prompt, task=task)
        device = self.model.device
        on_device = {
            name: value.to(device) if isinstance(value, torch.Tensor) else value
            for name, value in tokens.items()
        }
        scores = self.model(on_device)["scores"].view(-1)
        offsets = torch.tensor([0, *accumulate(sizes)])
        return self.ranking_loss(scores, torch.cat(list(labels)).to(scores), offsets)

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
        chosen = unique_metrics(metrics)
        if not len(queries) == len(documents) == len(labels) > 0:
            raise ValueError(
                f"there are {len(queries)} queries, {len(documents)} lists of documents and "
                f"{len(labels)} lists of labels: give as many of each, and at least 1."
            )
        sizes = _checked_sizes(documents, labels)
        self.pairs = _pairs(queries, documents)
        self.labels = np.array([label for some in labels for label in some], dtype=np.float64)
        self.groups = np.repeat(np.arange(len(queries)), sizes)
        self.metrics = chosen
        self.name = name
        self.batch_size = check.check_count("batch_size", batch_size, "pairs scored at once")
        first, metric = next(iter(chosen.items()))
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
        report = evaluate(
            self.labels, scores, groups=self.groups, metrics=list(self.metrics.values())
        )
        means = dict(zip(report.metric_of, report.averages[0].tolist(), strict=True))
        values: dict[str, float] = self.prefix_name_to_metrics(means, self.name)
        self.store_metrics_in_model_card_data(model, values, epoch, steps)
        return values


def _pairs(queries: Sequence[str], documents: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    return [(query, one) for query, some in zip(queries, documents, strict=True) for one in some]


def _checked_sizes(documents: Sequence[Sequence[str]], labels: Sequence[Any]) -> list[int]:
    """Number of documents of each query."""
    sizes = [len(some) for some in documents]
    for query, (size, given) in enumerate(zip(sizes, labels, strict=True)):
        if size != len(given):
            raise ValueError(f"query {query} has {size} documents and {len(given)} labels.")
    return sizes
