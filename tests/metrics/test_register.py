"""Metrics of users: names that are registered, and definitions that are refused."""

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import partial

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
        *((made(), ["toy", name], f"'{name}'") for name in ("gap", "map")),
        *((made(), ["toy", name], "name") for name in WRONG),
        (made(), [], "name"),
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
    skrank.unregister("plaything")
    for name in ("toy", "plaything"):
        for call in (skrank.unregister, skrank.metric):
            with pytest.raises(ValueError, match=f"'{name}'"):
                call(name)
    with pytest.raises(ValueError, match="'gap'"):
        skrank.unregister("gap")


@pytest.mark.parametrize("base", [skrank.metrics.NDCG, skrank.metrics.BPref])
def test_a_subclass_does_not_have_the_name_of_its_base(base):
    cls = dataclass(frozen=True, kw_only=True)(type("Toy", (base,), {"__module__": __name__}))
    assert str(cls()) == "Toy"
    skrank.register("toy")(cls)
    skrank.unregister("toy")
    assert str(cls()) == "Toy"
    assert cls()([1, 0], [2, 1]) == 1


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


GAIN, EACH = np.array([0, 0.5, 1]), np.ones(2)
PARTS = {  # tables with a part that is given
    "QuadraticTables.gain": lambda given, scale, u: QuadraticTables(given, u),
    "QuadraticTables.u": lambda given, scale, u: QuadraticTables(GAIN, given),
    "CascadeTables.stop": lambda given, scale, u: CascadeTables(given, u),
    "CascadeTables.phi": lambda given, scale, u: CascadeTables(GAIN, given),
    "StrictTables.hits": lambda given, scale, u: StrictTables("a", "inferred", given, 3, EACH),
    "divide_by": lambda given, scale, u: PreferenceTables(
        GAIN, np.zeros((3, 3)), EACH, EACH, given, 3
    ),
    "PairWorth.weights": lambda given, scale, u: paired(scale, u, weights=given),
    "PairWorth.upper": lambda given, scale, u: paired(scale, u, upper=given),
    "PairWorth.join": lambda given, scale, u: paired(scale, u, join=given),
    "QuadraticTables.offset": lambda given, scale, u: QuadraticTables(GAIN, u, None, given),
    "the weights of ranks": lambda given, scale, u: discounts(lambda rank: given, scale.longest, 2),
}


@pytest.mark.parametrize("given", [None, "x", np.ones(2), np.ones((2, 2)), [1, NAN]])
@pytest.mark.parametrize("part", PARTS)
def test_parts_of_tables_that_are_no_array_of_their_size(part, given):
    """Compiled loops would read beyond the end of such tables."""
    if part.endswith("offset") and given is None:
        return
    with pytest.raises((ValueError, TypeError), match=f"{part}|truth value"):
        measure(tables_of(partial(PARTS[part], given)))


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda scale, u: paired(scale, u, gain=[0, 1, 1]), r"PairWorth\.upper"),
        (lambda scale, u: paired(scale, u, offset=[1]), "offset"),
        (lambda scale, u: CascadeTables(scale.labels, u), r"CascadeTables\.stop"),
        (lambda scale, u: CascadeTables(scale.labels / 2, [1, 0, 1]), r"CascadeTables\.phi"),
        (lambda scale, u: CascadeTables(scale.labels / 2, [1, 0, -1]), r"CascadeTables\.phi"),
        (lambda scale, u: QuadraticTables(GAIN, u, ideal=(GAIN, INF * u)), r"Tables\.ideal"),
        (
            lambda scale, u: PreferenceTables(GAIN, np.full((3, 3), 0.5), [1], [1], "total", 3),
            r"PreferenceTables\.lack",
        ),
    ],
)
def test_tables_that_contradict_each_other(make, named):
    with pytest.raises(ValueError, match=named):
        tables_of(make)([0, 1, 2], [3, 2, 1])
