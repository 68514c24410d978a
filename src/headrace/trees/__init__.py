"""Boosted trees: a model as data, and the score that it gives as a column."""
