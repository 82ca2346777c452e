"""register and unregister: names that are refused, replaced and removed."""

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
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
def test_names_that_are_not_allowed(name):
    assert "is not a name for a metric" in refused(made(), name)


def test_no_name():
    assert "has no name" in refused(made())


def test_only_metric_classes_are_registered():
    assert "derives from skrank.Metric" in refused(dict, "toy")
    assert "skrank.metric_from_function" in refused(lambda ranked: 1.0, "toy")
    assert "derives from skrank.Metric" in refused(skrank.metric("gap"), "toy")


def test_incomplete_classes_raise():
    class Abstract(skrank.Metric):
        @abstractmethod
        def tables(self, scale, k): ...

    assert "does not define tables()" in refused(dataclass(**FROZEN)(Abstract), "toy")
    assert "Undecorated is not a dataclass" in refused(type("Undecorated", (Base,), {}), "toy")


def test_fields_of_the_wrong_kind():
    positional = dataclass(frozen=True)(
        type("Positional", (Base,), {"__annotations__": {"p": float}, "p": 0.5})
    )
    assert "Positional.p is not for keywords only" in refused(positional, "toy")
    needed = made("Needed", __annotations__={"p": float})
    assert "Needed.p has no default" in refused(needed, "toy")
    factory = made("Factory", __annotations__={"p": list}, p=field(default_factory=list))
    assert "Factory.p has no default" in refused(factory, "toy")


def test_a_class_that_is_defined_again_replaces_the_first():
    """Such as in a notebook cell that runs twice."""
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


def test_unregister():
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


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("ndcg_cut_10", "trec_eval"), ("ndcg_cut", "trec_eval"), ("p_10", "trec_eval"),
        ("recip_rank", "trec_eval"), ("map_cut_5", "trec_eval"), ("success_7", "trec_eval"),
        ("official", "trec_eval"), ("relstring", "trec_eval"), ("rprec", "trec_eval"),
        ("setp", "ir_measures"), ("numret", "ir_measures"), ("hit_rate", "ranx"), ("hits", "ranx"),
    ],
)  # fmt: skip
def test_names_of_other_tools_are_refused(name, tool):
    """Upper and lower case do not matter: p_10 would be read as P_10."""
    assert f"the name '{name}' is taken by {tool}" in refused(made(), name)
    with pytest.raises(ValueError, match=f"the name '{name}' is taken by {tool}"):
        skrank.metric_from_function(max, name)
    assert skrank.metric("hit_rate@3") == skrank.metric("success(empty=0)@3")


@pytest.mark.parametrize("name", ["ndcg_2", "bpref_10", "my_hits", "hitrate", "p_top"])
def test_names_that_no_other_tool_has(name):
    assert str(skrank.register(name)(made())()) == name


def test_a_class_that_is_registered_once_more_gets_further_names():
    cls = made()
    skrank.register("mine")(cls)
    skrank.register("mine2", "mine2")(cls)
    assert cls.names == ("mine", "mine2")
    assert str(skrank.metric("mine2@3")) == "mine@3"
    skrank.unregister("mine")
    for name in ("mine", "mine2"):
        with pytest.raises(ValueError, match=f"unknown metric '{name}'"):
            skrank.metric(name)


@pytest.mark.parametrize("own", ["GAP", "Mixture", "FunctionMetric"])
def test_metrics_of_skrank_keep_their_names(own):
    cls = getattr(skrank.metrics, own)
    names = cls.names
    assert f"{own} is a metric of skrank itself" in refused(cls, "toy")
    assert cls.names == names


def test_metrics_without_a_registered_name_are_called_as_their_class():
    cls = made()
    assert str(cls(k=3)) == "Toy@3"
    with pytest.raises(
        ValueError, match=r"query 0 has no relevant document, so Toy\(empty=raise\)"
    ):
        cls(empty="raise")([0, 0], [2, 1])
    with pytest.warns(RuntimeWarning, match="Toy is NaN"):
        cls()([0, 0], [2, 1])
    skrank.register("toy")(cls)
    assert str(cls()) == "toy"
    skrank.unregister("toy")
    assert str(cls()) == "Toy"


def test_a_decorator_without_names():
    with pytest.raises(ValueError, match="is not a name for a metric"):
        skrank.register(made())
    with pytest.raises(ValueError, match="has no name"):
        skrank.register()


@pytest.mark.parametrize(
    "value",
    [
        "None", "True", "lambda", "raise", "\ufb01", "a b", "it's", 'a "q"', "", "a=raise,", "x\n",
        np.float64(0.5), np.int64(3), (1, 2.5), ((1, 2.0), (2, 3.0)), None, 1e300,
    ],
    ids=repr,
)  # fmt: skip
def test_names_with_parameters_parse_back(value):
    skrank.register("toy")(made(__annotations__={"p": object}, p=0.25))
    one = skrank.metric("toy", p=value)
    assert skrank.metric(str(one)) == one


def test_parameters_that_are_keywords_of_python():
    assert skrank.metric("ap(empty=raise)@5") == skrank.metric("ap@5", empty="raise")
    both = skrank.metric("0.5*ap( empty = raise )+ndcg(empty=raise,gain=linear)")
    assert skrank.metric(str(both)) == both


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
