"""Everything that was measured and decided, in ClickHouse: tables, spool, named queries."""
