"""Images of engines and of Gauntlet itself: what they are built from, whether they are needed."""
