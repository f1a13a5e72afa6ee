"""A warehouse in memory: the highest version of every row."""

import json

from gauntlet.warehouse.tables import ROW_MODELS


class FakeWarehouse:
    """A sink that keeps rows as the tables would, and says where a version is not one state."""

    def __init__(self):
        self.batches = {}
        self.tables = {}

    def __call__(self, batch):
        self.batches[batch.batch_id] = batch
        for section in batch.sections:
            for line in section.payload.splitlines():
                self._keep(section.table, json.loads(line))

    def rows(self, table):
        return list(self.tables.get(table, {}).values())

    def _keep(self, table, row):
        model = ROW_MODELS[table]
        row.pop("batch")
        key = tuple(json.dumps(row[name]) for name in model.identity)
        rows = self.tables.setdefault(table, {})
        known = rows.get(key)
        if known is None or model.order is None or row[model.order] > known[model.order]:
            rows[key] = row
        elif row[model.order] == known[model.order]:
            assert row == known, "one version, two states"
