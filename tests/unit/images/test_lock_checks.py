import pytest
from image_targets import a_repository

from gauntlet.images.inspect import compare_installed
from gauntlet.images.verify import verify

LOCKS = """\
gauntlet: 1
locks:
  small: {purpose: runtime, inputs: [lockfiles/small.in], platforms: [linux/amd64]}
  other: {purpose: what tests need, inputs: [lockfiles/other.in], platforms: [linux/amd64]}
"""
OF_LOCKS = {
    "image-lock", "lock-has-engine", "lock-platform", "sdist-covered", "test-changes-runtime",
}  # fmt: skip


def found(folder, *, small="colour==1.0", other="other==1.0", locks=LOCKS, manifest=()):
    images = a_repository(folder)
    (folder / "lockfiles/small.txt").write_text(f"{small}\n")
    (folder / "lockfiles/other.txt").write_text(f"{other}\n")
    (folder / "lockfiles/locks.yaml").write_text(locks)
    text = (folder / images.file).read_text()
    head, _, test = text.partition("  small-test:")
    for old, new in (("locks: [small]", "locks: [small, other]"), *manifest):
        assert old in test
        test = test.replace(old, new)
    (folder / images.file).write_text(f"{head}  small-test:{test}")
    findings = verify(type(images)(folder)).findings
    return [each for each in findings if each.check in OF_LOCKS]


def test_locks_that_hold_together_have_no_findings(tmp_path):
    assert found(tmp_path, other="other==1.0\ncolour==1.0") == []


def test_a_lock_with_the_engine_itself_is_found(tmp_path):
    (one, test) = found(tmp_path, small="colour==1.0\nSmall==3.1")
    assert (one.check, test.check) == ("lock-has-engine", "lock-has-engine")
    assert "small builds small" in one.message
    assert "lockfiles/small.txt pins small 3.1" in one.message
    assert "lock what small requires" in one.remedy


@pytest.mark.parametrize(
    "manifest",
    [(), (("locks: [small, other]", "locks: [small]"), ("{LOCK: small}", "{OTHER_LOCK: other}"))],
    ids=["a further lock", "an argument"],
)
def test_a_lock_that_changes_the_runtime_is_found(tmp_path, manifest):
    (one,) = found(tmp_path, other="other==1.0\ncolour==2.0", manifest=manifest)
    assert one.check == "test-changes-runtime"
    assert "installs colour 2.0 of lockfiles/other.txt over 1.0" in one.message
    assert "constraints: [lockfiles/small.txt]" in one.remedy


def test_versions_that_markers_choose_between_are_none_that_change(tmp_path):
    small = "colour==1.0 ; sys_platform == 'linux'\ncolour==1.1 ; sys_platform != 'linux'"
    assert found(tmp_path, small=small, other="colour==1.0") == []


SOURCE = LOCKS.replace("[lockfiles/other.in],", "[lockfiles/other.in], sdists: [old],")


def test_constraints_have_to_reach_what_is_built_from_source(tmp_path):
    (one,) = found(tmp_path, locks=SOURCE)
    assert one.check == "sdist-covered"
    assert "small-test builds old of lockfiles/other.txt" in one.message
    assert "--build-constraint" in one.remedy


def test_a_lock_that_nobody_declared_is_found_with_the_nearest(tmp_path):
    (one,) = found(tmp_path, manifest=[("locks: [small, other]", "locks: [small, others]")])
    assert one.check == "image-lock"
    assert "'others', which lockfiles/locks.yaml does not know" in one.message
    assert "did you mean 'other'?" in one.remedy


def test_a_declared_lock_that_is_not_compiled_is_found(tmp_path):
    locks = f"{LOCKS}  third: {{purpose: more, inputs: [lockfiles/third.in]}}\n"
    manifest = [("locks: [small, other]", "locks: [small, third]")]
    (one,) = found(tmp_path, locks=locks, manifest=manifest)
    assert (one.check, one.remedy) == ("image-lock", "run: gauntlet locks compile third")


def test_a_lock_for_fewer_platforms_is_found(tmp_path):
    small, other = LOCKS.splitlines()[2:]
    locks = "\n".join(["gauntlet: 1", "locks:", small, other.replace("amd64", "arm64")])
    (one,) = found(tmp_path, locks=locks)
    assert one.check == "lock-platform"
    assert "small-test is for linux/amd64, and its lock 'other' is not" in one.message


def test_what_wheels_of_a_context_bring_has_to_be_there_and_needs_no_lock():
    locked = {"colour": frozenset({"1.0"})}
    installed = {"colour": "1.0", "small": "3", "torch": "2.14.0+cpu"}
    assert list(compare_installed("small", installed, locked, ("small", "torch"))) == []
    del installed["torch"]
    (one,) = compare_installed("small", installed, locked, ("small", "torch"))
    assert "torch itself is not installed" in one.message
