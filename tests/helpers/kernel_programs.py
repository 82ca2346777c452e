"""Programs that drive every family of kernels, and print the numbers that they give.

    NUMBA_DISABLE_JIT=1 python -m tests.helpers.kernel_programs values

Lists have ties, unjudged and unretrieved documents, and queries of one document or without relevant
documents. Long lists run code that short lists do not. Without compilation, each program takes some
seconds.
"""

import json
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import skrank
from skrank import informativeness, trec
from skrank.active import label_moments
from skrank.metrics import registered
from skrank.objectives import Objective
from tests.helpers.engine import judge

SIZES = [1, 2, 19, 3, 9]


def lists(sizes):
    """Query ids, and labels with scores: distinct, with ties, not judged, not retrieved.

    Query 3 has nothing relevant; the scores of query 5 are equal.
    """
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    grades = rng.choice(5, len(groups), p=[0.5, 0.3, 0.1, 0.05, 0.05]) * 1.0
    grades[groups == 3] = 0
    scores = rng.normal(size=len(groups))
    tied = np.where(groups == 5, 0.0, scores.round(1))
    judged = np.where(rng.random(len(groups)) < 0.8, grades, np.nan)
    shown = np.where(rng.random(len(groups)) < 0.8, tied, -np.inf)
    return groups, [(grades, scores), (grades, tied), (judged, tied), (judged, shown)]


def short_lists():
    """Labels, scores with ties, and query ids."""
    groups, [_, (labels, scores), *_] = lists(SIZES)
    return np.minimum(labels, 3), scores, groups


def refused(call: Callable[[], object], number: str) -> list[float]:
    """The number in the message of the error of a call, such as that of a row."""
    try:
        call()
    except ValueError as error:
        return [float(re.search(number.replace("N", r"(\d+)"), str(error)).group(1))]
    raise AssertionError("no error")


# values -------------------------------------------------------------------------------------------


def values():
    """Every family of metrics, with ties averaged and broken."""
    groups, [*_, (judged, shown)] = lists(SIZES)
    names = [*registered(), "gap@3", "gap(condensed=True)", "bpref(variant=n)", "0.5*gap+0.5*err"]
    found = []
    for name in names:
        for ties in ("average", "worst", "best"):
            try:
                metric = skrank.metric(name, ties=ties)
                found += metric.per_query(judged, shown, groups=groups).fillna(-1).tolist()
            except ValueError:  # refuses these labels, or ties
                continue
    for name in ("iprec", "infap"):  # ties among documents that are alike, and others
        metric = skrank.metric(name)
        found += metric.per_query([2, 2, 0, 0], [2, 2, 1, 1]).tolist()
        found += refused(lambda one=metric: one([1, 1, 0], [2, 1, 1], groups=[4, 5, 5]), "query N:")
    found.append(skrank.metric("rr")([0, 0, 1, 1], [2, 2, 1, 1]))
    found.append(skrank.metric("dcg", gain="linear")([2.5, 0, 1], [3, 2, 1]))
    return found


def long_lists():
    """Lists that are not sorted by counting, first ranks, and long blocks of ties."""
    rng = np.random.default_rng(1)
    labels, scores = rng.choice(4, 700) * 1.0, rng.normal(size=700).round(2)
    judged = np.where(rng.random(700) < 0.9, labels, np.nan)
    found = [skrank.metric(name)(judged, scores) for name in ("ndcg", "gap", "bpref")]
    metrics, groups = ["ndcg@2", "err@3"], np.zeros(700)
    for one in (scores, np.sign(scores), np.where(labels == 3, -np.inf, scores), labels * 0):
        found += skrank.evaluate(labels, one, groups=groups, metrics=metrics).mean.tolist()
        found.append(skrank.metric("gap", ties="worst")(labels, one))
    found.append(skrank.metric("err", max_grade=4)(np.full(9, 4), np.zeros(9)))
    return found


# gradients ----------------------------------------------------------------------------------------


def descents(objective: Objective, labels, groups, scores, precision) -> list[float]:
    """Gradients and curvatures of the last of three rounds."""
    bound = objective.bind(judge(labels, groups), max_grade=3)
    out = np.zeros((2, len(labels)), precision)
    for factor in (1, -1, -1):  # sorting starts from the order of the round before
        bound.gradient(factor * scores, *out)
    return out.ravel().tolist()


def gradients(precision=np.float32):
    """Every objective, with scores near together and far apart."""
    labels, scores, groups = short_lists()
    found = []
    for objective in (
        skrank.LambdaRank("gap"), skrank.LambdaRank("err", truncation_level=4),
        skrank.LambdaRank("0.5*gap+0.5*ndcg", perturbations=2, pairs="adjacent"),
        skrank.LambdaRank("err", pairs="adjacent"), skrank.LambdaLoss("ndcg@5"),
        skrank.LambdaRank("gap", truncation_level=1),
        skrank.UnbiasedLambdaRank("ndcg", truncation_level=1),
        skrank.SoftRank("gap"), skrank.SoftRank("ndcg"),
        skrank.SoftRank("gap", relative=True), skrank.SoftRank("ndcg@5", form="distribution"),
        skrank.SquaredError(), skrank.SquaredError(centered=True),
        skrank.Softmax(), skrank.Softmax(random_gains=True),
    ):  # fmt: skip
        for width in (1.0, 500.0):
            found += descents(objective, labels, groups, width * scores, precision)
    bound, out = skrank.LambdaRank("gap").bind(judge(labels, groups)), np.zeros((2, len(labels)))
    found += refused(lambda: bound.gradient(np.where(labels == 3, np.nan, scores), *out), "row N")
    return found


def double_gradients():
    """`gradients` in double precision, which takes long to compile."""
    return gradients(np.float64)


def soft_values():
    """Values of SoftRank, and gradients of a list with more pairs than are cached."""
    labels, scores, groups = short_lists()
    found = []
    for objective in (
        skrank.SoftRank("ap"), skrank.SoftRank("ndcg"),
        skrank.SoftRank("ndcg@5", form="distribution"),
    ):  # fmt: skip
        found.append(objective.value(labels, scores, groups=groups))
    rng = np.random.default_rng(2)
    labels, scores = np.where(np.arange(366) < 3, 0.0, 1.0), rng.normal(size=366)
    out = np.zeros((2, len(labels)))
    skrank.SoftRank("ndcg").bind(judge(labels, None)).gradient(scores, *out)
    return [*found, *out.ravel().tolist()]


# distributions and files --------------------------------------------------------------------------


def distributions():
    """Moments under random labels, and the most random labels under which a metric has a value."""
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, 6)).round(1)
    one[1] = two[4] = -np.inf
    groups = np.array([0, 0, 0, 0, 0, 1])
    chances = rng.dirichlet(np.ones(3), 6)
    found = []
    for name in ("dcg@3", "err(max_grade=2)", "ap@2", "gap(max_grade=2)"):
        for other in (None, two) if name in ("dcg@3", "err(max_grade=2)") else (None,):
            options = {"other": other, "label_model": chances}
            moments = label_moments(name, one, groups, **options)
            found += [*moments.first, *moments.second, *moments.mass]
    for name, value, counts, n_ranks in (
        ("gap(thresholds=[.4,.6])", 0.75, [2, 2], 8),
        ("dcg", 4.0, [2, 2], 8),
        ("ap", 0.999, [2], 8),
        ("gap(thresholds=[.4,.6])", 0.35, [1, 3], 30),
        ("ndcg", 1.0, [3, 1], 12),
        ("ap", 0.05, [4], 60),
        ("ap", 1.0, [6], 6),
        ("dcg", 9.3927, [1, 1, 1], 40),
    ):
        spread = informativeness.maximum_entropy(name, value, counts, n_ranks)
        actual = np.repeat(np.arange(len(counts) + 1), [n_ranks - sum(counts), *counts])[::-1]
        found += [spread.entropy, spread.error(actual), *spread.probabilities.ravel()]
    return found


def files():
    """TREC files: long names and numbers, comments, ties ordered by name, missing queries."""
    queries = ("q0", "q1", "q10", "q2")
    judged = "".join(f"{q} 0 d{j} {(i + j) % 3}\n" for i, q in enumerate(queries) for j in range(7))
    names = [f"d{j}" for j in range(2, 9)] + ["d", "doc", "a-longer-name", "a-longer-name-2"]
    numbers = [
        "0.5", "-1.25e0", "+3", "12345678901234567", "0.12345678901234567",
        "1234567890123456789", "1234567890.123456789012345", "7", "7", "7.000", "7.",
    ]  # fmt: skip
    rows = [
        f"{query} Q0 {name} 0 {numbers[(i * j + j) % len(numbers)]} tag\n"
        for i, query in enumerate(queries[:3])
        for j, name in enumerate(names)
    ]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder) / "qrels", Path(folder) / "run"
        qrels.write_text(judged)
        more = "".join(row.replace("tag", "tag a b c d e f g") for row in rows)
        for text in ("".join(rows), "# a comment\n" + "".join(rows), more):
            run.write_text(text)
            report = trec.evaluate(qrels, run, ["gap", "ap", "ndcg@3"])
            found += np.ravel(report.mean).tolist() + np.ravel(report.per_query).tolist()
            found += trec.read_run(run, precision="double").scores.tolist()
        for wrong in (
            [*rows, "q9 Q0 d 0 1\n"],
            [*rows[:3], "q0 Q0 x 0\n", "1 tag\n", *rows[3:]],
            [*rows, rows[2]],
        ):
            run.write_text("".join(wrong))
            found += refused(lambda: trec.read_run(run), "line N")
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps([number for name in sys.argv[1:] for number in globals()[name]()]))
