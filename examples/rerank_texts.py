"""Rerank texts: a small cross-encoder trained on GAP with PyTorch.

The texts are generated: questions about towns, and sentences that answer a
question fully (grade 2), in part (grade 1) or not at all. The input of the
network is the words of a question and a sentence, so the network can learn
which words match. Training batches are padded to the shape (queries, documents,
words); padded documents have the label NaN.

    python examples/rerank_texts.py [--epochs 8] [--objective gap]

For a cross-encoder of sentence-transformers, replace two things: `encode` by
its tokenizer, and `CrossEncoder` by the model, which gives a score per pair of
texts. The loss stays:

    features = tokenizer(questions, sentences, padding=True, truncation=True,
    return_tensors="pt") scores = model(**features).logits.squeeze(-1)
    # (n_pairs,) loss = RankingLoss("gap")(scores, labels, offsets)          #
    offsets: first pair of each query
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

import skrank
from skrank.torch import RankingLoss

TOWNS = [
    "Arlon",
    "Brevin",
    "Calder",
    "Dornum",
    "Elsted",
    "Farsund",
    "Hamra",
    "Ivrea",
    "Kalmar",
]
SUBJECTS = {
    "eat": "restaurant bakery market kitchen",
    "sleep": "hotel hostel inn pension",
    "see": "castle museum bridge garden",
    "swim": "lake beach pool river",
    "read": "library bookshop archive cafe",
}
FILLERS = [
    "old",
    "small",
    "famous",
    "quiet",
    "large",
    "new",
    "northern",
    "lovely",
    "busy",
]
WORDS = 10  # padded number of words of a question and a sentence


class Query(NamedTuple):
    """A question, sentences, and a grade for each."""

    question: str
    sentences: list[str]
    grades: list[int]


def make_query(rng: np.random.Generator) -> Query:
    """A question, and sentences that match its subject and town: grade = number
    of matches."""
    town, other = rng.choice(TOWNS, 2, replace=False)
    subject, off = rng.choice(list(SUBJECTS), 2, replace=False)
    sentences, grades = [], []
    for _ in range(rng.integers(8, 16)):
        right_subject, right_town = rng.random(2) < (0.35, 0.35)
        thing = rng.choice(SUBJECTS[subject if right_subject else off].split())
        place = town if right_town else other
        sentences.append(f"the {rng.choice(FILLERS)} {thing} of {place}")
        grades.append(int(right_subject) + int(right_town))
    return Query(f"where to {subject} in {town}", sentences, grades)


def vocabulary() -> dict[str, int]:
    """Index of each word, from 1; 0 is padding."""
    things = " ".join(SUBJECTS.values()).split()
    known = [
        *TOWNS,
        *SUBJECTS,
        *things,
        *FILLERS,
        "where",
        "to",
        "in",
        "the",
        "of",
    ]
    return {word: number for number, word in enumerate(known, start=1)}


def encode(query: Query, numbers: dict[str, int]) -> torch.Tensor:
    """Indices of the words of the question and each sentence, of shape
    (n_sentences, WORDS)."""
    lines = torch.zeros(len(query.sentences), WORDS, dtype=torch.int64)
    for line, sentence in zip(lines, query.sentences, strict=True):
        words = f"{query.question} {sentence}".split()
        line[: len(words)] = torch.tensor([numbers[word] for word in words])
    return lines


class CrossEncoder(nn.Module):
    """One layer of attention over the words of a question and a sentence."""

    def __init__(self, n_words: int, width: int = 32) -> None:
        super().__init__()
        self.words = nn.Embedding(n_words + 1, width, padding_idx=0)
        self.places = nn.Parameter(0.1 * torch.randn(WORDS, width))
        self.layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.0, batch_first=True
        )
        self.score = nn.Linear(width, 1)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Score of each pair of texts: (n_pairs, WORDS) -> (n_pairs,)."""
        inner = self.layer(
            self.words(words) + self.places, src_key_padding_mask=words == 0
        )
        there = (words != 0).unsqueeze(-1)
        return self.score((inner * there).sum(1) / there.sum(1)).squeeze(-1)


def pad(
    queries: list[Query], numbers: dict[str, int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Words of shape (n_queries, n_documents, WORDS), and labels; NaN for
    padded documents."""
    longest = max(len(query.grades) for query in queries)
    words = torch.ones(len(queries), longest, WORDS, dtype=torch.int64)
    labels = torch.full((len(queries), longest), float("nan"))
    for i, query in enumerate(queries):
        words[i, : len(query.grades)] = encode(query, numbers)
        labels[i, : len(query.grades)] = torch.tensor(
            query.grades, dtype=torch.float32
        )
    return words, labels


def score(model: nn.Module, words: torch.Tensor) -> torch.Tensor:
    """Scores of padded pairs."""
    return model(words.flatten(0, 1)).view(words.shape[:2])


def evaluate(
    model: nn.Module, words: torch.Tensor, labels: torch.Tensor
) -> dict[str, float]:
    """Metrics on held-out queries."""
    with torch.inference_mode():
        scores = score(model, words)
    present = ~labels.isnan()
    queries = torch.arange(len(labels))[:, None].expand_as(labels)
    report = skrank.evaluate(
        labels[present].numpy(),
        scores[present].numpy(),
        groups=queries[present].numpy(),
        metrics=["gap", "ndcg@5", "p@1"],
    )
    return report.mean.loc["scores"].to_dict()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument(
        "--objective", default="gap", help="a metric to train on"
    )
    parser.add_argument("--queries", type=int, default=400)
    options = parser.parse_args()
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    numbers = vocabulary()
    train = [make_query(rng) for _ in range(options.queries)]
    held_out = pad([make_query(rng) for _ in range(100)], numbers)
    model = CrossEncoder(len(numbers))
    loss = RankingLoss(options.objective)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    print("untrained", evaluate(model, *held_out))
    for epoch in range(1, options.epochs + 1):
        order = rng.permutation(len(train))
        for first in range(0, len(order), 16):
            words, labels = pad(
                [train[i] for i in order[first : first + 16]], numbers
            )
            optimizer.zero_grad()
            loss(score(model, words), labels).backward()
            optimizer.step()
        print(f"epoch {epoch}", evaluate(model, *held_out), flush=True)
    query = make_query(rng)
    with torch.inference_mode():
        ranked = model(encode(query, numbers)).argsort(descending=True)
    print(f"\n{query.question}?")
    for number in ranked[:5].tolist():
        print(f"  grade {query.grades[number]}: {query.sentences[number]}")


if __name__ == "__main__":
    main()
