"""Stand-ins for servers and logs where a test needs an answer and no server."""
