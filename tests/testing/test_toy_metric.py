"""A user's metric in ten lines works in every tool, and check_metric finds mistakes."""

import importlib
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import skrank
from skrank.extending import QuadraticTables, discounts
from skrank.testing import check_metric, make_ranking


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
    with pytest.raises(ValueError, match="unknown metric 'square_rank'"):
        skrank.metric("square_rank")


def definition(ranked, unretrieved=(), k=None):
    def total(labels):
        shown = labels if k is None else labels[:k]
        return sum((label or 0) / rank**2 for rank, label in enumerate(shown, start=1))

    best = total(sorted((label or 0 for label in [*ranked, *unretrieved]), reverse=True))
    return total(ranked) / best if best else None


def whole_definition(ranked, unretrieved=()):
    return definition(ranked, unretrieved)


def test_it_has_all_properties():
    held = check_metric("square_rank", definition)
    assert len(held) == 13
    assert set(held) ^ set(check_metric("square_rank")) == {DEFINITION, IDEAL}
    assert held == check_metric("sqr@2", definition)
    assert held == check_metric(SquareRank(ties="stable", empty="raise"), definition)


def test_a_user_s_metric_works_in_every_tool():
    data = make_ranking(n_queries=40, n_docs=8, random_state=0)
    y = skrank.with_groups(data.relevance, data.qid)
    search = GridSearchCV(
        skrank.GroupedRanker(Ridge()), {"estimator__alpha": [0.1, 1e6]},
        scoring=skrank.scorer("square_rank@5"), cv=skrank.QueryKFold(2),
    ).fit(data.X, y)  # fmt: skip
    assert 0.3 < search.best_score_ < 1
    names = ["sqr@5", "0.5*sqr+0.5*gap"]
    report = skrank.evaluate(y, search.predict(data.X), metrics=names)
    assert list(report.mean) == ["square_rank@5", "0.5*square_rank+0.5*gap"]
    assert "square_rank" in skrank.get_scorer_names()
    linear = skrank.LinearRanker("square_rank").fit(data.X, y)
    metric = skrank.metric("sqr")
    assert metric(y, linear.predict(data.X)) > metric(y, np.zeros(len(y))) + 0.1


MODULE = """
import importlib
import sys
from dataclasses import dataclass
import skrank
from skrank.extending import QuadraticTables, discounts

@skrank.register("cube_rank")
@dataclass(frozen=True, kw_only=True)
class CubeRank(skrank.Metric):
    def tables(self, scale, k):
        return QuadraticTables(scale.labels, discounts(lambda r: r**-3, scale.longest, k))

def measured(metric):
    return metric([0, 2, 1], [3, 2, 1]), str(metric), skrank.metric("cube_rank") == metric @ None
"""


def test_workers_import_its_module_and_know_its_name(tmp_path, monkeypatch):
    (tmp_path / "cubes_of_ranks.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    measured = importlib.import_module("cubes_of_ranks").measured
    metric = skrank.metric("cube_rank@2")
    try:
        with ProcessPoolExecutor(2, get_context("spawn")) as workers:
            there = list(workers.map(measured, [metric] * 2))
        assert there == [measured(metric)] * 2 == [(0.25, "cube_rank@2", True)] * 2
    finally:
        skrank.unregister("cube_rank")
        del sys.modules["cubes_of_ranks"]


def broken(**changes):
    """SquareRank with a mistake."""
    cls = type("Broken", (SquareRank,), {"__module__": __name__, **changes})
    return dataclass(frozen=True, kw_only=True)(cls)()


def not_normalised(self):
    return 0


def sees_rows(self, scale, k):
    """Weights depend on the number of rows of all queries."""
    return QuadraticTables(scale.labels, np.full(scale.longest, 1 / len(scale.judgments.codes)))


def dips(self, scale, k):
    return QuadraticTables(scale.labels, discounts(lambda r: 1 / r + (r == 3), scale.longest, k))


PLAIN = {"ideal_cutoff": property(not_normalised), "value_range": "[0, inf)"}


def whole_list(self):
    return None


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
        ({"ideal_cutoff": property(whole_list)}, definition, DEFINITION),
        ({"ideal_cutoff": property(whole_list)}, whole_definition, IDEAL),
        ({"ideal_cutoff": None}, None, IDEAL),
        ({"ideal_cutoff": property(not_normalised)}, definition, DEFINITION),
        ({"values": lambda self, sums, *numbers: (sums + 1.0, None)}, definition, DEFINITION),
        ({"ideal_cutoff": property(not_normalised)}, None, RANGE),
        ({"tables": dips, **PLAIN}, None, "ideal lists are best"),
        (
            {"tables": sees_rows, "reads_judgments": True, **PLAIN},
            None,
            "ties count as the mean over their orders",
        ),
        ({"value_range": "[0.5, 1]"}, None, RANGE),
        ({"__eq__": lambda self, other: self is other}, None, "copies are equal"),
    ],
)
def test_mistakes_are_found(changes, known, message):
    with pytest.raises(AssertionError, match=f"square_rank does not hold: {message}"):
        check_metric(broken(**changes), known)


def test_properties_that_need_boosters_are_skipped_without_boosters(monkeypatch):
    whole = check_metric(SquareRank(), definition)
    monkeypatch.setattr("skrank.testing._properties.find_spec", lambda name: None)
    alone = check_metric(SquareRank(), definition)
    assert set(alone) < set(whole)
    left_out = sorted(set(whole) - set(alone))
    assert [one.split()[0] for one in left_out] == ["boosters", "eval"]


def test_a_metric_that_is_not_monotone_says_so():
    held = check_metric(broken(tables=dips, **PLAIN), monotone=False)
    assert "ideal lists are best" not in held
    assert "swaps change it as its tables say" in held
