"""The public interface: names, defaults and kinds of parameters, and what became of old ones."""

import importlib
import inspect
import pickle
import pkgutil
from contextlib import suppress
from importlib.util import find_spec

import pytest

import skrank
from skrank import _renamed
from skrank.datasets import make_ranking

LEFT_OUT = {"cli", "sentence_transformers"} | (set() if find_spec("skorch") else {"torch"})
MODULES = [
    importlib.import_module(f"skrank.{one.name}")
    for one in pkgutil.iter_modules(skrank.__path__)
    if not one.name.startswith("_") and one.name not in LEFT_OUT
]


def public_signatures():
    """Parameters of all public functions, classes and methods, by name."""
    found = {}
    for module in [skrank, *MODULES]:
        for name in getattr(module, "__all__", None) or dir(module):
            thing = getattr(module, name)
            ours = str(getattr(thing, "__module__", "")).startswith("skrank")
            if name.startswith("_") or not ours:
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
# penalties of LinearRanker: of another kind than the level of a test
PENALTIES = {name for name in SIGNATURES if name.endswith(".LinearRanker")}
# what is tested so often that 10,000 resamples take too long; the docstring says how long
FEWER = {"skrank.incompleteness.robustness": 1000}
FIRST = {  # labels first, then scores or systems
    "skrank.evaluate": ["relevance", "scores"],
    "skrank.compare": ["relevance", "systems"],
    "skrank.compare_cv": ["results"],
    "skrank.trec.evaluate": ["qrels", "runs"],
    "skrank.incompleteness.robustness": ["qrels", "runs"],
}


def test_a_level_is_called_confidence():
    alphas = {name for name, parameters in SIGNATURES.items() if "alpha" in parameters}
    assert alphas == PENALTIES != set()
    made = {name for name in SIGNATURES if name.rpartition(".")[2][0].isupper()}  # results
    levels = {
        name: parameters["confidence"].default
        for name, parameters in SIGNATURES.items()
        if "confidence" in parameters and name not in made
    }
    assert len(levels) >= 15
    assert set(levels.values()) == {0.95}


def test_the_number_of_resamples():
    found = {
        name: parameters["n_resamples"].default
        for name, parameters in SIGNATURES.items()
        if "n_resamples" in parameters
    }
    assert {name: number for name, number in found.items() if number != 10_000} == FEWER
    assert len(found) >= 10


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
        assert len(parameters) <= 12
        assert {one.kind.name for one in parameters[4:]} <= {"KEYWORD_ONLY"}


def test_there_is_one_class_of_reports():
    """Its mean is a frame of systems x metrics, for one system as for several, arrays and files."""
    y, scores = skrank.with_groups([1, 0, 2, 0], [1, 1, 2, 2]), [4.0, 3, 2, 1]
    found = [
        skrank.evaluate(y, scores),
        skrank.evaluate(y, {"a": scores, "b": scores}),
        skrank.trec.evaluate({"q": {"d": 1}}, {"q": {"d": 0.5}}, progress=False),
    ]
    for report, n_systems in zip(found, (1, 2, 1), strict=True):
        assert type(report) is skrank.Report
        assert report.mean.shape == (n_systems, len(report.metric_of))
        assert list(report.per_query.index.names) == ["system", "qid"]
        for name in ("to_frame", "compare", "plot", "to_latex", "to_markdown"):
            assert callable(getattr(report, name))


# what became of old names -------------------------------------------------------------------------


@pytest.mark.parametrize("name", _renamed.NAMES)
def test_old_names(name):
    place, _, last = name.replace("*", "ndcg").rpartition(".")
    if place == "skrank.torch":
        pytest.importorskip("skorch")
    module = importlib.import_module(place)
    assert last not in dir(module)
    with pytest.raises(AttributeError) as caught:
        getattr(module, last)
    assert _renamed.NAMES[name] in str(caught.value)
    assert not hasattr(module, "no_name_at_all")


@pytest.mark.parametrize("function", _renamed.ARGUMENTS)
def test_old_arguments(function):
    if function == "NeuralRanker":
        pytest.importorskip("skorch")
    owner, _, method = function.rpartition(".")
    of_class = owner[:1].isupper()
    names = [one for one in SIGNATURES if one.endswith(f".{owner if of_class else function}")]
    place, _, last = min(names, key=len).rpartition(".")
    thing = getattr(importlib.import_module(place), last)
    called = getattr(thing, method) if of_class and method != "__init__" else thing
    for old, use in _renamed.ARGUMENTS[function].items():
        assert old not in inspect.signature(called).parameters
        with pytest.raises(TypeError, match=f" {old} ") as caught:
            called(**{old: 1})
        assert use in str(caught.value)
    assert pickle.loads(pickle.dumps(thing)) is thing


def test_systems_before_labels_name_the_order():
    data = make_ranking(5, random_state=0)
    with pytest.raises(ValueError, match="labels first"):
        skrank.compare({"a": data.X[:, 0], "b": data.X[:, 1]}, data.relevance, groups=data.qid)
