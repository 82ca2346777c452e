"""The public interface: names, defaults and kinds of parameters."""

import importlib
import inspect
import pkgutil
import re
from contextlib import suppress
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

import skrank

LEFT_OUT = {"cli"} | (set() if find_spec("skorch") else {"torch"})
MODULES = [
    importlib.import_module(f"skrank.{one.name}")
    for one in pkgutil.iter_modules(skrank.__path__)
    if not one.name.startswith("_") and one.name not in LEFT_OUT
]


def public_signatures():
    """Parameters of all public functions, classes and methods, by name."""
    found = {}
    for module in [skrank, *MODULES]:
        for name in getattr(module, "__all__", dir(module)):
            thing = getattr(module, name)
            place = getattr(thing, "__module__", None) or ""
            known = hasattr(module, "__all__") or place.startswith(module.__name__)
            if name.startswith("_") or not (known and place.startswith("skrank")):
                continue
            full = f"{module.__name__}.{name}"
            members = {full: thing}
            if inspect.isclass(thing):
                members |= {f"{full}.{one}": value for one, value in vars(thing).items()}
            for label, one in members.items():
                if callable(one) and not label.rpartition(".")[2].startswith("_"):
                    with suppress(ValueError):  # warnings and named tuples have no signature
                        found[label] = inspect.signature(one).parameters
    return found


SIGNATURES = public_signatures()
NAMED = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in [skrank, *MODULES]
    for name in getattr(module, "__all__", ())
}
WITHOUT_EXAMPLES = {"Metric", "Objective", "RankingScorer"}  # of which users do not make objects
DEFAULTS = {
    "confidence": {0.95},
    "n_resamples": {10_000},
    "random_state": {None, 0},
    "progress": {None},
    "early_stopping_rounds": {"auto"},
    "validation_fraction": {None},
}
OTHER_DEFAULTS = {
    # tested so often that 10,000 resamples take too long; the docstring says how long
    "n_resamples": {"incompleteness.robustness"},
    "confidence": {"stats.DiscriminativePower", "stats.PairedTest"},  # results
}
FIRST = {  # labels first, then scores or systems
    "skrank.evaluate": ["relevance", "scores"],
    "skrank.compare": ["relevance", "systems"],
    "skrank.compare_cv": ["results"],
    "skrank.trec.evaluate": ["qrels", "runs"],
    "skrank.incompleteness.robustness": ["qrels", "runs"],
}


def those_with(parameter, but=()):
    """Functions and classes with a parameter, and its default, by name; `but` has ends of names."""
    return {
        name: given[parameter].default
        for name, given in SIGNATURES.items()
        if parameter in given and not name.endswith(tuple(f".{one}" for one in but))
    }


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_module_names_what_is_public(module):
    own = {
        name
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", None) == module.__name__ and inspect.isroutine(thing)
    }
    assert {name for name in own if not name.startswith("_")} <= set(module.__all__) | {"main"}
    assert len(set(module.__all__)) == len(module.__all__)


def missing_sections(thing):
    """Sections that the docstring of a function or class lacks."""
    sections = set(re.findall(r"^(\w+)\n-+$", inspect.getdoc(thing), re.MULTILINE))
    if inspect.isfunction(thing):
        needed = {"Parameters", "Examples"} if inspect.signature(thing).parameters else {"Examples"}
    else:  # classes without parameters are met as results
        shown = "Parameters" in sections and thing.__name__ not in WITHOUT_EXAMPLES
        needed = {"Examples"} if shown else set()
    return needed - sections


def test_public_names_are_documented():
    things = {
        name: thing
        for name, thing in NAMED.items()
        if "extending" not in name and (inspect.isclass(thing) or inspect.isfunction(thing))
    }
    assert [name for name, thing in things.items() if not inspect.getdoc(thing)] == []
    assert [name for name, thing in things.items() if missing_sections(thing)] == []


def test_the_interface_stays_small_and_shows_its_signatures():
    """At most 180 functions and classes, one of them in a module that is left out here."""
    found = {name: thing for name, thing in NAMED.items() if callable(thing)}
    assert len(set(map(id, found.values()))) <= 180 - 1
    assert {name.rpartition(".")[2] for name in found.keys() - SIGNATURES} == {"CutQueryWarning"}


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_parameter_has_one_default(name):
    found = those_with(name, but=OTHER_DEFAULTS.get(name, ()))
    assert found
    allowed = {*DEFAULTS[name], inspect.Parameter.empty}  # results have none
    assert {one for one, default in found.items() if default not in allowed} == set()


RANDOM = (
    "Ranker", "recommended_ranker", "KFold", "Split", "train_test_split", "tune", "make_ranking",
    "QueryFeatures",
)  # fmt: skip


def test_the_seed_is_fixed_where_results_are_reported():
    """None in estimators, splitters and data, as in scikit-learn; elsewhere reports repeat."""
    fresh = {name for name, default in those_with("random_state").items() if default is None}
    assert fresh == {name for name in those_with("random_state") if name.endswith(RANDOM)}


MATRIX = np.random.default_rng(0).random((6, 3))
LABELS, GROUPS = [2, 0, 1, 0, 3, 1], [0, 0, 0, 1, 1, 1]
ROWS = {"X": MATRIX, "y": LABELS, "groups": GROUPS}
SYSTEMS = {"a": MATRIX[:, 0], "b": MATRIX[:, 1]}
SEEDED = {
    "statistics": partial(skrank.stats.max_t, MATRIX, n_resamples=40),
    "intervals": partial(skrank.stats.bootstrap_interval, MATRIX, n_resamples=40),
    "comparisons": partial(
        skrank.compare, LABELS, SYSTEMS, groups=GROUPS, metrics=["dcg"], n_resamples=40
    ),
    "objectives": lambda **seed: skrank.LambdaRank("gap", **seed)(
        LABELS, MATRIX[:, 0], groups=GROUPS
    ),
    "folds": lambda **seed: list(skrank.QueryKFold(2, shuffle=True, **seed).split(**ROWS)),
    "splits": partial(skrank.query_train_test_split, MATRIX, groups=GROUPS),
    "data": partial(skrank.datasets.make_ranking, 3),
    "rankers": lambda **seed: skrank.LinearRanker(validation_fraction=0.5, **seed).fit(**ROWS),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SEEDED)
def test_seeds_and_generators_are_taken_everywhere(name):
    for one in (0, np.int64(7), np.random.RandomState(0), np.random.default_rng(0), None):
        SEEDED[name](random_state=one)
    for one in (-1, 0.5, "seed"):
        with pytest.raises(ValueError, match="random_state="):
            SEEDED[name](random_state=one)


def test_at_most_twelve_parameters():
    """Of what users call: classes of results, metrics, options of trec_eval have more."""
    many = [name for name, given in SIGNATURES.items() if len(given) > 12]
    more = ("active.Estimate", "stats.DiscriminativePower", "trec.evaluate")
    assert [name for name in many if not name.endswith(more)] == []


def test_rankers_have_the_same_parameters():
    rankers = {
        name: {one.name: one.default for one in parameters.values()}
        for name, parameters in SIGNATURES.items()
        if name.endswith("Ranker") and name.rpartition(".")[2] != "Ranker"
    }
    assert len({name.rpartition(".")[2] for name in rankers}) >= 2
    for parameters in rankers.values():
        assert len(parameters) <= 12
        defaults = {
            "validation_fraction": None, "early_stopping_rounds": "auto", "options": None,
            "scoring": "ndcg@10", "progress": None, "random_state": None,
        }  # fmt: skip
        assert {name: parameters[name] for name in defaults} == defaults


def test_labels_come_first():
    for name, first in FIRST.items():
        parameters = list(SIGNATURES[name].values())
        assert [one.name for one in parameters[: len(first)]] == first
        assert {one.kind.name for one in parameters[4:]} <= {"KEYWORD_ONLY"}
