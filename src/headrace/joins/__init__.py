"""Joins: which rows of two streams, or of a stream and a table, belong together."""
