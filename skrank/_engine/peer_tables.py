"""What each metric name of another tool is here, or why it is refused."""

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
    example : str
        Their name with its parameters, as documentation shows it. Default: the name itself.
    """

    name: str
    usual: tuple[str | float, ...] = ()
    all_at_once: bool = False
    note: str = ""
    example: str = ""


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
    "RBP": Here(
        "rbp",
        note="cwl_eval orders ties as the run does, and reads 1000 documents",
        example="RBP(p=0.8,rel=1)",
    ),
    "IPrec": Here("iprec(rounding=trec_eval9)", example="IPrec@0.1"),
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
        "bpm",
        note=f"{_CWL}; it adds up gains in floating point, so that thirds may miss T",
        example="BPM(max_rel=4)@10",
    ),
    "INSQ": Here("insq", note=_CWL, example="INSQ(max_rel=4)"),
    "INST": Here("inst", note=_CWL, example="INST(max_rel=4)"),
    "SDCG": Here("sdcg", note=_CWL, example="SDCG(max_rel=4)@10"),
    "NERR8": Here("nearly_err(patience=all)", note=_CWL, example="NERR8(max_rel=4)@10"),
    "NERR9": Here("nearly_err(patience=rank)", note=_CWL, example="NERR9(max_rel=4)@10"),
    "NERR10": Here("nearly_err", note=_CWL, example="NERR10(max_rel=4)"),
    "NERR11": Here("nearly_err(patience=insq)", note=_CWL, example="NERR11(max_rel=4)"),
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

# Libraries that train and measure: their names are read behind a prefix only
# ------------------------------------------------------------------------------------------------

_POOLED = Refused("it measures single rows or all rows together, not the lists of queries")
_IN_PAIRS = Refused("it is the share of pairs in the right order, which is not here", "bpref")

_LIGHTGBM_NDCG = "ndcg(ties=stable,empty=1)"
_LIGHTGBM_MAP = "ap(normalize=ideal,ties=stable,empty=1)"
_UNWEIGHTED = "with weights, a query without relevant documents has the weight 1 in the sum"
LIGHTGBM: dict[str, Here | Refused] = {
    **{
        name: Here(_LIGHTGBM_NDCG, note=_UNWEIGHTED, example=f"{name}@5")
        for name in ("ndcg", "lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart",
                     "xendcg_mart")
    },
    "map": Here(_LIGHTGBM_MAP, example="map@5"),
    "mean_average_precision": Here(_LIGHTGBM_MAP, example="mean_average_precision@5"),
    **dict.fromkeys(
        ("auc", "auc_mu", "average_precision", "binary_logloss", "binary_error", "cross_entropy",
         "l1", "l2", "rmse", "quantile", "huber", "fair", "poisson", "gamma", "tweedie"), _POOLED,
    ),
}  # fmt: skip

_XGBOOST_CUT = "a name without @ is cut at 32"
_BINARY = "XGBoost takes labels 0 and 1 only"
XGBOOST: dict[str, Here | Refused] = {
    "ndcg": Here(
        "ndcg(ties=stable,empty=1)", note=f"{_XGBOOST_CUT}; {_UNWEIGHTED}", example="ndcg@5"
    ),
    "map": Here(
        "ap(normalize=ideal,ties=stable,empty=1)",
        note=f"{_XGBOOST_CUT}; {_BINARY}",
        example="map@5",
    ),
    "pre": Here(
        "precision(normalize=shown,ties=stable,empty=0)",
        note=f"{_XGBOOST_CUT}; {_BINARY}",
        example="pre@5",
    ),
    "auc": _IN_PAIRS,
    **dict.fromkeys(("aucpr", "error", "logloss", "mae", "mape", "mphe", "rmse", "rmsle"), _POOLED),
}

_BORDER = "relevant are labels above border, which is 0.5 by default"
CATBOOST: dict[str, Here | Refused] = {
    "DCG": Here("dcg({gain}ties=worst,empty=0)", example="DCG:top=10;type=Base"),
    "NDCG": Here("ndcg({gain}ties=worst,empty=1)", example="NDCG:top=10;type=Base"),
    "MAP": Here("ap({rel}normalize=ideal,ties=worst,empty=0)", note=_BORDER, example="MAP:top=10"),
    "MRR": Here("rr({rel}ties=worst,empty=0)", note=_BORDER, example="MRR:top=10"),
    "PFound": Here(
        "pfound({decay}p_rel=raw,ties=worst,empty=0)",
        note="CatBoost takes labels above 1, with which it exceeds 1; skrank refuses them",
        example="PFound:top=10",
    ),
    "PrecisionAt": Here(
        "precision({rel}normalize=shown,ties=worst,empty=0)", note=_BORDER,
        example="PrecisionAt:top=10",
    ),
    "RecallAt": Here("recall({rel}ties=worst,empty=1)", note=_BORDER, example="RecallAt:top=10"),
    "ERR": Refused("it takes the label itself for the chance to stop", "err(ties=worst,empty=0)"),
    "AverageGain": Refused("it is CG@k over k", "cg(gain=linear,ties=worst,empty=0)@10"),
    "QueryAverage": Refused("it is CG@k over k", "cg(gain=linear,ties=worst,empty=0)@10"),
    "FilteredDCG": Refused("it leaves documents out by the sign of their scores", "dcg"),
    **dict.fromkeys(("QueryAUC", "PairAccuracy"), _IN_PAIRS),
    **dict.fromkeys(
        ("PairLogit", "PairLogitPairwise", "YetiRank", "YetiRankPairwise", "LambdaMart",
         "StochasticRank", "QuerySoftMax", "QueryRMSE", "QueryCrossEntropy"),
        Refused("it is a loss to train on"),
    ),
}  # fmt: skip

SKLEARN: dict[str, Here | Refused] = {
    "ndcg_score": Here(
        "ndcg(gain=linear,empty=0)",
        note="ignore_ties=True sorts ties unstably in scikit-learn",
        example="ndcg_score(k=10)",
    ),
    "dcg_score": Here(
        "dcg(gain=linear,empty=0)",
        note="ignore_ties=True sorts ties unstably in scikit-learn",
        example="dcg_score(k=10)",
    ),
    "average_precision_score": Here(
        "ap(empty=0)", note="mean over queries of its values; it takes tied documents as one step"
    ),
    "label_ranking_average_precision_score": Here(
        "ap(empty=1)", note="a row of its matrix is a query; tied documents all have the last rank"
    ),
    "roc_auc_score": _IN_PAIRS,
    "label_ranking_loss": _IN_PAIRS,
    "coverage_error": Refused("it is the rank of the last relevant document, which is not here"),
    "top_k_accuracy_score": Refused("it is about classes, one of which is right", "success@10"),
}

# NTCIREVAL
# ------------------------------------------------------------------------------------------------

_PREFERENCE = "NTCIREVAL needs its option -j, and a judged document that is not relevant"
_USER = "it is a user model that is not here"
NTCIREVAL_CUTOFF = 1000  # of names that always have one
NTCIREVAL: dict[str, Here | Refused] = {
    "AP": Here("ap(normalize=ideal,empty=0)", example="AP@1000"),
    "Q": Here("q(beta=1,gain=linear,normalize=ideal,empty=0)", example="Q@1000"),
    "Q-measure": Here("q(beta=1,gain=linear,normalize=ideal,empty=0)"),
    "nDCG": Here("ndcg(gain=linear,discount=jk,base=2,empty=0)@", example="nDCG@10"),
    "MSnDCG": Here("ndcg(gain=linear,empty=0)@", example="MSnDCG@10"),
    "P": Here("precision(empty=0)@", example="P@10"),
    "Prec": Here("precision(empty=0)@", example="Prec@10"),
    "Hit": Here("success(empty=0)@", example="Hit@10"),
    "RR": Here("rr(empty=0)"),
    "RBP": Here("rbp(p=0.95,gain=linear,max_grade=None,empty=0)", example="RBP@10"),
    "ERR": Here("err(gain=linear,max_grade=None,empty=0)", example="ERR@10"),
    "nERR": Here("nerr(gain=linear,max_grade=None,empty=0)", example="nERR@10"),
    "GAP": Here("gap(thresholds=None,normalize=ideal,empty=0)", example="GAP(g=1:2:3)@10"),
    "bpref": Here("bpref(empty=0)", note=_PREFERENCE),
    "bpref_R": Here("bpref(variant=romip,empty=0)", note=_PREFERENCE),
    "bpref_N": Here("bpref(variant=n,empty=0)", note=_PREFERENCE),
    "bpref_relative": Here("bpref(variant=relative,empty=0)", note=_PREFERENCE),
    "rpref_N": Here("rpref(variant=n,gain=linear,max_grade=None,empty=0)", note=_PREFERENCE),
    "rpref_relative": Here("rpref(variant=relative,gain=linear,empty=0)", note=_PREFERENCE),
    "rpref_relative2": Here("rpref(gain=linear,empty=0)", note=_PREFERENCE),
    "O-measure": Refused("it is the blended ratio at the first relevant document", "rr"),
    "P-measure": Refused("it stops at the first of the best documents of the list", "q"),
    "P-plus": Refused("it stops at the first of the best documents of the list", "q"),
    "nRBP": Refused("it divides by the best RBP of the query, which is not here", "rbp(p=0.95)@10"),
    **dict.fromkeys(("NCUrb,P", "NCUrb,BR", "NCUrb,IE", "NCUgu,P", "NCUgu,BR", "EBR", "nEBR",
                     "iRBU", "niRBU"), Refused(_USER, "q")),
    **dict.fromkeys(("I-rec", "D-nDCG", "D#-nDCG", "D-Q", "D#-Q", "ERR-IA"), _DIVERSITY),
}  # fmt: skip
