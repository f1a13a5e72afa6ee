from pathlib import Path

import pytest
import yaml

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.harness.simulator.config import SimulatorConfig, config_path, load_config


def write(folder: Path, text: str) -> Path:
    path = folder / "sim.yaml"
    path.write_text(text)
    return path


def test_an_empty_file_is_the_defaults(tmp_path):
    assert load_config(write(tmp_path, "# nothing\n")) == SimulatorConfig()


def test_an_unknown_key_is_named_with_line_and_nearest(tmp_path):
    path = write(tmp_path, "name: x\ntiming:\n  decode_step_mss: 3\n")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    (problem,) = caught.value.problems
    assert (problem.line, problem.key, problem.nearest) == (
        3,
        "timing.decode_step_mss",
        "decode_step_ms",
    )


def test_every_problem_is_reported(tmp_path):
    path = write(tmp_path, "answers: {accuracy: 1.5}\nfaults:\n  http_503_every: -1\n")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert {problem.key for problem in caught.value.problems} == {
        "answers.accuracy",
        "faults.http_503_every",
    }


def test_a_cache_smaller_than_the_context_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"kv_cache\.blocks"):
        load_config(write(tmp_path, "max_model_len: 1000\nkv_cache: {blocks: 10}\n"))


def test_overrides_reach_into_sections_and_keep_the_rest(tmp_path):
    path = write(tmp_path, "timing: {decode_step_ms: 5, noise_cv: 0.1}\n")
    overrides = ("timing.decode_step_ms=6.5", "name=other", "kv_cache.prefix_caching=false")
    config = load_config(path, overrides=overrides)
    assert config.timing.decode_step_ms == 6.5
    assert config.timing.noise_cv == 0.1
    assert config.name == "other"
    assert not config.kv_cache.prefix_caching


def test_a_wrong_override_is_blamed_on_the_command_line(tmp_path):
    path = write(tmp_path, "name: x\n")
    with pytest.raises(ConfigError, match=r"--set: timing\.decode_steps_ms.*decode_step_ms"):
        load_config(path, overrides=("timing.decode_steps_ms=6",))
    with pytest.raises(UsageError, match=r"key\.path=value"):
        load_config(path, overrides=("timing",))


def test_knowledge_is_relative_to_the_file(tmp_path):
    path = write(tmp_path, "answers: {knowledge: [a/b.jsonl, /c.jsonl]}\n")
    config = load_config(path, knowledge=(tmp_path / "d.jsonl",))
    expected = (str(tmp_path / "a/b.jsonl"), "/c.jsonl", str(tmp_path / "d.jsonl"))
    assert config.answers.knowledge == expected


def test_the_shipped_pair_differs_in_speed_alone():
    base, slow = (load_config(config_path(name)) for name in ("baseline", "slower-decode"))
    assert slow.timing.decode_step_ms == pytest.approx(1.1 * base.timing.decode_step_ms)
    assert slow.timing.decode_ms_per_seq == pytest.approx(1.1 * base.timing.decode_ms_per_seq)
    timing = slow.timing.model_copy(
        update={
            "decode_step_ms": base.timing.decode_step_ms,
            "decode_ms_per_seq": base.timing.decode_ms_per_seq,
        }
    )
    same = slow.model_copy(update={"timing": timing, "name": base.name, "seed": base.seed})
    assert same == base


def test_an_unknown_shipped_name_lists_the_known_ones():
    with pytest.raises(UsageError, match="baseline, slower-decode"):
        config_path("base")


def test_a_dumped_config_loads_again(tmp_path):
    config = load_config(config_path("baseline"))
    path = write(tmp_path, yaml.safe_dump(config.model_dump(mode="json")))
    assert load_config(path) == config
