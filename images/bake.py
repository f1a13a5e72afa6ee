"""``docker-bake.hcl``, written from ``images.yaml``: buildx and buildah build the same."""

import json
from collections.abc import Iterator, Mapping

from gauntlet.images.model import Images, Target

_VARIABLES = {
    "REGISTRY": ("", "Host and path that images are pushed to; empty: they stay here."),
    "ALL": ("mode=max,compression=zstd", "How layers are kept: those of all stages, packed well."),
    "CACHE": ("", "Host and path of layers kept for later builds; empty: none are."),
    "KEY_TAGS": ("", "Further tags, split by commas; `gauntlet images build` gives the content's."),
    "VERSION": ("", "Version, as the label says it."),
    "CREATED": ("1970-01-01T00:00:00Z", "Time of the commit, as the label says it."),
    "SOURCE_DATE_EPOCH": ("0", "Time of the commit in seconds: that of every file in a layer."),
    "COMMIT": ("", "The commit that is built."),
    "PARENT": ("", "Its parent."),
    "MERGE_BASE": ("", "Where its branch left main."),
    "BRANCH": ("", "Its branch, as a tag can be written."),
    "IS_MAIN": ("", "1 in builds of main: these alone write main's cache and the compiler's."),
    "SCCACHE_BUCKET": ("", "Where the compiler's cache is; empty: on the builder."),
    "SCCACHE_REGION": ("", "Region of that."),
}
# Lines of the bake file, which are as long as what they say.
_FUNCTIONS = """\
# The nearest first: of several caches that have a layer, the first is taken.
function "cache_from" {
  params = [name]
  result = notequal("", CACHE) ? compact([
    notequal("", COMMIT) ? "type=registry,ref=${CACHE}/${name}:commit-${COMMIT}" : "",
    notequal("", PARENT) ? "type=registry,ref=${CACHE}/${name}:commit-${PARENT}" : "",
    notequal("", MERGE_BASE) ? "type=registry,ref=${CACHE}/${name}:commit-${MERGE_BASE}" : "",
    notequal("", BRANCH) ? "type=registry,ref=${CACHE}/${name}:branch-${BRANCH}" : "",
    "type=registry,ref=${CACHE}/${name}:main",
  ]) : []
}

function "cache_to" {
  params = [name]
  result = notequal("", CACHE) ? compact([
    notequal("", COMMIT) ? "type=registry,ref=${CACHE}/${name}:commit-${COMMIT},${ALL}" : "",
    notequal("", BRANCH) ? "type=registry,ref=${CACHE}/${name}:branch-${BRANCH},${ALL}" : "",
    equal("1", IS_MAIN) ? "type=registry,ref=${CACHE}/${name}:main,${ALL}" : "",
  ]) : []
}

function "tags" {
  params = [name]
  result = notequal("", REGISTRY) ? compact(concat(
    [notequal("", COMMIT) ? "${REGISTRY}/${name}:commit-${COMMIT}" : ""],
    [for tag in split(",", KEY_TAGS) : notequal("", tag) ? "${REGISTRY}/${name}:${tag}" : ""],
  )) : ["${name}:local"]
}
"""


_HEAD = """\
# Written from {} and {} by: gauntlet images bake
# Do not edit it: a test compares.
"""
_OUTPUT = '"type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"'


def context_variable(name: str) -> str:
    """The variable that says where a context is which only the builder knows."""
    return f"CONTEXT_{name.upper().replace('-', '_').replace('.', '_')}"


def base_variable(name: str) -> str:
    """The variable that holds a base image, so that a mirror can take its place."""
    return f"BASE_{name.upper().replace('-', '_').replace('.', '_')}"


def render(images: Images) -> str:
    """Write the whole file. Bases without a digest are empty, which no builder takes."""
    targets = images.manifest.targets
    parts = [
        _HEAD.format(images.file, images.bases_file),
        "".join(_variable(name, default, why) for name, (default, why) in _VARIABLES.items()),
        "".join(_base_variables(images)),
        "".join(
            _variable(context_variable(name), "", f"Folder of the context {name!r}.")
            for name in sorted(_open_contexts(targets))
        ),
        _FUNCTIONS,
        _block("group", "default", {"targets": list(targets)}),
        *(
            _block("group", name, {"targets": list(of)})
            for name, of in images.manifest.groups.items()
        ),
        *(_target(images, name, target) for name, target in targets.items()),
    ]
    return "\n".join(parts)


def _open_contexts(targets: Mapping[str, Target]) -> set[str]:
    return {name for t in targets.values() for name, path in t.contexts.items() if path is None}


def _base_variables(images: Images) -> Iterator[str]:
    for name, base in images.bases.items():
        why = f"{base.image}:{base.tag}" + (
            "" if base.digest else "; nobody asked for its digest yet"
        )
        yield _variable(base_variable(name), base.pinned, why)


def _variable(name: str, default: str, why: str) -> str:
    return f"# {why}\nvariable {json.dumps(name)} {{\n  default = {json.dumps(default)}\n}}\n"


def _target(images: Images, name: str, target: Target) -> str:
    manifest = images.manifest
    title = json.dumps(f"{manifest.title} {name}" if manifest.title not in name else name)
    prefix = "org.opencontainers.image"
    declared = {
        **{arg: base_variable(base) for arg, base in target.bases.items()},
        **{arg: json.dumps(value) for arg, value in target.args.items()},
        "SOURCE_DATE_EPOCH": "SOURCE_DATE_EPOCH",
    }
    if "sccache" in target.secrets:
        declared |= {
            "SCCACHE_BUCKET": "SCCACHE_BUCKET",
            "SCCACHE_REGION": "SCCACHE_REGION",
            "SCCACHE_MODE": 'equal("1", IS_MAIN) ? "READ_WRITE" : "READ_ONLY"',
            "ENGINE_VERSION": "VERSION",
        }
    labels = {
        f"{prefix}.title": title,
        f"{prefix}.version": "VERSION",
        f"{prefix}.revision": "COMMIT",
        f"{prefix}.source": json.dumps(manifest.source),
        f"{prefix}.created": "CREATED",
    }
    contexts = {
        context: json.dumps(path) if path is not None else context_variable(context)
        for context, path in target.contexts.items()
    }
    lines = [
        f"context    = {json.dumps(manifest.context)}",
        f"dockerfile = {json.dumps(target.dockerfile)}",
        f"target     = {json.dumps(target.stage)}",
        f"platforms  = {json.dumps(list(target.platforms))}",
        f"tags       = tags({json.dumps(target.repository)})",
        f"cache-from = cache_from({json.dumps(target.repository)})",
        f"cache-to   = cache_to({json.dumps(target.repository)})",
        f"secret     = {json.dumps([f'id={secret}' for secret in target.secrets])}",
        f"output     = [{_OUTPUT}]",
        *_map("contexts", contexts),
        *_map("args", declared),
        *_map("labels", labels),
    ]
    body = "".join(f"  {line}\n" for line in lines)
    return f"# {target.purpose}\ntarget {json.dumps(name)} {{\n{body}}}\n"


def _map(name: str, values: Mapping[str, str]) -> list[str]:
    if not values:
        return []
    return [
        f"{name} = {{",
        *(f"  {json.dumps(key)} = {value}" for key, value in values.items()),
        "}",
    ]


def _block(kind: str, name: str, values: Mapping[str, object]) -> str:
    body = "".join(f"  {key} = {json.dumps(value)}\n" for key, value in values.items())
    return f"{kind} {json.dumps(name)} {{\n{body}}}\n"
