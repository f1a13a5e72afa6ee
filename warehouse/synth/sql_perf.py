"""Statements that make nightly measurements: repetitions, metrics, eval results and samples."""

from gauntlet.warehouse.synth.shape import Shape
from gauntlet.warehouse.synth.sql import array_of, chance, noise, quoted, sha

_CONCURRENCIES = (1, 16, 128)
_REPETITIONS = 3
# metric, statistic, unit, direction, times the recipe's TPOT, whether more load makes it longer
_METRICS = (
    ("tpot_ms", "p50", "ms", "lower", 1.0), ("tpot_ms", "p99", "ms", "lower", 1.3),
    ("tpot_ms", "mean", "ms", "lower", 1.02), ("ttft_ms", "p50", "ms", "lower", 12.0),
    ("ttft_ms", "p99", "ms", "lower", 40.0), ("ttft_ms", "mean", "ms", "lower", 15.0),
    ("itl_ms", "p50", "ms", "lower", 0.98), ("itl_ms", "p99", "ms", "lower", 2.1),
    ("e2e_ms", "p50", "ms", "lower", 1030.0), ("e2e_ms", "p99", "ms", "lower", 1400.0),
    ("output_tokens_per_s", "mean", "tokens/s", "higher", -1000.0),
    ("requests_per_s", "mean", "requests/s", "higher", -1.0),
)  # fmt: skip


def repetitions(shape: Shape, night: int) -> str:
    """SELECT of one night's repetitions: recipe, point, repetition; some nights are missing."""
    recipes = array_of(
        [
            f"({recipe.index}, {quoted(recipe.name)}, {quoted(recipe.model)},"
            f" {quoted(recipe.accelerator)}, {recipe.tpot_ms * _factor(shape, recipe.index, night):.4f},"
            f" {recipe.accuracy:.4f}, {_segment(shape, recipe.index, night)})"
            for recipe in shape.recipes
        ]
    )
    position = shape.position(night + 1)
    return f"""
SELECT
    *, r.1 AS recipe_no, r.2 AS recipe, r.3 AS model, r.4 AS accelerator, toFloat64(r.5) AS tpot,
    toFloat64(r.6) AS accuracy, concat('fp-', recipe, '-', toString(r.7)) AS config_fp,
    {sha(shape, "commit", f"toUInt64({position})")} AS engine_commit,
    concat('synth-{night}-', recipe) AS run_id,
    concat(run_id, '/c', toString(concurrency), '/', toString(repetition)) AS repetition_id,
    substring(lower(hex(sipHash128(recipe, concurrency))), 1, 16) AS series_id,
    toDateTime64({night} * 86400 + 79200 + recipe_no * 60 + repetition * 7 + concurrency / 128, 3, 'UTC') AS started,
    {chance(shape, "bad", str(night), "recipe_no", "concurrency", "repetition")} < 0.012 AS bad
FROM
(
    SELECT arrayJoin({recipes}) AS r, arrayJoin({list(_CONCURRENCIES)}) AS concurrency,
        arrayJoin(range({_REPETITIONS})) AS repetition
)
WHERE {chance(shape, "missing", str(night), "r.1")} > 0.02"""


def _factor(shape: Shape, recipe: int, night: int) -> float:
    factor = 1.0
    for change in shape.changes:
        if change.recipe == recipe and change.day <= night:
            factor *= change.factor
    return factor


def _segment(shape: Shape, recipe: int, night: int) -> int:
    return sum(
        change.recipe == recipe and change.config and change.day <= night
        for change in shape.changes
    )


def insert_repetitions(shape: Shape, night: int) -> str:
    """Repetitions of one night."""
    return f"""INSERT INTO repetitions
SELECT run_id, repetition_id, series_id, recipe, concat('concurrency=', toString(concurrency)), 'gauntlet',
    'single', concat('random-c', toString(concurrency)), 'load', 0, repetition,
    if(bad, 'invalid', 'valid'), if(bad, ['warm-cache: 96 % of prompt tokens came from the prefix cache'], []),
    config_fp, 'vllm', '0.0.0+synth', engine_commit, concat('sha256:', engine_commit), model,
    concat(lower(accelerator), '-node-', toString(cityHash64({night}, recipe) % 2)), accelerator, '580.65',
    'gauntlet-load', '0.1.0', 'synth', {night} + repetition, started, started + toIntervalSecond(300), 512, 0,
    map('concurrency', toString(concurrency), 'input_tokens', '8192', 'output_tokens', '1024'), NULL, NULL, NULL,
    {{batch: UInt64}}
FROM ({repetitions(shape, night)})"""


def insert_metrics(shape: Shape, night: int) -> str:
    """Metrics of one night's valid repetitions."""
    metrics = array_of(
        [
            f"({quoted(name)}, {quoted(statistic)}, {quoted(unit)}, {quoted(direction)}, {times})"
            for name, statistic, unit, direction, times in _METRICS
        ]
    )
    jitter = noise(
        shape, "perf", str(night), "recipe_no", "concurrency", "repetition", "m.1", "m.2"
    )
    host = noise(shape, "host", str(night), "recipe_no")
    return f"""INSERT INTO metrics
SELECT run_id, repetition_id, series_id, 'single', concat('random-c', toString(concurrency)), 0, m.1, m.2,
    'full', if(toFloat64(m.5) > 0, m.5 * slow, -m.5 * concurrency / slow), m.3, m.4, 512, {{batch: UInt64}}
FROM
(
    SELECT *, arrayJoin({metrics}) AS m,
        tpot * pow(concurrency, 0.22) * exp(0.008 * {jitter} + 0.006 * {host}) AS slow
    FROM ({repetitions(shape, night)}) WHERE NOT bad
)"""


def _evals(shape: Shape, night: int) -> str:
    return f"(SELECT * FROM ({repetitions(shape, night)}) WHERE concurrency = 1 AND repetition = 0)"


def insert_eval_repetitions(shape: Shape, night: int) -> str:
    """The repetition that each eval of one night was."""
    return f"""INSERT INTO repetitions
SELECT run_id, concat(run_id, '/gsm8k'), concat('gsm8k-', recipe), recipe, '', 'gauntlet', 'single', 'gsm8k',
    'eval', 0, 0, 'valid', [], config_fp, 'vllm', '0.0.0+synth', engine_commit,
    concat('sha256:', engine_commit), model, 'eval-host', accelerator, '580.65', 'lm-eval', '0.4.13', 'gsm8k',
    1234, started, started + toIntervalSecond(900), {shape.scale.eval_items}, 0, map(), NULL, NULL, NULL,
    {{batch: UInt64}}
FROM {_evals(shape, night)}"""


def _right(shape: Shape, night: int) -> str:
    hard = chance(shape, "hard", "item")
    luck = chance(shape, "luck", str(night), "recipe_no", "item")
    return f"({hard} * 0.8 + {luck} * 0.2) < accuracy"


def insert_eval_results(shape: Shape, night: int) -> str:
    """Scores of one night."""
    return f"""INSERT INTO eval_results
SELECT run_id, concat(run_id, '/gsm8k'), concat('gsm8k-', recipe), 'gsm8k', '3', 'lm-eval', '0.4.13', 5,
    'exact_match', 'strict-match', avg(good), sqrt(avg(good) * (1 - avg(good)) / count()), 'higher', count(),
    false, {{batch: UInt64}}
FROM (SELECT *, arrayJoin(range({shape.scale.eval_items})) AS item, {_right(shape, night)} AS good
    FROM {_evals(shape, night)})
GROUP BY run_id, recipe"""


def insert_eval_samples(shape: Shape, night: int) -> str:
    """Answers of one night, question by question."""
    return f"""INSERT INTO eval_samples
SELECT run_id, concat(run_id, '/gsm8k'), concat('gsm8k-', recipe), 'single', 'gsm8k', toString(item),
    'strict-match', 0, 'scored', toFloat64(good), toString(if(good, item * 7, item * 7 + 1)), toString(item * 7), '',
    concat('Question ', toString(item), ': how many are there?'), concat('There are ', toString(item), '. #### ',
    toString(if(good, item * 7, item * 7 + 1))), if(good OR item % 9 > 0, 'stop', 'length'), 60 + item % 140,
    {{batch: UInt64}}
FROM (SELECT *, arrayJoin(range({shape.scale.eval_items})) AS item, {_right(shape, night)} AS good
    FROM {_evals(shape, night)})"""
