"""Texts of objectives, and errors for texts that are not objectives."""

import re
from dataclasses import dataclass, fields, replace

import lightgbm
import numpy as np
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

TEXTS = {
    "softmax": skrank.Softmax(),
    "Softmax()": skrank.Softmax(),
    "softmax(gain=linear)": skrank.Softmax(gain="linear"),
    "squared_error": skrank.SquaredError(),
    "lambdarank:gap": skrank.LambdaRank("gap"),
    "soft_rank:ndcg": skrank.SoftRank("ndcg"),
    "softrank(sigma=0.5):gap": skrank.SoftRank("gap", sigma=0.5),
    "lambdaloss:ndcg@10": skrank.LambdaLoss("ndcg@10"),
    "lambdaloss(weights='ndcg_loss2++',mu=3):ndcg": skrank.LambdaLoss("ndcg", mu=3),
    "lambdarank:catboost:NDCG:top=5;type=Exp": skrank.LambdaRank("catboost:NDCG:top=5;type=Exp"),
    "lambdarank:(0.7*gap + 0.3*ndcg@10)": skrank.LambdaRank("0.7*gap+0.3*ndcg@10"),
    "0.5*(gap+ndcg) + softmax": 0.5 * skrank.LambdaRank("gap+ndcg") + skrank.Softmax(),
    "0.9*gap+0.1*softmax": 0.9 * skrank.LambdaRank("gap") + 0.1 * skrank.Softmax(),
    "0.5*lambdarank:gap + softrank:ndcg*2": 0.5 * skrank.LambdaRank("gap")
    + 2 * skrank.SoftRank("ndcg"),
    "0.5*(gap + 0.2*squared_error(centered=True))": 0.5 * skrank.LambdaRank("gap")
    + 0.1 * skrank.SquaredError(centered=True),
}
ALONE = {
    "unbiased_lambdarank(bias_norm=1):ndcg": skrank.UnbiasedLambdaRank("ndcg", bias_norm=1),
    "additive_position_bias:(0.9*gap+0.1*softmax)": skrank.AdditivePositionBias(
        0.9 * skrank.LambdaRank("gap") + 0.1 * skrank.Softmax()
    ),
}  # they cannot be parts of a mixture


@pytest.mark.parametrize("text", [*TEXTS, *ALONE])
def test_texts_are_objectives(text):
    expected = (TEXTS | ALONE)[text]
    found = objectives.as_objective(text)
    assert found == expected
    assert objectives.as_objective(str(expected)) == expected
    if text in TEXTS:
        assert objectives.ObjectiveMixture([(2, text)]) == 2 * expected
        assert skrank.AdditivePositionBias(text).objective == expected
    for door in (skrank.lightgbm.objective, skrank.xgboost.objective):
        assert door(text).objective == expected


@pytest.mark.parametrize("name", objectives.Objective.named)
def test_texts_of_all_objectives_read_back(name):
    cls = objectives.Objective.named[name]
    objective = cls() if name in ("softmax", "squared_error") else cls("ndcg")
    assert objectives.as_objective(str(objective)) == objective
    changes = {"sigmoid": 2.0, "random_state": -3, "max_grade": 4, "sigma": 0.25, "mu": 2.5,
               "score_norm": False, "pairs": "all", "learning_rate": 0.05}  # fmt: skip
    own = {field.name for field in fields(cls)}
    other = replace(objective, **{key: value for key, value in changes.items() if key in own})
    assert other != objective
    assert objectives.as_objective(str(other)) == other


@pytest.mark.parametrize(
    ("text", "metric"),
    [("gap", "gap"), ("0.7*gap+0.3*ndcg@10", "0.7*gap+0.3*ndcg@10"),
     ("trec_eval:map", "ap(empty=0)"), ("lightgbm:lambdarank@5", "lightgbm:ndcg@5")],
)  # fmt: skip
def test_a_text_of_metrics_alone_is_lambdarank_on_it(text, metric):
    assert objectives.as_objective(text) == skrank.LambdaRank(metric)
    assert objectives.as_objective(text, sigmoid=2) == skrank.LambdaRank(metric, sigmoid=2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "lambdarank",
            "'lambdarank' is not an objective: its metric is missing, write lambdarank:ndcg",
        ),
        ("softrank(sigma=2)", "its metric is missing, write softrank:ndcg"),
        ("softmax:gap", "softmax has no metric, write softmax"),
        ("softmax(gian=linear)", "unknown option of Softmax 'gian': did you mean 'gain'"),
        ("softmax(1)", r"'softmax\(1\)' is not an objective: write name or name\(option=value\)"),
        ("softmax(gain=linear", "is not an objective: write name or name"),
        ("0.5*softmax*gap", "'softmax\\*gap' is not an objective"),
        ("lambdarank:gpa", "unknown metric 'gpa': did you mean 'gap'"),
        ("-1*softmax", "weight=-1.0 must be"),
        ("softmx", "unknown objective 'softmx': did you mean 'softmax'"),
        ("0.5*gap+0.5*softmx", "unknown objective 'softmx': did you mean 'softmax'"),
    ],
)
def test_mistakes_in_texts(text, message):
    with pytest.raises(ValueError, match=message):
        objectives.as_objective(text)


@pytest.mark.parametrize("text", ["softmax", "softrank:ndcg", "0.9*gap+0.1*squared_error"])
@pytest.mark.parametrize("ranker", ["lightgbm", "xgboost", "linear", "neural"])
def test_rankers_train_on_texts(text, ranker):
    if ranker == "neural":
        pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")
    made = {
        "lightgbm": lambda: GroupedRanker(lightgbm.LGBMRanker(n_estimators=3, verbosity=-1)),
        "xgboost": lambda: GroupedRanker(xgboost.XGBRanker(n_estimators=3)),
        "linear": lambda: LinearRanker(validation_fraction=0.3, random_state=0),
        "neural": lambda: skrank.torch.NeuralRanker(epochs=2, random_state=0),
    }[ranker]
    by_text, by_object = (
        made().set_params(objective=one).fit(DATA.X, Y).predict(DATA.X)
        for one in (text, objectives.as_objective(text))
    )
    np.testing.assert_array_equal(by_text, by_object)


@every_door
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("lambdamart", "write 'lambdarank:ndcg'."),
        ("LambdaMART", "write 'lambdarank:ndcg'."),
        ("listnet", "write 'softmax'."),
        ("QueryRMSE", "write 'squared_error(centered=True)'."),
        ("0.9*gap+0.1*listnet", "'listnet': write 'softmax'."),
        ("gpa", "did you mean 'gap'?"),
        ("softmx", "did you mean 'softmax'?"),
        ("xyzzy", "Name a metric to train on"),
    ],
)
def test_what_names_neither_is_told_with_all_objectives(door, name, hint):
    with pytest.raises(ValueError, match=r"^unknown objective '") as told:
        door(name)
    message = str(told.value)
    assert hint in message
    assert "such as 'gap' or 'ndcg@10', or an objective" in message
    assert all(one in message for one in objectives.Objective.named)


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
        ("nDCG@10", "Write one of these"),
    ],
)
def test_what_is_wrong_with_the_name_of_a_metric_is_told_as_ever(door, name, message):
    with pytest.raises(ValueError, match=message):
        door(name)


def test_all_objectives_have_names():
    classes = {
        one
        for one in vars(skrank.objectives).values()
        if isinstance(one, type) and issubclass(one, skrank.Objective)
    }
    named = set(objectives.Objective.named.values())
    assert named == classes - {skrank.Objective, objectives.ObjectiveMixture}


@pytest.mark.parametrize(
    "name",
    ["LambdaMART", "rank:ndcg", "rank:map", "RankMAP", "SoftmaxLoss", "QuerySoftMax", "ListNet",
     "XE NDCG", "rank_xendcg", "MSE", "RMSE", "reg:squarederror", "QueryRMSE",
     "unbiased_lambdamart"],
)  # fmt: skip
def test_names_in_papers_and_libraries_point_to_an_objective(name):
    with pytest.raises(ValueError, match="unknown objective") as error:
        objectives.as_objective(name)
    written = re.search("write '(.+?)'[.]", str(error.value))[1]
    assert isinstance(objectives.as_objective(written), skrank.Objective)


def test_a_metric_of_that_name_is_trained_on():
    @skrank.register("softmax")
    @dataclass(frozen=True, kw_only=True)
    class Mine(skrank.metrics.GAP):
        pass

    try:
        assert objectives.as_objective("softmax") == skrank.LambdaRank(Mine())
    finally:
        skrank.unregister("softmax")
