"""How GroupedRanker trains each kind of estimator."""
