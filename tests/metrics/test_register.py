"""Metrics of users: names that are registered, and definitions that are refused."""

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
import pytest

import skrank
from skrank.extending import (
    CascadeTables,
    PairWorth,
    PreferenceTables,
    QuadraticTables,
    StrictTables,
    discounts,
)
from skrank.metrics import registered

INF, NAN = np.inf, np.nan


def quadratic(self, scale, k):
    return QuadraticTables(scale.labels, discounts(lambda r: 1 / r, scale.longest, k))


def undecorated(name="Toy", **parts):
    return type(name, (skrank.Metric,), {"__module__": __name__, "tables": quadratic, **parts})


def made(name="Toy", **parts):
    return dataclass(frozen=True, kw_only=True)(undecorated(name, **parts))


@pytest.fixture(autouse=True)
def same_registry_after():
    before = registered()
    yield
    for name in set(registered()) - set(before):
        skrank.unregister(name)
    assert registered() == before


def with_field(name, **parts):
    return made(name, __annotations__={"p": float}, **parts)


# classes that are refused with the name "toy", or names that are refused for a class
CLASSES = [
    (dict, "skrank.Metric"),
    (lambda ranked: 1.0, "skrank.metric_from_function"),
    (made("Abstract", tables=abstractmethod(lambda self, scale, k: None)), r"tables\(\)"),
    (made(tables=lambda self: None), "Toy.tables .*scale"),
    (undecorated("Undecorated"), "Undecorated"),
    (
        dataclass(frozen=True)(undecorated("Positional", __annotations__={"p": float}, p=0.5)),
        "kw_only",
    ),
    (with_field("Factory", p=field(default_factory=list)), "Factory.p"),
    (skrank.metrics.GAP, "GAP"),
]
WRONG = ["", "my metric", "2nd", "lambda", 3]


@pytest.mark.parametrize(
    ("cls", "names", "message"),
    [
        *((cls, ["toy"], message) for cls, message in CLASSES),
        *(
            (made(), ["toy", name], f"the name '{name}' is taken by skrank.metrics.")
            for name in ("gap", "map")
        ),
        *((made(), ["toy", name], "is not a name for a metric") for name in WRONG),
        (made(), [], "has no name"),
    ],
)
def test_what_is_not_registered(cls, names, message):
    before, of_class = registered(), getattr(cls, "names", None)
    with pytest.raises((ValueError, TypeError), match=message):
        skrank.register(*names)(cls)
    assert registered() == before
    assert getattr(cls, "names", None) == of_class


def test_a_class_that_is_defined_again_replaces_the_first():
    """Such as in a notebook cell that runs twice."""
    first, second, other = made(), made(), made("Other")
    skrank.register("toy", "toys")(first)
    assert type(skrank.metric("toy")) is first
    skrank.register("toy")(second)
    assert type(skrank.metric("toy@2")) is second
    assert type(skrank.metric("toy")) is second
    with pytest.raises(ValueError, match="'toys'"):
        skrank.metric("toys")
    with pytest.raises(ValueError, match="is taken by"):
        skrank.register("toy")(other)
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
    with pytest.raises(ValueError, match="'gap'"):
        skrank.unregister("gap")


@pytest.mark.parametrize(
    "value",
    [
        *("None", "\ufb01", "it's", 'a "q"', "", "a=raise,", "x\n"),
        *(np.float64(0.5), (1, 2.5), ((1, 2.0), (2, 3.0)), None, 1e300),
    ],
    ids=repr,
)
def test_names_with_parameters_parse_back(value):
    skrank.register("toy")(made(__annotations__={"p": object}, p=0.25))
    one = skrank.metric("toy", p=value)
    assert skrank.metric(str(one)) == one


# definitions -------------------------------------------------------------------------------------


def tables_of(make):
    """A metric of the tables that a function makes of the scale and of ones for all ranks."""
    return made(tables=lambda self, scale, k: make(scale, np.ones(scale.longest)))()


def measure(metric):
    """The value for two queries with three labels."""
    return metric([0, 1, 2, 0, 1], [5, 4, 3, 2, 1], groups=[1, 1, 1, 2, 2])


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        *(("tables", given, r"Toy\.tables\(\)") for given in (None, np.ones(2))),
        ("values", (np.ones((2, 1)), None), r"Toy\.values\(\)"),
        *(
            ("values", (np.ones(2), given), r"Toy\.values\(\)")
            for given in (np.ones(3), np.array([-1.0, 1]), np.array([INF, 1]), "x", [NAN, 1])
        ),
    ],
)
def test_methods_that_return_something_else(method, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        measure(made(**{method: lambda self, *_: given})())


def paired(scale, u, gain=None, offset=None, **parts):
    """Tables of pairs of documents, worth the smaller of their labels."""
    pairs = {"weights": u, "upper": scale.labels, "lower": scale.labels, "join": np.minimum}
    gain = scale.labels if gain is None else gain
    return QuadraticTables(gain, u, PairWorth(**(pairs | parts)), offset)


@pytest.mark.parametrize("given", [None, 3, "x", np.ones(2), np.ones((2, 2)), [1, NAN], [1, INF]])
def test_parts_of_tables_that_are_no_array_of_their_size(given):
    gain = np.array([0, 0.5, 1])

    def preference(divide_by):
        return PreferenceTables(gain, np.zeros((3, 3)), [1, 1], [1, 1], divide_by, 3)

    def strict(found):
        return StrictTables("a", "inferred", found, 3, [1, 1])

    refused = {
        "QuadraticTables.gain": lambda scale, u: QuadraticTables(given, u),
        "QuadraticTables.u": lambda scale, u: QuadraticTables(gain, given),
        "CascadeTables.stop": lambda scale, u: CascadeTables(given, u),
        "CascadeTables.phi": lambda scale, u: CascadeTables(gain, given),
        "StrictTables.found": lambda scale, u: strict(given),
        "divide_by": lambda scale, u: preference(given),
        "PairWorth.weights": lambda scale, u: paired(scale, u, weights=given),
        "PairWorth.upper": lambda scale, u: paired(scale, u, upper=given),
        "PairWorth.join": lambda scale, u: paired(scale, u, join=given),
        "the weights of ranks": lambda scale, u: discounts(lambda rank: given, scale.longest, 2),
    }
    if given is not None:
        refused["QuadraticTables.offset"] = lambda scale, u: QuadraticTables(gain, u, None, given)
    for name, make in refused.items():
        with pytest.raises((ValueError, TypeError), match=f"^({name}|The truth value of an array)"):
            measure(tables_of(make))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda scale, u: paired(scale, u, gain=[0, 1, 1]), r"PairWorth\.upper"),
        (lambda scale, u: paired(scale, u, offset=[0, 0]), "offset"),
        (lambda scale, u: paired(scale, u, offset=[1]), "holds 4"),
        (lambda scale, u: paired(scale, u * NAN, weights=u), r"QuadraticTables\.u"),
        (lambda scale, u: QuadraticTables(scale.labels, u[1:]), r"QuadraticTables\.u"),
        (lambda scale, u: QuadraticTables([0, 1], u), r"QuadraticTables\.gain"),
        (lambda scale, u: QuadraticTables([[0, 1], [1, 1]], u), r"QuadraticTables\.gain"),
        (lambda scale, u: CascadeTables(scale.labels, u), r"CascadeTables\.stop"),
        (lambda scale, u: CascadeTables(scale.labels / 2, [1, 0, 1]), r"CascadeTables\.phi"),
    ],
)
def test_tables_that_do_not_fit_the_data(make, message):
    """Compiled loops would read beyond the end of such tables."""
    with pytest.raises(ValueError, match=message):
        tables_of(make)([0, 1, 2], [3, 2, 1])
