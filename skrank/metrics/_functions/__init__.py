"""Score functions: written by docs/score_functions.py."""

# fmt: off

from skrank.metrics._functions.cascade import err_score as err_score
from skrank.metrics._functions.cascade import nerr_score as nerr_score
from skrank.metrics._functions.cascade import pfound_score as pfound_score
from skrank.metrics._functions.cascade import reciprocal_rank_score as reciprocal_rank_score
from skrank.metrics._functions.cascade import success_at_k_score as success_at_k_score
from skrank.metrics._functions.counts import num_nonrel_judged_ret_score as num_nonrel_judged_ret_score
from skrank.metrics._functions.counts import num_q_score as num_q_score
from skrank.metrics._functions.counts import num_rel_score as num_rel_score
from skrank.metrics._functions.counts import num_rel_ret_score as num_rel_ret_score
from skrank.metrics._functions.counts import num_ret_score as num_ret_score
from skrank.metrics._functions.preference import bpref_score as bpref_score
from skrank.metrics._functions.preference import rpref_score as rpref_score
from skrank.metrics._functions.quadratic import average_precision_score as average_precision_score
from skrank.metrics._functions.quadratic import cg_score as cg_score
from skrank.metrics._functions.quadratic import dcg_score as dcg_score
from skrank.metrics._functions.quadratic import gap_score as gap_score
from skrank.metrics._functions.quadratic import ndcg_score as ndcg_score
from skrank.metrics._functions.quadratic import q_measure_score as q_measure_score
from skrank.metrics._functions.quadratic import r_precision_score as r_precision_score
from skrank.metrics._functions.quadratic import rbp_score as rbp_score
from skrank.metrics._functions.quadratic import rbp_residual_score as rbp_residual_score
from skrank.metrics._functions.sets import accuracy_at_k_score as accuracy_at_k_score
from skrank.metrics._functions.sets import error_at_k_score as error_at_k_score
from skrank.metrics._functions.sets import f_beta_at_k_score as f_beta_at_k_score
from skrank.metrics._functions.sets import judged_at_k_score as judged_at_k_score
from skrank.metrics._functions.sets import precision_at_k_score as precision_at_k_score
from skrank.metrics._functions.sets import recall_at_k_score as recall_at_k_score
from skrank.metrics._functions.sets import relative_precision_at_k_score as relative_precision_at_k_score
from skrank.metrics._functions.sets import set_average_precision_at_k_score as set_average_precision_at_k_score
from skrank.metrics._functions.sets import utility_at_k_score as utility_at_k_score
from skrank.metrics._functions.strict import interpolated_average_precision_score as interpolated_average_precision_score
from skrank.metrics._functions.strict import infap_score as infap_score
from skrank.metrics._functions.strict import interpolated_precision_score as interpolated_precision_score
