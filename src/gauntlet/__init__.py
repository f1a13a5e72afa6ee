"""Gauntlet decides whether a build of an LLM inference engine is fit to ship."""

__version__ = "0.1.0"
