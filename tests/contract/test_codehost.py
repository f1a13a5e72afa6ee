"""The same suite against a code host in memory and GitHub's API over HTTP; Slack likewise."""

from datetime import date

import pytest
from aiohttp import web
from fake_buildkite import FakeTicker
from fake_codehost import FakeCodeHost
from http_services import GitHubServer, SlackServer
from loopback import served

from gauntlet.analyzer.acting.policy import Policy
from gauntlet.analyzer.reports.delivery import Board, deliver_report
from gauntlet.analyzer.reports.model import Entry, Report, Section
from gauntlet.analyzer.reports.slack import night_message
from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.services.chat.slack_api import SlackBot, SlackWebhook
from gauntlet.services.codehost.github import GitHub
from gauntlet.services.connect import GITHUB, SLACK, chat, code_host
from gauntlet.services.transport import MaybeDoneError, Transport


@pytest.fixture
def memory():
    return FakeCodeHost()


@pytest.fixture
def github(memory):
    with served(GitHubServer(memory)) as server:
        yield server


def connected(server, service, path=""):
    return Transport(
        f"{server.url}{path}",
        authorization=f"Bearer {server.token}",
        service=service,
        ticker=FakeTicker(),
    )


@pytest.fixture(params=["in memory", "over HTTP"])
def host(request, memory):
    if request.param == "in memory":
        yield memory
        return
    with connected(request.getfixturevalue("github"), GITHUB) as transport:
        yield GitHub(transport, "acme/engine")


DRAFT = {"title": "Revert", "body": "why", "head": "revert/abc", "base": "main"}


def test_a_pull_request_is_told_as_it_is(host, memory):
    memory.add(7, labels=("bug", "no-auto-revert"))
    memory.add(8, state="open", draft=True, head="x")
    merged = host.pull_request(7)
    assert (merged.state, merged.labels) == ("merged", ("bug", "no-auto-revert"))
    assert host.pull_request(8).draft
    assert host.pull_request(9) is None


def test_merged_pull_requests_are_found_by_label_and_milestone(host, memory):
    memory.add(5, labels=("pick",), milestone="v1.2.0", title="Five", merge_commit="5" * 40)
    memory.add(3, labels=("pick",), title="Three", merge_commit="3" * 40)
    memory.add(4, milestone="v1.2.0", merge_commit="4" * 40)
    memory.add(6, labels=("pick",), state="closed")
    memory.add(7, labels=("pick",), state="open")
    found = host.merged(label="pick")
    assert [(p.number, p.title, p.merge_commit) for p in found] == [
        (3, "Three", "3" * 40), (5, "Five", "5" * 40)
    ]  # fmt: skip
    assert [p.number for p in host.merged(milestone="v1.2.0")] == [4, 5]
    assert [p.number for p in host.merged(label="pick", milestone="v1.2.0")] == [5]
    with pytest.raises(UsageError, match=r"unknown milestone 'v1\.2'"):
        host.merged(milestone="v1.2")


def test_all_pages_of_merged_pull_requests_are_read(github, memory):
    github.page_size = 3
    for number in range(1, 11):
        memory.add(number, labels=("pick me",), merge_commit=f"{number:040x}")
    with connected(github, GITHUB) as transport:
        found = GitHub(transport, "acme/engine").merged(label="pick me")
    assert [pull.number for pull in found] == list(range(1, 11))


def test_a_draft_is_opened_once_for_a_branch(host, memory):
    first = host.open_draft(**DRAFT)
    assert (first.state, first.draft, first.head) == ("open", True, "revert/abc")
    assert host.open_draft(**DRAFT).number == first.number
    memory.end(first.number, "closed")
    assert host.pull_request_of("revert/abc").state == "closed"
    assert host.open_draft(**DRAFT).number != first.number
    assert host.pull_request_of("nothing") is None


def test_labels_are_put_on_a_draft_be_it_new_or_not(host, memory):
    first = host.open_draft(**DRAFT, labels=["run-all"])
    assert first.labels == ("run-all",)
    again = host.open_draft(**DRAFT, labels=["run-all", "locks"])
    assert (again.number, again.labels) == (first.number, ("run-all", "locks"))
    assert memory.pulls[first.number].labels == ("run-all", "locks")


def test_a_pull_request_gets_another_text(host, memory):
    first = host.open_draft(**DRAFT)
    assert host.rewrite(first.number, title="Revert two", body="more").number == first.number
    assert memory.texts[first.number] == ("Revert two", "more")
    with pytest.raises((ExternalServiceError, UsageError)):
        host.rewrite(999, title="x", body="y")


def test_issues_are_found_by_label_with_their_text(host):
    opened = host.open_issue(title="Flaky", body="marker-1", labels=["flaky"])
    host.open_issue(title="Other", body="", labels=["other"])
    (found,) = host.open_issues("flaky")
    assert (found.number, found.text, found.open) == (opened.number, "marker-1", True)
    assert host.open_issues("nothing") == []


def test_a_draft_whose_answer_was_lost_is_found_and_not_opened_again(github, memory):
    with connected(github, GITHUB) as transport:
        host = GitHub(transport, "acme/engine")
        github.faults = [None, "done, and no answer"]
        opened = host.open_draft(**DRAFT)
    assert list(memory.pulls) == [opened.number]


def test_a_draft_that_was_never_opened_is_an_error_and_not_tried_blindly(github, memory):
    with connected(github, GITHUB) as transport:
        github.faults = [None, "reset"]
        with pytest.raises(MaybeDoneError, match="whether it was done is not known"):
            GitHub(transport, "acme/engine").open_draft(**DRAFT)
    assert memory.pulls == {}
    assert [method for method, _ in github.seen].count("POST") == 1


def test_a_reading_is_tried_again(github, memory):
    memory.add(7)
    github.faults = [500, 429, "reset"]
    with connected(github, GITHUB) as transport:
        assert GitHub(transport, "acme/engine").pull_request(7).number == 7


@pytest.mark.parametrize(
    ("status", "error", "hint"),
    [
        (401, UsageError, "make a new one"),
        (403, UsageError, "write access to pull requests"),
        (422, ExternalServiceError, "GitHub's API"),
    ],
)
def test_what_github_refuses_says_what_to_do(github, status, error, hint):
    github.faults = [None, status]
    with connected(github, GITHUB) as transport, pytest.raises(error) as caught:
        GitHub(transport, "acme/engine").open_draft(**DRAFT)
    assert hint in caught.value.hint


def test_an_answer_of_something_else_is_an_error(github):
    async def wrong(request):
        return web.json_response({"number": "seven", "state": "open"})

    github._pull = wrong
    said = "the answer is not understood: number"
    with served(github), connected(github, GITHUB) as transport:
        host = GitHub(transport, "acme/engine")
        with pytest.raises(ExternalServiceError, match=said):
            host.pull_request(7)


# Slack.


@pytest.fixture
def slack():
    with served(SlackServer()) as server:
        yield server


def report(title="one"):
    entries = (Entry(key="inc-1", title=title), Entry(key="inc-2", title="two"))
    section = Section(name="Newly broken", entries=entries, threads=True)
    return Report(night=date(2026, 11, 20), branch="main", headline="2", sections=(section,))


def test_a_report_is_one_message_with_threads_and_is_edited_in_place(slack):
    board = Board()
    with connected(slack, SLACK, "api/") as transport:
        bot = SlackBot(transport, "C1")
        assert deliver_report(report(), bot, board) == 3
        assert deliver_report(report("other"), bot, board) == 2
    main, first, second = slack.messages.values()
    assert first["blocks"][0]["text"]["text"] == "*other*"
    assert second["thread_ts"] == next(iter(slack.messages))
    assert "other" in main["blocks"][1]["text"]["text"]
    assert main["unfurl_links"] is False


def test_a_message_that_was_deleted_is_no_error(slack):
    board = Board()
    with connected(slack, SLACK, "api/") as transport:
        bot = SlackBot(transport, "C1")
        deliver_report(report(), bot, board)
        slack.messages.clear()
        assert deliver_report(report("other"), bot, board) == 2
    assert len(slack.messages) == 2


@pytest.mark.parametrize(
    ("refusal", "error", "said"),
    [
        ("invalid_auth", UsageError, "make a new one"),
        ("channel_not_found", UsageError, "invite the bot"),
        ("fatal_error", ExternalServiceError, "fatal_error"),
    ],
)
def test_a_refusal_of_slack_is_an_error_though_it_answers_200(slack, refusal, error, said):
    slack.refusal = refusal
    with connected(slack, SLACK, "api/") as transport, pytest.raises(error) as caught:
        deliver_report(report(), SlackBot(transport, "C1"), Board())
    assert said in f"{caught.value.message} {caught.value.hint}"
    assert slack.token not in str(caught.value)


def hooked(server):
    return Transport(
        f"{server.url}services/T0/B0/secret",
        authorization=None,
        service=SLACK,
        secret_address=True,
        ticker=FakeTicker(),
    )


def test_a_webhook_gets_the_message_and_answers_in_plain_text(slack):
    with hooked(slack) as transport:
        assert deliver_report(report(), SlackWebhook(transport), Board()) == 1
    (sent,) = slack.messages.values()
    assert set(sent) == {"text", "blocks"}


def test_the_address_of_a_webhook_is_a_secret(slack):
    slack.faults = [404]
    with hooked(slack) as transport, pytest.raises(UsageError) as caught:
        SlackWebhook(transport).post(night_message(report()))
    assert "secret" not in caught.value.message


def test_a_policy_connects_to_what_it_names(slack, github):
    policy = Policy.model_validate(
        {
            "repository": {"slug": "acme/engine", "api_url": github.url},
            "chat": {"channel": "C1", "api_url": f"{slack.url}api/"},
        }
    )
    assert isinstance(code_host(policy.repository, {"GITHUB_TOKEN": "t"}), GitHub)
    assert isinstance(chat(policy.chat, {"SLACK_BOT_TOKEN": "t"}), SlackBot)
    hook = {"SLACK_WEBHOOK_URL": f"{slack.url}services/T0/B0/secret"}
    assert isinstance(chat(policy.chat, hook), SlackWebhook)
    assert code_host(Policy().repository) is None
    assert chat(Policy().chat, {}) is None
    with pytest.raises(UsageError, match="GITHUB_TOKEN is not set"):
        code_host(policy.repository, {})
    with pytest.raises(UsageError, match="SLACK_BOT_TOKEN is not set"):
        chat(policy.chat, {})
