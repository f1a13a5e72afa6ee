"""Notes of real repositories: what is listed once, what is not, and by whom it was made."""

import json

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from releasing import Engine, at

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.release.cli import release as commands
from gauntlet.release.gates.use import Place
from gauntlet.release.matrix.model import load_matrix
from gauntlet.release.notes.draft import OTHER, Span, area_of, draft_notes
from gauntlet.release.notes.merged import Merged
from gauntlet.release.notes.rules import AreaRule
from gauntlet.release.notes.use import draft_of, notes_of
from gauntlet.release.picks.history import Change
from gauntlet.release.picks.rules import AllowRule
from gauntlet.release.policy import ReleasePolicy, load_release_policy
from gauntlet.release.state import Candidate, Cut, Release

AREAS = (
    AreaRule(name="Kernels", titles=("Kernel",), labels=("kernel",), paths=("*.cu",)),
    AreaRule(name="Models", paths=("models*",)),
)
BUMP = AllowRule(paths=("setup.py",), subject=r"\[Release\] Version .*")
SHIPPED = load_release_policy()
NOON = at("2026-11-30 12:00")


@pytest.fixture
def engine(tmp_path):
    """An engine with a released v1.1.0 and two changes after it, on main."""
    found = Engine(tmp_path)
    found.first = found.git("rev-parse", "v1.1.0^{commit}")
    return found


def as_person(engine, name, title, files, **changes):
    """Commit as somebody else than Ann."""
    engine.commit(title, files, **changes)
    who = f"{name} <{name.lower()}@example.com>"
    engine.git("commit", "--quiet", "--amend", "--no-edit", f"--author={who}")
    return engine.git("rev-parse", "HEAD")


def place_of(engine, **sections):
    policy = SHIPPED.model_copy(update={"areas": AREAS, "allow": (BUMP,), **sections})
    return Place(
        repository=engine.folder,
        releases=engine.releases,
        location="nowhere",
        policy=policy,
        matrix=load_matrix(),
    )


def state_of(engine, *, previous="v1.1.0", previous_commit=None, cut=None):
    candidate = Candidate(
        name="v1.2.0rc1", commit=engine.git("rev-parse", "HEAD"), by="Ann", at=NOON
    )
    return Release(
        version="v1.2.0",
        repository="engine",
        branch="releases/v1.2.0",
        previous=previous,
        previous_commit=engine.first if previous_commit is None else previous_commit,
        cut=Cut(commit=cut or candidate.commit, reason="it is green", by="Ann", at=NOON),
        candidates=(candidate,),
    )


def draft(engine, **changes):
    state = state_of(engine, **changes)
    return draft_of(place_of(engine), state, state.candidates[0])


def listed(notes):
    return [entry.title for _, entries in notes.areas for entry in entries]


def by_area(notes):
    return {name: [entry.title for entry in entries] for name, entries in notes.areas}


def pick(engine, *shas):
    """Pick onto the branch that is checked out, as release picks does."""
    engine.git("cherry-pick", "-x", *shas)
    return engine.git("rev-parse", "HEAD")


def test_changes_stand_by_area_with_numbers_and_authors(engine):
    as_person(engine, "Ben", "[Kernel][Bugfix] Mend a *race* (#4)", {"engine.py": "x\n"})
    engine.commit("Tidy", {"notes.txt": "x\n"})
    state = state_of(engine)
    text = notes_of(place_of(engine), state, state.candidates[0])
    tidy = state.candidates[0].commit
    assert text == (
        "# v1.2.0\n\n4 changes by 2 authors since v1.1.0.\n\n"
        "## Highlights\n\n_To be written by a person._\n\n"
        "## Kernels\n\n- Add kernels (#2), Ann\n"
        "- \\[Kernel\\]\\[Bugfix\\] Mend a \\*race\\* (#4), Ben\n\n"
        "## Models\n\n- Add models (#3), Ann\n\n"
        "## Other changes\n\n- Tidy, Ann\n\n"
        "## New contributors\n\n- Ben made a first contribution in #4\n"
    )
    entry = draft(engine).plain()["areas"][2]["changes"][0]
    assert entry == {
        "commit": tidy, "title": "Tidy", "pull_request": None, "authors": ["Ann"]
    }  # fmt: skip


def test_the_same_history_makes_the_same_text_in_any_clone(engine):
    state = state_of(engine)
    other = engine.clone("other")
    texts = {notes_of(place_of(each), state, state.candidates[0]) for each in (engine, other)}
    assert len(texts) == 1


def test_a_revert_and_what_it_reverts_are_not_listed(engine):
    bad = engine.commit("Break it (#5)", {"engine.py": "broken\n"})
    engine.git("revert", "--no-edit", bad)
    notes = draft(engine)
    assert listed(notes) == ["Add kernels", "Add models"]
    change, revert = notes.plain()["reverted"][0].values()
    assert (change["title"], revert["title"]) == ("Break it", 'Revert "Break it (#5)"')


def test_a_revert_that_was_reverted_lets_the_change_stand(engine):
    change = engine.commit("Make it fast (#5)", {"engine.py": "fast\n"})
    engine.git("revert", "--no-edit", change)
    engine.git("revert", "--no-edit", "HEAD")
    assert listed(draft(engine)) == ["Add kernels", "Add models", "Make it fast"]


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ('Revert "Break it (#5)" (#6)', ""),
        ('[CI] Revert "Break it (#5)" (#6)', ""),
        ("Take it back (#6)", "Reverts example/engine#5"),
    ],
)
def test_a_code_host_s_revert_is_known_by_the_number(engine, title, body):
    engine.commit("Break it (#5)", {"engine.py": "broken\n"})
    engine.commit(title, {"engine.py": "mended\n"}, body=body)
    assert listed(draft(engine)) == ["Add kernels", "Add models"]


def test_a_revert_of_what_was_released_is_a_change(engine):
    engine.git("revert", "--no-edit", engine.git("rev-parse", "HEAD"))
    released = engine.git("rev-parse", "HEAD~1")
    assert listed(draft(engine, previous_commit=released)) == ['Revert "Add models (#3)"']


def test_a_revert_of_more_than_is_here_stays(engine):
    new = engine.commit("New (#5)", {"new.py": "x\n"})
    body = f"This reverts commit {new}.\n\nThis reverts commit {engine.cut_at}."
    engine.commit("Take both back (#6)", {"new.py": None, "models.py": None}, body=body)
    assert listed(draft(engine, previous_commit=engine.cut_at)) == ["Take both back"]


def test_a_pick_and_its_source_count_once(engine):
    fix = engine.commit("Fix (#8)", {"fix.py": "x\n"})
    engine.git("checkout", "--quiet", "-b", "releases/v1.2.0", engine.cut_at)
    pick(engine, fix)
    assert listed(draft(engine, cut=engine.cut_at)) == ["Add kernels", "Add models", "Fix"]
    engine.git("merge", "--quiet", "--no-edit", "main")
    again = [title for title in listed(draft(engine, cut=engine.cut_at)) if title == "Fix"]
    assert again == ["Fix"]


def test_a_picked_revert_takes_back_what_was_cut(engine):
    engine.git("revert", "--no-edit", engine.cut_at)
    revert = engine.git("rev-parse", "HEAD")
    engine.git("checkout", "--quiet", "-b", "releases/v1.2.0", engine.cut_at)
    pick(engine, revert)
    assert listed(draft(engine, cut=engine.cut_at)) == ["Add kernels"]


def test_what_the_last_release_had_as_a_pick_is_not_new(engine):
    fix = engine.commit("Fix (#8)", {"fix.py": "x\n"})
    engine.git("checkout", "--quiet", "-b", "releases/v1.1.0", engine.first)
    pick(engine, fix)
    released = engine.commit("[Release] Version 1.1.0", {"setup.py": "version = '1.1.0'\n"})
    engine.git("checkout", "--quiet", "main")
    assert listed(draft(engine, previous_commit=released)) == ["Add kernels", "Add models"]


def test_a_version_bump_on_the_branch_is_nobody_s_change(engine):
    engine.commit("[Release] Version 1.2.0", {"setup.py": "version = '1.2.0'\n"})
    assert listed(draft(engine, cut=engine.cut_at)) == ["Add kernels", "Add models"]


def test_a_merge_is_one_change_of_those_who_wrote_it(engine):
    engine.git("checkout", "--quiet", "-b", "topic")
    as_person(engine, "Ben", "One", {"a.cu": "a\n"})
    as_person(engine, "Cem", "Two", {"b.cu": "b\n"})
    engine.git("checkout", "--quiet", "main")
    text = "Merge pull request #9 from ben/topic\n\nFaster kernels"
    engine.git("merge", "--quiet", "--no-ff", "-m", text, "topic")
    notes = draft(engine)
    entry = notes.areas[0][1][-1]
    assert (entry.title, entry.pull_request, entry.authors) == ("Faster kernels", 9, ("Ben", "Cem"))
    assert [name for name, _ in notes.newcomers] == ["Ben", "Cem"]
    assert notes.count == 3
    engine.git("revert", "--no-edit", "-m", "1", "HEAD")
    assert listed(draft(engine)) == ["Add kernels", "Add models"]


def test_the_first_release_is_said_and_lists_the_newest(engine, monkeypatch):
    monkeypatch.setattr("gauntlet.release.notes.facts._MOST", 2)
    notes = draft(engine, previous="", previous_commit="")
    assert listed(notes) == ["Add kernels", "Add models"]
    assert notes.newcomers is None
    first = "The first release: 2 changes by 1 author. Not listed: 1 earlier change."
    assert first in notes.markdown()


def test_programs_are_no_contributors(engine):
    engine.commit("Bump a dependency (#5)", {"pins.txt": "x\n"})
    who = "renovate[bot] <1+renovate[bot]@users.example.org>"
    engine.git("commit", "--quiet", "--amend", "--no-edit", f"--author={who}")
    notes = draft(engine)
    assert notes.authors == ("Ann",)
    assert notes.newcomers == ()


def test_people_s_highlights_and_labels_are_taken_from_the_folder(engine):
    engine.commit("Make it fast (#5)", {"engine.py": "fast\n"})
    engine.state_folder.path.mkdir(parents=True)
    (engine.state_folder.path / "highlights.md").write_text("It is **fast**.\n")
    (engine.state_folder.path / "labels.json").write_text('{"labels": {"5": ["Kernel"]}}')
    notes = draft(engine)
    assert by_area(notes)["Kernels"] == ["Add kernels", "Make it fast"]
    assert "## Highlights\n\nIt is **fast**.\n\n## Kernels" in notes.markdown()
    (engine.state_folder.path / "labels.json").write_text('{"label": {}}')
    with pytest.raises(ConfigError, match=r"labels\.json.*label"):
        draft(engine)


def test_a_history_that_is_not_here_is_refused(engine, tmp_path):
    with pytest.raises(UsageError, match="has no commit 1111") as caught:
        draft(engine, previous_commit="1" * 40)
    assert "git fetch --tags" in caught.value.hint
    engine._run("clone", "--quiet", "--depth=1", f"file://{engine.remote}", str(tmp_path / "less"))
    state, place = state_of(engine), place_of(engine)
    engine.folder = tmp_path / "less"
    with pytest.raises(UsageError, match="shallow"):
        draft_of(place_of(engine), state, state.candidates[0])
    assert notes_of(place, state, state.candidates[0]).startswith("# v1.2.0")


def change(title="Change", *paths, sha="a" * 40):
    return Change(
        sha=sha, parents=(), author="Ann", email="ann@example.com", committed_at=NOON,
        subject=title, body="", paths=paths,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("made", "labels", "area"),
    [
        pytest.param(change("[kernel] Faster", "models.py"), (), "Kernels", id="tag"),
        pytest.param(change("Kernel: faster", "x.py"), (), OTHER, id="no tag"),
        pytest.param(change("Faster", "a.cu", "b.cu", "x.py"), (), "Kernels", id="most paths"),
        pytest.param(change("Faster", "a.cu", "x.py"), (), OTHER, id="half of the paths"),
        pytest.param(change("Faster", "models.py"), ("Kernel",), "Kernels", id="label"),
        pytest.param(change("Nothing changed"), (), OTHER, id="no paths"),
    ],
)
def test_the_first_area_that_a_change_matches_is_its_area(made, labels, area):
    assert area_of(made, AREAS, labels) == area


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_no_title_makes_markup_or_another_line(title):
    span = Span(version="v1.2.0", candidate="v1.2.0rc1", commit="a" * 40)
    made = Merged(change=change(title))
    lines = draft_notes([made], (), span, known=frozenset()).markdown().splitlines()
    at_change = lines.index("## Other changes") + 2
    assert lines[at_change].startswith("- ")
    assert lines[at_change + 1 : at_change + 3] == ["", "## New contributors"]


@pytest.mark.parametrize(
    "section", ["repository", "chat", "images", "smoke", "publish", "announce", "health",
                "schedule", "picks", "allow"],
)  # fmt: skip
def test_the_shipped_policy_writes_every_default_out(section):
    assert getattr(SHIPPED, section) == getattr(ReleasePolicy(gates=SHIPPED.gates), section)


def test_most_changes_of_the_real_engine_have_an_area(shared):
    path = shared / "data" / "diffs" / "vllm_main_300_commits.json"
    paths = [[file["path"] for file in each["files"]] for each in json.loads(path.read_text())]
    areas = [area_of(change("x", *names), SHIPPED.areas) for names in paths]
    assert areas.count(OTHER) <= len(areas) * 0.05
    assert len(set(areas)) > 10


def test_the_command_prints_markdown_or_json(engine):
    engine.state_folder.save(state_of(engine))
    where = ["--repository", str(engine.folder), "--releases", str(engine.releases)]
    done = CliRunner().invoke(commands, ["notes", "v1.2.0", *where], catch_exceptions=False)
    assert done.output.startswith("# v1.2.0\n\n2 changes by 1 author since v1.1.0.\n")
    done = CliRunner().invoke(
        commands, ["notes", "v1.2.0rc1", "--json", *where], catch_exceptions=False
    )
    told = json.loads(done.stdout)
    assert [each["title"] for each in told["areas"][0]["changes"]] == ["Add kernels", "Add models"]
    with pytest.raises(UsageError, match="there is no release v1.3.0"):
        CliRunner().invoke(commands, ["notes", "v1.3.0", *where], catch_exceptions=False)
