"""Bad return values of the methods of user-defined metrics are refused."""

from dataclasses import dataclass

import numpy as np
import pytest

import skrank
from skrank.extending import (
    CascadeTables,
    Line,
    PairWorth,
    PreferenceTables,
    QuadraticTables,
    StrictTables,
    discounts,
)

LABELS, SCORES, GROUPS = [0, 1, 2, 0, 1], [5, 4, 3, 2, 1], [1, 1, 1, 2, 2]  # three labels
INF, NAN = np.inf, np.nan


def quadratic(self, scale, k):
    return QuadraticTables(scale.labels, discounts(lambda r: 1 / r, scale.longest, k))


def made(**parts):
    parts = {"__module__": __name__, "tables": quadratic, **parts}
    return dataclass(frozen=True, kw_only=True)(type("Toy", (skrank.Metric,), parts))()


def tables_of(make):
    """A metric of tables with one odd part."""
    return made(tables=lambda self, scale, k: make(scale, np.ones(scale.longest)))


def measure(metric):
    return metric(LABELS, SCORES, groups=GROUPS)


def message(metric, use=lambda metric: metric):
    with pytest.raises((ValueError, TypeError)) as found:
        measure(use(metric))
    return str(found.value)


@pytest.mark.parametrize("given", [None, 3, "x", [1, 2], np.ones(2), {}, object()], ids=type)
def test_tables_must_be_tables_of_a_family(given):
    said = message(made(tables=lambda self, scale, k: given))
    assert said.startswith("Toy.tables() returned ")
    assert said.endswith("tables of a family, such as skrank.extending.QuadraticTables.")


def test_tables_that_take_other_parameters():
    cls = type(made(tables=lambda self: None))
    with pytest.raises(TypeError, match=r"Toy.tables must take the scale and k: def tables\(self"):
        skrank.register("toy")(cls)


@pytest.mark.parametrize(
    ("method", "given", "said"),
    [
        ("line", Line("x"), "ufunc 'multiply' did not contain a loop"),
        ("line", Line(1.0, np.ones(3)), "could not be broadcast together"),
        ("line", Line(1.0, np.ones((2, 1))), "non-broadcastable output operand"),
        ("line", Line(1.0, 0.0, np.array([1j, 1])), "Cannot cast ufunc 'divide' output"),
        ("mass", "x", "Toy.mass() must be an array of numbers, not 'x'."),
        ("mass", np.ones(3), "Toy.mass() must return None, or a finite number of at"),
        ("mass", np.array([-1.0, 1]), "Toy.mass() must return None, or a finite number of at"),
        ("mass", np.array([INF, 1]), "Toy.mass() must return None, or a finite number of at"),
        ("mass", np.array([NAN, 1]), "Toy.mass() holds NaN"),
    ],
)  # fmt: skip
def test_methods(method, given, said):
    assert said in message(made(**{method: lambda self, lists: given}))


def test_the_cutoff_of_the_best_list_is_a_rank():
    assert "k=-1 must be at least 1" in message(made(ideal_cutoff=property(lambda self: -1)))


@pytest.mark.parametrize("given", [None, 3, "x", np.ones(2), np.ones((2, 2)), [1, NAN], [1, INF]])
def test_parts_of_tables(given):
    gain = np.array([0, 0.5, 1])

    def paired(u, **parts):
        whole = {"weights": u, "upper": gain, "lower": gain, "join": np.multiply}
        return QuadraticTables(gain, u, PairWorth(**(whole | parts)))

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
        "PairWorth.weights": lambda scale, u: paired(u, weights=given),
        "PairWorth.upper": lambda scale, u: paired(u, upper=given),
        "PairWorth.join": lambda scale, u: paired(u, join=given),
        "the weights of ranks": lambda scale, u: discounts(lambda rank: given, scale.longest, 2),
    }
    if given is not None:
        refused["QuadraticTables.offset"] = lambda scale, u: QuadraticTables(gain, u, None, given)
    for name, make in refused.items():
        assert message(tables_of(make)).startswith((name, "The truth value of an array"))


def test_smooth_forms_and_discounts():
    said = message(made(smooth=True), skrank.SoftRank)
    assert said == "Toy.smooth returned True: it must return None or a Smooth."
    said = message(made(discount_at=lambda self, rank: 3), skrank.LambdaLoss)
    assert said == "Toy.discount_at() has 0 axes instead of 1."


@pytest.mark.parametrize("whole", [int, np.int64, np.array, lambda x: np.full(2, x)])
def test_whole_numbers_of_a_line(whole):
    plain = measure(made(line=lambda self, lists: Line(2.0, 1.0, 4.0)))
    assert measure(made(line=lambda self, lists: Line(*map(whole, (2, 1, 4))))) == plain
    assert measure(made(line=lambda self, lists: Line(2, 1, whole(0)))) == 0
