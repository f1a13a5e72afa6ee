import gzip
import os
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.proc import Service
from gauntlet.harness.telemetry.gpu.accelerator import Accelerator
from gauntlet.harness.telemetry.gpu.choose import NoGpuSource, accelerators, gpu_source
from gauntlet.harness.telemetry.gpu.dcgm import exported_accelerators, exported_readings
from gauntlet.harness.telemetry.gpu.nvidia_smi import NvidiaSmiSource, read_table
from gauntlet.harness.telemetry.gpu.nvml import NvmlSource
from gauntlet.harness.telemetry.prometheus import MetricPoint
from gauntlet.harness.telemetry.sampler import Sampler
from gauntlet.harness.telemetry.samples import Sample, SampleFile, read_samples
from gauntlet.harness.telemetry.source import Reading, SourceError
from gauntlet.harness.telemetry.sources.engine import EngineMetricsSource
from gauntlet.harness.telemetry.sources.host import HostSource, cpu_governors
from gauntlet.harness.telemetry.sources.processes import ProcessTreeSource


class Counting:
    """A source that counts its looks; ``fails`` and ``takes_s`` make it a bad one."""

    def __init__(self, name="counting", *, fails=False, takes_s=0.0):
        self.name = name
        self.looks = 0
        self.closed = False
        self.fails = fails
        self.takes_s = takes_s

    def read(self):
        self.looks += 1
        time.sleep(self.takes_s)
        if self.fails:
            raise SourceError(f"broken {self.looks}")
        return [Reading("0", {"looks": float(self.looks)})]

    def close(self):
        self.closed = True


def wait_until(condition, within_s=10.0):
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


def sample(at, **values):
    return Sample(at=at, source="s", device="d", values=values)


def test_samples_are_taken_until_the_end_and_kept(tmp_path):
    source = Counting()
    path = tmp_path / "telemetry.jsonl.gz"
    with Sampler([source], path=path, interval_s=0.02):
        wait_until(lambda: source.looks >= 5)
    kept = list(read_samples(path))
    assert [s.values["looks"] for s in kept] == list(range(1, source.looks + 1))
    assert source.closed
    assert [s.at for s in kept] == sorted(s.at for s in kept)


def test_a_source_that_fails_is_noted_once_and_the_others_go_on(tmp_path, caplog):
    good, bad = Counting("good"), Counting("bad", fails=True)
    path = tmp_path / "telemetry.jsonl.gz"
    with Sampler([bad, good], path=path, interval_s=0.01) as sampler:
        wait_until(lambda: good.looks >= 4)
    (trouble,) = sampler.troubles
    assert (trouble.source, trouble.first_error) == ("bad", "SourceError: broken 1")
    assert trouble.count == bad.looks
    assert caplog.text.count("telemetry of bad") == 1
    assert {s.source for s in read_samples(path)} == {"good"}


def test_a_slow_source_costs_ticks_and_no_pile_of_them(tmp_path):
    slow = Counting(takes_s=0.1)
    with Sampler([slow], path=tmp_path / "t.gz", interval_s=0.01):
        wait_until(lambda: slow.looks >= 2)
        looks, start = slow.looks, time.monotonic()
        wait_until(lambda: slow.looks >= looks + 3)
        # Each look takes ten ticks: more looks than time for them would be a pile.
        assert time.monotonic() - start >= 0.2


def test_a_mark_looks_at_once_and_is_on_disk(tmp_path):
    source = Counting()
    path = tmp_path / "telemetry.jsonl.gz"
    with Sampler([source], path=path, interval_s=3600) as sampler:
        wait_until(lambda: source.looks == 1)
        first = sampler.mark()
        second = sampler.mark()
        kept = list(read_samples(path))
        assert [s.values["looks"] for s in kept] == [1, 2, 3]
        assert kept[1].at <= first <= kept[2].at <= second


def test_a_file_that_cannot_be_written_is_told_at_the_start(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InfrastructureError, match="cannot write"):
        Sampler([], path=tmp_path / "file" / "telemetry.jsonl.gz")


def test_a_full_disk_is_a_trouble_and_not_an_end(tmp_path):
    source = Counting()
    sampler = Sampler([source], path=tmp_path / "t.gz", interval_s=3600)
    wait_until(lambda: source.looks == 1)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, sampler._file._stream.buffer.fileno())
    os.close(full)
    sampler.mark()
    sampler.mark()
    assert source.looks == 3
    assert [t.source for t in sampler.troubles] == ["file"]
    assert "No space left" in sampler.troubles[0].first_error
    sampler.close()


@given(st.integers(0, 400))
def test_whatever_a_kill_leaves_is_read_up_to_its_torn_end(tmp_path_factory, missing):
    path = tmp_path_factory.mktemp("samples") / "telemetry.jsonl.gz"
    with SampleFile(path) as file:
        for at in range(20):
            file.add(sample(float(at), a=at))
            file.flush()
    whole = path.read_bytes()
    path.write_bytes(whole[: max(0, len(whole) - missing)])
    kept = [s.at for s in read_samples(path)]
    assert kept == [float(at) for at in range(len(kept))]
    with SampleFile(path) as file:
        file.add(sample(99.0, a=1))
    assert [s.at for s in read_samples(path)] == [*kept, 99.0]
    assert list(path.parent.iterdir()) == [path]


def test_what_json_cannot_hold_is_left_out_and_a_window_is_a_window(tmp_path):
    path = tmp_path / "t.gz"
    with SampleFile(path) as file:
        file.add(sample(1.0, a=float("nan"), b=2))
        file.add(sample(2.0, a=1))
    assert [s.values for s in read_samples(path, end=1.5)] == [{"b": 2.0}]
    assert [s.at for s in read_samples(path, start=1.5)] == [2.0]


def test_a_line_that_is_no_sample_is_named(tmp_path):
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(b'{"at": 1}\n'))
    with pytest.raises(ValueError, match="no sample"):
        list(read_samples(path))


def test_the_host_of_this_test():
    (reading,) = HostSource().read()
    assert reading.values["load_1m"] >= 0
    assert reading.values["memory_available_mib"] > 1


def test_clocks_and_governors_where_the_system_shows_them(tmp_path):
    for number, (clock, throttles) in enumerate(((2_000_000, 3), (3_000_000, 4))):
        cpu = tmp_path / f"sys/devices/system/cpu/cpu{number}"
        (cpu / "cpufreq").mkdir(parents=True)
        (cpu / "cpufreq/scaling_cur_freq").write_text(f"{clock}\n")
        (cpu / "cpufreq/scaling_governor").write_text("performance\n")
        (cpu / "thermal_throttle").mkdir()
        (cpu / "thermal_throttle/core_throttle_count").write_text(f"{throttles}\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/loadavg").write_text("1.50 1 1 1/2 3\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9 kB\nMemAvailable:  2048 kB\n")
    (reading,) = HostSource(root=tmp_path).read()
    assert reading.values == {
        "load_1m": 1.5,
        "memory_available_mib": 2.0,
        "cpu_clock_mean_mhz": 2500.0,
        "cpu_clock_min_mhz": 2000.0,
        "cpu_throttles": 7.0,
    }
    assert cpu_governors(root=tmp_path) == ("performance",)
    assert cpu_governors(root=tmp_path / "none") == ()


def test_a_process_and_its_children_are_added_up(tmp_path):
    code = (
        "import subprocess, sys, time\n"
        "nap = 'import time; x = bytes(range(256)) * 40000; print(1, flush=True); time.sleep(60)'\n"
        "subprocess.Popen([sys.executable, '-c', nap]); time.sleep(60)"
    )
    with Service([sys.executable, "-c", code], log=tmp_path / "log") as service:
        wait_until(lambda: service.log_tail() == "1")
        source = ProcessTreeSource(lambda: [service.pid], label="server")
        *each, total = source.read()
        assert len(each) == 2
        assert total.device == "server/total"
        assert each[0].device.startswith(f"server/{service.pid} python")
        assert total.values["processes"] == 2
        for name in ("rss_mib", "pss_mib", "uss_mib", "open_files", "threads", "cpu_s"):
            assert total.values[name] == pytest.approx(sum(r.values[name] for r in each)), name
        assert total.values["rss_mib"] > 10
        assert total.values["rss_mib"] >= total.values["pss_mib"] >= total.values["uss_mib"]
        # A second later the costly ones are left out, which is not zero.
        assert "pss_mib" not in source.read()[-1].values
    with pytest.raises(SourceError, match=str(service.pid)):
        ProcessTreeSource(lambda: [service.pid]).read()
    assert ProcessTreeSource(list).read() == []


def test_an_engine_that_is_gone_or_says_nothing_is_a_trouble():
    with pytest.raises(SourceError, match="GET /metrics: ConnectError"):
        EngineMetricsSource("http://127.0.0.1:1").read()


def test_an_engine_that_never_stops_talking_is_cut(monkeypatch):
    import socket

    def talk(listener):
        client, _ = listener.accept()
        client.recv(4096)
        try:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                client.sendall(b"a 1\n")
                time.sleep(0.05)
        except OSError:
            client.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=talk, args=(listener,))
        thread.start()
        source = EngineMetricsSource(f"http://127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(SourceError, match="no end"):
            source.read()
        source.close()
        thread.join(10)


TABLE = "0, 100, 123343, 452.59, 1980, 41, 0x0000000000000004\n1, 0, 615, [N/A], 345, 39, 0x1\n"


def test_the_table_of_nvidia_smi():
    first, second = read_table(TABLE)
    assert first.values == {
        "utilization_pct": 100.0,
        "memory_used_mib": 123343.0,
        "power_w": 452.59,
        "sm_clock_mhz": 1980.0,
        "temperature_c": 41.0,
        "throttle_bits": 4.0,
    }
    assert second.device == "1"
    assert "power_w" not in second.values
    with pytest.raises(ValueError, match="3 cells instead of 7"):
        read_table("0, 1, 2\n")


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    binary = tmp_path / "nvidia-smi"
    binary.write_text(
        "#!/bin/sh\ncase $1 in\n"
        "*uuid*) echo '0, NVIDIA H200, GPU-59c2, 580.159.04';;\n"
        "*) echo '0, 7, 615, 79.87, 345, 45, 0x0000000000000001';;\nesac\n"
    )
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def test_accelerators_for_the_record(nvidia_smi, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    expected = Accelerator(
        index=0, name="NVIDIA H200", uuid="GPU-59c2", driver_version="580.159.04"
    )
    assert accelerators() == (expected,)
    (reading,) = gpu_source().read()
    assert (reading.device, reading.values["utilization_pct"]) == ("0", 7.0)


def test_a_host_without_accelerators_says_so_once(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    source = gpu_source()
    assert isinstance(source, NoGpuSource)
    assert source.read() == [Reading("none", {})]
    assert source.read() == []
    assert accelerators() == ()
    with pytest.raises(SourceError, match="not on PATH"):
        NvidiaSmiSource()


class FakeNvml:
    """The functions of NVML's package that are used, for one device without a power sensor."""

    NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0

    class NVMLError(Exception):
        pass

    def __init__(self):
        self.open = False

    def nvmlInit(self):  # noqa: N802 - the package's name, as are those below
        self.open = True

    def nvmlShutdown(self):  # noqa: N802
        self.open = False

    def nvmlDeviceGetCount(self):  # noqa: N802
        return 1

    def nvmlSystemGetDriverVersion(self):  # noqa: N802
        return b"580.1"

    def nvmlDeviceGetPowerUsage(self, _device):  # noqa: N802
        raise self.NVMLError("Not Supported")

    def __getattr__(self, name):
        class Answer(int):
            gpu, used = 42, 3 << 20

        answers = {
            "nvmlDeviceGetHandleByIndex": "handle",
            "nvmlDeviceGetName": "NVIDIA H200",
            "nvmlDeviceGetUUID": "GPU-1",
            "nvmlDeviceGetUtilizationRates": Answer(),
            "nvmlDeviceGetMemoryInfo": Answer(),
            "nvmlDeviceGetClockInfo": 1980,
            "nvmlDeviceGetTemperature": 40,
            "nvmlDeviceGetCurrentClocksThrottleReasons": 4,
        }
        if name not in answers:
            raise AttributeError(name)
        return lambda *_arguments: answers[name]


def test_nvml_leaves_out_what_a_device_does_not_support(monkeypatch):
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    source = NvmlSource()
    (accelerator,) = source.accelerators()
    assert (accelerator.name, accelerator.driver_version) == ("NVIDIA H200", "580.1")
    (reading,) = source.read()
    assert reading.values == {
        "utilization_pct": 42.0,
        "memory_used_mib": 3.0,
        "sm_clock_mhz": 1980.0,
        "temperature_c": 40.0,
        "throttle_bits": 4.0,
    }
    source.close()
    assert not fake.open


def test_an_exporter_s_page_is_sorted_by_device_and_slices_are_left_out():
    labels = {"gpu": "1", "UUID": "GPU-7", "modelName": "H200", "DCGM_FI_DRIVER_VERSION": "580"}
    points = [
        MetricPoint("DCGM_FI_DEV_POWER_USAGE", labels, 450.0),
        MetricPoint("DCGM_FI_DEV_GPU_UTIL", {**labels, "gpu": "0"}, 7.0),
        MetricPoint("DCGM_FI_DEV_FB_USED", {**labels, "GPU_I_ID": "3"}, 9.0),
    ]
    readings = {reading.device: reading.values for reading in exported_readings(points)}
    assert readings == {"1": {"power_w": 450.0}, "0": {"utilization_pct": 7.0}}
    assert [a.index for a in exported_accelerators(points)] == [0, 1]
    assert exported_accelerators(points)[1].driver_version == "580"
