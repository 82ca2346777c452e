"""Names of metrics that others add: what is refused, replaced and taken away."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import pytest

import skrank
from skrank.extending import QuadraticTables, discounts
from skrank.metrics import registered

FROZEN = {"frozen": True, "kw_only": True}


class Base(skrank.Metric):
    def tables(self, scale, k):
        return QuadraticTables(scale.labels, discounts(lambda r: 1 / r, scale.longest, k))


def made(name="Toy", **parts):
    return dataclass(**FROZEN)(type(name, (Base,), {"__module__": __name__, **parts}))


@pytest.fixture(autouse=True)
def same_registry_after():
    before = registered()
    yield
    for name in set(registered()) - set(before):
        skrank.unregister(name)
    assert registered() == before


def refused(cls, *names):
    with pytest.raises((ValueError, TypeError)) as found:
        skrank.register(*names)(cls)
    return str(found.value)


@pytest.mark.parametrize("name", ["gap", "map"])
def test_taken_names(name):
    message = refused(made(), "toy_of_tests", name)
    assert f"the name '{name}' is taken by skrank.metrics." in message
    assert "toy_of_tests" not in registered()


@pytest.mark.parametrize("name", ["", "NDCG2", "my metric", "my-metric", "2nd", "lambda", "a@b", 3])
def test_names_that_are_none(name):
    assert "is no name for a metric" in refused(made(), name)


def test_no_name():
    assert "has no name" in refused(made())


def test_things_that_are_no_metric_class():
    assert "derives from skrank.Metric" in refused(dict, "toy")
    assert "skrank.metric_from_function" in refused(lambda ranked: 1.0, "toy")
    assert "derives from skrank.Metric" in refused(skrank.metric("gap"), "toy")


def test_classes_that_are_not_finished():
    class Abstract(skrank.Metric):
        @abstractmethod
        def tables(self, scale, k): ...

    assert "does not define tables()" in refused(dataclass(**FROZEN)(Abstract), "toy")
    assert "Undecorated is no dataclass" in refused(type("Undecorated", (Base,), {}), "toy")


def test_fields_of_the_wrong_kind():
    positional = dataclass(frozen=True)(
        type("Positional", (Base,), {"__annotations__": {"p": float}, "p": 0.5})
    )
    assert "Positional.p is not for keywords only" in refused(positional, "toy")
    needed = made("Needed", __annotations__={"p": float})
    assert "Needed.p has no default" in refused(needed, "toy")
    factory = made("Factory", __annotations__={"p": list}, p=field(default_factory=list))
    assert "Factory.p has no default" in refused(factory, "toy")


def test_a_class_that_is_defined_again_takes_the_place():
    """As in a cell of a notebook that runs twice."""
    first, second, other = made(), made(), made("Other")
    skrank.register("toy", "toys")(first)
    assert type(skrank.metric("toy")) is first
    skrank.register("toy")(second)
    assert type(skrank.metric("toy@2")) is second
    assert type(skrank.metric("toy")) is second
    with pytest.raises(ValueError, match="unknown metric 'toys'"):
        skrank.metric("toys")
    assert "is taken by" in refused(other, "toy")
    skrank.unregister("toy")
    skrank.register("toy")(other)
    assert str(skrank.metric("toy")) == "toy"


def test_taking_away():
    skrank.register("toy", "plaything")(made())
    skrank.metric("toy")
    skrank.unregister("plaything")
    for name in ("toy", "plaything"):
        with pytest.raises(ValueError, match=f"unknown metric '{name}'"):
            skrank.unregister(name)
        with pytest.raises(ValueError, match=f"unknown metric '{name}'"):
            skrank.metric(name)
    with pytest.raises(ValueError, match="'gap' is a metric of skrank itself"):
        skrank.unregister("gap")


def test_a_registered_name_comes_before_that_of_other_tools():
    """As skrank's own do: hit_rate is ranx's otherwise."""
    assert skrank.metric("hit_rate@3") == skrank.metric("success(empty=0)@3")
    cls = skrank.register("hit_rate")(made())
    assert type(skrank.metric("hit_rate@3")) is cls


def test_a_metric_that_needs_its_cut_off():
    """Lists of names show it with one; a linear ranker starts from GAP, which needs none."""

    def check(self):
        Base.__post_init__(self)
        if self.k is None:
            raise ValueError("toy needs a cut-off, such as toy@10")

    skrank.register("toy")(made(__post_init__=check))
    names = skrank.get_scorer_names()
    assert "toy@10" in names
    assert "toy" not in names
    labels, features = [1, 0, 2, 0], [[2.0], [0], [3], [1]]
    ranker = skrank.LinearRanker("toy@2").fit(features, labels, groups=[0, 0, 1, 1])
    assert ranker.coef_ > 0
