"""Makers of answers, of lm-eval's files, and of two builds with known losses and gains."""

import json

from gauntlet.analyzer.accuracy.samples import Answer, AnswerSet

STAMP = "2026-01-01T00-00-00.123"


def answer(item_id, score=1.0, **changes):
    fields = {
        "item_id": str(item_id),
        "score": score,
        "answer": f"answer {score}",
        "question_digest": f"text:{item_id}",
    }
    return Answer(**{**fields, **changes})


def answers_of(scores, **changes):
    """One side from scores in order, or from a list of answers."""
    made = [s if isinstance(s, Answer) else answer(i, s) for i, s in enumerate(scores)]
    fields = {
        "answers": tuple(made),
        "task": "gsm8k",
        "source": "here",
        "harness": "lm-eval",
        "harness_version": "0.4.11",
        "task_version": "3.0",
        "fewshot": 5,
    }
    return AnswerSet(**{**fields, **changes})


def two_sides(losses, gains, n=1319, right=1000, **changes):
    """Baseline and candidate that differ in so many answers; ``right`` are right on both."""
    wrong = n - losses - gains - right
    before = [1.0] * losses + [0.0] * gains + [1.0] * right + [0.0] * wrong
    after = [0.0] * losses + [1.0] * gains + [1.0] * right + [0.0] * wrong
    return answers_of(before, **changes), answers_of(after, **changes)


def sample_line(doc_id, score=1.0, filter_name="strict-match", metric="exact_match", **changes):
    fields = {
        "doc_id": doc_id,
        "doc": {"question": f"What is {doc_id}?"},
        "target": "1",
        "resps": [["it is 1"]],
        "filtered_resps": ["1"],
        "filter": filter_name,
        "metrics": [metric],
        "doc_hash": f"d{doc_id}",
        "prompt_hash": f"p{doc_id}",
        metric: score,
    }
    return {**fields, **changes}


def write_run(folder, scores, task="gsm8k", lines=None, **changes):
    """Write samples and results as lm-eval does; return the samples file."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = lines if lines is not None else [sample_line(i, s) for i, s in enumerate(scores)]
    samples = folder / f"samples_{task}_{STAMP}.jsonl"
    samples.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    results = {
        "results": {task: {"exact_match,strict-match": 0.5}},
        "lm_eval_version": "0.4.11",
        "versions": {task: 3.0},
        "n-shot": {task: 5},
        "config": {"model": "local-completions", "gen_kwargs": "temperature=0"},
        "task_hashes": {task: "abc"},
    }
    (folder / f"results_{STAMP}.json").write_text(json.dumps({**results, **changes}))
    return samples
