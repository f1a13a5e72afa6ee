"""An expanded recipe as a table for people and as JSON for programs."""

from collections.abc import Sequence
from typing import Any

from gauntlet.perf_eval.commands import shown
from gauntlet.perf_eval.expand import Expansion, Point, Variant


def expansion_json(expansion: Expansion) -> dict[str, Any]:
    """Plain data of an expansion; ``recipe`` has every default filled in."""
    recipe = expansion.recipe
    return {
        "name": recipe.name,
        "gpus": expansion.gpus,
        "measured": expansion.measured,
        "requests": expansion.requests,
        "expected_minutes": recipe.expected_minutes,
        "variants": [_variant_json(variant) for variant in expansion.variants],
        "points": [_point_json(point) for point in expansion.points],
        "evals": [task.model_dump(mode="json") for task in expansion.evals],
        "recipe": recipe.model_dump(mode="json"),
    }


def _variant_json(variant: Variant) -> dict[str, Any]:
    return {
        "label": variant.label,
        "side": variant.side,
        "overrides": variant.overrides,
        "gpus": variant.gpus,
        "servers": [
            {
                "role": server.role,
                "kind": server.kind,
                "replicas": server.replicas,
                "gpus": server.gpus,
                "argv": list(server.argv),
                "env": dict(server.env),
            }
            for server in variant.servers
        ],
        "router": list(variant.router),
    }


def _point_json(point: Point) -> dict[str, Any]:
    return {
        "key": point.key,
        "label": point.label,
        "variant": point.variant,
        "workload": point.workload.name,
        "overrides": point.overrides,
        "requests": point.requests,
        "argv": list(point.command),
        "command": shown(point.command),
    }


def expansion_table(expansion: Expansion) -> str:
    """Servers, then points with their commands, then the sums."""
    lines: list[str] = []
    for variant in expansion.variants:
        lines += _variant_lines(variant)
    rows = [("point", "requests", "command")]
    rows += [
        (point.key, _count(point.requests), shown(point.command)) for point in expansion.points
    ]
    if expansion.points:
        lines += [*columns(rows), ""]
    lines += [f"eval {task.name}: {task.kind}" for task in expansion.evals]
    return "\n".join([*lines, _sums(expansion)])


def _variant_lines(variant: Variant) -> list[str]:
    name = " ".join(filter(None, ("server", variant.label, variant.side)))
    if not variant.servers:
        return [f"{name}: the one that is given (--base-url or --runtime)", ""]
    lines = [f"{name}: {variant.gpus} GPUs" if variant.gpus else f"{name}: no GPU"]
    for server in variant.servers:
        env = [f"{key}={value}" for key, value in server.env.items()]
        lines.append(f"  {server.replicas} x {server.role}: {shown([*env, *server.argv])}")
    if variant.router:
        lines.append(f"  router: {shown(variant.router)}")
    return [*lines, ""]


def _sums(expansion: Expansion) -> str:
    points, measured = len(expansion.points), expansion.measured
    text = f"{points} points x {measured} repetitions, {_count(expansion.requests)} requests"
    minutes = expansion.recipe.expected_minutes
    return text + (f", about {minutes:g} minutes" if minutes is not None else "")


def _count(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines, every column but the last padded to its widest cell."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]) - 1)]
    return [
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]
        ).rstrip()
        for row in rows
    ]
