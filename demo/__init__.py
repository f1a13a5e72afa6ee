"""The main job end to end in one command: composition of the packages, nothing else."""
