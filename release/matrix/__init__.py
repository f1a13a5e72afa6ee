"""What a release is made of: the cells of wheels and images, as data."""
