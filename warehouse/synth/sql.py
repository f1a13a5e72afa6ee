"""Statements that make the rows inside ClickHouse, a day at a time.

Chance is a hash of the seed and of what the chance is about, so that every statement that speaks
of the same attempt of the same job sees the same outcome.
"""

from collections.abc import Callable, Sequence

from gauntlet.warehouse.synth.shape import Shape

Statement = Callable[[Shape, int], str]

_CHANCE = 1_000_003


def chance(shape: Shape, salt: str, *keys: str) -> str:
    """SQL of a number in 0..1 that depends on the seed, the salt and the keys."""
    return f"(cityHash64({shape.seed}, '{salt}', {', '.join(keys)}) % {_CHANCE}) / {_CHANCE}"


def noise(shape: Shape, salt: str, *keys: str) -> str:
    """SQL of a number that is nearly normal: mean 0, deviation 1."""
    parts = (chance(shape, f"{salt}{index}", *keys) for index in range(3))
    return f"(({' + '.join(parts)}) - 1.5) * 2"


def uuid(shape: Shape, salt: str, *keys: str) -> str:
    """SQL of a UUID that depends on the seed, the salt and the keys."""
    return f"reinterpret(sipHash128({shape.seed}, '{salt}', {', '.join(keys)}), 'UUID')"


def sha(shape: Shape, salt: str, *keys: str) -> str:
    """SQL of a commit id of 40 hexadecimal digits."""
    parts = f"{shape.seed}, '{salt}', {', '.join(keys)}"
    return f"lower(concat(hex(sipHash128({parts})), hex(toUInt32(sipHash64({parts}, 'x')))))"


def quoted(text: str) -> str:
    """SQL string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def array_of(rows: Sequence[str]) -> str:
    """SQL array literal of tuples."""
    return f"[{', '.join(rows)}]"


def instant(seconds: float) -> str:
    """SQL of an instant, given in seconds since 1970."""
    return f"toDateTime64({seconds}, 3, 'UTC')"


def builds(shape: Shape, day: int) -> str:
    """SELECT of a day's builds: main's are spread evenly among those of pull requests."""
    scale = shape.scale
    total, main = scale.builds_per_day, scale.commits_per_day
    position = f"{shape.position(day)} + intDiv(i * {main}, {total}) + 1"
    return f"""
SELECT
    number AS i, (i * {main}) % {total} < {main} AS on_main, {position} AS position,
    {uuid(shape, "build", str(day), "i")} AS build_id,
    toUInt32(({day} - 19700) * {total} + i + 1) AS build_number,
    if(on_main, {sha(shape, "commit", "toUInt64(position)")}, {sha(shape, "head", str(day), "i")}) AS sha,
    if(on_main, 'main', concat('pr-', toString(({day} - 19700) * 50 + intDiv(i, 4)))) AS branch,
    toDateTime64({day} * 86400 + (i + {chance(shape, "when", str(day), "i")}) / {total} * 86400, 3, 'UTC')
        AS created
FROM numbers({total})
WHERE created < {instant(shape.now_s)}"""


def attempts(shape: Shape, day: int) -> str:
    """SELECT of a day's job attempts with all that the other tables say about them."""
    jobs = array_of(
        [
            f"({job.index}, {quoted(job.group)}, {quoted(job.key)}, {quoted(job.name)},"
            f" {quoted(shape.queues[job.queue].name)}, {shape.queues[job.queue].agents},"
            f" {job.mean_s * (1 + job.growth * (day - shape.first_day) / 365):.1f}, {job.cases},"
            f" {job.flaky_case}, {job.flaky_rate:.5f})"
            for job in shape.jobs
        ]
    )
    low, high = shape.position(day) + 1, shape.position(day + 1)
    today = [each for each in shape.incidents if each.last >= low and each.first <= high]
    incidents = array_of(
        [
            f"({each.job}, {each.first}, {each.last}, {quoted(each.failure_class)}, {each.case})"
            for each in today
        ]
        or ["(-1, 0, 0, '', 0)"]
    )
    own = chance(shape, "own", "build_id", "job")
    infra = chance(shape, "infra", "build_id", "job")
    flake = chance(shape, "flake", "build_id", "job")
    kind = chance(shape, "kind", "build_id", "job")
    return f"""
SELECT
    *, {uuid(shape, "attempt", "build_id", "job", "attempt")} AS job_id,
    multiIf(fate = 'broken', incident.4, fate = 'own', if({kind} < 0.8, 'test_regression', 'build_regression'),
        fate = 'infra', multiIf({kind} < 0.4, 'infra_machine', {kind} < 0.7, 'infra_network', 'infra_agent'),
        fate = 'flaky', 'flaky', '') AS cause,
    failed AND cause IN ('test_regression', 'accuracy_regression', 'flaky', 'dependency') AS by_test,
    toUInt32(multiIf(fate = 'broken', incident.5, fate = 'flaky', toUInt32(flaky_case),
        cityHash64(build_id, job) % cases)) AS bad_case,
    created + toIntervalMillisecond(toInt64(420000 + 300000 * {chance(shape, "image", "build_id")})
        + (attempt - 1) * toInt64(mean_s * 1300)) AS runnable,
    runnable + toIntervalMillisecond(toInt64(
        -log(1 - {chance(shape, "wait", "build_id", "job", "attempt")} * 0.999) * 45000
        * (1 + 6 * greatest(0, sin((toHour(created) - 8) / 12 * pi())) * (agents < 30)))) AS started,
    started + toIntervalMillisecond(toInt64(1000 * mean_s * exp(0.12 * {noise(shape, "run", "build_id", "job", "attempt")})
        * if(failed, 0.3 + 0.6 * {chance(shape, "cut", "build_id", "job")}, 1))) AS finished,
    finished < {instant(shape.now_s)} AS ended, started < {instant(shape.now_s)} AS begun
FROM
(
    SELECT
        *, arrayJoin(if(fate IN ('infra', 'flaky'), [1, 2], [1])) AS attempt,
        fate IN ('broken', 'own') OR (fate IN ('infra', 'flaky') AND attempt = 1) AS failed
    FROM
    (
        SELECT
            *, j.1 AS job, j.2 AS group_key, j.3 AS job_key, j.4 AS job_name, j.5 AS queue,
            toUInt32(j.6) AS agents, toFloat64(j.7) AS mean_s, toUInt32(j.8) AS cases,
            toInt32(j.9) AS flaky_case, toFloat64(j.10) AS flaky_rate,
            arrayFirst(x -> x.1 = job AND position BETWEEN x.2 AND x.3, {incidents}) AS incident,
            multiIf(on_main AND incident.2 > 0, 'broken', NOT on_main AND {own} < 0.03, 'own',
                {infra} < 0.004, 'infra', {flake} < flaky_rate, 'flaky', 'fine') AS fate
        FROM (SELECT *, arrayJoin({jobs}) AS j FROM ({builds(shape, day)}))
        WHERE {chance(shape, "chosen", "build_id", "j.1")} < if(on_main, 0.9, 0.45)
    )
)
WHERE attempt = 1 OR runnable < {instant(shape.now_s)}"""


def insert_commits(shape: Shape, day: int) -> str:
    """Commits of a day on main, each touching one to four folders."""
    folders = array_of([quoted(f"engine/{job.group}/part{job.index % 7}.py") for job in shape.jobs])
    pick = f"cityHash64({shape.seed}, 'path', position, x) % {len(shape.jobs)} + 1"
    return f"""INSERT INTO commits
SELECT 'engine', 'main', toUInt32(position), sha,
    {sha(shape, "commit", "toUInt64(position - 1)")},
    concat('author', toString(cityHash64({shape.seed}, 'author', position) % 90)), created,
    concat('Change ', splitByChar('/', paths[1])[2], ' (#', toString(20000 + position), ')'),
    toUInt32(20000 + position), NULL,
    arrayDistinct(arrayMap(x -> {folders}[{pick}], range(1 + cityHash64(position) % 4))) AS paths,
    1, {{batch: UInt64}}
FROM ({builds(shape, day)}) WHERE on_main"""


def insert_builds(shape: Shape, day: int) -> str:
    """Builds of a day, red where a job of theirs ended red."""
    return f"""INSERT INTO builds
SELECT build_id, 'ci', any(build_number), any(sha), any(branch),
    if(any(on_main), NULL, toUInt32(substring(any(branch), 4))),
    multiIf(NOT min(ended), if(max(red), 'failing', 'running'), max(red), 'failed', 'passed'), false,
    'webhook', concat('Build of ', any(branch)), concat('author', toString(cityHash64(build_id) % 90)),
    concat('https://ci.example/builds/', toString(any(build_number))), NULL, map(),
    any(created), any(created), any(created) + toIntervalSecond(20), if(min(ended), max(finished), NULL), 1,
    {{batch: UInt64}}
FROM (SELECT *, ended AND failed AND fate IN ('broken', 'own') AS red FROM ({attempts(shape, day)}))
GROUP BY build_id"""


def insert_attempts(shape: Shape, day: int) -> str:
    """Job attempts of a day."""
    previous = uuid(shape, "attempt", "build_id", "job", "attempt - 1")
    return f"""INSERT INTO job_attempts
SELECT job_id, build_id, 'ci', build_number, sha, branch, group_key, job_key, job_name, NULL, NULL,
    attempt, ended AND failed AND fate IN ('infra', 'flaky'), if(attempt = 2, {previous}, NULL),
    if(attempt = 2, 'automatic', ''), queue, if(begun, concat(queue, '-agent-', toString(host)), ''),
    if(begun, concat(queue, '-', toString(host)), ''),
    multiIf(NOT begun, 'scheduled', NOT ended, 'running', failed, 'failed', 'passed'), false,
    if(ended, if(failed, if(cause = 'infra_agent', -1, 1), 0), NULL), '',
    if(ended AND cause = 'infra_agent' AND failed, 'agent_lost', ''),
    concat('https://ci.example/jobs/', toString(job_id)), created, created,
    if(runnable < {instant(shape.now_s)}, runnable, NULL), if(begun, started, NULL), if(ended, finished, NULL), 1,
    {{batch: UInt64}}
FROM (SELECT *, cityHash64({shape.seed}, 'host', job_id) % agents AS host FROM ({attempts(shape, day)}))"""


def insert_failures(shape: Shape, day: int) -> str:
    """Why the attempts of a day failed."""
    return f"""INSERT INTO job_failures
SELECT job_id, cause, concat(cause, ':', job_key, if(by_test, concat('::case', toString(bad_case)), '')),
    1 + cityHash64(job_id) % 5000, concat('E   ', cause, ' in ', job_key), false, 'synth', 1, {{batch: UInt64}}
FROM ({attempts(shape, day)}) WHERE failed AND ended"""


def insert_results(shape: Shape, day: int) -> str:
    """Test results of a day: every case of every attempt whose tests ran."""
    skip = chance(shape, "skip", "job", "case")
    return f"""INSERT INTO test_results
SELECT {_test_id(shape)}, job_id, 0,
    multiIf(by_test AND case = bad_case, 'failed', {skip} < 0.06, 'skipped', 'passed'),
    toFloat32(pow(10, 3 * {chance(shape, "long", "job", "case")}) * (0.8 + 0.4 * {chance(shape, "took", "job_id", "case")})),
    sha, branch, job_key, queue, least(started, toDateTime64({(day + 1) * 86400} - 0.001, 3, 'UTC')), {{batch: UInt64}}
FROM (SELECT *, arrayJoin(range(cases)) AS case FROM ({attempts(shape, day)})
    WHERE ended AND (NOT failed OR by_test))"""


def insert_details(shape: Shape, day: int) -> str:
    """What the failed cases of a day said."""
    return f"""INSERT INTO test_details
SELECT {_test_id(shape)}, job_id, 0, 'failed', concat('AssertionError: ', cause, ' in case ', toString(bad_case)),
    repeat('E   assert left == right\\n', 6), concat('tests/', group_key, '/test_', job_key, '.py'),
    10 + bad_case, least(started, toDateTime64({(day + 1) * 86400} - 0.001, 3, 'UTC')), {{batch: UInt64}}
FROM (SELECT *, bad_case AS case FROM ({attempts(shape, day)}) WHERE ended AND by_test)"""


def _test_id(shape: Shape) -> str:
    return f"cityHash64({shape.seed}, 'case', job, case)"


def insert_tests(shape: Shape, _day: int) -> str:
    """Names of all tests."""
    jobs = array_of(
        [
            f"({job.index}, {quoted(job.group)}, {quoted(job.key)}, {job.cases})"
            for job in shape.jobs
        ]
    )
    return f"""INSERT INTO tests
SELECT {_test_id(shape)}, 'engine', concat(file, '::test_case[', toString(case), ']'),
    concat('tests/', j.2, '/test_', j.3, '.py') AS file, {{batch: UInt64}}
FROM (SELECT arrayJoin({jobs}) AS j, j.1 AS job, arrayJoin(range(toUInt32(j.4))) AS case)"""


def insert_prices(shape: Shape, _day: int) -> str:
    """Prices of all queues."""
    rows = array_of(
        [
            f"({quoted(queue.name)}, {quoted(queue.vendor)}, {quoted(queue.accelerator)},"
            f" {'NULL' if queue.usd_per_hour is None else queue.usd_per_hour})"
            for queue in shape.queues
        ]
    )
    return f"""INSERT INTO queue_prices
SELECT q.1, q.2, q.3, q.4, toDateTime64('2023-01-01 00:00:00', 3, 'UTC'), 0, {{batch: UInt64}}
FROM (SELECT arrayJoin({rows}) AS q)"""


def insert_queue_samples(shape: Shape, day: int, step_s: int = 60) -> str:
    """Samples of all queues over a day; small queues are congested in the afternoon."""
    rows = array_of([f"({quoted(queue.name)}, {queue.agents})" for queue in shape.queues])
    load = f"""0.25 + 0.9 * greatest(0, sin((t / 3600 - 8) / 12 * pi())) * (0.6 + 0.8 *
        {chance(shape, "busy", str(day), "q.1")}) + 0.1 * {chance(shape, "load", str(day), "q.1", "t")}"""
    return f"""INSERT INTO queue_samples
SELECT toDateTime64({day} * 86400 + t, 3, 'UTC'), q.1, agents, busy, agents - busy, waiting, busy,
    if(waiting > 0, waiting * 40 + 30 * {chance(shape, "oldest", str(day), "q.1", "t")}, NULL), {{batch: UInt64}}
FROM
(
    SELECT *, toUInt32(q.2) AS agents, {load} AS wanted,
        toUInt32(least(agents, wanted * agents)) AS busy, toUInt32(greatest(0, wanted * agents - agents)) AS waiting
    FROM (SELECT number * {step_s} AS t, arrayJoin({rows}) AS q FROM numbers({86400 // step_s}))
    WHERE {day} * 86400 + t < {shape.now_s}
)"""
