"""Choose the greenest commit of main, and make a release's branch at it."""
