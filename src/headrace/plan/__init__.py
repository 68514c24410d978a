"""The plan: from declared steps to one Spark query."""
