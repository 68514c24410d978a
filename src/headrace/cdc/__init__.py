"""Change data capture: a database's tables as logs of their changes."""

from headrace.cdc.sources import CapturedTable, mariadb, mysql, postgres

__all__ = ["CapturedTable", "mariadb", "mysql", "postgres"]
