"""Names of tests: what an entry of a list covers. Imported by the pytest plugin: keep it light."""


def covers(entry: str, name: str) -> bool:
    """Whether an entry names this test, or the file, class or parametrised test that holds it."""
    return name == entry or name.startswith((f"{entry}::", f"{entry}["))
