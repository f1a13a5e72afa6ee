"""Find the upgrade that breaks a test, by installing mixes of two locks."""
