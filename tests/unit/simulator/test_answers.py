import json

import pytest

from gauntlet.core.errors import ConfigError
from gauntlet.harness.simulator.answers import EOS, Answerer, Ask, CallToken, wrong_line
from gauntlet.harness.simulator.config import AnswersConfig
from gauntlet.harness.simulator.knowledge import Knowledge, ToolFact, load_knowledge
from gauntlet.harness.simulator.tokens import WORDS, ids, split, unit_hash
from gauntlet.harness.simulator.tools import Tool

QUESTIONS = [f"How much is {number} plus {number}?" for number in range(2000)]
MATHS = Knowledge(maths={q: f"#### {2 * n}" for n, q in enumerate(QUESTIONS)})
AREA = Tool(name="math_area", parameters={"properties": {"w": {"type": "integer"}}})
OTHER = Tool(name="weather", parameters={})
FACT = ToolFact(
    functions=frozenset({"math_area"}),
    calls=(("math.area", {"w": [3, 4], "unit": ["", "cm"], "at": [{"x": [1], "y": ["", 2]}]}),),
)


def answerer(knowledge=MATHS, *, seed=0, wrong_call_every=0, **answers):
    config = AnswersConfig(**{"verbosity": 5, **answers})
    return Answerer(config, knowledge, seed=seed, wrong_call_every=wrong_call_every)


def text_of(reply):
    return "".join(token for token in reply.tokens if isinstance(token, str))


def maths(who, question, **details):
    return who.reply(Ask(text=question, key=1, max_tokens=400, **details))


def right_ones(who):
    return {
        q for n, q in enumerate(QUESTIONS) if text_of(maths(who, q)).endswith(f"\n#### {2 * n}")
    }


def calls_of(reply):
    calls = []
    for token in reply.tokens:
        if isinstance(token, CallToken):
            if token.name is not None:
                calls.append([token.name, ""])
            calls[-1][1] += token.arguments
    return [(name, json.loads(arguments)) for name, arguments in calls]


def tool_reply(who, question="Area?", tools=(AREA, OTHER), **details):
    return who.reply(Ask(text=question, key=1, max_tokens=400, tools=tools, **details))


def test_the_share_of_right_answers_is_the_accuracy():
    share = len(right_ones(answerer(accuracy=0.8))) / len(QUESTIONS)
    assert share == pytest.approx(0.8, abs=0.03)
    assert len(right_ones(answerer(accuracy=1))) == len(QUESTIONS)
    assert not right_ones(answerer(accuracy=0))


def test_two_accuracies_are_paired_whatever_the_seeds():
    good, bad = right_ones(answerer(accuracy=0.9)), right_ones(answerer(accuracy=0.8, seed=7))
    assert bad < good
    between = {q for q in QUESTIONS if 0.8 <= unit_hash("accuracy", "maths", q) < 0.9}
    assert good - bad == between


def test_flips_are_a_share_of_calls_and_go_both_ways():
    steady, flipping = right_ones(answerer(accuracy=0.5)), answerer(accuracy=0.5, flip_rate=0.1)
    flipped = steady ^ right_ones(flipping)
    assert len(flipped) / len(QUESTIONS) == pytest.approx(0.1, abs=0.025)
    assert flipped & steady
    assert flipped - steady


def test_few_shot_prompts_ask_their_last_question():
    shots = "".join(f"Question: {q}\nAnswer: so\n#### 1\n\n" for q in QUESTIONS[:5])
    prompt = f"{shots}Question: How much is  77\nplus 77?\nAnswer:"
    reply = maths(answerer(accuracy=1), prompt, stop=("Question:", "</s>"))
    assert text_of(reply).endswith("#### 154")
    assert reply.tokens[-1] == EOS
    assert reply.finish == "stop"
    short = f"Q: {QUESTIONS[3]}\nA:"
    assert text_of(maths(answerer(accuracy=1), short)).endswith("#### 6")


@pytest.mark.parametrize("line", ["#### 18", "#### 70,000", "#### -3", "#### 2.5", "$7", "#### x"])
def test_wrong_lines_are_near_but_different(line):
    wrong = wrong_line(line)
    assert wrong != line
    assert wrong.startswith("#### ") == line.startswith("#### ")
    assert wrong_line(line) == wrong


def test_wrong_numbers_are_numbers():
    assert 70_001 <= int(wrong_line("#### 70,000").split()[-1]) <= 70_009


def test_stop_strings_cut_text_and_count_the_completing_token():
    who = answerer(accuracy=1)
    full = maths(who, QUESTIONS[9])
    cut = maths(who, QUESTIONS[9], stop=("\n##", "zzz"))
    assert text_of(cut) == text_of(full).split("\n##")[0]
    assert cut.finish == "stop"
    assert len(cut.tokens) == len(full.tokens) - 2


def test_limits_and_end_of_sequence():
    who = answerer(accuracy=1)
    full = maths(who, QUESTIONS[9])
    ask = Ask(text=QUESTIONS[9], key=1, max_tokens=3)
    assert who.reply(ask).finish == "length"
    assert len(who.reply(ask).tokens) == 3
    exact = Ask(text=QUESTIONS[9], key=1, max_tokens=len(full.tokens))
    assert who.reply(exact) == full
    endless = who.reply(Ask(text=QUESTIONS[9], key=1, max_tokens=99, ignore_eos=True))
    assert (len(endless.tokens), endless.finish) == (99, "length")
    assert EOS not in endless.tokens


def test_unknown_questions_get_the_same_words_for_the_same_request():
    who = answerer(free_text_tokens=20)
    replies = [who.reply(Ask(text="hm", key=key, max_tokens=500)) for key in (1, 1, 2)]
    assert replies[0] == replies[1] != replies[2]
    assert who.reply(Ask(text=None, key=1, max_tokens=500)) == replies[0]
    many = [len(who.reply(Ask(text=None, key=k, max_tokens=500)).tokens) for k in range(400)]
    assert sum(many) / len(many) == pytest.approx(21.5, abs=4)
    long = who.reply(Ask(text=None, key=1, max_tokens=500, min_tokens=300))
    assert len(long.tokens) >= 300


def test_right_calls_take_first_values_and_leave_optional_ones_out():
    knowledge = Knowledge(tools={"Area?": [FACT]})
    reply = tool_reply(answerer(knowledge, tool_accuracy=1))
    assert calls_of(reply) == [("math_area", {"w": 3, "at": {"x": 1}})]
    assert reply.finish == "tool_calls"


def test_wrong_calls_are_of_three_kinds_and_never_right():
    asked = [f"Area {number}?" for number in range(60)]
    knowledge = Knowledge(tools={q: [FACT] for q in asked})
    who = answerer(knowledge, tool_accuracy=0)
    kinds = set()
    for question in asked:
        calls = calls_of(tool_reply(who, question))
        assert calls != [("math_area", {"w": 3, "at": {"x": 1}})]
        kinds.add("none" if not calls else "function" if calls[0][0] != "math_area" else "value")
    assert kinds == {"none", "function", "value"}


def test_every_nth_tool_call_is_wrong_on_top():
    knowledge = Knowledge(tools={"Area?": [FACT]})
    who = answerer(knowledge, tool_accuracy=1, wrong_call_every=3)
    right = [calls_of(tool_reply(who)) == [("math_area", {"w": 3, "at": {"x": 1}})] for _ in "123"]
    assert right == [True, True, False]


def test_tool_choice_is_obeyed():
    who = answerer(Knowledge(tools={"Area?": [FACT]}), tool_accuracy=1)
    assert not calls_of(tool_reply(who, tool_choice="none"))
    schema = {"properties": {"n": {"type": "integer"}, "m": {}}, "required": ["n"]}
    forced = Tool(name="f", parameters=schema)
    reply = tool_reply(who, "unknown", (forced,), tool_choice="required")
    assert calls_of(reply) == [("f", {"n": 1})]
    assert not calls_of(tool_reply(who, "unknown"))


def test_both_layouts_are_read_and_split_rows_joined(tmp_path):
    path = tmp_path / "k.jsonl"
    rows = [
        {"question": "A  b?", "answer": "because\u2028so\n#### 5"},
        {
            "id": "s_1",
            "question": [[{"role": "system", "content": "s"}, {"role": "user", "content": "Do"}]],
            "function": [{"name": "m.f"}],
        },
        {"id": "s_1", "ground_truth": [{"m.f": {"x": [1]}}]},
    ]
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n\n")
    knowledge = load_knowledge([str(path)])
    assert knowledge.find_maths("Question: A b?\nAnswer:") == ("A b?", "#### 5")
    question, fact = knowledge.find_tools("Do", ["m_f"])
    assert (question, fact.calls) == ("Do", (("m.f", {"x": [1]}),))


def test_every_bad_row_is_reported_with_its_line(tmp_path):
    path = tmp_path / "k.jsonl"
    path.write_text('{"question": "a", "answer": "b"}\nnot json\n[1]\n{"x": 1}\n{"question": []}\n')
    with pytest.raises(ConfigError) as caught:
        load_knowledge([str(path)])
    assert [problem.line for problem in caught.value.problems] == [2, 3, 4, 5]
    with pytest.raises(ConfigError, match="missing"):
        load_knowledge([str(tmp_path / "missing.jsonl")])


@pytest.mark.parametrize(
    "text", ["", "a", " Hello, wörld!\n\n#### 18 \t_x 你好 🙂", "".join(WORDS)]
)
def test_tokens_concatenate_to_the_text(text):
    assert "".join(split(text)) == text


def test_every_word_is_one_token_with_a_fixed_id():
    assert split("".join(WORDS)) == list(WORDS)
    assert ids(["123456789"]) == [0xCBF43926]
