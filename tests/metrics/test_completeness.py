"""Each registered metric has a class, a score function, documentation and points in the tests."""

import dataclasses
import doctest
import inspect
import typing

import numpy as np
import pytest

from skrank import metrics
from skrank.metrics import registered
from tests.helpers import reference as ref
from tests.helpers.catalogue import CATALOGUE, every_single_point, lists

FUNCTIONS = {
    name: function
    for name, function in vars(metrics).items()
    if name.endswith("_score") and inspect.isfunction(function)
}
COMMON = {"relevance", "scores", "groups", "sample_weight"}
CLASS_OF = {cls.function: cls for cls in registered().values()}
every_function = pytest.mark.parametrize("name", CLASS_OF)
every_name = pytest.mark.parametrize("name", registered())


@every_name
def test_a_registered_metric_is_public_and_tested(name):
    tested = {point.metric.names[0] for point in CATALOGUE}
    assert name in tested, f"add a point of {name} to tests/helpers/catalogue.py"
    cls = registered()[name]
    assert getattr(metrics, cls.__name__, None) is cls
    assert FUNCTIONS[cls.function].__name__ == cls.function


def test_no_two_metrics_share_a_function():
    assert len(CLASS_OF) == len(set(registered().values()))
    assert set(CLASS_OF) == set(FUNCTIONS)


def test_every_literal_definition_is_used():
    used = {point.literal for point in CATALOGUE}
    unused = {name for name, literal in ref.METRICS.items() if literal not in used}
    assert unused == {"judged"}  # which the catalogue wraps


@every_function
def test_signature_is_that_of_the_class(name):
    function = FUNCTIONS[name]
    cls = CLASS_OF[name]
    parameters = inspect.signature(function).parameters
    fields = {field.name: field.default for field in dataclasses.fields(cls)}
    assert set(parameters) == set(fields) | COMMON
    for parameter in ("relevance", "scores"):
        assert parameters[parameter].default is inspect.Parameter.empty
        assert parameters[parameter].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    for parameter in set(parameters) - {"relevance", "scores"}:
        assert parameters[parameter].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["groups"].default is None
    assert parameters["sample_weight"].default is None
    for field, default in fields.items():
        assert parameters[field].default == default, field

    types = typing.get_type_hints(function)
    assert {name: types[name] for name in fields} == {
        name: one for name, one in typing.get_type_hints(cls).items() if name in fields
    }


@every_function
def test_the_example_of_a_function_runs(name):
    function = FUNCTIONS[name]
    (example,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={})
    assert doctest.DocTestRunner().run(example) == (0, 2)


@every_function
def test_functions_refuse_unknown_parameters(name):
    with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected keyword argument 'cutoff'"):
        FUNCTIONS[name]([1, 0], [2, 1], cutoff=3)


@every_name
def test_fields_have_defaults_that_are_valid(name):
    cls = registered()[name]
    assert str(cls()) == name
    for field in dataclasses.fields(cls):
        assert field.default is not dataclasses.MISSING
        assert field.kw_only


@every_function
def test_docstring_names_every_parameter(name):
    function = FUNCTIONS[name]
    text = inspect.getdoc(function)
    cls = CLASS_OF[name]
    assert f"`{cls.__name__}`" in text
    for parameter in inspect.signature(function).parameters:
        assert parameter in text, parameter
    own = inspect.getdoc(cls)
    for field in dataclasses.fields(cls):
        assert field.name in own, field.name
    for section in ("Parameters", "References", "Examples"):
        assert f"{section}\n-" in own, section


@every_single_point
def test_functions_pass_every_parameter_on(point):
    function = FUNCTIONS[point.metric.function]
    data = lists(31, levels=3, n_queries=20)
    weights = np.array([float(1 + len(query) % 3) for query in data.groups])
    for changes in (
        {},
        {"empty": 0},
        {"ties": "worst"},
        {"condensed": True},
        {"average": point.metric.averages[-1]},
    ):
        one = dataclasses.replace(point.settled, **changes)
        given = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
        for sample_weight in (None, weights):
            how = {"groups": data.groups, "sample_weight": sample_weight}
            assert function(data.relevance, data.scores, **given, **how) == one(
                data.relevance, data.scores, **how
            )
