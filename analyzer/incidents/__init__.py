"""What is broken on a branch, since which commit, and what to do next? One incident per cause."""
