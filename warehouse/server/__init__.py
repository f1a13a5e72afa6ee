"""A local server: ClickHouse's HTTP protocol over the embedded store of one folder."""
