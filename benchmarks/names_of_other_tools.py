"""Compare metrics that skrank finds by names of trec_eval and ir_measures with these tools.

Compares the values of all known names, per query, on judgments and runs in the TREC formats:

    python benchmarks/names_of_other_tools.py qrels.txt run1.txt run2.txt ...

Needs pytrec_eval and ir_measures. Prints the number of values and the largest difference by name.
"""

from __future__ import annotations

import argparse
import warnings

import ir_measures
import pytrec_eval

from skrank import trec
from skrank._engine.peer_names import expand, tables

# pytrec_eval does not pass parameters of utility to trec_eval, and has no geometric means
NOT_PER_QUERY = {"utility", "gm_map", "gm_bpref"}
WITH_PARAMETER = {
    "P": "P@10", "Precision": "Precision(rel=2)@20", "R": "R@100", "Recall": "Recall(rel=2)@10",
    "Success": "Success@5", "IPrec": "IPrec@0.1", "Judged": None, "ERR": None, "RBP": None,
    "RR": "RR(rel=2)", "AP": "AP(rel=2)", "nDCG": "nDCG@10", "SetF": "SetF(beta=0.5)",
}  # fmt: skip


def trec_eval_values(qrels: dict, run: dict) -> dict[tuple[str, str], float]:
    """Values of pytrec_eval by query and name."""
    measures = {name for name, entry in tables()["trec_eval"].items() if entry.ours} - NOT_PER_QUERY
    found = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    names = [one for name in measures for one in expand(name) or [name]]
    return {(query, name): found[query][name] for query in found for name in names}


def ir_measures_values(qrels: dict, run: dict) -> dict[tuple[str, str], float]:
    """Values of ir_measures by query and name."""
    table = tables()["ir_measures"]  # without models of cwl_eval
    names = [name for name, one in table.items() if one.ours and "max_rel" not in one.example]
    names = [WITH_PARAMETER.get(name, name) for name in names]
    measures = {name: ir_measures.parse_measure(name) for name in names if name}
    spelled: dict[str, list[str]] = {}
    for name, measure in measures.items():
        spelled.setdefault(str(measure), []).append(name)
    return {
        (one.query_id, name): one.value
        for one in ir_measures.iter_calc(list(dict.fromkeys(measures.values())), qrels, run)
        if one.query_id in run
        for name in spelled[str(one.measure)]
    }


def main() -> None:
    """Compare all names, and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("qrels")
    parser.add_argument("runs", nargs="+")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    judged = trec.read_qrels(arguments.qrels)
    frame = judged.to_frame().fillna({"label": -1})
    qrels: dict[str, dict[str, int]] = {}
    for query, document, label in frame.itertuples(index=False):
        qrels.setdefault(query, {})[document] = int(label)
    greatest: dict[str, tuple[int, float]] = {}
    for path in arguments.runs:
        ranked = trec.read_run(path)
        run: dict[str, dict[str, float]] = {}
        for query, document, score in ranked.to_frame().itertuples(index=False):
            run.setdefault(query, {})[document] = score
        for tool, values in (
            ("trec_eval", trec_eval_values(qrels, run)),
            ("ir_measures", ir_measures_values(qrels, run)),
        ):
            names = sorted({name for _, name in values})
            columns = [f"{tool}:{name}" for name in names]
            ours = trec.evaluate(judged, ranked, columns, missing="skip").per_query
            ours = ours.droplevel("system")
            for (query, name), value in values.items():
                key = f"{tool}:{name}"
                count, worst = greatest.get(key, (0, 0.0))
                greatest[key] = count + 1, max(worst, abs(ours.at[query, key] - value))
    for name, (count, worst) in sorted(greatest.items()):
        print(f"{name:<40} {count:>7} {worst:.1e}")
    total = sum(count for count, _ in greatest.values())
    worst = max(worst for _, worst in greatest.values())
    print(f"{len(greatest)} names, {total} values, greatest difference {worst:.1e}")


if __name__ == "__main__":
    main()
