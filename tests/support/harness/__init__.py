"""What starts, feeds, kills and reads what is under test."""
