"""The KV cache: blocks, and a prefix cache over chained block hashes with LRU eviction.

A full block's hash covers its tokens and, through the hash before it, all tokens before them.
Blocks that no sequence holds stay readable until their space is needed; the least recently
freed goes first, and of one sequence the tail before the head, since heads are shared more often.
"""

from collections import OrderedDict
from collections.abc import Sequence


def block_hashes(token_ids: Sequence[int], block_size: int, known: list[int]) -> list[int]:
    """Extend ``known`` (in place) to the hashes of all full blocks of ``token_ids``."""
    for start in range(len(known) * block_size, len(token_ids) - block_size + 1, block_size):
        before = known[-1] if known else 0
        known.append(hash((before, *token_ids[start : start + block_size])))
    return known


class KvCache:
    """Reference-counted blocks; a block is free, or held by one or more sequences."""

    def __init__(self, *, blocks: int, block_size: int, prefix_caching: bool) -> None:
        self.blocks = blocks
        self.block_size = block_size
        self.prefix_caching = prefix_caching
        self.queries = 0
        self.hits = 0
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(blocks))
        self._references = [0] * blocks
        self._hash_of: dict[int, int] = {}
        self._block_of: dict[int, int] = {}

    @property
    def free_blocks(self) -> int:
        """Number of blocks that no sequence holds, cached ones included."""
        return len(self._free)

    @property
    def usage(self) -> float:
        """Share of blocks held by sequences, from 0 to 1."""
        return 1 - len(self._free) / self.blocks

    def lookup(self, hashes: Sequence[int], tokens: int) -> list[int]:
        """Blocks that hold the longest cached prefix of a prompt of ``tokens`` tokens.

        Never the whole prompt: at least its last token is computed. Takes no reference.
        """
        if not self.prefix_caching:
            return []
        found = []
        for block_hash in hashes[: (tokens - 1) // self.block_size]:
            block = self._block_of.get(block_hash)
            if block is None:
                break
            found.append(block)
        return found

    def count(self, *, queried: int, hit: int) -> None:
        """Count an admitted prompt's tokens, and those of them that the cache held."""
        if self.prefix_caching:
            self.queries += queried
            self.hits += hit

    def unheld(self, blocks: Sequence[int]) -> int:
        """Number of these blocks that are free now, and would not be once taken."""
        return sum(1 for block in blocks if not self._references[block])

    def take(self, blocks: Sequence[int]) -> None:
        """Hold cached blocks that ``lookup`` found."""
        for block in blocks:
            if not self._references[block]:
                del self._free[block]
            self._references[block] += 1

    def allocate(self, count: int) -> list[int]:
        """Hold ``count`` fresh blocks, evicting what they cached; the caller checked the room."""
        fresh = []
        for _ in range(count):
            block, _unused = self._free.popitem(last=False)
            self._forget(block)
            self._references[block] = 1
            fresh.append(block)
        return fresh

    def publish(self, block: int, block_hash: int) -> None:
        """Make a full block findable; an equal block that is findable already stays the one."""
        if self.prefix_caching and block_hash not in self._block_of:
            self._forget(block)
            self._block_of[block_hash] = block
            self._hash_of[block] = block_hash

    def release(self, blocks: Sequence[int]) -> None:
        """Give up a sequence's hold of its blocks, in order of their tokens."""
        for block in reversed(blocks):
            self._references[block] -= 1
            if not self._references[block]:
                self._free[block] = None

    def reset(self) -> None:
        """Forget every cached prefix; sequences keep their blocks."""
        self._hash_of.clear()
        self._block_of.clear()

    def _forget(self, block: int) -> None:
        old = self._hash_of.pop(block, None)
        if old is not None:
            del self._block_of[old]
