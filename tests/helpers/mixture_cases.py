"""What the tests of mixture share."""

import skrank

TEXT = "0.7*gap+0.3*ndcg@10"
gap, ndcg = skrank.metric("gap"), skrank.metric("ndcg@10")
