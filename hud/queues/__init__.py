"""The page Queues."""
