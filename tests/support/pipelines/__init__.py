"""Programs that declare pipelines for tests, and most of them are killed."""
