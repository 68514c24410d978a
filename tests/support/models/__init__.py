"""Reference models in plain Python, which the engine is held against."""
