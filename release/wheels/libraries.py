"""Checks of the libraries in a wheel: for which Python, which machine, which C library."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gauntlet.core.findings import Finding
from gauntlet.release.wheels.elf import ElfFacts
from gauntlet.release.wheels.facts import WheelFacts
from gauntlet.release.wheels.find import machine, manylinux
from gauntlet.release.wheels.stable_abi import outside

if TYPE_CHECKING:
    from auditwheel.policy import Policy, WheelPolicies

_ABI3_SUFFIX = ".abi3.so"
_SPECIFIC = re.compile(r"\.(cpython-\d+\w*|cp\d+\w*|pypy\d+\w*)[.-].*$")
_SHOWN = 8


def abi3(facts: WheelFacts) -> Iterator[Finding]:
    """Extensions of a wheel for every later Python are built for every later Python.

    Each is named ``*.abi3.so``, none for one version, and none is linked to one libpython.
    """
    if not _is_abi3(facts):
        return
    extensions = [elf for elf in facts.elf if elf.is_extension]
    remedy = "build every extension with Py_LIMITED_API, or tag the wheel for one Python"
    if not extensions:
        yield _finding("wheel-abi3", facts, "it is tagged abi3 and holds no extension", remedy)
    for elf in facts.elf:
        specific = _SPECIFIC.search(elf.name)
        python = [lib for lib in elf.needed if re.match(r"libpython3\.\d", lib)]
        if specific:
            message = f"{elf.name} is for one Python alone ({specific.group(1)})"
        elif elf.is_extension and not elf.name.endswith(_ABI3_SUFFIX):
            message = f"{elf.name} is an extension and not named *{_ABI3_SUFFIX}"
        elif python:
            message = f"{elf.name} is linked to {python[0]}"
        else:
            continue
        yield _finding("wheel-abi3", facts, message, remedy)


def limited_api(facts: WheelFacts) -> Iterator[Finding]:
    """What an abi3 wheel takes from the interpreter is in the stable ABI of its oldest Python.

    Libraries count as well, since a CUDA extension is often a thin module over one.
    """
    if not _is_abi3(facts):
        return
    minors = [m.group(1) for t in facts.named.tags if (m := re.match(r"^cp3(\d+)$", t.interpreter))]
    if not minors:
        return
    oldest = min(map(int, minors))
    for elf in facts.elf:
        names = outside(elf.python_symbols, oldest)
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            message = (
                f"{elf.name} uses {', '.join(names[:_SHOWN])}{more}, "
                f"which the stable ABI of Python 3.{oldest} does not have"
            )
            remedy = f"compile it with Py_LIMITED_API=0x03{oldest:02x}0000, or raise the tag"
            yield _finding("wheel-limited-api", facts, message, remedy)


def machine_of_elf(facts: WheelFacts) -> Iterator[Finding]:
    """Programs and libraries are for the machine that the tags name."""
    tagged = {machine(tag.platform) for tag in facts.named.tags} - {""}
    for elf in facts.elf:
        if elf.problem:
            message = f"{elf.name} cannot be read: {elf.problem}"
            yield _finding("wheel-machine", facts, message, "build it again")
        elif tagged and elf.machine and elf.machine not in tagged:
            message = f"{elf.name} is for {elf.machine}, the tags for {', '.join(sorted(tagged))}"
            yield _finding(
                "wheel-machine", facts, message, "build it on that machine: a tag is no port"
            )


def glibc(facts: WheelFacts) -> Iterator[Finding]:
    """The versions of symbols that libraries need are in every manylinux that is promised."""
    needed = {version for elf in facts.elf for version in elf.versions}
    for platform in sorted({tag.platform for tag in facts.named.tags}):
        if platform.startswith("linux_"):
            message = f"{platform} promises nothing of the C library; no public index takes it"
            remedy = "build in a manylinux image and set its tag"
            yield _finding("wheel-glibc", facts, message, remedy, level="warning")
        elif platform.startswith("musllinux_"):
            message = f"symbols are not checked against {platform}"
            yield _finding("wheel-glibc", facts, message, "use auditwheel there", level="warning")
        elif manylinux(platform) is not None and needed:
            yield from _manylinux_findings(facts, platform)


def _manylinux_findings(facts: WheelFacts, platform: str) -> Iterator[Finding]:
    policies = _policies(machine(platform))
    policy = _policy(policies, platform) if policies else None
    if policies is None or policy is None:
        yield _finding(
            "wheel-glibc",
            facts,
            f"unknown platform tag {platform}",
            "use a manylinux tag of PEP 600",
        )
        return
    too_new = {elf.name: _beyond(elf, policy) for elf in facts.elf}
    named = [f"{name} needs {', '.join(v)}" for name, v in too_new.items() if v]
    if named:
        needs = {"": {version for elf in facts.elf for version in elf.versions}}
        fits = policies.versioned_symbols_policy(needs).name
        message = f"{'; '.join(named[:_SHOWN])}: more than {platform} has"
        yield _finding(
            "wheel-glibc", facts, message, f"build it in an older image, or tag it {fits}"
        )


def _policies(name: str) -> "WheelPolicies | None":
    from auditwheel.architecture import Architecture
    from auditwheel.libc import Libc
    from auditwheel.policy import WheelPolicies

    known = {each.value for each in Architecture}
    return WheelPolicies(libc=Libc.GLIBC, arch=Architecture(name)) if name in known else None


def _policy(policies: "WheelPolicies", platform: str) -> "Policy | None":
    """The newest policy that a tag includes: not every glibc has one of its own."""
    asked = manylinux(platform)
    found = [p for p in policies if (v := manylinux(p.name)) and asked and v <= asked]
    return max(found, key=lambda p: manylinux(p.name) or (0, 0)) if found else None


def _beyond(elf: ElfFacts, policy: "Policy") -> list[str]:
    beyond = []
    for version in elf.versions:
        library, _, number = version.partition("_")
        allowed = policy.symbol_versions.get(library)
        if allowed is not None and number not in allowed:
            beyond.append(version)
    return sorted(beyond)


def _is_abi3(facts: WheelFacts) -> bool:
    return any(tag.abi == "abi3" for tag in facts.named.tags)


def _finding(
    check: str, facts: WheelFacts, message: str, remedy: str, *, level: str = "error"
) -> Finding:
    return Finding(
        check=check,
        subject=facts.path.name,
        message=message,
        remedy=remedy,
        level="warning" if level == "warning" else "error",
    )
