"""Where code is reviewed: pull requests, issues, labels."""
