"""Kinds of failures: what the analyzer says, and what others decide by."""

from typing import Literal, get_args

FailureClass = Literal[
    "test_regression",
    "build_regression",
    "accuracy_regression",
    "perf_regression",
    "flaky",
    "dependency",
    "image_build",
    "infra_machine",
    "infra_network",
    "infra_capacity",
    "infra_agent",
    "upstream_hub",
    "timeout",
    "cancelled",
    "policy",
    "unknown",
]
FAILURE_CLASSES: tuple[FailureClass, ...] = get_args(FailureClass)
