"""Which pages an index has, and what is in them: from a listing alone."""

from collections.abc import Mapping, Sequence

from gauntlet.core.errors import UsageError
from gauntlet.release.index.listing import COMMIT, NIGHTLY, POINTERS, IndexFile, Listing
from gauntlet.release.index.pages import project_list, project_page


def plan_pages(listing: Listing) -> dict[str, bytes]:
    """Every page by its path below the root, in the order in which they are to be written.

    Metadata of wheels come first and the pages of all releases last, so that a reader never finds
    a link to what is not there. Raises UsageError where names would collide.
    """
    pages: dict[str, bytes] = {}
    for file in listing.files:
        if file.metadata is not None:
            pages[f"{file.commit}/{file.name}.metadata"] = file.metadata
    for scope, files in scopes(listing).items():
        pages |= _scope_pages(scope, files)
    return pages


def scopes(listing: Listing) -> dict[str, list[IndexFile]]:
    """Files of each index by its folder: commits, nightly, versions, and ``""``: all releases.

    A version has the files of its commit that carry this version: never a development version.
    """
    by_commit: dict[str, list[IndexFile]] = {commit: [] for commit in sorted(listing.commits)}
    for file in listing.files:
        by_commit[file.commit].append(file)
    found = dict(by_commit)
    released: list[IndexFile] = []
    for name, commit in sorted(listing.pointers.items()):
        files = by_commit.get(commit, [])
        if name != NIGHTLY:
            files = [file for file in files if file.version.public == name]
            released += files
        found[name] = files
    found[""] = released
    return found


def _scope_pages(scope: str, files: Sequence[IndexFile]) -> dict[str, bytes]:
    variants: dict[str, list[IndexFile]] = {"": []}
    for file in files:
        variants.setdefault(file.variant, []).append(file)
    projects = {file.project for file in files}
    taken = sorted(
        name
        for name in projects
        if name in variants or (not scope and (name in (NIGHTLY, POINTERS) or COMMIT.match(name)))
    )
    if taken:
        msg = f"{scope or 'the root'}: project {taken[0]!r} is named as a folder of the index"
        raise UsageError(msg, hint="a project, a variant and a commit need names of their own")
    pages: dict[str, bytes] = {}
    for variant, chosen in sorted(variants.items(), reverse=True):
        folder = "/".join(part for part in (scope, variant) if part)
        pages |= _index(folder, chosen)
    return pages


def _index(folder: str, files: Sequence[IndexFile]) -> dict[str, bytes]:
    """Pages of one index: a page for each project, and the list of them."""
    by_project: dict[str, list[IndexFile]] = {}
    for file in files:
        by_project.setdefault(file.project, []).append(file)
    pages: dict[str, bytes] = {}
    for project, chosen in sorted(by_project.items()):
        path = f"{folder}/{project}" if folder else project
        up = "../" * (path.count("/") + 1)
        pages |= _below(path, project_page(project, chosen, up))
    return pages | _below(folder, project_list(by_project))


def _below(folder: str, pages: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{name}" if folder else name: data for name, data in pages.items()}
