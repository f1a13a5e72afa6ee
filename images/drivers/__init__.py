"""What builds an image: buildx where a daemon answers, buildah where none does."""
