"""Images: built, checked, and brought from staging to the public by digest."""
