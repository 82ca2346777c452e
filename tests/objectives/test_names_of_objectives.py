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


TEXTS = {
    "gap": skrank.LambdaRank("gap"),
    "trec_eval:map": skrank.LambdaRank("ap(empty=0,single_precision=True)"),
    "lightgbm:lambdarank@5": skrank.LambdaRank("lightgbm:ndcg@5"),
    "Softmax": skrank.Softmax(),
    "squared_error": skrank.SquaredError(),
    "lambdarank:gap": skrank.LambdaRank("gap"),
    "softrank:ndcg(gain=linear)": skrank.SoftRank("ndcg(gain=linear)"),
    "lambdarank:catboost:NDCG:top=5;type=Exp": skrank.LambdaRank("catboost:NDCG:top=5;type=Exp"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_objectives(text):
    expected = TEXTS[text]
    assert objectives.as_objective(text) == expected
    assert objectives.ObjectiveMixture([(2, text)]) == 2 * expected
    for door in (skrank.lightgbm.objective, skrank.xgboost.objective):
        assert door(text).objective == expected


@pytest.mark.parametrize("name", objectives.Objective.named)
def test_the_text_of_an_objective_is_its_call(name):
    cls = objectives.Objective.named[name]
    objective = cls() if name in ("softmax", "squared_error") else cls("ndcg")
    changes = {"sigmoid": 2.0, "random_state": 3, "max_grade": 4, "sigma": 0.25, "mu": 2.5,
               "norm": "sum", "pairs": "all", "learning_rate": 0.05}  # fmt: skip
    own = {field.name for field in fields(cls)}
    other = replace(objective, **{key: value for key, value in changes.items() if key in own})
    assert other != objective
    for one in (objective, other):
        assert eval(str(one), {cls.__name__: cls}) == one


def test_a_class_that_is_defined_again_replaces_the_earlier_class():
    for _ in range(2):

        class Zero(objectives.Objective):
            name = "zero"

            def bind(self, judgments, weights=None, *, max_grade=None): ...

        assert type(objectives.as_objective("zero")) is Zero
    del objectives.Objective.named["zero"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("lambdarank", "'lambdarank:ndcg'"),
        ("softrank(sigma=2)", "softrank:ndcg"),
        ("softmax:gap", "'softmax'"),
        ("softmax(gain=linear)", r"Softmax\("),
        ("lambdarank(norm=False):gap", r"LambdaRank\('ndcg', "),
        ("softmax(gain=linear", r"Softmax\("),
        ("0.5*softmax+0.5*gap", r"0\.7 \* LambdaRank"),
        ("0.5*gap+0.5*softmx", r"0\.7 \* LambdaRank"),
        ("QueryRMSE", "'QueryRMSE'"),
        ("xyzzy", "'xyzzy'"),
    ],
)
def test_mistakes_in_texts(text, named):
    with pytest.raises(ValueError, match=named):
        objectives.as_objective(text)


@every_door
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("LambdaMART", "'LambdaMART'.*'lambdarank:ndcg'"),
        ("listnet", "'listnet'.*'softmax'"),
        ("gpa", "'gpa'.*'gap'"),
        (skrank.Softmax, r"Softmax\(\.\.\.\)"),
        (3, "objective 3"),
        ("ndcg_cut_10", "'trec_eval:ndcg_cut_10'"),
    ],
)
def test_errors_are_the_same_at_every_door(door, given, message):
    with pytest.raises(ValueError, match=message):
        door(given)
