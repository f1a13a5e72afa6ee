"""Random numbers that depend on named parts alone: not on the process, nor on the order."""

import hashlib
import random


def generator(*parts: object) -> random.Random:
    """A generator seeded by its parts.

    Not by ``hash()``: it is salted per process, so two runs of one seed would send other prompts.
    """
    key = ":".join(map(str, parts)).encode()
    return random.Random(hashlib.sha256(key).digest())  # noqa: S311 - a workload, not a secret


# Ids that exist in any vocabulary in use and are special tokens in none.
FIRST_ID, LAST_ID = 256, 1000


def random_ids(count: int, *parts: object) -> list[int]:
    """Token ids that depend on ``parts`` alone; a smaller count gives a prefix of a larger one."""
    rng = generator(*parts)
    return rng.choices(range(FIRST_ID, LAST_ID + 1), k=count)
