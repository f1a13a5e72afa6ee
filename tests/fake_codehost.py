"""A code host in memory, behind the port."""

from dataclasses import replace

from gauntlet.core.errors import ExternalServiceError, unknown_name
from gauntlet.services.codehost.port import Issue, PullRequest


class FakeCodeHost:
    """Pull requests and issues of one repository; ``broken`` makes every answer an error."""

    def __init__(self):
        self.pulls = {}
        self.issues = {}
        self.texts = {}
        self.asked = []
        self.broken = False

    def _number(self):
        return 1 + max([0, *self.pulls, *self.issues])

    def _ask(self, what):
        self.asked.append(what)
        if self.broken:
            raise ExternalServiceError("the code host: 502 Bad Gateway")

    def add(self, number, **changes):
        fields = {
            "number": number,
            "url": f"https://github.com/acme/engine/pull/{number}",
            "state": "merged",
        }
        self.pulls[number] = PullRequest(**{**fields, **changes})

    def end(self, number, state):
        self.pulls[number] = replace(self.pulls[number], state=state)

    def pull_request(self, number):
        self._ask("pull_request")
        return self.pulls.get(number)

    def pull_request_of(self, head):
        self._ask("pull_request_of")
        found = [pull for pull in self.pulls.values() if pull.head == head]
        return found[-1] if found else None

    def merged(self, *, label="", milestone=""):
        self._ask("merged")
        known = {pull.milestone for pull in self.pulls.values()} - {""}
        if milestone and milestone not in known:
            raise unknown_name("milestone", milestone, known)
        found = [pull for pull in self.pulls.values() if pull.state == "merged"]
        found = [pull for pull in found if not label or label in pull.labels]
        found = [pull for pull in found if not milestone or milestone == pull.milestone]
        return sorted(found, key=lambda pull: pull.number)

    def close(self):
        """Nothing is open."""

    def open_draft(self, *, title, body, head, base, labels=()):
        self._ask("open_draft")
        found = [p for p in self.pulls.values() if p.head == head and p.state == "open"]
        if found:
            return self.label(found[0].number, labels)
        number = self._number()
        self.add(number, state="open", head=head, draft=True)
        self.texts[number] = (title, body)
        return self.label(number, labels)

    def label(self, number, labels):
        """Put labels on a pull request; those that it has stay."""
        pull = self.pulls[number]
        self.pulls[number] = replace(pull, labels=tuple(dict.fromkeys((*pull.labels, *labels))))
        return self.pulls[number]

    def rewrite(self, number, *, title, body):
        self._ask("rewrite")
        if number not in self.pulls:
            raise ExternalServiceError(f"no pull request {number}")
        self.texts[number] = (title, body)
        return self.pulls[number]

    def open_issues(self, label):
        self._ask("open_issues")
        return [i for i in reversed(self.issues.values()) if i.open and label in i.labels]

    def open_issue(self, *, title, body, labels):
        self._ask("open_issue")
        number = self._number()
        url = f"https://github.com/acme/engine/issues/{number}"
        self.issues[number] = Issue(
            number=number, url=url, open=True, labels=tuple(labels), text=body
        )
        self.texts[number] = (title, body)
        return self.issues[number]
