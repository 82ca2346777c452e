"""The engine: groups, queries, judgments, rankings, plans, and what a metric and its family are."""
