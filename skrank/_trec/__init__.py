"""Judgments and runs of TREC in memory and in files, and their measurement."""
