"""The package index: plain files that pip installs from, made anew from what is there."""
