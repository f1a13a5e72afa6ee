"""Bad machines among good ones on made-up fleets: false accusations, and how soon one is found.

    python benchmarks/hosts.py [--fleets 400] [--seed 3]

A fleet has 100 hosts of one queue, each running 40 attempts of 20 jobs a day. Jobs fail for reasons
of the machine at different rates; good hosts differ from each other as well. Some jobs are broken
everywhere for half the day.
"""

import argparse
from collections.abc import Iterator

import numpy as np

from gauntlet.analyzer.flakes.hosts import HostAttempt, judge_hosts

HOSTS, JOBS = 100, 20


def day(
    rng: np.random.Generator,
    per_host: int,
    *,
    base: float = 0.01,
    bad_host_factor: float | None = None,
    spread: float = 0.3,
) -> Iterator[HostAttempt]:
    """Attempts of one fleet; host 0 is the bad one, if there is one."""
    job_rates = base * rng.lognormal(0, 0.5, JOBS)
    host_factors = rng.lognormal(0, spread, HOSTS)
    if bad_host_factor is not None:
        host_factors[0] = bad_host_factor
    commits = rng.integers(0, 64, (HOSTS, per_host))
    jobs = rng.integers(0, JOBS, (HOSTS, per_host))
    fails = rng.random((HOSTS, per_host)) < job_rates[jobs] * host_factors[:, None]
    broken = (jobs == 0) & (commits < 32)
    for host in range(HOSTS):
        for n in range(per_host):
            cause = "timeout" if broken[host, n] else "infra_machine" if fails[host, n] else None
            yield HostAttempt(f"h{host}", f"j{jobs[host, n]}", f"c{commits[host, n]}", cause)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fleets", type=int, default=400)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print(f"No bad host, {options.fleets} fleets of {HOSTS} hosts a day: fleets with an accusation")
    print(f"{'attempts a host':>16} {'base rate':>10} {'false':>7}   by count (3 failures): false")
    for per_host, base in ((40, 0.01), (40, 0.03), (120, 0.01)):
        false = counted = 0
        for _ in range(options.fleets):
            judged = judge_hosts(day(rng, per_host, base=base))
            false += any(host.accused for host in judged)
            counted += any(host.failures >= 3 for host in judged)
        print(f"{per_host:16} {base:10.0%} {false / options.fleets:7.2%}"
              f" {counted / options.fleets:30.1%}")  # fmt: skip
    print("\nOne host fails ten times as often: found, by how many attempts each host has made")
    few = max(options.fleets // 4, 1)
    for base in (0.01, 0.03):
        shares = []
        for per_host in (20, 40, 60, 80, 120, 160):
            found = sum(
                any(h.accused and h.host == "h0" for h in judge_hosts(
                    day(rng, per_host, base=base, bad_host_factor=10)))
                for _ in range(few)
            )  # fmt: skip
            shares.append(f"{per_host}: {found / few:.0%}")
        print(f"base rate {base:.0%}: {', '.join(shares)}")


if __name__ == "__main__":
    main()
