"""Generated cases and recorded ones, and the trials that run them."""
