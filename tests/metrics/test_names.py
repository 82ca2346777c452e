"""Names of metrics: parsing, printing, and errors that suggest the nearest name."""

import dataclasses
from collections import OrderedDict

import numpy as np
import pytest
from sklearn.base import clone

import skrank
from skrank.metrics import GAP, NDCG, RR, Precision, registered
from tests.helpers.catalogue import CATALOGUE, every_point


@every_point
def test_the_repr_of_a_metric_is_its_code(point):
    twin = eval(repr(point.metric), vars(skrank.metrics))
    assert type(twin) is type(point.metric)
    assert twin == point.metric == clone(point.metric, safe=False)
    assert {point.metric: 1}[skrank.metric(point.text)] == 1


@every_point
def test_metrics_are_frozen(point):
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.metric.k = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.metric.k


def test_different_parameters_are_different_metrics():
    assert len({point.metric for point in CATALOGUE}) == len(CATALOGUE)
    assert len({str(point.metric) for point in CATALOGUE}) == len(CATALOGUE)


def test_every_name_and_alias_gives_its_class():
    for name, cls in registered().items():
        assert cls.names[0] == name
        for alias in cls.names:
            for text in (alias, f" {alias} ", f"{alias}()"):
                assert type(skrank.metric(text)) is cls
                assert str(skrank.metric(text)) == name


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("gap", GAP()),
        ("gap@10", GAP(k=10)),
        ("gap()", GAP()),
        (" gap @ 10 ", GAP(k=10)),
        ("gap(k=10)", GAP(k=10)),
        ("ndcg(gain=linear)@10", NDCG(gain="linear", k=10)),
        ("ndcg(gain='linear', k=10)", NDCG(gain="linear", k=10)),
        ("ndcg(gain=[0, 1, 3])", NDCG(gain=(0, 1, 3))),
        ("ndcg(gain=(0,1,3))", NDCG(gain=[0, 1, 3])),
        ("ndcg(gain={0:0,2:5})", NDCG(gain={0: 0, 2: 5})),
        ("gap(thresholds=[0.25,0.75],normalize=ideal)@5",
         GAP(thresholds=np.array([0.25, 0.75]), normalize="ideal", k=5)),
        ("gap(empty=0,ties='worst',condensed=True)", GAP(empty=0, ties="worst", condensed=True)),
        ("rr(ruler=[1,0.5])", RR(ruler=[1, 0.5])),
        ("p(rel=2)@3", Precision(rel=2, k=3)),
    ],
)  # fmt: skip
def test_strings_parse(text, metric):
    assert skrank.metric(text) == metric


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (GAP(), "gap"),
        (GAP(k=10), "gap@10"),
        (GAP(thresholds=[0.3, 0.7], k=5), "gap(thresholds=[0.3,0.7])@5"),
        (NDCG(gain="linear"), "ndcg(gain=linear)"),
        (NDCG(gain=[0, 1, 3]), "ndcg(gain=[0.0,1.0,3.0])"),
        (NDCG(gain=OrderedDict([(2, 5), (0, 0)])), "ndcg(gain={0.0:0.0,2.0:5.0})"),
        (GAP(empty=0, ties="best"), "gap(empty=0,ties=best)"),
        (Precision(k=np.int64(3), rel=np.float32(2)), "precision(rel=2.0)@3"),
    ],
)
def test_names_have_parameters_that_differ_from_the_default(metric, text):
    assert str(metric) == text
    assert f"{metric}" == text


def test_names_have_all_digits_of_thresholds():
    metric = skrank.metric("gap", thresholds=[1 / 3, 1 / 3, 1 / 3])
    assert skrank.metric(str(metric)).thresholds == (1 / 3, 1 / 3, 1 / 3)


def test_parameters_may_be_in_the_name_and_in_arguments():
    assert skrank.metric("gap@10", normalize="ideal") == GAP(k=10, normalize="ideal")
    assert skrank.metric(GAP(k=10), normalize="ideal") == GAP(k=10, normalize="ideal")
    metric = GAP(k=10)
    assert skrank.metric(metric) is metric
    with pytest.raises(ValueError, match="k is given twice"):
        skrank.metric("gap@10", k=5)
    with pytest.raises(ValueError, match="k twice"):
        skrank.metric("gap(k=5)@10")
    with pytest.raises(ValueError, match=r"twice|unknown metric"):
        skrank.metric("gap(empty=0,empty=1)")


def test_cut_off_operator():
    assert skrank.metric("gap") @ 10 == GAP(k=10)
    assert skrank.metric("ndcg(gain=linear)@10") @ 3 == NDCG(gain="linear", k=3)
    assert skrank.metric("gap@3") @ None == GAP()
    for k in (0, -1, 2.5, "3", True):
        with pytest.raises(ValueError, match="k="):
            skrank.metric("gap") @ k


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("gap(treshold=[1])", "thresholds"),
        ("ndcg(gian=linear)", "gain"),
        ("ap(relevance=2)", "rel"),
        ("gap(tie=worst)", "ties"),
        ("err(maxgrade=4)", "max_grade"),
    ],
)
def test_unknown_parameter_suggests_the_nearest(text, nearest):
    pattern = rf"unknown parameter of \w+ '\w+': did you mean '{nearest}'\? Known: .*k"
    with pytest.raises(ValueError, match=pattern):
        skrank.metric(text)
    name, _, rest = text.partition("(")
    with pytest.raises(ValueError, match=pattern):
        skrank.metric(name, **{rest.split("=")[0]: 1})


MALFORMED = [
    "", " ", "@10", "gap@", "gap@@10", "gap@10@5", "gap(", "gap)", "gap(10)", "gap(k=)",
    "gap(k=1", "10", "gap-10", "gap.k", "gap[10]", "gap+", "(gap, ap)", "gap; ap", "gap(**{})",
    "gap(k=__import__('os'))", "gap(thresholds=[x for x in y])", "lambda: gap", "gap\x00",
    "gap@1 0",
]  # fmt: skip
NEAREST = {"gpa": "gap", "ngcd": "ndcg", "ndgc": "ndcg", "er": "err", "precison": "precision"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, r"write name, name@k or name\(parameter=value\)@k") for text in MALFORMED),
        *(
            (f"{name}@10", f"unknown metric '{name}': did you mean '{nearest}'")
            for name, nearest in NEAREST.items()
        ),
        ("xyzzy", r"unknown metric 'xyzzy': Known: .*ap, .*gap.*ndcg"),
        *(
            (f"{name}@5", rf"{name} has no cut-off: remove k=5, or use")
            for name in ("r_precision", "bpref", "rpref", "iprec", "infap")
        ),
        *(
            (thing, "is not a metric: pass a name such as")
            for thing in (None, 10, ["gap"], GAP, b"gap", np.float64(1))
        ),
    ],
)
def test_what_names_no_metric(text, message):
    with pytest.raises(ValueError, match=message):
        skrank.metric(text)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        ("0", "k=0 must be at least 1"),
        ("-3", "k=-3 must be at least 1"),
        ("2.5", "k=2.5 must be an integer"),
        ("ten", "k='ten' must be an integer"),
        ("'10'", "k='10' must be an integer"),
        ("True", "k=True must be an integer"),
    ],
)
@pytest.mark.parametrize("name", ["gap", "ndcg", "err", "p"])
def test_cut_off_is_a_whole_number_of_at_least_one(name, k, message):
    for text in (f"{name}@{k}", f"{name}(k={k})"):
        with pytest.raises(ValueError, match=message):
            skrank.metric(text)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ties": "averge"}, r"ties='averge' .*'average', 'stable', 'worst', 'best'"),
        ({"empty": "ignore"}, r"empty='ignore' .*'skip', 0, 1, 'nan', 'raise'"),
        ({"empty": 2}, "empty=2 is not a choice"),
        ({"empty": True}, "empty=True is not a choice"),
        ({"normalize": "max"}, r"normalize='max' .*'all', 'ideal'"),
        ({"average": "micro"}, r"average='micro' .*'macro', 'geometric'"),
        ({"labels": "linear"}, r"labels='linear' .*'step', 'interp'"),
        ({"condensed": "no"}, "condensed='no'"),
        ({"max_grade": 0}, "max_grade=0 must be at least 1"),
        ({"max_grade": 2.5}, "max_grade=2.5 must be an integer"),
        ({"max_grade": 10**6}, "max_grade=1000000 .*bin the labels"),
    ],
)
def test_values_of_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        skrank.metric("gap", **parameters)
    with pytest.raises(ValueError, match=message):
        GAP(**parameters)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        *(
            (name, {"rel": rel}, r"rel=.* must be a number in \(0")
            for name in ("ap", "p@3", "rr")
            for rel in (0, -1, "1", None, True, float("nan"))
        ),
        ("ndcg", {"gain": "log"}, "gain='log' is not a choice"),
        ("ndcg", {"gain": []}, "gain=.* at least one number"),
        ("ndcg", {"gain": [0, -1]}, "must be at least 0"),
        ("ndcg", {"gain": [0, 3, 1]}, "must not fall as labels rise"),
        ("ndcg", {"gain": {0: 1, 2: 0}}, "must not fall as labels rise"),
        ("ndcg", {"gain": [0, np.inf]}, "all finite"),
        ("ndcg", {"gain": [0, "x"]}, "sequence of numbers"),
        ("ndcg", {"gain": {"a": 1}}, "sequence of numbers"),
        ("rr", {"ruler": "bbc"}, r"ruler='bbc' .*'trec', 'romip'"),
        ("rr", {"ruler": [1, 2]}, "must not increase"),
        ("rr", {"ruler": [1, -1]}, "at least 0"),
        ("rr", {"ruler": []}, "at least one"),
        ("rr", {"ruler": 5}, "sequence of numbers"),
    ],
)
def test_parameters_of_some_metrics_are_checked(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        skrank.metric(name, **parameters)


def test_gains_that_do_not_cover_the_labels():
    with pytest.raises(ValueError, match="gain has no value for label 2: give one per label"):
        skrank.metric("ndcg", gain=[0, 1])([0, 1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="gain has no value for label 1"):
        skrank.metric("ndcg", gain={0: 0, 2: 1})([0, 1, 2], [1, 2, 3])


# ---------------------------------------------------------------------- upper and lower case

TWO_MEANINGS = {"nDCG", "NDCG", "ERR", "Accuracy"}
NAMES = [name for cls in registered().values() for name in cls.names]


@pytest.mark.parametrize("name", NAMES)
def test_names_in_any_case_of_letters(name):
    expected = skrank.metric(name)
    for text in (name.upper(), name.capitalize(), name.title()):
        if text not in TWO_MEANINGS:
            assert skrank.metric(text) == expected


def test_names_in_a_sum_in_any_case_of_letters():
    assert str(skrank.metric("0.5*GAP@3 + 0.5*Ndcg")) == "0.5*gap@3+0.5*ndcg"
    assert skrank.scorer("GAP").metrics == skrank.scorer("gap").metrics


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("nDCG@10", ("'ndcg@10'", "of ir_measures, 'ndcg(gain=linear)@10'")),
        ("nDCG", ("'ndcg'", "'ndcg(gain=linear)'")),
        ("0.5*nDCG+0.5*gap", ("'ndcg'", "'ndcg(gain=linear)'")),
        ("NDCG@5", ("'ndcg@5' of skrank", "of ir_measures, 'ndcg(gain=linear)@5'")),
        ("ERR@20", ("'err@20'", "of ir_measures, 'err(max_grade=4)@20'")),
        ("Accuracy", ("'accuracy'", "of ir_measures, which is not read: it is the share")),
    ],
)
def test_a_spelling_with_two_meanings_is_refused_with_both_ways_to_write_it(text, both):
    with pytest.raises(ValueError, match="Write one of these") as error:
        skrank.metric(text)
    assert all(one in str(error.value) for one in both)
