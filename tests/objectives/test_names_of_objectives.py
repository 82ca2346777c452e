"""Texts of objectives, and errors for texts that are not objectives."""

from dataclasses import fields, replace
from functools import partial
from importlib.util import find_spec

import lightgbm
import pytest
import xgboost
from sklearn.base import clone

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import GroupedRanker, LinearRanker, objectives
from skrank.datasets import make_ranking

DATA = make_ranking(10, random_state=0)
Y = skrank.with_groups(DATA.relevance, DATA.qid)
RANKERS = {
    "lightgbm": GroupedRanker(lightgbm.LGBMRanker(n_estimators=3, verbosity=-1)),
    "xgboost": GroupedRanker(xgboost.XGBRanker(n_estimators=3)),
    "linear": LinearRanker(validation_fraction=0.3, random_state=0),
}
DOORS = {
    "skrank.lightgbm": skrank.lightgbm.objective,
    "skrank.xgboost": skrank.xgboost.objective,
    "as_objective": objectives.as_objective,
    "mixture": lambda one: objectives.ObjectiveMixture([(1.0, one)]),
}
if find_spec("torch"):
    RANKERS["neural"] = skrank.torch.NeuralRanker(epochs=2, random_state=0)
    DOORS["loss"] = skrank.torch.RankingLoss


def train(objective, name):
    return clone(RANKERS[name]).set_params(objective=objective).fit(DATA.X, Y)


DOORS |= {name: partial(train, name=name) for name in RANKERS}
every_door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


def mixed(*parts):
    return objectives.ObjectiveMixture(parts)


TEXTS = {
    "gap": skrank.LambdaRank("gap"),
    "0.7*gap+0.3*ndcg@10": skrank.LambdaRank("0.7*gap+0.3*ndcg@10"),
    "trec_eval:map": skrank.LambdaRank("ap(empty=0)"),
    "lightgbm:lambdarank@5": skrank.LambdaRank("lightgbm:ndcg@5"),
    "Softmax()": skrank.Softmax(),
    "squared_error": skrank.SquaredError(),
    "lambdarank:gap": skrank.LambdaRank("gap"),
    "softrank(sigma=0.5):gap": skrank.SoftRank("gap", sigma=0.5),
    "lambdaloss(weights='ndcg_loss2++',mu=3):ndcg": skrank.LambdaLoss("ndcg", mu=3),
    "lambdarank:catboost:NDCG:top=5;type=Exp": skrank.LambdaRank("catboost:NDCG:top=5;type=Exp"),
    "lambdarank:(0.7*gap + 0.3*ndcg@10)": skrank.LambdaRank("0.7*gap+0.3*ndcg@10"),
    "0.5*(gap+ndcg) + softmax": mixed((0.5, "gap+ndcg"), (1, "softmax")),
    "0.5*lambdarank:gap + softrank:ndcg*2": mixed((0.5, "gap"), (2, skrank.SoftRank("ndcg"))),
    "0.5*(gap + 0.2*squared_error(centered=True))": mixed(
        (0.5, "gap"), (0.1, skrank.SquaredError(centered=True))
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_objectives(text):
    expected = TEXTS[text]
    found = objectives.as_objective(text)
    assert found == expected
    assert objectives.as_objective(str(expected)) == expected
    assert mixed((2, text)) == mixed((2, expected))
    for door in (skrank.lightgbm.objective, skrank.xgboost.objective):
        assert door(text).objective == expected


@pytest.mark.parametrize("name", objectives.Objective.named)
def test_texts_of_all_objectives_read_back(name):
    cls = objectives.Objective.named[name]
    objective = cls() if name in ("softmax", "squared_error") else cls("ndcg")
    assert objectives.as_objective(str(objective)) == objective
    changes = {"sigmoid": 2.0, "random_state": 3, "max_grade": 4, "sigma": 0.25, "mu": 2.5,
               "norm": "sum", "pairs": "all", "learning_rate": 0.05}  # fmt: skip
    own = {field.name for field in fields(cls)}
    other = replace(objective, **{key: value for key, value in changes.items() if key in own})
    assert other != objective
    assert objectives.as_objective(str(other)) == other


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lambdarank", "'lambdarank'"),
        ("softrank(sigma=2)", "softrank:ndcg"),
        ("softmax:gap", "softmax"),
        ("softmax(gian=linear)", "'gian'.*'gain'"),
        ("softmax(1)", r"'softmax\(1\)'.*option=value"),
        ("softmax(gain=linear", "is not an objective: write name or name"),
        ("0.5*softmax*gap", r"'0.5\*softmax\*gap'"),
        ("-1*softmax", "weight=-1.0"),
        ("0.5*gap+0.5*softmx", "'softmx'.*'softmax'"),
        ("QueryRMSE", "'QueryRMSE'"),
        ("xyzzy", "'xyzzy'"),
    ],
)
def test_mistakes_in_texts(text, message):
    with pytest.raises(ValueError, match=message):
        objectives.as_objective(text)


@every_door
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("LambdaMART", "'LambdaMART'.*'lambdarank:ndcg'.*softrank"),
        ("0.9*gap+0.1*listnet", "'listnet'.*'softmax'"),
        ("gpa", "'gpa'.*'gap'.*softrank"),
        (skrank.Softmax, r"write Softmax\(\.\.\.\)"),
        (3, "objective 3"),
        ("ndcg_cut_10", "'trec_eval:ndcg_cut_10'"),
    ],
)
def test_errors_are_the_same_at_every_door(door, given, message):
    with pytest.raises(ValueError, match=message):
        door(given)
