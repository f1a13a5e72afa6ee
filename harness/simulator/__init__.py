"""A process that behaves like an inference engine, as fast, right and broken as it is told."""
