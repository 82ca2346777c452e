"""Score functions: written by docs/score_functions.py."""

# fmt: off

from skrank.metrics._functions.cascade import err_score
from skrank.metrics._functions.cascade import nerr_score
from skrank.metrics._functions.cascade import pfound_score
from skrank.metrics._functions.cascade import reciprocal_rank_score
from skrank.metrics._functions.cascade import success_at_k_score
from skrank.metrics._functions.counts import num_nonrel_judged_ret_score
from skrank.metrics._functions.counts import num_q_score
from skrank.metrics._functions.counts import num_rel_score
from skrank.metrics._functions.counts import num_rel_ret_score
from skrank.metrics._functions.counts import num_ret_score
from skrank.metrics._functions.preference import bpref_score
from skrank.metrics._functions.preference import rpref_score
from skrank.metrics._functions.quadratic import average_precision_score
from skrank.metrics._functions.quadratic import cg_score
from skrank.metrics._functions.quadratic import dcg_score
from skrank.metrics._functions.quadratic import gap_score
from skrank.metrics._functions.quadratic import ndcg_score
from skrank.metrics._functions.quadratic import q_measure_score
from skrank.metrics._functions.quadratic import r_precision_score
from skrank.metrics._functions.quadratic import rbp_score
from skrank.metrics._functions.quadratic import rbp_residual_score
from skrank.metrics._functions.sets import accuracy_at_k_score
from skrank.metrics._functions.sets import error_at_k_score
from skrank.metrics._functions.sets import f_beta_at_k_score
from skrank.metrics._functions.sets import judged_at_k_score
from skrank.metrics._functions.sets import precision_at_k_score
from skrank.metrics._functions.sets import recall_at_k_score
from skrank.metrics._functions.sets import relative_precision_at_k_score
from skrank.metrics._functions.sets import set_average_precision_at_k_score
from skrank.metrics._functions.sets import utility_at_k_score
from skrank.metrics._functions.strict import interpolated_average_precision_score
from skrank.metrics._functions.strict import infap_score
from skrank.metrics._functions.strict import interpolated_precision_score

__all__ = [
    "accuracy_at_k_score",
    "average_precision_score",
    "bpref_score",
    "cg_score",
    "dcg_score",
    "err_score",
    "error_at_k_score",
    "f_beta_at_k_score",
    "gap_score",
    "infap_score",
    "interpolated_average_precision_score",
    "interpolated_precision_score",
    "judged_at_k_score",
    "ndcg_score",
    "nerr_score",
    "num_nonrel_judged_ret_score",
    "num_q_score",
    "num_rel_ret_score",
    "num_rel_score",
    "num_ret_score",
    "pfound_score",
    "precision_at_k_score",
    "q_measure_score",
    "r_precision_score",
    "rbp_residual_score",
    "rbp_score",
    "recall_at_k_score",
    "reciprocal_rank_score",
    "relative_precision_at_k_score",
    "rpref_score",
    "set_average_precision_at_k_score",
    "success_at_k_score",
    "utility_at_k_score",
]
