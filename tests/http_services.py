"""GitHub and Slack as small servers on loopback: documented answers, and faults on demand."""

from aiohttp import web


class Service:
    """``faults`` are taken one for each request: a status, "reset", or "done, and no answer"."""

    token = "secret-token"

    def __init__(self):
        self.faults, self.seen, self.url = [], [], ""

    def guarded(self, handler):
        async def handle(request):
            self.seen.append((request.method, request.path))
            fault = self.faults.pop(0) if self.faults else None
            if fault == "done, and no answer":
                await handler(request)
            if isinstance(fault, int):
                return web.json_response({"message": "no"}, status=fault)
            if fault is not None:
                request.transport.abort()
                return web.Response()
            return await handler(request)

        return handle


class GitHubServer(Service):
    """The pull requests and issues of one repository, as GitHub's REST API tells them."""

    def __init__(self, host):
        super().__init__()
        self.host = host
        self.page_size = None

    def application(self):
        app = web.Application()
        path = "/repos/acme/engine"
        app.router.add_get(path + "/pulls/{number}", self.guarded(self._pull))
        app.router.add_patch(path + "/pulls/{number}", self.guarded(self._rewrite))
        app.router.add_get(path + "/pulls", self.guarded(self._pulls))
        app.router.add_post(path + "/pulls", self.guarded(self._open))
        app.router.add_get(path + "/issues", self.guarded(self._issues))
        app.router.add_post(path + "/issues", self.guarded(self._open_issue))
        app.router.add_post(path + "/issues/{number}/labels", self.guarded(self._label))
        app.router.add_get(path + "/milestones", self.guarded(self._milestones))
        return app

    def _told(self, pull):
        return {
            "number": pull.number,
            "html_url": pull.url,
            "state": "open" if pull.state == "open" else "closed",
            "merged_at": "2026-11-20T12:00:00Z" if pull.state == "merged" else None,
            "title": pull.title,
            "milestone": self._milestone(pull.milestone) if pull.milestone else None,
            "draft": pull.draft,
            "labels": [{"id": 1, "name": name, "color": "ff0000"} for name in pull.labels],
            "head": {"ref": pull.head, "sha": "a" * 40},
            "merge_commit_sha": pull.merge_commit or "b" * 40,
            "user": {"login": "ann"},
        }

    def _titles(self):
        return sorted({pull.milestone for pull in self.host.pulls.values()} - {""})

    def _milestone(self, title):
        return {"number": 1 + self._titles().index(title), "title": title, "state": "open"}

    def _page(self, request, found):
        """One page, and the link to the next; ``page_size`` makes pages small."""
        page = int(request.query.get("page", "1"))
        size = self.page_size or int(request.query["per_page"])
        answer = web.json_response(found[(page - 1) * size : page * size])
        if page * size < len(found):
            following = request.url.update_query(page=page + 1)
            answer.headers["Link"] = f'<{following}>; rel="next"'
        return answer

    async def _label(self, request):
        number, labels = int(request.match_info["number"]), (await request.json())["labels"]
        return web.json_response(self._told(self.host.label(number, labels))["labels"])

    async def _milestones(self, request):
        return self._page(request, [self._milestone(title) for title in self._titles()])

    def _closed(self, request):
        """Pull requests that ended, as GitHub lists them among issues."""
        label, wanted = request.query.get("labels", ""), request.query.get("milestone")
        pulls = [p for p in self.host.pulls.values() if p.state != "open"]
        pulls = [p for p in pulls if not label or label in p.labels]
        if wanted:
            title = self._titles()[int(wanted) - 1]
            pulls = [p for p in pulls if p.milestone == title]
        told = [{**self._told(p), "body": None, "pull_request": {"url": "u"}} for p in pulls]
        issue = {"number": 98, "html_url": "https://x.example", "state": "closed", "body": None}
        return self._page(request, [issue, *reversed(told)])

    async def _pull(self, request):
        pull = self.host.pulls.get(int(request.match_info["number"]))
        if pull is None:
            return web.json_response({"message": "Not Found"}, status=404)
        return web.json_response(self._told(pull))

    async def _rewrite(self, request):
        number = int(request.match_info["number"])
        if number not in self.host.pulls:
            return web.json_response({"message": "Not Found"}, status=404)
        return web.json_response(self._told(self.host.rewrite(number, **await request.json())))

    async def _pulls(self, request):
        owner, _, head = request.query["head"].partition(":")
        assert (owner, request.query["state"]) == ("acme", "all")
        found = [self._told(p) for p in reversed(self.host.pulls.values()) if p.head == head]
        return web.json_response(found[: int(request.query["per_page"])])

    async def _open(self, request):
        sent = await request.json()
        assert sent.pop("draft") is True
        known = [p for p in self.host.pulls.values() if p.head == sent["head"]]
        if any(p.state == "open" for p in known):
            return web.json_response({"message": "A pull request already exists"}, status=422)
        return web.json_response(self._told(self.host.open_draft(**sent)), status=201)

    async def _issues(self, request):
        if request.query["state"] == "closed":
            return self._closed(request)
        assert request.query["state"] == "open"
        found = [
            {
                "number": issue.number,
                "html_url": issue.url,
                "state": "open",
                "labels": [{"name": name} for name in issue.labels],
                "body": issue.text or None,
            }
            for issue in self.host.open_issues(request.query["labels"])
        ]
        pull = {"number": 99, "html_url": "https://x.example", "state": "open", "body": None}
        return web.json_response([{**pull, "pull_request": {"url": "u"}}, *found])

    async def _open_issue(self, request):
        opened = self.host.open_issue(**await request.json())
        told = {"number": opened.number, "html_url": opened.url, "state": "open", "labels": []}
        return web.json_response(told, status=201)


class SlackServer(Service):
    """A channel of Slack: every answer is 200, and says in ``ok`` whether it went well."""

    def __init__(self):
        super().__init__()
        self.messages, self.refusal = {}, None

    def application(self):
        app = web.Application()
        app.router.add_post("/api/chat.postMessage", self.guarded(self._post))
        app.router.add_post("/api/chat.update", self.guarded(self._update))
        app.router.add_post("/services/T0/B0/secret", self.guarded(self._hook))
        return app

    def _objection(self, request, sent):
        if self.refusal:
            return self.refusal
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return "invalid_auth"
        return None if sent["channel"] == "C1" else "channel_not_found"

    async def _post(self, request):
        sent = await request.json()
        if error := self._objection(request, sent):
            return web.json_response({"ok": False, "error": error})
        stamp = f"1700000000.{len(self.messages):06}"
        self.messages[stamp] = sent
        return web.json_response({"ok": True, "channel": "C1", "ts": stamp, "message": sent})

    async def _update(self, request):
        sent = await request.json()
        if error := self._objection(request, sent):
            return web.json_response({"ok": False, "error": error})
        if sent["ts"] not in self.messages:
            return web.json_response({"ok": False, "error": "message_not_found"})
        self.messages[sent["ts"]] = sent
        return web.json_response({"ok": True, "channel": "C1", "ts": sent["ts"], "text": ""})

    async def _hook(self, request):
        self.messages[str(len(self.messages))] = await request.json()
        return web.Response(text="ok")
