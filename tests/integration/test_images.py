"""Images that are really built here, and a real registry that is asked and cleaned."""

import hashlib
import json
import platform
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from image_targets import a_repository
from local_base import MACHINES, local_base
from oci_images import SmallImage, write_layout
from registry import running_registry
from small_wheel import small_wheel

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ExitCode, InfrastructureError, NotQualifiedError
from gauntlet.core.files import sole_holder
from gauntlet.core.proc import run
from gauntlet.images.bake import render
from gauntlet.images.cli import images as command
from gauntlet.images.model import BAKE, BASES, FILE, Images, load_bases
from gauntlet.images.oci.reference import Place
from gauntlet.images.oci.skopeo import Skopeo
from gauntlet.images.oci.storage import build_storage
from gauntlet.images.prune import delete, plan_prune, read_tags

pytestmark = pytest.mark.skipif(
    not (shutil.which("buildah") and shutil.which("skopeo")),
    reason="buildah and skopeo are not installed",
)
PLATFORM = f"linux/{MACHINES[platform.machine()]}"
PIP = '"pip", "--python", "/opt/small/bin/python3", "install", "--no-compile", "--no-deps"'
DOCKERFILE = f"""\
ARG PYTHON_BASE
FROM ${{PYTHON_BASE}} AS base
ENV PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN ["python3", "-m", "venv", "--without-pip", "/opt/small"]

FROM base AS runtime
ARG LOCK
RUN --mount=type=bind,source=wheels,target=/wheels \\
    --mount=type=bind,source=lockfiles/small.txt,target=/lock \\
    [{PIP}, "--no-index", "--find-links", "/wheels", "--require-hashes", "-r", "/lock"]

FROM runtime AS release
USER 10001:10001
ENTRYPOINT ["/opt/small/bin/python3", "-c", "import small, sys; print('small of', sys.prefix)"]
"""


def invoke(*arguments):
    result = CliRunner().invoke(command, [str(each) for each in arguments], catch_exceptions=False)
    return result.stdout


def git(folder, *arguments):
    run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments],
        cwd=folder,
        timeout=60,
    )


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A repository with one image, its base, and the place where the image was built."""
    folder = tmp_path_factory.mktemp("shop")
    root = folder / "repository"
    a_repository(root, dockerfile=DOCKERFILE)
    manifest = (root / FILE).read_text().replace("linux/amd64", PLATFORM)
    (root / FILE).write_text(manifest)
    wheel = small_wheel(root / "wheels")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (root / "lockfiles/small.txt").write_text(f"small==1.2.0 \\\n    --hash=sha256:{digest}\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "all", "--date", "2026-11-20T12:00:00Z")
    base = local_base(folder / "base")
    options = ["--root", root, "--base", f"python={base}", "--platform", PLATFORM]
    return folder, root, options


def built(shop, name):
    folder, _, options = shop
    work, place = folder / f"work-{name}", f"oci:{folder / name}"
    text = invoke("build", "small", *options, "--work", work, "--place", place, "--json")
    return json.loads(text), place, work


@pytest.fixture(scope="module")
def made(shop):
    return built(shop, "first")


def test_an_image_is_built_its_entry_point_runs_and_it_passes_verify(shop, made):
    folder, root, _ = shop
    (image,), place, work = made
    assert (image["platform"], image["layers"]) == (PLATFORM, 4)
    assert sorted(path.name for path in work.iterdir()) == ["build.lock", "logs"]
    (log,) = (work / "logs").iterdir()
    assert "Successfully installed small-1.2.0" in log.read_text()
    reference = image["image"]
    assert invoke("verify", "small", "--root", root, "--image", reference) == ""
    layout, _, tag = reference.removeprefix("oci:").rpartition(":")
    with build_storage(folder / "run") as storage:
        name = storage.load(f"oci:{layout}:{tag}", "it", timeout=120)
        environment = storage.environment
        container = run(storage.command("from", name), timeout=120, env=environment).stdout.strip()
        entry = Skopeo().config(Place.parse(place).at("acme/small", tag=tag)).entrypoint
        command_line = storage.command("run", "--isolation", "chroot", container, "--", *entry)
        assert run(command_line, timeout=120, env=environment).stdout == "small of /opt/small\n"


def test_built_again_elsewhere_it_has_the_same_digest(shop, made):
    (again,), _, _ = built(shop, "second")
    (first,), _, _ = made
    assert again["digest"] == first["digest"]


def test_what_is_there_is_not_built_again_and_has_its_commits_tag(shop, made):
    _, root, options = shop
    (first,), place, _ = made
    plan = json.loads(invoke("plan", "small", *options, "--place", place, "--json"))
    assert [cell["action"] for cell in plan["cells"]] == ["skip"]
    commit = run(["git", "rev-parse", "HEAD"], cwd=root, timeout=60).stdout.strip()
    found = Skopeo().manifest(Place.parse(place).at("acme/small", tag=f"commit-{commit}"))
    assert found is not None
    assert found.digest == first["digest"]


def test_a_named_context_is_mounted_and_its_packages_need_no_lock(shop, tmp_path):
    _, root, options = shop
    other = tmp_path / "other"
    shutil.copytree(root, other)
    mount = "RUN --mount=type=bind,from=torch,target=/torch"
    install = f'{mount} \\\n    [{PIP}, "--no-index", "--find-links", "/torch", "torch"]\n'
    text = DOCKERFILE.replace("\nFROM runtime", f"{install}\nFROM runtime")
    (other / "Dockerfile").write_text(text)
    manifest = other / FILE
    said = "    contexts: {torch: null}\n    unlocked: [torch]\n    packages:"
    manifest.write_text(manifest.read_text().replace("    packages:", said))
    small_wheel(tmp_path / "wheels", name="torch")
    again = ["--root", other, *options[2:], "--work", tmp_path / "work"]
    given = ["--context", f"torch={tmp_path / 'wheels'}", "--place", f"oci:{tmp_path / 'out'}"]
    (image,) = json.loads(invoke("build", "small", *again, *given, "--json"))
    assert invoke("verify", "small", "--root", other, "--image", image["image"]) == ""


def test_an_image_that_is_not_of_its_lock_is_found(shop, made, tmp_path):
    _, root, _ = shop
    (first,), _, _ = made
    shutil.copytree(root, tmp_path / "other")
    lock = tmp_path / "other/lockfiles/small.txt"
    lock.write_text(lock.read_text().replace("1.2.0", "1.3.0") + "more==1.0 --hash=sha256:00\n")
    manifest = tmp_path / "other" / FILE
    manifest.write_text(manifest.read_text().replace("packages: [small]", "packages: [gone]"))
    result = CliRunner().invoke(
        command, ["verify", "small", "--root", str(tmp_path / "other"), "--image", first["image"]]
    )
    assert isinstance(result.exception, NotQualifiedError)
    assert "gone itself is not installed" in result.stdout
    assert "small is 1.2.0, and 1.3.0 is locked" in result.stdout
    assert "more 1.0 is locked and not installed" in result.stdout


def test_two_builds_do_not_work_in_one_folder(shop, tmp_path):
    _, _, options = shop
    with (
        sole_holder(tmp_path / "build.lock", busy="it is ours"),
        pytest.raises(InfrastructureError, match="another build works in"),
    ):
        invoke("build", "small", *options, "--work", tmp_path)


def test_a_dry_run_prints_the_commands_and_builds_nothing(shop, tmp_path):
    _, _, options = shop
    text = invoke("build", "small", *options, "--work", tmp_path / "work", "--dry-run")
    assert "buildah build --no-cache" in text
    assert not (tmp_path / "work").exists()


@pytest.fixture
def registry(tmp_path):
    with running_registry(tmp_path / "registry") as found:
        yield found


def push(registry, folder, repository, tag, image):
    write_layout(folder / "layouts" / repository, {tag: image})
    source = Place.parse(f"oci:{folder / 'layouts'}").at(repository, tag=tag)
    return Skopeo().copy(source, Place.parse(registry.place).at(repository, tag=tag))


def test_bases_are_asked_for_and_written_in_their_order(registry, tmp_path):
    root = tmp_path / "repository"
    a_repository(root)
    digest = push(registry, tmp_path, "python", "3", SmallImage())
    asked = ["--root", root, "--mirror", registry.place]
    result = CliRunner().invoke(command, ["bases", "check", *map(str, asked)])
    assert isinstance(result.exception, NotQualifiedError)
    assert result.stdout.startswith("moved ")
    invoke("bases", "update", *asked, "--dry-run")
    assert load_bases(root / BASES).bases["python"].digest != digest
    invoke("bases", "update", *asked)
    assert load_bases(root / BASES).bases["python"].digest == digest
    assert (root / BAKE).read_text() == render(Images(root))
    assert invoke("bases", "check", *asked).startswith("same ")


def test_a_base_that_is_not_there_is_unreachable_and_keeps_its_digest(registry, tmp_path):
    root = tmp_path / "repository"
    a_repository(root)
    before = (root / BASES).read_text()
    options = ["--root", str(root), "--mirror", registry.place]
    result = CliRunner().invoke(command, ["bases", "update", *options])
    assert result.stdout.startswith("unreachable ")
    assert result.exception is not None
    assert (root / BASES).read_text() == before


def test_a_registry_is_cleaned_of_what_is_old_and_of_nothing_else(registry, tmp_path):
    images = a_repository(tmp_path / "repository")
    old = SmallImage(layers=({"old": b"1"},))
    both = SmallImage(layers=({"both": b"1"},))
    for tag, image in (
        (f"key-{'1' * 16}", old),
        (f"key-{'2' * 16}", both),
        ("v1.0.0", both),
        ("odd", old.__class__(layers=({"odd": b"1"},))),
    ):
        push(registry, tmp_path, "acme/small", tag, image)
    place, store = Place.parse(registry.place), Skopeo()
    later = datetime(2026, 11, 20, 12, tzinfo=UTC) + timedelta(days=40)
    tags = read_tags(store, place, ["acme/small", "cache/acme/small"])
    decisions = plan_prune(tags, images.manifest.retention, later)
    gone = delete(place, decisions)
    assert gone == [f"{registry.place}/acme/small@{old.digest}"]
    left = [
        tag
        for tag in store.tags(place, "acme/small")
        if store.manifest(place.at("acme/small", tag=tag))
    ]
    assert left == [f"key-{'2' * 16}", "odd", "v1.0.0"]


def test_a_build_that_is_stopped_leaves_nothing_half_done(shop, tmp_path):
    _, _, options = shop
    work = tmp_path / "work"
    words = ["images", "build", "small", *map(str, options), "--work", str(work)]
    process = subprocess.Popen(
        [sys.executable, "-m", "gauntlet", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    for _ in range(600):
        if list(work.glob("buildah-*/root/*")):
            break
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert {path.name for path in work.iterdir()} <= {"build.lock", "logs"}


def test_the_command_prunes_only_when_it_is_told_to(registry, tmp_path):
    root = tmp_path / "repository"
    a_repository(root)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "all")
    run_config = SmallImage(layers=({"old": b"1"},))
    push(registry, tmp_path, "acme/small", f"key-{'1' * 16}", run_config)
    options = ["small", "--root", root, "--place", registry.place]
    days = (utc_now() - datetime(2026, 11, 20, 12, tzinfo=UTC)).days
    action = "delete" if days >= 30 else "keep"
    assert invoke("prune", *options).startswith(action)
    data = json.loads(invoke("prune", *options, "--yes", "--json"))
    assert len(data["deleted"]) == (action == "delete")
