"""Pages over named queries; no SQL and no statistics of their own."""
