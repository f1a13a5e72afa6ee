"""Rows of the warehouse as typed models: one class per table, one field per column."""
