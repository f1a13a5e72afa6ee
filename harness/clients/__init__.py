"""Second clients: other load generators, driven, read and distrusted alike."""
