"""Alerts about the fleet: one for each cause, opened and closed with hysteresis, each owned."""
