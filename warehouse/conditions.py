"""When a measurement is one of something else: what measuring and judging go by alike."""

# Share of prompt tokens from the prefix cache beyond what the prompts themselves allow: whole
# blocks that two prompts share by chance, and counters read a moment apart.
CACHE_MARGIN = 0.05

# NVIDIA's bits of why clocks are what they are, as NVML, nvidia-smi and DCGM give them.
THROTTLE_BITS = {
    0x001: "gpu_idle",
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}
# An idle accelerator, and one whose clocks somebody set, is not held back.
HARMLESS_BITS = 0x001 | 0x002 | 0x100
# Heat and faults. The power cap is no such thing: a GPU at full load runs against it by design, and
# synchronised clocks are a choice.
UNFIT_BITS = 0x008 | 0x020 | 0x040 | 0x080


def throttle_reasons(bits: int) -> tuple[str, ...]:
    """Decode the reasons why clocks are what they are; a bit that is unknown keeps its number."""
    names = [name for bit, name in THROTTLE_BITS.items() if bits & bit]
    rest = bits & ~sum(THROTTLE_BITS)
    return (*names, *([f"unknown_{rest:#x}"] if rest else []))


def is_throttled(bits: int) -> bool:
    """Whether power, heat or a fault holds the clocks back."""
    return bool(bits & ~HARMLESS_BITS)
