"""The engine's own, unmodified job definitions: files, models, jobs."""
