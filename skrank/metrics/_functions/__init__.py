"""Score functions: each metric as a function. Written by docs/score_functions.py."""

from skrank.metrics._functions import accuracy_at_k_score as accuracy_at_k_score
from skrank.metrics._functions import average_precision_score as average_precision_score
from skrank.metrics._functions import bpref_score as bpref_score
from skrank.metrics._functions import cg_score as cg_score
from skrank.metrics._functions import dcg_score as dcg_score
from skrank.metrics._functions import err_score as err_score
from skrank.metrics._functions import error_at_k_score as error_at_k_score
from skrank.metrics._functions import f_beta_at_k_score as f_beta_at_k_score
from skrank.metrics._functions import gap_score as gap_score
from skrank.metrics._functions import infap_score as infap_score
from skrank.metrics._functions import interpolated_precision_score as interpolated_precision_score
from skrank.metrics._functions import judged_at_k_score as judged_at_k_score
from skrank.metrics._functions import ndcg_score as ndcg_score
from skrank.metrics._functions import nerr_score as nerr_score
from skrank.metrics._functions import pfound_score as pfound_score
from skrank.metrics._functions import precision_at_k_score as precision_at_k_score
from skrank.metrics._functions import q_measure_score as q_measure_score
from skrank.metrics._functions import r_precision_score as r_precision_score
from skrank.metrics._functions import rbp_residual_score as rbp_residual_score
from skrank.metrics._functions import rbp_score as rbp_score
from skrank.metrics._functions import recall_at_k_score as recall_at_k_score
from skrank.metrics._functions import reciprocal_rank_score as reciprocal_rank_score
from skrank.metrics._functions import rpref_score as rpref_score
from skrank.metrics._functions import success_at_k_score as success_at_k_score
