"""Ship what was proven: documents, files, images, tags, the index, the record, and the way back."""
