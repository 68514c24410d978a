"""The runtime: a pipeline as a running Spark query."""
