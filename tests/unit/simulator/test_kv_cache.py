from gauntlet.harness.simulator.kv_cache import KvCache, block_hashes


def held(cache, tokens):
    """Allocate, publish and release a prompt of full blocks; return its blocks and hashes."""
    hashes = block_hashes(tokens, cache.block_size, [])
    blocks = cache.allocate(len(hashes))
    for block, block_hash in zip(blocks, hashes, strict=True):
        cache.publish(block, block_hash)
    cache.release(blocks)
    return blocks, hashes


def test_hashes_cover_full_blocks_and_everything_before_them():
    one, two = [1] * 4 + [2] * 4 + [3], [9] * 4 + [2] * 4 + [3]
    first, second = block_hashes(one, 4, []), block_hashes(two, 4, [])
    assert len(first) == 2
    assert first[1] != second[1]
    assert block_hashes([*one, 3, 3, 3], 4, list(first))[:2] == first


def test_a_partial_block_is_never_found():
    cache = KvCache(blocks=8, block_size=4, prefix_caching=True)
    blocks, _ = held(cache, list(range(8)))
    prompt = [*range(6), 99, 99, 99]
    assert cache.lookup(block_hashes(prompt, 4, []), len(prompt)) == blocks[:1]


def test_the_least_recently_freed_goes_first_and_tails_before_heads():
    cache = KvCache(blocks=4, block_size=4, prefix_caching=True)
    old, old_hashes = held(cache, [1] * 8)
    new, new_hashes = held(cache, [2] * 8)
    cache.allocate(1)
    assert cache.lookup(old_hashes, 9) == old[:1]
    cache.allocate(1)
    assert cache.lookup(old_hashes, 9) == []
    assert cache.lookup(new_hashes, 9) == new


def test_a_hit_renews_and_holds():
    cache = KvCache(blocks=4, block_size=4, prefix_caching=True)
    old, hashes = held(cache, [1] * 8)
    held(cache, [2] * 8)
    found = cache.lookup(hashes, 9)
    assert cache.unheld(found) == 2
    cache.take(found)
    cache.take(found)
    assert (cache.unheld(found), cache.free_blocks, cache.usage) == (0, 2, 0.5)
    cache.allocate(2)
    assert cache.lookup(hashes, 9) == old
    cache.release(found)
    assert cache.free_blocks == 0
    cache.release(found)
    assert cache.free_blocks == 2


def test_reset_and_disabled_caches_find_nothing():
    cache = KvCache(blocks=4, block_size=4, prefix_caching=True)
    _, hashes = held(cache, [1] * 8)
    cache.reset()
    assert cache.lookup(hashes, 9) == []
    off = KvCache(blocks=4, block_size=4, prefix_caching=False)
    _, hashes = held(off, [1] * 8)
    assert off.lookup(hashes, 9) == []
    off.count(queried=9, hit=0)
    assert off.queries == 0
