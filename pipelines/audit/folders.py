"""A rule about source folders whose changes no job of a vendor notices."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from gauntlet.pipelines.audit.model import AuditInput, Finding
from gauntlet.pipelines.rules import Owners, RunAll, is_inert, prefixes

SOURCES = ("vllm", "csrc", "rust")
"""Top folders that hold the engine itself."""
LEAST_JOBS = 10
LEAST_SHARE = 0.1
"""A vendor with fewer live test jobs, or less of all of them, is not meant to cover everything."""


def unwatched_folder(audit: AuditInput) -> Iterator[Finding]:
    """Yield source folders where no file's change selects a live test job of a vendor.

    Optional jobs do not run by themselves and image builds test nothing, so neither counts.
    """
    vendors = _live(audit)
    owners = Owners(audit.definitions)
    watching = _watching(audit, owners, vendors)
    for vendor in _notable(vendors):
        bare = {path for path, seen in watching.items() if vendor not in seen}
        for folder, what in _topmost(bare, watching):
            refusing = owners.exclusions(f"{folder}/_")
            refused = sum(vendors.get(key) == vendor for key in refusing)
            excluded = f"; {refused} such jobs exclude it" if refused else ""
            yield Finding(
                rule="unwatched-folder",
                file=folder,
                subject=vendor,
                message=f"no {vendor} test job runs for a change to {what}{excluded}",
            )


def _live(audit: AuditInput) -> dict[str, str]:
    """The vendor of every job that tests something and runs by itself, by key."""
    found = {}
    for written in audit.jobs:
        vendor = audit.vendor(written)
        if vendor and not written.job.optional and not written.job.image:
            found[written.job.key] = vendor
    return found


def _notable(vendors: Mapping[str, str]) -> list[str]:
    counts = Counter(vendors.values())
    least = max(LEAST_JOBS, LEAST_SHARE * len(vendors))
    return sorted(vendor for vendor, jobs in counts.items() if jobs >= least)


def _watching(
    audit: AuditInput, owners: Owners, vendors: Mapping[str, str]
) -> dict[str, frozenset[str]]:
    """Vendors whose jobs a change of each source file selects."""
    definitions = audit.definitions
    run_all = RunAll(definitions.run_all_patterns, definitions.run_all_exclude_patterns)
    everyone = frozenset(vendors.values())
    found = {}
    for path in (path for root in SOURCES for path in audit.tree.below(root)):
        if is_inert(path):
            continue
        hits = owners.hits(path)
        selected = frozenset(vendors[key] for key, _ in hits if key in vendors)
        found[path] = everyone if run_all.match(path) else selected
    return found


def _topmost(bare: set[str], sources: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the topmost folders with bare files only, and folders whose own files all are bare."""
    below, own = Counter[str](), Counter[str]()
    watched_below: set[str] = set()
    watched: set[str] = set()
    for path in sources:
        folder = path.rpartition("/")[0]
        own[folder] += 1
        below.update(prefixes(folder))
        if path not in bare:
            watched.add(folder)
            watched_below.update(prefixes(folder))
    for folder in sorted(below):
        above = folder.rpartition("/")[0]
        if folder not in watched_below:
            if not above or above in watched_below:
                yield folder, f"its {_files(below[folder])}"
        elif own[folder] and folder not in watched:
            yield folder, f"the {_files(own[folder])} right in it"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
