"""Names of trec_eval and ir_measures: values equal the tools' own, or the name is refused."""

import numpy as np
import pandas as pd
import pytest

import skrank
from skrank import trec
from skrank.extending import unique_metrics
from tests.helpers import trec_cases
from tests.helpers.engine import expand, tables


def collection(seed):
    qrels, runs = trec_cases.collection(seed, n_queries=14)
    return qrels, runs["run0"]


def values(qrels, run, names, missing="skip"):
    report = trec.evaluate(qrels, run, names, missing=missing)
    return report.per_query.loc["run"], report.mean.loc["run"]


READ = [name for name, entry in tables()["trec_eval"].items() if entry.ours and name != "utility"]
MORE = ["P_3", "recall_7", "ndcg_cut_4", "map_cut_12", "success_2", "relative_P_6", "set_F_0.50",
        "iprec_at_recall_0.35", "Rprec_mult_0.35"]  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_values_are_those_of_trec_eval(seed):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, run = collection(seed)
    # pytrec_eval does not hand trec_eval the usual parameters of utility
    for names in ([one for name in READ for one in expand(name) or [name]], MORE):
        # pytrec_eval takes the parameters of a measure together, and a measure with others once
        measures = set(READ) if names is not MORE else set(MORE)
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, measures)
        theirs = pd.DataFrame(evaluator.evaluate(run)).T
        ours, mean = values(qrels, run, [f"trec_eval:{name}" for name in names])
        ours.columns, mean.index = names, names
        keys = {name: "set_F" if name.startswith("set_F") else name for name in names}
        for name in set(names) - {"gm_map", "gm_bpref"}:
            found = ours[name].dropna()
            assert sorted(found.index) == sorted(theirs.index)
            expected = theirs.loc[found.index, keys[name]].to_numpy(float)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=name)
            total = pytrec_eval.compute_aggregated_measure(keys[name], expected.tolist())
            assert mean[name] == pytest.approx(total, abs=1e-12), name
        for name in {"gm_map", "gm_bpref"} & set(names):
            logs = theirs.loc[ours[name].dropna().index, name].to_numpy(float)
            assert mean[name] == pytest.approx(np.exp(logs.mean()), abs=1e-12)


def test_levels_with_three_decimals_are_not_rounded():
    names = expand("iprec_at_recall_0.125,.5")
    assert names == ["iprec_at_recall_0.125", "iprec_at_recall_0.50"]


IRM = ["AP", "AP@7", "AP(rel=2)", "AP(rel=2,judged_only=True)@5", "P@4", "P(rel=3)@10", "R@10",
       "RR", "RR(rel=2)", "Rprec", "Rprec(rel=2)", "Bpref", "Bpref(rel=2)", "infAP", "infAP(rel=2)",
       "Success@3", "Success(rel=3)@3", "nDCG", "nDCG@6", "nDCG(judged_only=True)@6",
       "nDCG(gains={0:0,1:5,2:7,3:7})@10", "nDCG(gains={1:1,3:9})", "IPrec@0.1",
        "IPrec(rel=2)@0.5", "NumQ", "NumRet",
       "NumRet(rel=2)", "NumRelRet", "NumRel", "SetP", "SetP(rel=2)", "SetP(relative=True)",
       "SetR(rel=2)", "SetF", "SetF(beta=0.5)", "SetAP", "SetAP(rel=2)"]  # fmt: skip
WITHOUT_TIES = ["Judged", "Judged@10", "RR@5", "RR(rel=2)@10", "Compat", "Compat(p=0.5)",
                "Compat(p=0.8,normalize=False)"]  # fmt: skip


@pytest.mark.parametrize(("names", "ties"), [(IRM, True), (WITHOUT_TIES, False)])
def test_values_are_those_of_ir_measures(names, ties):
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = collection(5)
    if not ties:
        run = {q: {d: float(i) for i, d in enumerate(docs)} for q, docs in run.items()}
    if names is WITHOUT_TIES:  # ir_measures takes documents of negative labels for judged
        qrels = {q: {d: abs(label) for d, label in docs.items()} for q, docs in qrels.items()}
    measures = {name: ir_measures.parse_measure(name) for name in names}
    first = measures[names[0]]
    for given in (first, [first]):
        assert list(unique_metrics(given)) == [f"ir_measures:{first}"]
    theirs, means = {}, {}
    for measure in measures.values():  # one by one: together, some take the values of others
        for one in ir_measures.iter_calc([measure], qrels, run):
            theirs[one.query_id, str(measure)] = one.value
        means[measure] = ir_measures.calc_aggregate([measure], qrels, run)[measure]
    with pytest.warns(UserWarning, match="run"):
        ours, mean = values(qrels, run, [f"ir_measures:{name}" for name in names], "zero")
    for name, measure in measures.items():
        found = ours[f"ir_measures:{name}"]
        if name == "NumRel":  # ir_measures has 0 for a query that the run lacks
            found = found.where(found.index != "05", 0)
        if name in ("NumQ", "NumRel"):
            found = found[found.index != "05"]
        else:
            assert mean[f"ir_measures:{name}"] == pytest.approx(means[measure], abs=1e-12), name
        expected = [theirs[query, str(measure)] for query in found.index]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=name)


CWL_VALUES = {  # of ir_measures 0.4.3 with cwl_eval 1.0.12 for the labels 0 1 - 4 0 2
    "RBP(p=0.9,rel=2)": 0.1 * (0.9**3 + 0.9**5),  # by the formula of its paper
    "SDCG(max_rel=4)@10": 0.1687031098272771,
    "INSQ(max_rel=4)": 0.12110196064202752,
    "INSQ(T=2.5,min_rel=1,max_rel=4)": 0.08604617612209081,
    "INST(max_rel=4)": 0.12741470850082293,
    "INST(T=2.0,max_rel=4)": 0.14208526687717354,
    "BPM(max_rel=4)@10": 0.3125,
    "BPM(T=3.0,max_rel=4)@10": 0.175,
    "NERR8(max_rel=4)@5": 0.2857142857142857,
    "NERR9(max_rel=4)@5": 0.16129032258064516,
    "NERR10(max_rel=4)": 0.25268069084063194,
    "NERR11(max_rel=4)": 0.13191691771048045,
}


@pytest.mark.parametrize("name", CWL_VALUES)
def test_user_models_have_values_of_cwl_eval(name):
    labels = [0, 1, np.nan, 4, 0, 2]
    found = skrank.metric(f"ir_measures:{name}")(labels, [6, 5, 4, 3, 2, 1])
    assert found == pytest.approx(CWL_VALUES[name], abs=1e-12)


@pytest.mark.parametrize("peer", [peer for peer in tables() if peer != "nickname"])
def test_refusals_say_why_and_name_the_nearest(peer):
    for name, entry in tables()[peer].items():
        if entry.ours:
            continue
        with pytest.raises(ValueError, match="is not read") as error:
            skrank.metric(f"{peer}:{name}")
        assert entry.note in str(error.value)
        assert entry.example in str(error.value)
        if entry.example:
            assert isinstance(skrank.metric(entry.example), skrank.Metric)
