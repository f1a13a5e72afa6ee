"""Names of BFCL's categories and groups, so that a typo is found before a model is loaded."""

from collections.abc import Mapping, Sequence

from gauntlet.core.errors import nearest

_NON_LIVE = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
)
_LIVE = (
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
)
_MULTI_TURN = (
    "multi_turn_base",
    "multi_turn_miss_func",
    "multi_turn_miss_param",
    "multi_turn_long_context",
)
_MEMORY = ("memory_kv", "memory_vector", "memory_rec_sum")
_WEB_SEARCH = ("web_search_base", "web_search_no_snippet")

CATEGORIES = (*_NON_LIVE, *_LIVE, *_MULTI_TURN, *_MEMORY, *_WEB_SEARCH)
# It varies the prompt's format; a model that is given functions has no such format.
PROMPT_ONLY = "format_sensitivity"

GROUPS: Mapping[str, tuple[str, ...]] = {
    "all": CATEGORIES,
    "all_scoring": CATEGORIES,
    "single_turn": (*_NON_LIVE, *_LIVE),
    "non_live": _NON_LIVE,
    "live": _LIVE,
    "multi_turn": _MULTI_TURN,
    "agentic": (*_MEMORY, *_WEB_SEARCH),
    "memory": _MEMORY,
    "web_search": _WEB_SEARCH,
    "python": (
        "simple_python",
        "irrelevance",
        "parallel",
        "multiple",
        "parallel_multiple",
        *_LIVE,
    ),
    "non_python": ("simple_java", "simple_javascript"),
}

# What a category needs beyond the locked environment and the engine.
NEEDS: Mapping[str, str] = {
    "memory_vector": "sentence-transformers, faiss-cpu and an embedding model",
    "web_search_base": "the internet and a key of a search service",
    "web_search_no_snippet": "the internet and a key of a search service",
}


def check_categories(names: Sequence[str]) -> None:
    """Raise ValueError, naming what is close, for a name that is neither category nor group."""
    known = (*CATEGORIES, *GROUPS)
    for name in names:
        if name == PROMPT_ONLY:
            msg = f"{name} is for models that are prompted, not given functions; leave it out"
            raise ValueError(msg)
        if name not in known:
            close = nearest(name, known)
            end = f"did you mean {close!r}?" if close else f"known: {', '.join(known)}"
            msg = f"unknown category {name!r}; {end}"
            raise ValueError(msg)


def expand_categories(names: Sequence[str]) -> tuple[str, ...]:
    """Resolve groups; each category once, in BFCL's own order."""
    asked = {category for name in names for category in GROUPS.get(name, (name,))}
    return tuple(category for category in CATEGORIES if category in asked)


def cases_of(
    max_cases: int | Mapping[str, int] | None, categories: Sequence[str]
) -> dict[str, int | None]:
    """Most cases of each category; a category's own number goes before that of its group."""
    if max_cases is None or isinstance(max_cases, int):
        return dict.fromkeys(categories, max_cases)
    found: dict[str, int | None] = dict.fromkeys(categories)
    # Large groups first, so that what is narrower is written over it.
    for name in sorted(max_cases, key=lambda name: -len(GROUPS.get(name, ()))):
        for category in GROUPS.get(name, (name,)):
            if category in found:
                found[category] = max_cases[name]
    return found
