"""What each metric name of trec_eval, ir_measures and ranx is here, or why it is refused."""

from __future__ import annotations

from typing import NamedTuple

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_LEVELS = tuple(f"{tenth / 10:.2f}" for tenth in range(11))


class Here(NamedTuple):
    """What a name is here.

    Attributes
    ----------
    name : str
        Our name; ``{k}`` stands for the parameter of theirs.
    usual : tuple
        Parameters that a name without one stands for, each of them a metric.
    all_at_once : bool
        Whether several parameters make one metric, not one each.
    note : str
        Where the values may differ all the same.
    """

    name: str
    usual: tuple[str | float, ...] = ()
    all_at_once: bool = False
    note: str = ""


class Refused(NamedTuple):
    """Why a name is not read, and what comes nearest."""

    reason: str
    nearest: str = ""


_PREFERENCES = Refused("it measures preferences between documents, which are out of scope")
_GROUPS = Refused("it averages over groups of assessors, which is out of scope", "map")
_EXPERIMENTAL = Refused("trec_eval calls it experimental", "ndcg(gain=linear,empty=0)")

TREC_EVAL: dict[str, Here | Refused] = {
    "num_q": Here("num_q"),
    "num_ret": Here("num_ret"),
    "num_rel": Here("num_rel", note="trec_eval -c -l adds up all labels above 0"),
    "num_rel_ret": Here("num_rel_ret"),
    "map": Here("ap(empty=0)"),
    "gm_map": Here("ap(empty=0,average=geometric)"),
    "Rprec": Here("r_precision(empty=0)"),
    "bpref": Here("bpref(empty=0)"),
    "recip_rank": Here("rr(empty=0)"),
    "iprec_at_recall": Here("iprec(recall={k},rounding=trec_eval9,empty=0)", _LEVELS),
    "P": Here("precision(empty=0)@{k}", CUTOFFS),
    "recall": Here("recall(empty=0)@{k}", CUTOFFS),
    "infAP": Here("infap(empty=0)"),
    "gm_bpref": Here("bpref(empty=0,average=geometric)"),
    "Rprec_mult": Here(
        "r_precision(multiple={k},empty=0)", tuple(f"{fifth / 5:.2f}" for fifth in range(1, 11))
    ),
    "utility": Here("utility(weights={k})", ("1,-1,0,0",), all_at_once=True),
    "11pt_avg": Here(
        "iap(levels={k},rounding=trec_eval9,empty=0)", (",".join(_LEVELS),), all_at_once=True
    ),
    "ndcg": Here("ndcg(gain=linear,empty=0)"),
    "ndcg_cut": Here("ndcg(gain=linear,empty=0)@{k}", CUTOFFS),
    "map_cut": Here("ap(empty=0)@{k}", CUTOFFS),
    "relative_P": Here("relative_precision(empty=0)@{k}", CUTOFFS),
    "success": Here("success(empty=0)@{k}", (1, 5, 10)),
    "set_P": Here("precision(empty=0)"),
    "set_relative_P": Here("relative_precision(empty=0)"),
    "set_recall": Here("recall(empty=0)"),
    "set_map": Here("set_ap(empty=0)"),
    "set_F": Here("f1(beta={k},empty=0)", ("1.0",), note="its parameter is the square of beta"),
    "num_nonrel_judged_ret": Here("num_nonrel_judged_ret"),
    "runid": Refused("it is a name, not a number: the report has it as its index"),
    "relstring": Refused("it is a text, not a number"),
    "binG": _EXPERIMENTAL,
    "G": _EXPERIMENTAL,
    "ndcg_rel": _EXPERIMENTAL,
    "Rndcg": _EXPERIMENTAL,
    "dcg": Refused("trec_eval prints it in debug builds only", "dcg(gain=linear,empty=0)"),
    "ideal_dcg": Refused("it says nothing about a run", "dcg(gain=linear,empty=0)"),
    "rbp": Refused("trec_eval 10 computes it from memory that it does not set", "rbp"),
    "rbp_resid": Refused("trec_eval 10 leaves the tail below the list out", "rbp_residual"),
    "unj": Refused("it is the share of k that was not judged", "judged@10"),
    "yaap": Refused("it is AP of log odds with constants of its own", "ap(empty=0)"),
    "map_avgjg": _GROUPS,
    "P_avgjg": _GROUPS,
    "Rprec_mult_avgjg": _GROUPS,
    **{
        f"prefs_{name}": _PREFERENCES
        for name in (
            "simp", "simp_ret", "simp_imp", "pair", "pair_ret", "pair_imp", "avgjg", "avgjg_ret",
            "avgjg_imp", "avgjg_Rnonrel", "avgjg_Rnonrel_ret", "num_prefs_poss", "num_prefs_ful",
            "num_prefs_ful_ret",
        )
    },
}  # fmt: skip
_OFFICIAL = (
    "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
    "iprec_at_recall", "P",
)  # fmt: skip
_SETS = ("utility", "set_P", "set_relative_P", "set_recall", "set_map", "set_F")
NICKNAMES = {
    "official": _OFFICIAL,
    "set": (*_OFFICIAL[:4], *_SETS),
    "all_trec": tuple(name for name, here in TREC_EVAL.items() if isinstance(here, Here)),
}

_DIVERSITY = Refused("it measures diversity, which is out of scope")
_CWL = (
    "cwl_eval orders ties as the run does, and limits labels to max_rel; skrank refuses higher ones"
)
_BY_NAME = "ir_measures orders ties by name, ascending"
_MISSING = "ir_measures counts 0 for a query that the run lacks, as missing='skip' does"
_ROUNDED = "ir_measures rounds to five decimals"

IR_MEASURES: dict[str, Here | Refused] = {
    "AP": Here("ap"),
    "MAP": Here("ap"),
    "P": Here("precision"),
    "Precision": Here("precision"),
    "R": Here("recall"),
    "Recall": Here("recall"),
    "RR": Here("rr", note=f"with a cut-off, {_BY_NAME}"),
    "MRR": Here("rr", note=f"with a cut-off, {_BY_NAME}"),
    "Rprec": Here("r_precision"),
    "RPrec": Here("r_precision"),
    "Bpref": Here("bpref"),
    "BPref": Here("bpref"),
    "infAP": Here("infap"),
    "Success": Here("success"),
    "nDCG": Here("ndcg(gain=linear)", note=f"with dcg='exp-log2', {_ROUNDED}"),
    "NDCG": Here("ndcg(gain=linear)", note=f"with dcg='exp-log2', {_ROUNDED}"),
    "ERR": Here("err(max_grade=4)", note=_ROUNDED),
    "RBP": Here("rbp", note="cwl_eval orders ties as the run does, and reads 1000 documents"),
    "IPrec": Here("iprec(rounding=trec_eval9)"),
    "Judged": Here("judged", note=f"{_BY_NAME}, and takes labels below 0 for judgments"),
    "NumQ": Here("num_q", note=_MISSING),
    "NumRet": Here("num_ret"),
    "NumRel": Here("num_rel", note=_MISSING),
    "NumRelRet": Here("num_rel_ret"),
    "SetP": Here("precision"),
    "SetRelP": Here("relative_precision"),
    "SetR": Here("recall"),
    "SetF": Here("f1", note="its beta is the square of ours"),
    "SetAP": Here("set_ap"),
    "Accuracy": Refused("it is the share of pairs in the right order, which is not here", "bpref"),
    "Compat": Here(
        "compat",
        note=f"{_BY_NAME}, and puts documents that the run lacks, with score 0, into the ideal "
        "ranking before documents of a score below 0",
    ),
    "BPM": Here(
        "bpm", note=f"{_CWL}; it adds up gains in floating point, so that thirds may miss T"
    ),
    "INSQ": Here("insq", note=_CWL),
    "INST": Here("inst", note=_CWL),
    "SDCG": Here("sdcg", note=_CWL),
    "NERR8": Here("nearly_err(patience=all)", note=_CWL),
    "NERR9": Here("nearly_err(patience=rank)", note=_CWL),
    "NERR10": Here("nearly_err", note=_CWL),
    "NERR11": Here("nearly_err(patience=insq)", note=_CWL),
    **dict.fromkeys(
        ("AP_IA", "MAP_IA", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "P_IA", "StRecall", "alpha_DCG",
         "alpha_nDCG", "α_DCG", "α_nDCG"), _DIVERSITY,
    ),
}  # fmt: skip

# models of cwl_eval, whose gains are shares of max_rel; and those that have a cut-off
GRADED_MODELS = ("BPM", "INSQ", "INST", "NERR8", "NERR9", "NERR10", "NERR11", "SDCG")
CUT_MODELS = ("BPM", "NERR8", "NERR9", "SDCG")

RANX: dict[str, Here | Refused] = {
    "hits": Here("num_rel_ret(average=macro)"),
    "hit_rate": Here("success(empty=0)"),
    "precision": Here("precision(empty=0)"),
    "recall": Here("recall(empty=0)"),
    "f1": Here("f1(empty=0)"),
    "r-precision": Here("r_precision(empty=0)"),
    "mrr": Here("rr(empty=0)"),
    "map": Here("ap(empty=0)"),
    "dcg": Here("dcg(gain=linear,empty=0)"),
    "dcg_burges": Here("dcg(empty=0)"),
    "ndcg": Here("ndcg(gain=linear,empty=0)"),
    "ndcg_burges": Here("ndcg(empty=0)"),
    "bpref": Here("bpref(empty=0)", note="ranx has NaN where all judged documents are relevant"),
    "rbp": Refused("ranx adds up the grades themselves, so that it exceeds 1", "rbp(p=0.95,rel=1)"),
}  # fmt: skip
RANX_TIES = "ranx orders ties by an unstable sort"
