"""Pass and fail histories: breaks, flakes, quarantine, order dependence, bad machines."""
