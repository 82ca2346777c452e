"""A user's metric in ten lines works in every tool, and check_metric finds mistakes."""

from dataclasses import dataclass

import numpy as np
import pytest

import skrank
from skrank.extending import QuadraticTables, discounts
from skrank.testing import check_metric, make_lists


@dataclass(frozen=True, kw_only=True)
class SquareRank(skrank.Metric):
    """Sum of labels / rank^2, divided by the highest possible sum."""

    @property
    def ideal_cutoff(self):
        return self.k

    def tables(self, scale, k):
        return QuadraticTables(scale.labels, discounts(lambda r: r**-2, scale.longest, k))


@pytest.fixture(autouse=True, scope="module")
def registered():
    """Registered for one test only, since other tests go through all registered names."""
    skrank.register("square_rank", "sqr")(SquareRank)
    yield
    skrank.unregister("sqr")
    with pytest.raises(ValueError, match="'square_rank'"):
        skrank.metric("square_rank")


def definition(ranked, unretrieved=(), k=None):
    def total(labels):
        shown = labels if k is None else labels[:k]
        return sum((label or 0) / rank**2 for rank, label in enumerate(shown, start=1))

    best = total(sorted((label or 0 for label in [*ranked, *unretrieved]), reverse=True))
    return total(ranked) / best if best else None


def test_it_has_all_properties():
    held = check_metric("square_rank", definition)
    assert len(held) == 13
    assert set(held) ^ set(check_metric("square_rank")) == {DEFINITION, IDEAL}
    assert held == check_metric("sqr@2", definition)
    assert held == check_metric(SquareRank(ties="stable", empty="raise"), definition)


def test_lists_without_a_score_are_refused():
    with pytest.raises(ValueError, match="levels=0"):
        make_lists(0, levels=0)


def broken(**changes):
    """SquareRank with a mistake."""
    cls = type("Broken", (SquareRank,), {"__module__": __name__, **changes})
    return dataclass(frozen=True, kw_only=True)(cls)()


def sees_rows(self, scale, k):
    """Weights depend on the number of rows of all queries."""
    return QuadraticTables(scale.labels, np.full(scale.longest, 1 / len(scale.judgments.codes)))


def prefers_low_grades(self, scale, k):
    gain = np.divide(1, scale.labels, out=np.zeros(len(scale.labels)), where=scale.labels > 0)
    return QuadraticTables(gain, discounts(lambda r: 1 / r, scale.longest, k))


NOT_NORMALISED = {"ideal_cutoff": property(lambda self: 0)}
WHOLE_LIST = {"ideal_cutoff": property(lambda self: None)}
PLAIN = NOT_NORMALISED | {"value_range": (0, np.inf)}


def forgets_k(self, scale, k):
    return QuadraticTables(scale.labels, discounts(lambda r: r**-3, scale.longest, None))


DEFINITION = "values equal the definition"
RANGE = "values are in the range"
IDEAL = "cutoffs cut the ideal list"


@pytest.mark.parametrize(
    ("changes", "known", "message"),
    [
        ({"tables": forgets_k}, definition, DEFINITION),
        ({"tables": forgets_k}, None, "ranks below a cutoff do not count"),
        (WHOLE_LIST, definition, DEFINITION),
        (WHOLE_LIST, lambda ranked, unretrieved=(): definition(ranked, unretrieved), IDEAL),
        ({"ideal_cutoff": None}, None, IDEAL),
        (NOT_NORMALISED, None, RANGE),
        ({}, lambda *lists, **more: definition(*lists, **more) or 0, "(?s:.)*return None"),
        ({"tables": prefers_low_grades, **PLAIN}, None, "ideal lists are best"),
        ({"tables": sees_rows, "reads_judgments": True, **PLAIN}, None, "ties count as the mean"),
        ({"value_range": (0.5, 1)}, None, RANGE),
        ({"orderless": True}, None, "all orders have one value"),
        ({"__eq__": lambda self, other: self is other}, None, "copies are equal"),
    ],
)
def test_mistakes_are_found(changes, known, message):
    with pytest.raises(AssertionError, match=f"Broken does not hold: {message}"):
        check_metric(broken(**changes), known)
