"""Build what this machine can, collect what others built, and say whether it is whole."""
