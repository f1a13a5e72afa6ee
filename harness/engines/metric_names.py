"""Names of vLLM's metrics as ``/metrics`` spells them: the one place that knows."""

KV_CACHE_USAGE = "vllm:kv_cache_usage_perc"
REQUESTS_RUNNING = "vllm:num_requests_running"
REQUESTS_WAITING = "vllm:num_requests_waiting"
PREFIX_CACHE_QUERIES = "vllm:prefix_cache_queries_total"
PREFIX_CACHE_HITS = "vllm:prefix_cache_hits_total"
PREEMPTIONS = "vllm:num_preemptions_total"
PROMPT_TOKENS = "vllm:prompt_tokens_total"
GENERATION_TOKENS = "vllm:generation_tokens_total"
DRAFTS = "vllm:spec_decode_num_drafts_total"
DRAFT_TOKENS = "vllm:spec_decode_num_draft_tokens_total"
ACCEPTED_TOKENS = "vllm:spec_decode_num_accepted_tokens_total"
# One series for each position of a draft, labelled ``position``.
ACCEPTED_BY_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
CACHE_CONFIG = "vllm:cache_config_info"

# The label that tells data-parallel engines behind one server apart.
ENGINE_LABEL = "engine"
POSITION_LABEL = "position"

# Short names of what is kept by default; tokens, requests, or a share from 0 to 1.
KEPT = {
    KV_CACHE_USAGE: "kv_cache_usage",
    REQUESTS_RUNNING: "requests_running",
    REQUESTS_WAITING: "requests_waiting",
    PREFIX_CACHE_QUERIES: "prefix_cache_queries",
    PREFIX_CACHE_HITS: "prefix_cache_hits",
    PREEMPTIONS: "preemptions",
    PROMPT_TOKENS: "prompt_tokens",
    GENERATION_TOKENS: "generation_tokens",
    DRAFTS: "spec_drafts",
    DRAFT_TOKENS: "spec_draft_tokens",
    ACCEPTED_TOKENS: "spec_accepted_tokens",
    ACCEPTED_BY_POSITION: "spec_accepted_at",
}
