"""A string that names no metric to train on: the message tells how objectives are written."""

import re
from dataclasses import dataclass

import lightgbm
import pytest
import xgboost

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import GroupedRanker, LinearRanker, objectives
from skrank.datasets import make_ranking

DATA = make_ranking(10, random_state=0)
Y = skrank.with_groups(DATA.relevance, DATA.qid)


def neural(objective):
    pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")
    skrank.torch.NeuralRanker(objective=objective, epochs=1).fit(DATA.X, Y)


def loss(objective):
    pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")
    skrank.torch.RankingLoss(objective)


DOORS = {
    "lightgbm": lambda one: GroupedRanker(lightgbm.LGBMRanker(), objective=one).fit(DATA.X, Y),
    "xgboost": lambda one: GroupedRanker(xgboost.XGBRanker(), objective=one).fit(DATA.X, Y),
    "linear": lambda one: LinearRanker(one).fit(DATA.X, Y),
    "skrank.lightgbm": skrank.lightgbm.objective,
    "skrank.xgboost": skrank.xgboost.objective,
    "as_objective": objectives.as_objective,
    "mixture": lambda one: objectives.ObjectiveMixture([(1.0, one)]),
    "positions": skrank.AdditivePositionBias,
    "loss": loss,
    "neural": neural,
}
every_door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


@every_door
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("lambdamart", 'write skrank.LambdaRank("ndcg").'),
        ("LambdaMART", 'write skrank.LambdaRank("ndcg").'),
        ("softmax", "write skrank.Softmax()."),
        ("Softmax()", "write skrank.Softmax()."),
        ("0.9*gap+0.1*softmax", "'softmax': write skrank.Softmax()."),
        ("listnet", "write skrank.Softmax()."),
        ("soft_rank", 'write skrank.SoftRank("ndcg").'),
        ("lambdaloss", 'write skrank.LambdaLoss("ndcg").'),
        ("squared_error", "write skrank.SquaredError()."),
        ("gpa", "did you mean 'gap'?"),
        ("xyzzy", "A string is the name of a metric"),
    ],
)
def test_objectives_are_named(door, name, hint):
    with pytest.raises(ValueError, match=r"^unknown objective '") as told:
        door(name)
    message = str(told.value)
    assert hint in message
    assert (
        "such as 'gap' or 'ndcg@10'. Objectives are objects: skrank.LambdaRank(metric)" in message
    )


@every_door
@pytest.mark.parametrize("value", [skrank.Softmax, 3, max], ids=repr)
def test_what_is_neither(door, value):
    with pytest.raises(ValueError, match=r"is neither a metric nor an Objective") as told:
        door(value)
    assert ("write Softmax(...)" in str(told.value)) == (value is skrank.Softmax)


@every_door
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gap(foo=3)", "unknown parameter of gap 'foo'"),
        ("gap@@3", "unknown metric 'gap@@3': write name"),
        ("nDCG@10", "Write the one that you mean"),
    ],
)
def test_what_is_wrong_with_the_name_of_a_metric_is_told_as_ever(door, name, message):
    with pytest.raises(ValueError, match=message):
        door(name)


@pytest.mark.parametrize("door", ["linear", "loss", "neural", "as_objective"])
@pytest.mark.parametrize(("name", "metric"), [("lambdarank", "ndcg"), ("rank:map", "ap")])
def test_names_of_boosters_where_there_is_no_booster(door, name, metric):
    with pytest.raises(
        ValueError, match=f"unknown objective '{name}': write skrank.LambdaRank"
    ) as told:
        DOORS[door](name)
    assert f'LambdaRank("{metric}")' in str(told.value)


def test_all_objectives_are_named_as_they_are_written():
    classes = {
        name
        for name, one in vars(skrank.objectives).items()
        if isinstance(one, type) and issubclass(one, skrank.Objective)
    }
    with pytest.raises(ValueError, match="unknown objective") as told:
        objectives.as_objective("xyzzy")
    named = set(re.findall(r"skrank\.(\w+)\(", str(told.value)))
    assert named == classes - {"Objective", "ObjectiveMixture"}  # of which the latter is a sum
    for name in ("lambdamart", "rank:map", "lambdaloss", "softrank", "listnet", "xendcg"):
        with pytest.raises(ValueError, match="unknown objective") as told:
            objectives.as_objective(name)
        text = re.search(r"write (skrank\..*?)\. A string", str(told.value))[1]
        assert isinstance(eval(text), skrank.Objective)


def test_a_metric_of_that_name_is_trained_on():
    @skrank.register("softmax")
    @dataclass(frozen=True, kw_only=True)
    class Mine(skrank.metrics.GAP):
        pass

    try:
        assert objectives.as_objective("softmax") == skrank.LambdaRank(Mine())
    finally:
        skrank.unregister("softmax")
