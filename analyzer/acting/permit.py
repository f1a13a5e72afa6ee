"""Whether a policy's switch lets anybody act."""

from gauntlet.analyzer.acting.policy import Policy
from gauntlet.services.codehost.port import CodeHost
from gauntlet.services.switch import Permit, ask_switch


def permit_of(policy: Policy, host: CodeHost | None) -> Permit:
    """Ask the switch; the label that stops is looked for at the code host.

    Without a host nobody can be asked for it, which is a no.
    """
    if host is None:
        return ask_switch(policy.switch)

    def stopped(label: str) -> str | None:
        issues = host.open_issues(label)
        return issues[0].url if issues else None

    return ask_switch(policy.switch, stopped=stopped)
