"""Literal definitions of the metrics, written from the papers: slow, and the oracle of the tests.

Every metric is a function of ONE ranked list, best document first::

    metric(ranked, *, unretrieved=(), k=None, ...) -> float | None

``ranked`` holds the labels in rank order: numbers >= 0, or None for an unjudged document, which is
non-relevant unless the definition says that it is skipped (``condense`` removes it beforehand).
``unretrieved`` holds the labels of the judged documents that the list does not contain.
None is returned where the metric is undefined: the query has no relevant document, that is
no document that the metric would pay for. Nothing here is fast and nothing is clever.

Sources: Robertson, Kanoulas, Yilmaz 2010 (GAP); ROMIP 2010, appendix A; Sakai 2007 (bpref, rpref,
Q-measure); Jarvelin, Kekalainen 2002 (DCG); Chapelle et al. 2009 (ERR); Moffat, Zobel 2008 (RBP);
Yilmaz, Aslam 2006 (infAP); Moffat et al. 2012 and 2015 (INSQ, INST); Zhang et al. 2017 (BPM);
Azzopardi, Mackenzie, Moffat 2021 (nearly ERR); Clarke, Vtyurina, Smucker 2021 (compatibility);
Burges 2010 (LambdaRank); trec_eval where a paper leaves a choice.
"""

from skrank.testing._orders import lambdas as lambdas
from skrank.testing._orders import logistic_of_minus as logistic_of_minus
from skrank.testing._orders import missing as missing
from skrank.testing._orders import ranking as ranking
from skrank.testing._orders import stable as stable
from skrank.testing._orders import swap_delta as swap_delta
from skrank.testing._orders import tie_expectation as tie_expectation
from skrank.testing._orders import tie_orders as tie_orders
from skrank.testing._orders import tie_values as tie_values
from tests.helpers.reference.binary import ROMIP_RULER as ROMIP_RULER
from tests.helpers.reference.binary import TREC_RULER as TREC_RULER
from tests.helpers.reference.binary import accuracy as accuracy
from tests.helpers.reference.binary import ap as ap
from tests.helpers.reference.binary import ap_numerator as ap_numerator
from tests.helpers.reference.binary import condense as condense
from tests.helpers.reference.binary import contingency as contingency
from tests.helpers.reference.binary import count_relevant as count_relevant
from tests.helpers.reference.binary import cutoff_normalizer as cutoff_normalizer
from tests.helpers.reference.binary import discount_at as discount_at
from tests.helpers.reference.binary import eleven_points as eleven_points
from tests.helpers.reference.binary import error as error
from tests.helpers.reference.binary import f_beta as f_beta
from tests.helpers.reference.binary import gain_of as gain_of
from tests.helpers.reference.binary import gap as gap
from tests.helpers.reference.binary import gap_numerator as gap_numerator
from tests.helpers.reference.binary import graded_precision as graded_precision
from tests.helpers.reference.binary import graded_recall as graded_recall
from tests.helpers.reference.binary import infap as infap
from tests.helpers.reference.binary import iprec as iprec
from tests.helpers.reference.binary import is_relevant as is_relevant
from tests.helpers.reference.binary import judged as judged
from tests.helpers.reference.binary import judged_labels as judged_labels
from tests.helpers.reference.binary import look_up as look_up
from tests.helpers.reference.binary import precision as precision
from tests.helpers.reference.binary import r_precision as r_precision
from tests.helpers.reference.binary import recall as recall
from tests.helpers.reference.binary import relevance_probability as relevance_probability
from tests.helpers.reference.binary import rr as rr
from tests.helpers.reference.binary import ruler_value as ruler_value
from tests.helpers.reference.binary import success as success
from tests.helpers.reference.binary import threshold_probabilities as threshold_probabilities
from tests.helpers.reference.binary import top as top
from tests.helpers.reference.graded import YANDEX_PROBABILITIES as YANDEX_PROBABILITIES
from tests.helpers.reference.graded import bpref as bpref
from tests.helpers.reference.graded import bpref_penalty as bpref_penalty
from tests.helpers.reference.graded import cg as cg
from tests.helpers.reference.graded import dcg as dcg
from tests.helpers.reference.graded import dcg_sum as dcg_sum
from tests.helpers.reference.graded import err as err
from tests.helpers.reference.graded import err_sum as err_sum
from tests.helpers.reference.graded import ndcg as ndcg
from tests.helpers.reference.graded import nerr as nerr
from tests.helpers.reference.graded import pfound as pfound
from tests.helpers.reference.graded import q as q
from tests.helpers.reference.graded import q_numerator as q_numerator
from tests.helpers.reference.graded import rbp as rbp
from tests.helpers.reference.graded import rpref as rpref
from tests.helpers.reference.graded import satisfaction_probability as satisfaction_probability
from tests.helpers.reference.graded import stop_probability as stop_probability
from tests.helpers.reference.orders import from_array as from_array
from tests.helpers.reference.orders import ideal_value as ideal_value
from tests.helpers.reference.orders import label_ordered as label_ordered
from tests.helpers.reference.orders import objective as objective
from tests.helpers.reference.orders import tie_bound as tie_bound
from tests.helpers.reference.trec import iap as iap
from tests.helpers.reference.trec import iap_rounded as iap_rounded
from tests.helpers.reference.trec import iprec_rounded as iprec_rounded
from tests.helpers.reference.trec import num_nonrel_judged_ret as num_nonrel_judged_ret
from tests.helpers.reference.trec import num_q as num_q
from tests.helpers.reference.trec import num_rel as num_rel
from tests.helpers.reference.trec import num_rel_ret as num_rel_ret
from tests.helpers.reference.trec import num_ret as num_ret
from tests.helpers.reference.trec import r_precision_multiple as r_precision_multiple
from tests.helpers.reference.trec import rbp_binary as rbp_binary
from tests.helpers.reference.trec import relative_precision as relative_precision
from tests.helpers.reference.trec import set_ap as set_ap
from tests.helpers.reference.trec import utility as utility
from tests.helpers.reference.users import bpm as bpm
from tests.helpers.reference.users import bpm_residual as bpm_residual
from tests.helpers.reference.users import compat as compat
from tests.helpers.reference.users import insq as insq
from tests.helpers.reference.users import insq_residual as insq_residual
from tests.helpers.reference.users import inst as inst
from tests.helpers.reference.users import inst_residual as inst_residual
from tests.helpers.reference.users import nearly_err as nearly_err
from tests.helpers.reference.users import nearly_err_residual as nearly_err_residual
from tests.helpers.reference.users import sdcg as sdcg
from tests.helpers.reference.users import sdcg_residual as sdcg_residual

METRICS = {
    "gap": gap,
    "ap": ap,
    "ndcg": ndcg,
    "dcg": dcg,
    "cg": cg,
    "precision": precision,
    "recall": recall,
    "f1": f_beta,
    "success": success,
    "r_precision": r_precision,
    "accuracy": accuracy,
    "error": error,
    "rr": rr,
    "err": err,
    "nerr": nerr,
    "pfound": pfound,
    "rbp": rbp,
    "q": q,
    "bpref": bpref,
    "rpref": rpref,
    "iprec": iprec,
    "judged": judged,
    "infap": infap,
    "num_q": num_q,
    "num_ret": num_ret,
    "num_rel": num_rel,
    "num_rel_ret": num_rel_ret,
    "num_nonrel_judged_ret": num_nonrel_judged_ret,
    "set_ap": set_ap,
    "relative_precision": relative_precision,
    "utility": utility,
    "iap": iap,
    "sdcg": sdcg,
    "insq": insq,
    "inst": inst,
    "bpm": bpm,
    "nearly_err": nearly_err,
    "sdcg_residual": sdcg_residual,
    "insq_residual": insq_residual,
    "inst_residual": inst_residual,
    "bpm_residual": bpm_residual,
    "nearly_err_residual": nearly_err_residual,
    "compat": compat,
}
