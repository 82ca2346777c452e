"""Tables of the metric names of other tools: the name in skrank, or why the name is refused."""

from __future__ import annotations

from typing import NamedTuple

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_LEVELS = tuple(f"{tenth / 10:.2f}" for tenth in range(11))


class Alias(NamedTuple):
    """The name in skrank of a metric of another tool.

    Attributes
    ----------
    name : str
        Name in skrank; ``{k}`` is replaced by the parameter of the other name.
    usual : tuple
        Parameters of a name that is given without a parameter. Each of them makes one metric.
    all_at_once : bool
        Whether several parameters together make one metric, and not one metric each.
    note : str
        When values differ from those of the tool.
    example : str
        Name in the tool with parameters, for the documentation. Default: the key of the table.
    """

    name: str
    usual: tuple[str | float, ...] = ()
    all_at_once: bool = False
    note: str = ""
    example: str = ""


class Refused(NamedTuple):
    """Why a name is not read, and the nearest name that is read, or ""."""

    reason: str
    nearest: str = ""


_PREFERENCES = Refused("it measures preferences between documents, which are out of scope")
_GROUPS = Refused("it averages over groups of assessors, which is out of scope", "map")
_EXPERIMENTAL = Refused("trec_eval calls it experimental", "ndcg(gain=linear,empty=0)")

TREC_EVAL: dict[str, Alias | Refused] = {
    "num_q": Alias("num_q"),
    "num_ret": Alias("num_ret"),
    "num_rel": Alias("num_rel", note="trec_eval -c -l adds up all labels above 0"),
    "num_rel_ret": Alias("num_rel_ret"),
    "map": Alias("ap(empty=0)"),
    "gm_map": Alias("ap(empty=0,average=geometric)"),
    "Rprec": Alias("r_precision(empty=0)"),
    "bpref": Alias("bpref(empty=0)"),
    "recip_rank": Alias("rr(empty=0)"),
    "iprec_at_recall": Alias("iprec(recall={k},rounding=trec_eval9,empty=0)", _LEVELS),
    "P": Alias("precision(empty=0)@{k}", CUTOFFS),
    "recall": Alias("recall(empty=0)@{k}", CUTOFFS),
    "infAP": Alias("infap(empty=0)"),
    "gm_bpref": Alias("bpref(empty=0,average=geometric)"),
    "Rprec_mult": Alias(
        "r_precision(multiple={k},empty=0)", tuple(f"{fifth / 5:.2f}" for fifth in range(1, 11))
    ),
    "utility": Alias("utility(weights={k})", ("1,-1,0,0",), all_at_once=True),
    "11pt_avg": Alias(
        "iap(levels={k},rounding=trec_eval9,empty=0)", (",".join(_LEVELS),), all_at_once=True
    ),
    "ndcg": Alias("ndcg(gain=linear,empty=0)"),
    "ndcg_cut": Alias("ndcg(gain=linear,empty=0)@{k}", CUTOFFS),
    "map_cut": Alias("ap(empty=0)@{k}", CUTOFFS),
    "relative_P": Alias("relative_precision(empty=0)@{k}", CUTOFFS),
    "success": Alias("success(empty=0)@{k}", (1, 5, 10)),
    "set_P": Alias("precision(empty=0)"),
    "set_relative_P": Alias("relative_precision(empty=0)"),
    "set_recall": Alias("recall(empty=0)"),
    "set_map": Alias("set_ap(empty=0)"),
    "set_F": Alias("f1(beta={k},empty=0)", ("1.0",), note="its parameter is the square of beta"),
    "num_nonrel_judged_ret": Alias("num_nonrel_judged_ret"),
    "runid": Refused("it is a name, not a number: the report has it as its index"),
    "relstring": Refused("it is a text, not a number"),
    "binG": _EXPERIMENTAL,
    "G": _EXPERIMENTAL,
    "ndcg_rel": _EXPERIMENTAL,
    "Rndcg": _EXPERIMENTAL,
    "dcg": Refused("trec_eval prints it in debug builds only", "dcg(gain=linear,empty=0)"),
    "ideal_dcg": Refused("it says nothing about a run", "dcg(gain=linear,empty=0)"),
    "rbp": Refused("trec_eval 10 computes it from uninitialised memory", "rbp"),
    "rbp_resid": Refused("trec_eval 10 omits the ranks below the list", "rbp_residual"),
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
    "all_trec": tuple(name for name, here in TREC_EVAL.items() if isinstance(here, Alias)),
}

_DIVERSITY = Refused("it measures diversity, which is out of scope")
_CWL = (
    "cwl_eval orders ties as the run does, and limits labels to max_rel; skrank refuses higher ones"
)
_BY_NAME = "ir_measures orders ties by name, ascending"
_MISSING = "ir_measures counts 0 for a query that the run lacks, as missing='skip' does"
_ROUNDED = "ir_measures rounds to five decimals"

IR_MEASURES: dict[str, Alias | Refused] = {
    "AP": Alias("ap"),
    "MAP": Alias("ap"),
    "P": Alias("precision"),
    "Precision": Alias("precision"),
    "R": Alias("recall"),
    "Recall": Alias("recall"),
    "RR": Alias("rr", note=f"with a cut-off, {_BY_NAME}"),
    "MRR": Alias("rr", note=f"with a cut-off, {_BY_NAME}"),
    "Rprec": Alias("r_precision"),
    "RPrec": Alias("r_precision"),
    "Bpref": Alias("bpref"),
    "BPref": Alias("bpref"),
    "infAP": Alias("infap"),
    "Success": Alias("success"),
    "nDCG": Alias("ndcg(gain=linear)", note=f"with dcg='exp-log2', {_ROUNDED}"),
    "NDCG": Alias("ndcg(gain=linear)", note=f"with dcg='exp-log2', {_ROUNDED}"),
    "ERR": Alias("err(max_grade=4)", note=_ROUNDED),
    "RBP": Alias(
        "rbp",
        note="cwl_eval orders ties as the run does, and reads 1000 documents",
        example="RBP(p=0.8,rel=1)",
    ),
    "IPrec": Alias("iprec(rounding=trec_eval9)", example="IPrec@0.1"),
    "Judged": Alias("judged", note=f"{_BY_NAME}, and takes labels below 0 for judgments"),
    "NumQ": Alias("num_q", note=_MISSING),
    "NumRet": Alias("num_ret"),
    "NumRel": Alias("num_rel", note=_MISSING),
    "NumRelRet": Alias("num_rel_ret"),
    "SetP": Alias("precision"),
    "SetRelP": Alias("relative_precision"),
    "SetR": Alias("recall"),
    "SetF": Alias("f1", note="its beta is the square of ours"),
    "SetAP": Alias("set_ap"),
    "Accuracy": Refused("it is the share of pairs in the right order, which skrank lacks", "bpref"),
    "Compat": Alias(
        "compat",
        note=f"{_BY_NAME}, and puts documents that the run lacks, with score 0, into the ideal "
        "ranking before documents of a score below 0",
    ),
    "BPM": Alias(
        "bpm",
        note=f"{_CWL}; it adds up gains in floating point, so that thirds may miss T",
        example="BPM(max_rel=4)@10",
    ),
    "INSQ": Alias("insq", note=_CWL, example="INSQ(max_rel=4)"),
    "INST": Alias("inst", note=_CWL, example="INST(max_rel=4)"),
    "SDCG": Alias("sdcg", note=_CWL, example="SDCG(max_rel=4)@10"),
    "NERR8": Alias("nearly_err(patience=all)", note=_CWL, example="NERR8(max_rel=4)@10"),
    "NERR9": Alias("nearly_err(patience=rank)", note=_CWL, example="NERR9(max_rel=4)@10"),
    "NERR10": Alias("nearly_err", note=_CWL, example="NERR10(max_rel=4)"),
    "NERR11": Alias("nearly_err(patience=insq)", note=_CWL, example="NERR11(max_rel=4)"),
    **dict.fromkeys(
        ("AP_IA", "MAP_IA", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "P_IA", "StRecall", "alpha_DCG",
         "alpha_nDCG", "α_DCG", "α_nDCG"), _DIVERSITY,
    ),
}  # fmt: skip

# models of cwl_eval, whose gains are divided by max_rel; and the models that have a cut-off
GRADED_MODELS = ("BPM", "INSQ", "INST", "NERR8", "NERR9", "NERR10", "NERR11", "SDCG")
CUT_MODELS = ("BPM", "NERR8", "NERR9", "SDCG")

RANX: dict[str, Alias | Refused] = {
    "hits": Alias("num_rel_ret(average=macro)"),
    "hit_rate": Alias("success(empty=0)"),
    "precision": Alias("precision(empty=0)"),
    "recall": Alias("recall(empty=0)"),
    "f1": Alias("f1(empty=0)"),
    "r-precision": Alias("r_precision(empty=0)"),
    "mrr": Alias("rr(empty=0)"),
    "map": Alias("ap(empty=0)"),
    "dcg": Alias("dcg(gain=linear,empty=0)"),
    "dcg_burges": Alias("dcg(empty=0)"),
    "ndcg": Alias("ndcg(gain=linear,empty=0)"),
    "ndcg_burges": Alias("ndcg(empty=0)"),
    "bpref": Alias("bpref(empty=0)", note="ranx has NaN where all judged documents are relevant"),
    "rbp": Refused("ranx adds up the grades themselves, so that it exceeds 1", "rbp(p=0.95,rel=1)"),
}  # fmt: skip
RANX_TIES = "ranx orders ties by an unstable sort"

# Libraries that train and measure: their names are read with a prefix only
# ------------------------------------------------------------------------------------------------

_POOLED = Refused("it measures single rows or all rows together, not the lists of queries")
_IN_PAIRS = Refused("it is the share of pairs in the right order, which skrank lacks", "bpref")

_LIGHTGBM_NDCG = "ndcg(ties=stable,empty=1)"
_LIGHTGBM_MAP = "ap(normalize=ideal,ties=stable,empty=1)"
_UNWEIGHTED = "with weights, a query without relevant documents has the weight 1 in the sum"
LIGHTGBM: dict[str, Alias | Refused] = {
    **{
        name: Alias(_LIGHTGBM_NDCG, note=_UNWEIGHTED, example=f"{name}@5")
        for name in ("ndcg", "lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart",
                     "xendcg_mart")
    },
    "map": Alias(_LIGHTGBM_MAP, example="map@5"),
    "mean_average_precision": Alias(_LIGHTGBM_MAP, example="mean_average_precision@5"),
    **dict.fromkeys(
        ("auc", "auc_mu", "average_precision", "binary_logloss", "binary_error", "cross_entropy",
         "l1", "l2", "rmse", "quantile", "huber", "fair", "poisson", "gamma", "tweedie"), _POOLED,
    ),
}  # fmt: skip

_XGBOOST_CUT = "a name without @ is cut at 32"
_BINARY = "XGBoost takes labels 0 and 1 only"
XGBOOST: dict[str, Alias | Refused] = {
    "ndcg": Alias(
        "ndcg(ties=stable,empty=1)", note=f"{_XGBOOST_CUT}; {_UNWEIGHTED}", example="ndcg@5"
    ),
    "map": Alias(
        "ap(normalize=ideal,ties=stable,empty=1)",
        note=f"{_XGBOOST_CUT}; {_BINARY}",
        example="map@5",
    ),
    "pre": Alias(
        "precision(normalize=shown,ties=stable,empty=0)",
        note=f"{_XGBOOST_CUT}; {_BINARY}",
        example="pre@5",
    ),
    "auc": _IN_PAIRS,
    **dict.fromkeys(("aucpr", "error", "logloss", "mae", "mape", "mphe", "rmse", "rmsle"), _POOLED),
}

_BORDER = "relevant are labels above border, which is 0.5 by default"
CATBOOST: dict[str, Alias | Refused] = {
    "DCG": Alias("dcg({gain}ties=worst,empty=0)", example="DCG:top=10;type=Base"),
    "NDCG": Alias("ndcg({gain}ties=worst,empty=1)", example="NDCG:top=10;type=Base"),
    "MAP": Alias("ap({rel}normalize=ideal,ties=worst,empty=0)", note=_BORDER, example="MAP:top=10"),
    "MRR": Alias("rr({rel}ties=worst,empty=0)", note=_BORDER, example="MRR:top=10"),
    "PFound": Alias(
        "pfound({decay}p_rel=raw,ties=worst,empty=0)",
        note="CatBoost takes labels above 1, with which it exceeds 1; skrank refuses them",
        example="PFound:top=10",
    ),
    "PrecisionAt": Alias(
        "precision({rel}normalize=shown,ties=worst,empty=0)", note=_BORDER,
        example="PrecisionAt:top=10",
    ),
    "RecallAt": Alias("recall({rel}ties=worst,empty=1)", note=_BORDER, example="RecallAt:top=10"),
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

SKLEARN: dict[str, Alias | Refused] = {
    "ndcg_score": Alias(
        "ndcg(gain=linear,empty=0)",
        note="ignore_ties=True sorts ties unstably in scikit-learn",
        example="ndcg_score(k=10)",
    ),
    "dcg_score": Alias(
        "dcg(gain=linear,empty=0)",
        note="ignore_ties=True sorts ties unstably in scikit-learn",
        example="dcg_score(k=10)",
    ),
    "average_precision_score": Alias(
        "ap(empty=0)", note="mean over queries of its values; it takes tied documents as one step"
    ),
    "label_ranking_average_precision_score": Alias(
        "ap(empty=1)", note="a row of its matrix is a query; tied documents all have the last rank"
    ),
    "roc_auc_score": _IN_PAIRS,
    "label_ranking_loss": _IN_PAIRS,
    "coverage_error": Refused("it is the rank of the last relevant document, which skrank lacks"),
    "top_k_accuracy_score": Refused("it is about classes, one of which is right", "success@10"),
}

# NTCIREVAL
# ------------------------------------------------------------------------------------------------

_PREFERENCE = "NTCIREVAL needs its option -j, and a judged document that is not relevant"
_USER = "it is a user model that skrank lacks"
NTCIREVAL_CUTOFF = 1000  # default cut-off, of names that end with @ in the table
NTCIREVAL: dict[str, Alias | Refused] = {
    "AP": Alias("ap(normalize=ideal,empty=0)", example="AP@1000"),
    "Q": Alias("q(beta=1,gain=linear,normalize=ideal,empty=0)", example="Q@1000"),
    "Q-measure": Alias("q(beta=1,gain=linear,normalize=ideal,empty=0)"),
    "nDCG": Alias("ndcg(gain=linear,discount=jk,base=2,empty=0)@", example="nDCG@10"),
    "MSnDCG": Alias("ndcg(gain=linear,empty=0)@", example="MSnDCG@10"),
    "P": Alias("precision(empty=0)@", example="P@10"),
    "Prec": Alias("precision(empty=0)@", example="Prec@10"),
    "Hit": Alias("success(empty=0)@", example="Hit@10"),
    "RR": Alias("rr(empty=0)"),
    "RBP": Alias("rbp(p=0.95,gain=linear,max_grade=None,empty=0)", example="RBP@10"),
    "ERR": Alias("err(gain=linear,max_grade=None,empty=0)", example="ERR@10"),
    "nERR": Alias("nerr(gain=linear,max_grade=None,empty=0)", example="nERR@10"),
    "GAP": Alias("gap(thresholds=None,normalize=ideal,empty=0)", example="GAP(g=1:2:3)@10"),
    "bpref": Alias("bpref(empty=0)", note=_PREFERENCE),
    "bpref_R": Alias("bpref(variant=romip,empty=0)", note=_PREFERENCE),
    "bpref_N": Alias("bpref(variant=n,empty=0)", note=_PREFERENCE),
    "bpref_relative": Alias("bpref(variant=relative,empty=0)", note=_PREFERENCE),
    "rpref_N": Alias("rpref(variant=n,gain=linear,max_grade=None,empty=0)", note=_PREFERENCE),
    "rpref_relative": Alias("rpref(variant=relative,gain=linear,empty=0)", note=_PREFERENCE),
    "rpref_relative2": Alias("rpref(gain=linear,empty=0)", note=_PREFERENCE),
    "O-measure": Refused("it is the blended ratio at the first relevant document", "rr"),
    "P-measure": Refused("it stops at the first of the best documents of the list", "q"),
    "P-plus": Refused("it stops at the first of the best documents of the list", "q"),
    "nRBP": Refused("skrank does not divide RBP by its best value", "rbp(p=0.95)@10"),
    **dict.fromkeys(("NCUrb,P", "NCUrb,BR", "NCUrb,IE", "NCUgu,P", "NCUgu,BR", "EBR", "nEBR",
                     "iRBU", "niRBU"), Refused(_USER, "q")),
    **dict.fromkeys(("I-rec", "D-nDCG", "D#-nDCG", "D-Q", "D#-Q", "ERR-IA"), _DIVERSITY),
}  # fmt: skip
