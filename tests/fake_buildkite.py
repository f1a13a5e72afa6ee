"""A Buildkite organisation in memory, with a clock, behind the port and behind real HTTP."""

import asyncio
import copy
import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from aiohttp import web
from loopback import served

from gauntlet.warehouse.buildkite.api import BuildPage, BuildQuery, Pipeline

PIPELINE = Pipeline(organization="acme", slug="engine")
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
# Names of the queues, steps and branches do not matter; that they differ does.
QUEUES = ("gpu_1", "gpu_4", "cpu")


def instant(value):
    return None if value is None else f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03}Z"


class Organization:
    """One pipeline. Time stands still until ``advance``; every event takes the present time."""

    def __init__(self, now=NOON):
        self.now = now
        self.builds = {}
        self.deleted = set()
        self._numbers = 0
        self._jobs = 0

    def advance(self, **duration):
        self.now += timedelta(**duration)

    def create(self, *, jobs=2, branch="main", block=False):
        self._numbers += 1
        number = self._numbers
        self.builds[number] = {
            "id": str(uuid.UUID(int=number)),
            "url": f"https://api.buildkite.com/v2/organizations/acme/pipelines/engine/builds/{number}",
            "web_url": f"https://buildkite.com/acme/engine/builds/{number}",
            "number": number,
            "state": "scheduled",
            "blocked": False,
            "message": f"Change {number}",
            "commit": f"{number:040x}",
            "branch": branch,
            "env": {},
            "source": "webhook",
            "creator": {"id": "x", "name": "Ada", "email": "ada@example.com"},
            "jobs": [],
            "created_at": instant(self.now),
            "scheduled_at": instant(self.now),
            "started_at": None,
            "failing_at": None,
            "finished_at": None,
            "pull_request": {},
            "rebuilt_from": None,
            "pipeline": {"slug": "engine", "created_at": "2013-09-03 13:24:38 UTC"},
        }
        found = self.builds[number]["jobs"]
        found.extend(self._job(name=f"Job {n}", key=f"job-{n}") for n in range(jobs))
        if block:
            found.append(
                {"id": self._job_id(), "type": "manual", "label": "Go", "state": "blocked"}
            )
            found.append(self._job(name="After", key="after", state="waiting"))
        return number

    def ask(self, *, commit, branch, message, env, mark):
        """A build that somebody asked for: of the job that its environment names, or of all."""
        only = env.get("GAUNTLET_ONLY_JOB")
        number = self.create(jobs=2, branch=branch)
        build = self.builds[number]
        build.update(commit=commit, message=message, env=dict(env), source="api")
        build["meta_data"] = {"gauntlet-probe": mark}
        if only is not None:
            build["jobs"] = [job for job in build["jobs"] if job["step_key"] == only]
        return build

    def of(self, commit, mark=""):
        """Builds of a commit, newest first."""
        return [
            build
            for build in sorted(self.builds.values(), key=lambda each: -each["number"])
            if build["commit"] == commit
            and (not mark or build.get("meta_data", {}).get("gauntlet-probe") == mark)
        ]

    def index_of(self, number, job_id):
        return next(i for i, job in enumerate(self.builds[number]["jobs"]) if job["id"] == job_id)

    def start(self, number, index):
        build, job = self._at(number, index)
        job.update(
            state="running",
            started_at=instant(self.now),
            agent={"name": "agent-1", "hostname": f"host-{number % 3}"},
        )
        build["started_at"] = build["started_at"] or instant(self.now)
        self._settle(build)

    def finish(self, number, index, *, state="passed"):
        build, job = self._at(number, index)
        job.update(
            state=state, finished_at=instant(self.now), exit_status=0 if state == "passed" else 1
        )
        if state == "failed":
            build["failing_at"] = build["failing_at"] or instant(self.now)
        self._settle(build)

    def retry(self, number, index):
        build, job = self._at(number, index)
        new = self._job(name=job["name"], key=job["step_key"])
        new["retry_source"] = {"job_id": job["id"], "retry_type": "manual"}
        new["retries_count"] = (job["retries_count"] or 0) + 1
        job.update(retried=True, retried_in_job_id=new["id"])
        build["jobs"].append(new)
        self._settle(build)

    def unblock(self, number):
        build = self.builds[number]
        for job in build["jobs"]:
            if job["state"] == "blocked":
                job.update(state="unblocked", unblocked_at=instant(self.now))
            elif job["state"] == "waiting":
                job.update(state="scheduled", runnable_at=instant(self.now))
        self._settle(build)

    def skip(self, number):
        """As when a newer build takes over: it never ran, and has no end."""
        build = self.builds[number]
        build["state"] = "skipped"
        for job in build["jobs"]:
            job["state"] = "skipped"

    def delete(self, number):
        self.deleted.add(number)
        del self.builds[number]

    def jobs_in(self, number, *states):
        jobs = enumerate(self.builds[number]["jobs"])
        return [index for index, job in jobs if job["state"] in states and job["type"] == "script"]

    def tick(self, random):
        """Let some time pass, and one thing happen."""
        self.advance(milliseconds=random.randint(1, random.choice([300, 60_000, 14_400_000])))
        numbers = sorted(self.builds)
        if not numbers or random.random() < 0.3:
            self.create(jobs=random.randint(1, 4), block=random.random() < 0.3)
            return
        number = random.choice(numbers)
        build = self.builds[number]
        waiting = self.jobs_in(number, "scheduled")
        running = self.jobs_in(number, "running")
        ended = [i for i in self.jobs_in(number, "failed") if not build["jobs"][i]["retried"]]
        if random.random() < 0.03:
            self.delete(number)
        elif build["state"] == "scheduled" and random.random() < 0.1:
            self.skip(number)
        elif running and random.random() < 0.6:
            state = random.choice(["passed", "failed"])
            self.finish(number, random.choice(running), state=state)
        elif waiting and build["state"] != "skipped":
            self.start(number, random.choice(waiting))
        elif build["state"] == "blocked":
            self.unblock(number)
        elif ended:
            self.retry(number, random.choice(ended))

    def listed(self, query):
        """Builds of a query, newest first."""
        found = [build for build in self.builds.values() if _wanted(build, query)]
        return sorted(found, key=lambda build: (build["created_at"], build["number"]), reverse=True)

    def _at(self, number, index):
        return self.builds[number], self.builds[number]["jobs"][index]

    def _job_id(self):
        self._jobs += 1
        return str(uuid.UUID(int=(1 << 64) + self._jobs))

    def _job(self, *, name, key, state="scheduled"):
        return {
            "id": self._job_id(),
            "type": "script",
            "name": name,
            "step_key": key,
            "group_key": "tests",
            "agent_query_rules": [f"queue={QUEUES[self._jobs % 3]}"],
            "state": state,
            "web_url": "https://buildkite.com/acme/engine",
            "command": "true",
            "soft_failed": False,
            "exit_status": None,
            "agent": None,
            "created_at": instant(self.now),
            "scheduled_at": instant(self.now),
            "runnable_at": instant(self.now) if state == "scheduled" else None,
            "started_at": None,
            "finished_at": None,
            "retried": False,
            "retried_in_job_id": None,
            "retries_count": None,
            "retry_source": None,
            "parallel_group_index": None,
            "parallel_group_total": None,
        }

    def _settle(self, build):
        """Derive the state of a build from its jobs, as Buildkite does."""
        jobs = [job for job in build["jobs"] if not job.get("retried")]
        busy = [job for job in jobs if job["state"] in ("scheduled", "running")]
        failed = any(job["state"] == "failed" for job in jobs)
        blocked = any(job["state"] == "blocked" for job in jobs)
        build["blocked"] = blocked and not busy
        if busy:
            begun = build["started_at"] is not None
            build["state"] = "failing" if failed else "running" if begun else "scheduled"
            build["finished_at"] = None
            return
        build["state"] = "failed" if failed else "blocked" if blocked else "passed"
        build["finished_at"] = instant(self.now)


def _wanted(build, query):
    created, finished = build["created_at"], build["finished_at"]
    return (
        (query.created_from is None or created >= instant(query.created_from))
        and (query.created_to is None or created < instant(query.created_to))
        and (
            query.finished_from is None
            or (finished is not None and finished >= instant(query.finished_from))
        )
        and (not query.states or build["state"] in query.states)
    )


class FakeBuildkite:
    """The port over an organisation; ``before`` is called before every request."""

    def __init__(self, organization, *, per_page=3, before=lambda: None):
        self.organization = organization
        self.per_page = per_page
        self.before = before
        self.requests = 0

    def builds(self, pipeline, query) -> Iterator[BuildPage]:
        assert pipeline == PIPELINE
        start, is_last = 0, False
        while not is_last:
            self._request()
            found = self.organization.listed(query)
            page = tuple(copy.deepcopy(found[start : start + self.per_page]))
            start += self.per_page
            is_last = len(found) <= start
            yield BuildPage(address="memory:builds", builds=page, is_last=is_last)

    def build(self, pipeline, number):
        assert pipeline == PIPELINE
        self._request()
        return copy.deepcopy(self.organization.builds.get(number))

    def builds_of(self, pipeline, commit, *, mark=""):
        self._request()
        return copy.deepcopy(self.organization.of(commit, mark)[: self.per_page])

    def create(self, pipeline, build):
        self._request()
        return copy.deepcopy(
            self.organization.ask(
                commit=build.commit,
                branch=build.branch,
                message=build.message,
                env=build.env,
                mark=build.mark,
            )
        )

    def retry(self, pipeline, number, job_id):
        self._request()
        self.organization.retry(number, self.organization.index_of(number, job_id))
        return copy.deepcopy(self.organization.builds[number]["jobs"][-1])

    def unblock(self, pipeline, number, job_id):
        self._request()
        self.organization.unblock(number)
        return {"id": job_id, "type": "manual", "state": "unblocked"}

    def _request(self):
        self.requests += 1
        self.before()


class Server:
    """The REST API of an organisation, as Buildkite serves it.

    ``faults`` are taken one for each request, before it is answered: ``None``, a status, a
    function of the request, ``"reset"``, ``"garbage"``, ``"drip"`` or ``"cut"``.
    """

    token = "secret-token"

    def __init__(self, organization):
        self.organization = organization
        self.faults = []
        self.metrics = {}
        self.logs = {}
        self.seen = []
        self.url = ""
        self.headers = {}

    def application(self):
        app = web.Application()
        path = "/v2/organizations/{organization}/pipelines/{pipeline}/builds"
        app.router.add_get(path, self._guarded(self._list))
        app.router.add_get(path + "/{number}", self._guarded(self._one))
        app.router.add_post(path, self._guarded(self._create))
        job = path + "/{number}/jobs/{job}"
        app.router.add_put(job + "/retry", self._guarded(self._retry))
        app.router.add_put(job + "/unblock", self._guarded(self._unblock))
        app.router.add_get(job + "/log", self._guarded(self._log))
        app.router.add_get("/v3/metrics", self._guarded(self._metrics))
        return app

    def _guarded(self, handler):
        async def handle(request):
            self.seen.append(request)
            if (fault := self.faults.pop(0) if self.faults else None) is not None:
                if fault == "done, and no answer":
                    await handler(request)
                    fault = "reset"
                return await self._fail(request, fault)
            given = request.headers.get("Authorization", "").split()[-1:]
            if given != [self.token]:
                return web.json_response({"message": "Authentication required"}, status=401)
            return await handler(request)

        return handle

    async def _fail(self, request, fault):
        match fault:
            case int():
                headers = {"RateLimit-Reset": "42"} if fault == 429 else {}
                return web.json_response({"message": "no"}, status=fault, headers=headers)
            case "reset":
                request.transport.abort()
                return web.Response()
            case "garbage":
                return web.Response(text="<html>", content_type="text/html")
            case "cut" | "drip":
                response = web.StreamResponse(headers={"Content-Length": "100"})
                await response.prepare(request)
                await response.write(b"[")
                if fault == "drip":
                    await asyncio.sleep(30)
                request.transport.abort()
                return response
            case _:
                return fault(request)

    def _pipeline_of(self, request):
        found = Pipeline(
            organization=request.match_info["organization"], slug=request.match_info["pipeline"]
        )
        if found != PIPELINE:
            raise web.HTTPNotFound(
                text=json.dumps({"message": "No pipeline found"}), content_type="application/json"
            )

    async def _list(self, request):
        self._pipeline_of(request)
        asked = request.query
        assert asked.get("include_retried_jobs") == "true"
        times = {
            name: datetime.fromisoformat(asked[name]) if name in asked else None
            for name in ("created_from", "created_to", "finished_from")
        }
        query = BuildQuery(**times, states=tuple(asked.getall("state[]", ())))
        if "commit" in asked:
            mark = asked.get("meta_data[gauntlet-probe]", "")
            return web.json_response(self.organization.of(asked["commit"], mark))
        per_page, page = int(asked.get("per_page", 30)), int(asked.get("page", 1))
        found = self.organization.listed(query)
        builds = found[(page - 1) * per_page : page * per_page]
        headers = {"RateLimit-Remaining": "199", "RateLimit-Reset": "42", **self.headers}
        if page * per_page < len(found):
            # The true API names itself here, whatever stands between it and us.
            following = request.url.update_query(page=page + 1).with_host("api.buildkite.com")
            headers["Link"] = f'<{following}>; rel="next", <{request.url}>; rel="first"'
        return web.json_response(builds, headers=headers)

    async def _one(self, request):
        self._pipeline_of(request)
        assert request.query.get("include_retried_jobs") == "true"
        build = self.organization.builds.get(int(request.match_info["number"]))
        if build is None:
            return web.json_response({"message": "No build found"}, status=404)
        return web.json_response(build)

    async def _create(self, request):
        self._pipeline_of(request)
        body = await request.json()
        found = self.organization.ask(
            commit=body["commit"],
            branch=body["branch"],
            message=body["message"],
            env=body["env"],
            mark=body["meta_data"]["gauntlet-probe"],
        )
        return web.json_response(found, status=201)

    async def _retry(self, request):
        number, job = int(request.match_info["number"]), request.match_info["job"]
        self.organization.retry(number, self.organization.index_of(number, job))
        return web.json_response(self.organization.builds[number]["jobs"][-1])

    async def _unblock(self, request):
        self.organization.unblock(int(request.match_info["number"]))
        return web.json_response({"id": request.match_info["job"], "state": "unblocked"})

    async def _log(self, request):
        text = self.logs.get(request.match_info["job"])
        if text is None:
            return web.json_response({"message": "No log"}, status=404)
        address = str(request.url)
        return web.json_response({"url": address, "content": text, "size": len(text)})

    async def _metrics(self, request):
        return web.json_response(self.metrics)


def serving(server):
    """Serve on loopback in a thread; sets the server's ``url``."""
    return served(server, "/v2/")


class FakeTicker:
    """Monotonic time that passes only while somebody sleeps."""

    def __init__(self):
        self.now = 1000.0
        self.slept = []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        if seconds > 0:
            self.slept.append(seconds)
            self.now += seconds
