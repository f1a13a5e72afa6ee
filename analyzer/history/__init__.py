"""What happened to a series of nights: steps, drifts, outliers, alarms, holes."""
