"""Locks as text, and folders of tiny wheels that they are of."""

import hashlib

from small_wheel import small_wheel


def lock_text(pins, *, header="", hashes=None):
    """Text of a lock: ``pins`` are ``(name, version, via)``; hashes are made up from the two."""
    lines = [header] if header else []
    for name, version, via in pins:
        bare = name.partition("[")[0]
        found = (hashes or {}).get((bare, version)) or [made_up_hash(f"{bare}{version}")]
        lines.append(" \\\n    ".join([f"{name}=={version}", *(f"--hash={h}" for h in found)]))
        lines.append("    # via" if via else "")
        lines += [f"    #   {who}" for who in via]
    return "\n".join(line for line in lines if line) + "\n"


def made_up_hash(text):
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def upgrades(folder, count, *, planted=()):
    """Write ``count`` packages, each as 1.0 and 2.0, and the two locks; return the locks' paths.

    ``planted`` are numbers of packages whose 2.0 raises when it is asked.
    """
    wheels, names = folder / "wheels", [f"p{number:02}" for number in range(count)]
    pins = {"1.0": [], "2.0": []}
    hashes = {}
    for number, name in enumerate(names):
        for version, pinned in pins.items():
            bad = version == "2.0" and number in planted
            more = {f"{name}/ok.py": f"OK = {not bad}\n"}
            wheel = small_wheel(wheels, name=name, version=version, more=more)
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            hashes[name, version] = [f"sha256:{digest}"]
            pinned.append((name, version, ["-r all.in"]))
    paths = []
    for version, title in (("1.0", "old"), ("2.0", "new")):
        path = folder / f"{title}.txt"
        path.write_text(lock_text(pins[version], hashes=hashes))
        paths.append(path)
    return paths


def all_ok(names):
    """A test that passes where every package says that it is well."""
    modules = ", ".join(f"{name}.ok" for name in names)
    flags = " and ".join(f"{name}.ok.OK" for name in names)
    return ("python", "-c", f"import sys, {modules}; sys.exit(0 if {flags} else 'one is not well')")
