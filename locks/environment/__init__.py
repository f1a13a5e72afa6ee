"""What is installed, as a fingerprint, and how it differs from a lock: drift."""
