"""Public functions with random arguments return a result or raise an error of skrank."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import skrank
from skrank import informativeness, metrics, trec
from tests.helpers import odd

SETTINGS = settings(derandomize=True, deadline=None, database=None)


def rows_of(values):
    """Names of documents, one per value, if `values` has a length."""
    size = len(values) if hasattr(values, "__len__") and getattr(values, "shape", True) else 1
    return [f"d{row}" for row in range(size)]


ARRAYS = {  # of labels, scores and queries
    "with_groups": lambda y, s, q: skrank.with_groups(y, q),
    "evaluate": lambda y, s, q: skrank.evaluate(y, s, groups=q, metrics=["ap", "ndcg@2", "bpref"]),
    "compare": lambda y, s, q: skrank.compare({"a": s, "b": y}, y, groups=q, metrics="ap"),
    "weights": lambda y, s, q: skrank.metric("ap")(y, y, groups=q, sample_weight=s),
    "eleven_point_curve": lambda y, s, q: metrics.eleven_point_curve(y, s, groups=q),
    "graded_curve": lambda y, s, q: metrics.graded_precision_recall_curve(y, s, labels="interp"),
    "lambdarank": lambda y, s, q: skrank.LambdaRank("ndcg")(y, s, groups=q),
    "QueryKFold": lambda y, s, q: list(skrank.QueryKFold(2).split(np.zeros((3, 1)), y, q)),
    "thresholds_from_clicks": lambda y, s, q: informativeness.thresholds_from_clicks(y, s, shown=q),
    "qrels": lambda y, s, q: trec.Qrels.from_arrays(q, s, y),
    "run": lambda y, s, q: trec.Run.from_arrays(q, y, s),
    "trec": lambda y, s, q: trec.evaluate(
        trec.Qrels.from_arrays(q, rows_of(y), y),
        trec.Run.from_arrays(q, rows_of(s), s),
        ["ap", "bpref", "infap"],
    ),
}


@settings(SETTINGS, max_examples=2000)
@given(st.data(), st.sampled_from(list(ARRAYS)), st.integers(1, 6))
def test_arrays(data, name, size):
    labels = data.draw(odd.arrays(odd.labels, size))
    scores = data.draw(odd.arrays(odd.scores, size))
    queries = data.draw(odd.arrays(odd.ids, size))
    found = odd.outcome(lambda: ARRAYS[name](labels, scores, queries))
    if name == "lambdarank" and not isinstance(found, Exception):
        assert np.isfinite(found).all()


FIELDS = sorted(
    (name, field)
    for name, cls in metrics.registered().items()
    for field in cls.__dataclass_fields__
)
LABELS, SCORES = [1, 0, 2, np.nan], [4.0, 3.0, 1.0, 2.0]


@settings(SETTINGS, max_examples=1500)
@given(st.sampled_from(FIELDS), odd.anything)
def test_parameters_of_metrics(field, value):
    """A metric of any parameters has a name that parses back, and a value in its range."""
    name, parameter = field
    metric = odd.outcome(lambda: skrank.metric(name, **{parameter: value}))
    if isinstance(metric, Exception):
        return
    assert skrank.metric(str(metric)) == metric
    found = odd.outcome(lambda: metric(LABELS, SCORES))
    assert isinstance(found, (float, Exception))


@settings(SETTINGS, max_examples=1000)
@given(st.text("gapndcG@10()=,.+*'[]{}: -_xé\n\0", max_size=14) | odd.anything)
def test_names_of_metrics(text):
    found = odd.outcome(lambda: skrank.metric(text))
    assert isinstance(found, (skrank.Metric, ValueError, TypeError))


@settings(SETTINGS, max_examples=500)
@given(st.data(), st.integers(0, 4), st.integers(0, 3), st.sampled_from(["mean", "and", "or"]))
def test_judgments_of_assessors(data, rows, columns, method):
    given_ = data.draw(st.lists(odd.labels, min_size=rows * columns, max_size=rows * columns))
    grades = odd.of_dtype(np.array(given_, dtype=object).reshape(rows, columns), "f8")
    found = odd.outcome(lambda: metrics.aggregate_judgments(grades, method=method))
    if isinstance(found, Exception):
        return
    for grade, row in zip(found, grades, strict=True):
        known = row[~np.isnan(row)]
        expected = {
            "mean": np.mean, "and": lambda x: min(x) >= 1, "or": lambda x: max(x) >= 1
        }[method](known) if len(known) else np.nan  # fmt: skip
        np.testing.assert_allclose(grade, expected)
