import io

from rich.console import Console

from gauntlet.analyzer.verdict import Verdict, objective_label
from gauntlet.demo.screen import Screen
from gauntlet.release.gates.verdicts import GateResult, Qualification


def screen(width=80):
    out = io.StringIO()
    return Screen(Console(file=out, width=width, highlight=False), Console(file=io.StringIO())), out


def verdict(subject, change, low, high, outcome="same", unit="%", blocking=True):
    return Verdict(
        subject=subject,
        outcome=outcome,
        blocking=blocking,
        reason="why",
        margin=4.0,
        unit=unit,
        effect=change,
        lower=low,
        upper=high,
        baseline=1234.5,
        candidate=10.0,
        value_unit="tokens/s",
    )


def test_verdicts_fit_in_eighty_columns_whatever_the_numbers():
    shown, out = screen()
    shown.verdicts(
        [
            verdict("load/random/output_tokens_per_s/total", -8.0, -9.0, -7.0, "worse"),
            verdict("load/random/tpot_ms/p50", 24.3, -70.1, 416.3, "inconclusive", blocking=False),
            verdict("eval/tool_calls/accuracy", 0.0, -10.7, 10.7, unit="points"),
        ]
    )
    lines = out.getvalue().splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "…" not in out.getvalue()
    assert "random tokens/s" in lines[1]
    assert "-8.0 %   [-9.0, -7.0] worse" in lines[1]
    assert "[-70.1, +416]" in lines[2]
    assert "(inconclusive)" in lines[2]


def test_what_could_not_be_judged_is_said_below_the_table():
    shown, out = screen()
    missing = Verdict(
        subject="load/w/tpot_ms/p50",
        outcome="missing",
        blocking=True,
        reason="no repetition of w was recorded",
        margin=4.0,
        unit="%",
    )
    shown.verdicts([missing])
    assert "load/w/tpot_ms/p50: no repetition of w was recorded" in out.getvalue()


def test_gates_show_their_reasons():
    shown, out = screen()
    long = f"tpot is worse: {'because ' * 20}"
    gates = (
        GateResult(name="speed", state="FAIL", reasons=(long, long), evidence=()),
        GateResult(name="accuracy", state="PASS", reasons=(), evidence=()),
    )
    shown.gates(Qualification(policy="p", gates=gates))
    lines = out.getvalue().splitlines()
    assert "FAIL         speed" in lines[0]
    # One line per reason, however long: the table above and the page have the rest.
    assert [line.strip()[:13] for line in lines[1:3]] == ["tpot is worse"] * 2
    assert len(lines) == 4
    assert max(map(len, lines)) <= 80


def test_labels():
    assert objective_label("load/random/ttft_ms/p50") == "random TTFT p50"
    assert objective_label("requests/trace/failed") == "trace failed requests"
    assert objective_label("eval/gsm8k/accuracy") == "gsm8k accuracy"
