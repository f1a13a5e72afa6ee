"""Draft the notes of a candidate from the clone, the policy, and what people put in the folder."""

from pydantic import Field

from gauntlet.core.json_file import load_json_model
from gauntlet.core.yaml_file import StrictModel, read_text
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.gates.use import Place
from gauntlet.release.notes.draft import Notes, Span, draft_notes
from gauntlet.release.notes.facts import read_history
from gauntlet.release.state import Candidate, Release
from gauntlet.release.version import ReleaseVersion

HIGHLIGHTS_FILE = "highlights.md"
LABELS_FILE = "labels.json"


class KnownLabels(StrictModel):
    """``labels.json`` of a release's folder: labels by the number of the pull request."""

    labels: dict[int, tuple[str, ...]] = Field(default_factory=dict)


def draft_of(place: Place, release: Release, candidate: Candidate) -> Notes:
    """Draft the notes of a candidate. Asks no network and no clock.

    The release's folder may have ``highlights.md``, written by a person, and ``labels.json``.
    Raises UsageError where the clone does not hold the history, ConfigError for a damaged file.
    """
    folder = ReleaseFolder.of(place.releases, ReleaseVersion.parse(release.version)).path
    texts, labels = folder / HIGHLIGHTS_FILE, folder / LABELS_FILE
    history = read_history(
        place.repository,
        previous=release.previous_commit,
        cut=release.cut.commit,
        head=candidate.commit,
        allow=place.policy.allow,
    )
    span = Span(
        version=release.version,
        candidate=candidate.name,
        commit=candidate.commit,
        previous=release.previous,
        previous_commit=release.previous_commit,
        earlier=history.earlier,
    )
    return draft_notes(
        history.changes,
        place.policy.areas,
        span,
        known=history.known,
        labels=load_json_model(labels, KnownLabels).labels if labels.exists() else None,
        highlights=read_text(texts) if texts.exists() else "",
    )


def notes_of(place: Place, release: Release, candidate: Candidate) -> str:
    """The notes of a candidate as Markdown, as publishing ships them."""
    return draft_of(place, release, candidate).markdown()


def plain_notes_of(place: Place, release: Release, candidate: Candidate) -> dict[str, object]:
    """The notes of a candidate as JSON."""
    return draft_of(place, release, candidate).plain()
