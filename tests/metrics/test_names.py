"""Names of metrics: parsing and printing. test_refused_names.py tests what is refused."""

from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import skrank
from skrank.metrics import GAP, NDCG, Precision, registered
from tests.helpers.catalogue import CATALOGUE


def test_the_repr_of_a_metric_is_its_code():
    for point in CATALOGUE:
        twin = eval(repr(point.metric), vars(skrank.metrics))
        assert type(twin) is type(point.metric)
        assert twin == point.metric == clone(point.metric, safe=False)
        assert {point.metric: 1}[skrank.metric(point.text)] == 1


@pytest.mark.parametrize("cls", registered().values(), ids=registered())
def test_every_name_and_alias_gives_its_class_in_any_case_of_letters(cls):
    assert cls.names[0] in {point.metric.names[0] for point in CATALOGUE}, "it has no point"
    assert getattr(skrank.metrics, cls.__name__) is cls
    for name in cls.names:
        cases = {name.upper(), name.capitalize(), name.title()}
        for text in (name, f" {name} ", f"{name}()", *cases):
            assert skrank.metric(text) == cls()
            assert str(skrank.metric(text)) == cls.names[0]


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        (" gap @ 10 ", GAP(k=10)),
        ("ndcg(gain=[0, 1, 3])", NDCG(gain=(0, 1, 3))),
        ("ndcg(gain={0:0,2:5})", NDCG(gain={0: 0, 2: 5})),
        ("gap(thresholds=[0.25,0.75],normalize=ideal)@5",
         GAP(thresholds=np.array([0.25, 0.75]), normalize="ideal", k=5)),
        ("gap(empty=0,ties='worst',condensed=True)", GAP(empty=0, ties="worst", condensed=True)),
        (skrank.metric(GAP(k=10), normalize="ideal"), GAP(k=10, normalize="ideal")),
        ("ap(empty=raise)@5", skrank.metric("ap@5", empty="raise")),
        (skrank.metric(GAP(k=3), k=None), GAP()),
        (skrank.metric("trec_eval:map", k=10), skrank.metric("trec_eval:map_cut_10")),
    ],
)  # fmt: skip
def test_texts_arguments_and_cut_offs_give_the_metric(text, metric):
    assert skrank.metric(text) == metric
    assert skrank.metric(metric) is metric


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (GAP(thresholds=[0.3, 0.7], k=5), "gap(thresholds=[0.3,0.7])@5"),
        (GAP(thresholds=[1 / 3, 2 / 3]), f"gap(thresholds=[{1 / 3!r},{2 / 3!r}])"),
        (NDCG(gain=OrderedDict([(2, 5), (0, 0)])), "ndcg(gain={0.0:0.0,2.0:5.0})"),
        (NDCG(gain=pd.Series([5, 0], index=[2, 0])), "ndcg(gain={0.0:0.0,2.0:5.0})"),
        (Precision(k=np.int64(3), rel=np.float32(2)), "precision(rel=2.0)@3"),
    ],
)
def test_names_have_parameters_that_differ_from_the_default(metric, text):
    assert str(metric) == text


def test_names_of_trec_eval_alone_ask_for_single_precision():
    for name in ("trec_eval:map", "trec_eval:P_5"):
        metric = skrank.metric(name)
        for same in (metric, skrank.metric(str(metric)), replace(metric, empty=1)):
            assert same.single_precision
    assert skrank.metric("trec_eval:map") != skrank.metric("ap(empty=0)")
    assert not skrank.metric("ir_measures:AP").single_precision
    assert len(skrank.scorer("ap(empty=0)", "trec_eval:map").metrics) == 2
