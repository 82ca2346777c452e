"""Literal definitions of the metrics, written from the papers: slow, and the oracle of the tests.

Every metric is a function of ONE ranked list, best document first::

    metric(ranked, *, unretrieved=(), k=None, ...) -> float | None

``ranked`` holds the labels in rank order: numbers >= 0, or None for an unjudged document.
``unretrieved`` holds the labels of the judged documents that the list does not contain.
None is returned where the metric is undefined: the query has no document that it would pay for.

Sources: Robertson, Kanoulas, Yilmaz 2010 (GAP); ROMIP 2010, appendix A; Sakai 2007 (bpref, rpref,
Q-measure); Jarvelin, Kekalainen 2002 (DCG); Chapelle et al. 2009 (ERR); Moffat, Zobel 2008 (RBP);
Yilmaz, Aslam 2006 (infAP); Moffat et al. 2012 and 2015 (INSQ, INST); Zhang et al. 2017 (BPM);
Azzopardi et al. 2021 (nearly ERR); Clarke et al. 2021 (compatibility);
Burges 2010 (LambdaRank); trec_eval where a paper leaves a choice.
"""

from tests.helpers.engine import *
from tests.helpers.reference.binary import *
from tests.helpers.reference.graded import *
from tests.helpers.reference.orders import *
from tests.helpers.reference.trec import *
from tests.helpers.reference.users import *
