"""Rules that say what a failing log means: data, one file for each kind of tool."""
