"""Cross-encoders of sentence-transformers, trained and measured with skrank on small texts."""

import math

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")

import torch
from datasets import Dataset
from sentence_transformers.cross_encoder import (
    CrossEncoder,
    CrossEncoderTrainer,
    CrossEncoderTrainingArguments,
)
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

import skrank
from skrank import sentence_transformers as ours
from skrank.torch import RankingLoss

WORDS = ["apple", "banana", "cherry", "grape", "lemon", "melon", "peach", "plum", "red", "green",
         "small", "large"]  # fmt: skip
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


@pytest.fixture
def model(tmp_path):
    torch.manual_seed(0)
    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(SPECIAL + WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )  # fmt: skip
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", model_max_length=32,
    )  # fmt: skip
    config = BertConfig(
        vocab_size=len(SPECIAL + WORDS), hidden_size=32, num_hidden_layers=2, num_labels=1,
        num_attention_heads=2, intermediate_size=64, max_position_embeddings=32,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    fast.save_pretrained(tmp_path / "model")
    BertForSequenceClassification(config).save_pretrained(tmp_path / "model")
    return CrossEncoder(str(tmp_path / "model"), device="cpu")


def texts(n_queries=40, seed=0):
    rng = np.random.default_rng(seed)
    rows = {"query": [], "docs": [], "labels": []}
    for _ in range(n_queries):
        documents = [rng.choice(WORDS, 3, replace=False) for _ in range(rng.integers(4, 8))]
        rows["query"].append(str(rng.choice(WORDS)))
        rows["docs"].append([" ".join(one) for one in documents])
        rows["labels"].append([int(np.isin(one, WORDS[8:]).sum()) for one in documents])
    return rows


def columns(rows):
    return rows["query"], rows["docs"], rows["labels"]


@pytest.mark.parametrize("objective", ["gap", skrank.Softmax(), skrank.SoftRank("ndcg")])
def test_the_loss_is_that_of_the_scores(model, objective):
    queries, documents, labels = columns(texts(5))
    loss = ours.CrossEncoderLoss(model, objective)
    found = loss([queries, documents], [torch.tensor(of) for of in labels])
    pairs = [(query, one) for query, of in zip(queries, documents, strict=True) for one in of]
    scores = model.predict(pairs, activation_fn=torch.nn.Identity(), convert_to_tensor=True)
    offsets = torch.tensor(np.cumsum([0, *map(len, labels)]))
    flat = torch.tensor([label for of in labels for label in of], dtype=torch.float32)
    expected = RankingLoss(objective)(scores, flat, offsets)
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    found.backward()
    assert any(one.grad is not None and one.grad.abs().sum() > 0 for one in model.parameters())
    with pytest.raises(ValueError, match="label for each"):
        loss([["a", "b"], [["c"], ["d"]]], [torch.tensor([1]), torch.tensor([1, 0])])


def test_the_evaluator_measures_what_the_model_predicts(model):
    queries, documents, labels = columns(texts(10, seed=1))
    labels[0][0] = math.nan
    judged = ours.CrossEncoderEvaluator(queries, documents, labels, ["gap(max_grade=3)", "ndcg@3"])
    found = judged(model)
    scores = np.concatenate([
        model.predict([(query, one) for one in of])
        for query, of in zip(queries, documents, strict=True)
    ])  # fmt: skip
    groups = np.repeat(np.arange(10), list(map(len, documents)))
    flat = [label for of in labels for label in of]
    mean = skrank.evaluate(flat, scores, groups=groups, metrics=["gap(max_grade=3)", "ndcg@3"]).mean
    assert found == pytest.approx(mean.loc["scores"].to_dict(), abs=1e-6)
    with pytest.raises(ValueError, match="label for each"):
        ours.CrossEncoderEvaluator(["a"], [["b"]], [[1, 0]])


def test_a_cross_encoder_learns(model, tmp_path):
    valid = texts(30, seed=2)
    judged = ours.CrossEncoderEvaluator(*columns(valid), ["ndcg@5", "ap"], name="valid")
    before = judged(model)["valid_ndcg@5"]
    trainer = CrossEncoderTrainer(
        model=model,
        args=CrossEncoderTrainingArguments(
            output_dir=str(tmp_path / "out"), num_train_epochs=6, learning_rate=3e-3,
            per_device_train_batch_size=16, eval_strategy="epoch", save_strategy="epoch",
            load_best_model_at_end=True, metric_for_best_model="eval_valid_ndcg@5",
            report_to=[], disable_tqdm=True, seed=0, save_total_limit=1, use_cpu=True,
        ),
        train_dataset=Dataset.from_dict(texts(200)),
        loss=ours.CrossEncoderLoss(model, "ndcg@5"),
        evaluator=judged,
    )  # fmt: skip
    trainer.train()
    after = judged(model)["valid_ndcg@5"]
    logged = [
        row["eval_valid_ndcg@5"] for row in trainer.state.log_history if "eval_valid_ndcg@5" in row
    ]
    assert after == pytest.approx(max(logged), abs=1e-6)
    assert after > before + 0.1
