"""Labels and scores that look swapped: errors mention it; without an error, there is a warning."""

import warnings

import numpy as np
import pytest

import skrank

SWAPPED = "relevance and scores look as if they were swapped"
RNG = np.random.default_rng(0)
GROUPS = np.repeat(np.arange(10), 6)
LABELS = RNG.integers(0, 3, 60)
MARGINS = RNG.normal(size=60)  # some below 0
CHANCES = RNG.uniform(size=60)
SHUFFLED = RNG.permutation(60)

CALLS = {
    "evaluate": lambda y, s: skrank.evaluate(y, s, groups=GROUPS, metrics="ndcg"),
    "metric": lambda y, s: skrank.metric("ndcg")(y, s, groups=GROUPS),
    "per_query": lambda y, s: skrank.metric("ndcg").per_query(y, s, groups=GROUPS),
    "function": lambda y, s: skrank.metrics.ndcg_score(y, s, groups=GROUPS),
    "with groups": lambda y, s: skrank.evaluate(skrank.with_groups(y, GROUPS), s, metrics="ndcg"),
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@every_call
def test_errors_say_that_they_look_swapped(call):
    with pytest.raises(ValueError, match=f"labels must be at least 0.*R{SWAPPED[1:]}"):
        call(MARGINS, LABELS)


@every_call
def test_swapped_arrays_without_an_error_warn(call):
    with pytest.warns(UserWarning, match=SWAPPED) as found:
        call(CHANCES, LABELS)
    assert len(found) == 1
    assert found[0].filename == __file__ or call is CALLS["metric"]


def test_objectives_and_missing_judgments():
    with pytest.raises(ValueError, match=SWAPPED[1:]):
        skrank.LambdaRank("ndcg")(MARGINS, LABELS, groups=GROUPS)
    unjudged = np.where(LABELS == 2, np.nan, LABELS)
    with pytest.raises(ValueError, match=f"score of row .* is nan.*{SWAPPED[1:]}"):
        skrank.evaluate(CHANCES, unjudged, groups=GROUPS, metrics="ndcg")
    with pytest.raises(ValueError, match=f"stands between two grades.*{SWAPPED[1:]}"):
        skrank.evaluate(CHANCES, LABELS, groups=GROUPS, metrics="gap")


@pytest.mark.parametrize(
    ("labels", "scores"),
    [
        (LABELS, MARGINS),
        (LABELS, CHANCES),
        (LABELS / 2, LABELS),  # averaged grades, and a model with few distinct predictions
        (CHANCES, CHANCES),
        (CHANCES, MARGINS),
        (CHANCES, np.zeros(60)),
        (CHANCES, -LABELS),
        (CHANCES, 100.0 * LABELS),
        (CHANCES, SHUFFLED),
        ([0.5, 1.5, 0, 2], [0, 1, 0, 2]),
    ],
    ids=map(str, range(10)),
)
def test_plausible_labels_and_scores_do_not_warn(labels, scores):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        skrank.metric("ndcg")(labels, scores)


def test_other_errors_stay_as_they_are():
    with pytest.raises(ValueError, match="label of row 0 is -1") as found:
        skrank.metric("ndcg")([-1, 0, 2], [0.3, 0.2, 0.1])
    assert "swapped" not in str(found.value)
    with pytest.raises(ValueError, match="relevance must be numbers"):
        skrank.metric("ndcg")(["a", "b"], [1, 0])
    with pytest.raises(ValueError, match="lengths must be equal"):
        skrank.metric("ndcg")(MARGINS[:3] ** 2, LABELS[:4])
