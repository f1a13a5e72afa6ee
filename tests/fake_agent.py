"""A build as Buildkite keeps one, an agent in it, and the same as a program."""

import json
import sys
from pathlib import Path

import yaml

from gauntlet.pipelines.agent import AgentRefusedError, AgentUnreachableError

MAX_JOBS = 500


class Refusal(Exception):  # noqa: N818
    """What Buildkite says instead of doing what it is asked."""


class Build:
    """Steps, meta-data and annotations of one build.

    ``failures`` are said instead of doing what is asked for, one for each request, None for none;
    with ``late`` a failing request is done all the same, as when only its answer is lost.
    """

    def __init__(self, failures=(), *, late=False):
        self.uploads = []
        self.keys = []
        self.metadata = {}
        self.annotations = {}
        self.artifacts = {}
        self.failures = list(failures)
        self.late = late

    def upload(self, text):
        with_failure = self._next_failure("upload")
        if with_failure is None or self.late:
            self._add(yaml.safe_load(text))
        self._fail(with_failure)

    def annotate(self, body, context, style):
        self._fail(self._next_failure("annotate"))
        self.annotations[context] = (style, body)

    def keep(self, folder, pattern):
        self._fail(self._next_failure("artifact"))
        found = {str(p.relative_to(folder)): p.read_text() for p in Path(folder).glob(pattern)}
        if not found:
            raise Refusal(f"no file matches {pattern}")
        self.artifacts |= found

    def get(self, key):
        self._fail(self._next_failure("get"))
        return self.metadata.get(key)

    def set(self, key, value):
        self._fail(self._next_failure("set"))
        self.metadata[key] = value

    def _add(self, pipeline):
        tops = pipeline["steps"]
        steps = [s for top in tops for s in (top["steps"] if "group" in top else [top])]
        jobs = sum(step.get("parallelism", 1) for step in steps)
        if jobs > MAX_JOBS:
            raise Refusal(f"Pipeline upload rejected: {jobs} jobs exceed the limit of {MAX_JOBS}")
        keys = [step["key"] for step in steps if "key" in step]
        for key in keys:
            if key in self.keys or keys.count(key) > 1:
                message = f'The key "{key}" has already been used by another step in this build'
                raise Refusal(f"Pipeline upload rejected: {message}")
        needed = {need for step in steps for need in step.get("depends_on") or ()}
        for need in sorted(needed - set(keys) - set(self.keys)):
            raise Refusal(f'Pipeline upload rejected: Step dependencies not found: "{need}"')
        self.keys += keys
        self.uploads.append(pipeline)

    def _next_failure(self, request):
        """Failures are texts, or (request, text) for those of one kind of request only."""
        for position, failure in enumerate(self.failures):
            kind, message = (request, failure) if not isinstance(failure, tuple) else failure
            if kind == request:
                del self.failures[position]
                return message
        return None

    @staticmethod
    def _fail(message):
        if message is not None:
            raise Refusal(message)


class FakeAgent:
    """The agent of a build in memory; what it says of a failure depends on the words, as ours."""

    def __init__(self, build):
        self.build = build

    def upload(self, pipeline):
        self._ask(self.build.upload, pipeline)

    def annotate(self, body, *, context, style):
        self._ask(self.build.annotate, body, context, style)

    def keep_artifacts(self, folder, pattern):
        self._ask(self.build.keep, folder, pattern)

    def get_metadata(self, key):
        return self._ask(self.build.get, key)

    def set_metadata(self, key, value):
        self._ask(self.build.set, key, value)

    @staticmethod
    def _ask(request, *arguments):
        try:
            return request(*arguments)
        except Refusal as refusal:
            passing = any(word in str(refusal) for word in ("503", "timed out", "refused"))
            kind = AgentUnreachableError if passing else AgentRefusedError
            raise kind(str(refusal)) from refusal


def main(state_file, *arguments):
    """Be ``buildkite-agent`` for one call; the build is kept in a file between calls."""
    path = Path(state_file)
    build = Build()
    vars(build).update(json.loads(path.read_text()))
    build.failures = [tuple(f) if isinstance(f, list) else f for f in build.failures]
    try:
        match arguments:
            case ("pipeline", "upload"):
                build.upload(sys.stdin.read())
            case ("annotate", "--context", context, "--style", style):
                build.annotate(sys.stdin.read(), context, style)
            case ("artifact", "upload", pattern):
                build.keep(Path.cwd(), pattern)
            case ("meta-data", "set", key, value):
                build.set(key, value)
            case ("meta-data", "get", "--default", default, key):
                print(build.get(key) or default)  # noqa: T201
            case _:
                raise Refusal(f"unknown command: {arguments}")
    except Refusal as refusal:
        print(f"fatal: {refusal}", file=sys.stderr)  # noqa: T201
        return 1
    finally:
        path.write_text(json.dumps(vars(build)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
