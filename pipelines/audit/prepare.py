"""From the texts that were read to what rules look at."""

from collections.abc import Iterable

from gauntlet.core.errors import ConfigError
from gauntlet.core.yaml_file import YamlDocument, parse_yaml
from gauntlet.pipelines.audit.model import AuditInput, AuditRequest
from gauntlet.pipelines.audit.runs import invocations
from gauntlet.pipelines.audit.tree import Tree
from gauntlet.pipelines.audit.written import written_jobs
from gauntlet.pipelines.definitions.config import DefinitionFile, check_text
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.fleet import parse_fleet


def prepare(request: AuditRequest) -> AuditInput:
    """Parse everything once. Pure.

    Raises ConfigError where the pipeline's configuration or the fleet cannot be read. A job file
    that cannot be read is a finding, and a file of another pipeline is left out.
    """
    definitions = parse_definitions(request.files)
    texts = (*request.files.jobs, *request.others)
    documents = _documents((request.files.config, *texts))
    pipelines = [documents[text.path] for text in texts if text.path in documents]
    unread = [text.path for text in request.others if text.path not in documents]
    return AuditInput(
        files=request.files,
        texts=texts,
        documents=documents,
        definitions=definitions,
        jobs=written_jobs(definitions.jobs, documents),
        commands=tuple(
            invocation for document in pipelines for invocation in invocations(document.value)
        ),
        unread=tuple(unread),
        tree=Tree(request.tree),
        scripts=request.scripts,
        fleet=parse_fleet(request.fleet),
        timings=request.timings,
    )


def _documents(files: Iterable[DefinitionFile]) -> dict[str, YamlDocument]:
    found = {}
    for file in files:
        try:
            check_text(file)
            found[file.path] = parse_yaml(file.text, file=file.path)
        except ConfigError:
            # Of the chosen pipeline this is a broken definition, which is a finding of its own.
            continue
    return found
