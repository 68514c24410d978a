"""Views: the newest state of tables and windows, asked while the pipeline runs."""

from headrace.views.answers import Answer, AsOf, Page, Standing, Update
from headrace.views.client import ViewClient

__all__ = ["Answer", "AsOf", "Page", "Standing", "Update", "ViewClient"]
