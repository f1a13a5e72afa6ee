"""Shipping when something is wrong: nothing ships by half, and nothing is lost."""

import json
from datetime import timedelta

import pytest
from shipping import Shop, tree
from stores import served_folder

from gauntlet.core.clock import utc_now
from gauntlet.core.files import sole_holder
from gauntlet.release.proof.keys import new_key
from gauntlet.release.ship import plan as planning
from gauntlet.release.ship import publish as publishing
from gauntlet.warehouse.store import open_store


@pytest.fixture(scope="module")
def location(tmp_path_factory):
    with served_folder(tmp_path_factory.mktemp("w") / "warehouse") as location:
        yield location


@pytest.fixture
def shop(tmp_path, location, capsys):
    return Shop(tmp_path, location, capsys)


@pytest.fixture
def ready(shop):
    shop.candidate()
    shop.green()
    return shop


def test_what_qualifies_is_published_and_verified(ready):
    assert ready.release("publish", "v1.2.0", "--yes") == 0, ready.err
    assert ready.at_remote("refs/tags/v1.2.0") == ready.cut_at
    key = ready.folder.parent / "key.pub"
    assert ready.release("verify", "v1.2.0", "--key", key) == 0, ready.out
    record = ready.record()
    assert [gate["gate"] for gate in record["gates"]] == ["branch", "artifacts", "full-ci"]
    assert ready.state_folder.load().published.candidate == "v1.2.0rc1"


def test_a_plan_changes_nothing(ready):
    before = tree(ready.releases)
    assert ready.release("publish", "v1.2.0", "--dry-run") == 0
    assert "tag   v1.2.0 at" in ready.out
    assert tree(ready.releases) == before
    assert ready.at_remote("refs/tags/v1.2.0") == ""


def test_without_a_yes_and_a_person_nothing_happens(ready):
    assert ready.release("publish", "v1.2.0") == 2
    assert "nobody is there to be asked" in ready.err
    assert ready.state_folder.load().publishing is None


def test_what_does_not_qualify_does_not_ship(shop):
    shop.candidate()
    shop.green("failed", number=2)
    assert shop.release("publish", "v1.2.0", "--yes") == 6
    assert "v1.2.0rc1 does not qualify (open: full-ci): nothing of it ships" in shop.err
    assert not shop.published().exists()
    assert shop.at_remote("refs/tags/v1.2.0") == ""


def test_at_the_end_of_the_week_it_says_that_nothing_ships(shop, monkeypatch):
    shop.candidate()
    later = utc_now() + timedelta(days=15)
    monkeypatch.setattr("gauntlet.core.clock.utc_now", lambda: later)
    assert shop.release("publish", "v1.2.0", "--yes") == 6
    assert "v1.2.0 was to ship by" in shop.err
    assert shop.at_remote("refs/tags/v1.2.0") == ""


def test_a_clock_behind_what_was_done_is_refused(ready, monkeypatch):
    earlier = utc_now() - timedelta(days=1)
    monkeypatch.setattr("gauntlet.core.clock.utc_now", lambda: earlier)
    assert ready.release("publish", "v1.2.0", "--yes") == 4
    assert "set this machine's clock" in ready.err


def test_without_a_candidate_there_is_nothing_to_publish(shop):
    assert shop.release("cut", "v1.2.0", "--commit", shop.cut_at, "--reason", "x", "--yes") == 0
    assert shop.release("publish", "v1.2.0", "--yes") == 2
    assert "v1.2.0 has no candidate yet" in shop.err


def test_a_waiver_lets_it_ship_and_an_expired_one_does_not(shop, monkeypatch):
    shop.candidate()
    shop.green("failed", number=3)
    waive = ("waive", "v1.2.0rc1", "full-ci", "job/kernels", "--reason", "known", "--yes")
    assert shop.release(*waive, "--days", "8") == 2
    assert "the policy allows 7" in shop.err
    assert shop.release(*waive, "--days", "2", "--by", "Ann") == 0, shop.err
    assert shop.release("gate", "v1.2.0rc1", "--dry-run") == 0
    assert "by Ann until" in shop.out
    later = utc_now() + timedelta(days=3)
    monkeypatch.setattr("gauntlet.core.clock.utc_now", lambda: later)
    assert shop.release("gate", "v1.2.0rc1", "--dry-run") == 6
    assert "the waiver of Ann does not count: it expired" in shop.out


def test_nobody_waives_what_the_policy_holds_back(shop):
    shop.candidate()
    other = ("waive", "v1.2.0rc1", "artifacts", "--all", "--reason", "r", "--yes")
    assert shop.release(*other) == 2
    assert "has no problem that could be waived" in shop.err


def test_nothing_is_published_unsigned(ready, monkeypatch):
    monkeypatch.delenv("GAUNTLET_SIGNING_KEY", raising=False)
    assert ready.release("publish", "v1.2.0", "--yes", key=False) == 2
    assert "nothing is published unsigned" in ready.err
    assert ready.state_folder.load().publishing is None


def test_a_tag_that_somebody_made_elsewhere_is_never_moved(ready):
    ready.git("tag", "v1.2.0", "v1.1.0")
    ready.git("push", "--quiet", "origin", "v1.2.0")
    assert ready.release("publish", "v1.2.0", "--yes") == 6
    assert "a released tag never moves" in ready.err
    assert not ready.published().exists()


def test_two_managers_at_once_one_waits(ready):
    with sole_holder(ready.state_folder.path / ".lock", busy="held"):
        assert ready.release("publish", "v1.2.0", "--yes") == 4
    assert "another process is at work on v1.2.0" in ready.err
    assert ready.release("publish", "v1.2.0", "--yes") == 0


def test_a_file_that_was_changed_after_it_was_proven_does_not_ship(ready):
    (wheel,) = ready.state_folder.candidate("v1.2.0rc1").glob("dist/*.whl")
    data = bytearray(wheel.read_bytes())
    data[-30] ^= 1
    wheel.write_bytes(bytes(data))
    assert ready.release("publish", "v1.2.0", "--yes") == 6
    assert ready.at_remote("refs/tags/v1.2.0") == ""


STEPS = ["write_documents", "place_files", "push_tag", "build_index", "_write_record", "_deed"]


class Killed(BaseException):
    """The end of the process, which nothing catches."""


def publish_and_die(shop, monkeypatch, step):
    """Publish, and end the process where it comes to a step."""

    def die(*_args, **_kwargs):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(publishing, step, die)
        with pytest.raises(Killed):
            shop.release("publish", "v1.2.0", "--yes")


@pytest.mark.parametrize("step", STEPS)
def test_stopped_at_any_step_the_same_command_goes_on(ready, monkeypatch, step):
    publish_and_die(ready, monkeypatch, step)
    ready.green("failed", number=4)
    assert ready.release("publish", "v1.2.0rc9", "--yes") == 2
    # The decision was taken: what came in after it is for the next release.
    assert ready.release("publish", "v1.2.0", "--yes") == 0, ready.err
    record = ready.record()
    assert record["published"]["candidate"] == "v1.2.0rc1"
    assert {gate["gate"]: gate["state"] for gate in record["gates"]}["full-ci"] == "PASS"
    key = ready.folder.parent / "key.pub"
    assert ready.release("verify", "v1.2.0", "--key", key) == 0, ready.out


def test_a_second_candidate_does_not_slip_in_once_publishing_began(ready, monkeypatch):
    publish_and_die(ready, monkeypatch, "place_files")
    fix = ready.edit("Fix (#8)", 3, "fixed")
    ready.push()
    assert ready.release("picks", "v1.2.0", fix, "--apply", "--yes", "--waive", "late") == 0
    ready.tag_and_build("2")
    assert ready.release("publish", "v1.2.0rc2", "--yes") == 2
    assert "began to publish v1.2.0rc1" in ready.err
    assert ready.release("publish", "v1.2.0", "--yes") == 0, ready.err
    assert ready.record()["candidate"] == "v1.2.0rc1"


def test_a_record_is_believed_only_with_the_key_that_is_trusted(ready):
    assert ready.release("publish", "v1.2.0", "--yes") == 0
    new_key(ready.folder.parent / "other")
    assert ready.release("verify", "v1.2.0", "--key", ready.folder.parent / "other.pub") == 6
    assert ready.release("verify", "v1.2.0") == 2
    assert "which public key is trusted" in ready.err


def test_the_way_back_takes_the_page_away_and_leaves_what_people_pinned(ready):
    assert ready.release("publish", "v1.2.0", "--yes") == 0
    index = ready.releases / "public" / "index"
    assert ready.release("rollback", "v1.2.0", "--dry-run") == 0
    assert (index / "1.2.0").is_dir()
    assert ready.release("rollback", "v1.2.0", "--yes") == 0, ready.err
    assert not (index / "1.2.0").exists()
    assert list(index.glob("*/*.whl"))
    assert ready.at_remote("refs/tags/v1.2.0") == ready.cut_at
    assert ready.release("status", "v1.2.0") == 0
    assert "rolled back to v1.1.0 by" in ready.out
    assert ready.release("rollback", "v1.2.0", "--yes") == 0
    assert ready.release("rollback", "v1.2.0", "--to", "v1.3.0", "--yes") == 2


def test_commands_print_json(ready):
    assert ready.release("gate", "v1.2.0", "--json") == 0
    assert json.loads(ready.out)["outcome"] == "QUALIFIED"
    assert ready.release("publish", "v1.2.0", "--yes", "--json") == 0
    told = json.loads(ready.out)
    assert (told["published"], told["candidate"]) == (True, "v1.2.0rc1")


def test_what_shipped_takes_no_more_picks_and_candidates(ready):
    assert ready.release("publish", "v1.2.0", "--yes") == 0
    fix = ready.edit("Fix (#8)", 3, "fixed")
    ready.push()
    for command in (("picks", "v1.2.0", fix), ("candidate", "v1.2.0", "--yes")):
        assert ready.release(*command) == 2
        assert "v1.2.0 is published, from v1.2.0rc1" in ready.err


def test_a_candidate_s_tag_that_is_gone_does_not_ship(ready):
    ready.git("push", "--quiet", "origin", ":refs/tags/v1.2.0rc1")
    assert ready.release("publish", "v1.2.0", "--yes") == 6
    assert "has v1.2.0rc1 at nothing" in ready.err


def test_what_is_being_published_is_not_built_again(ready, monkeypatch):
    publish_and_die(ready, monkeypatch, "place_files")
    assert ready.release("build", "v1.2.0rc1", "--no-try", "--yes") == 2
    assert "its artifacts stay as they were proven" in ready.err


def test_a_publishing_that_was_killed_at_its_very_end_is_told_by_the_next(ready, monkeypatch):
    publish_and_die(ready, monkeypatch, "_deed")
    assert ready.state_folder.load().published is not None
    assert ready.release("publish", "v1.2.0", "--yes") == 0
    with open_store(ready.location) as store:
        rows = store.query("decisions_about", subject="release/v1.2.0")
    told = [json.loads(row["evidence"]) for row in rows if row["outcome"] == "published"]
    assert ready.cut_at in [each["commit"] for each in told]


def test_a_policy_that_asks_for_an_image_of_another_matrix_is_refused(ready):
    policy = ready.folder.parent / "policy.yaml"
    policy.write_text(policy.read_text().replace("kind: ci,", "kind: ci, image: cuda,"))
    assert ready.release("gate", "v1.2.0") == 2
    assert "unknown image of the matrix 'cuda'" in ready.err


def test_a_candidate_that_changed_after_it_was_judged_does_not_ship(ready, monkeypatch):
    judged = planning.plan_publish

    def slowly(*arguments, **options):
        plan = judged(*arguments, **options)
        state = ready.state_folder.load()
        changed = state.candidates[0].model_copy(update={"artifacts": ()})
        ready.state_folder.save(state.with_candidate(changed))
        return plan

    monkeypatch.setattr(planning, "plan_publish", slowly)
    assert ready.release("publish", "v1.2.0", "--yes") == 4
    assert "v1.2.0rc1 changed after it was judged" in ready.err
    assert ready.state_folder.load().publishing is None
