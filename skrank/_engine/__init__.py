"""Groups, queries, judgments, rankings, and metrics bound to judgments: the base of all metrics."""
