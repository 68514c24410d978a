"""Windows: which events belong together, when they are told, and what of them."""
