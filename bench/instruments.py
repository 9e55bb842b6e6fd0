"""What the performance schema costs point selects: one Squall that has it turned on and off, and MariaDB with it and without, in turn."""
import statistics
from accounts import rate
from peers import MariaDB, Squall
from profile import fill

WORKLOAD = "oltp_point_select"


class Instrumented(MariaDB):
    """MariaDB with its performance schema on; which instruments it has on is its own choice."""

    def command(self):
        return [option.replace("--performance-schema=OFF", "--performance-schema=ON") for option in super().command()]


class Turned:
    """One server that turns its performance schema on or off before it is asked: two of them differ in memory and in where their threads run, by more than this costs."""

    def __init__(self, server, is_on):
        self.server, self.setting = server, "ON" if is_on else "OFF"

    def ready(self):
        self.server.sql(f"SET GLOBAL performance_schema = {self.setting}")
        return self.server


class Always:
    """A server that has been started with it or without."""

    def __init__(self, server):
        self.server = server

    def ready(self):
        return self.server


def measure(side, connections, seconds, rows):
    """Statements per second, and the server's processor time per statement in microseconds."""
    server = side.ready()
    before = server.cpu_seconds()
    statements_per_second = rate(server, WORKLOAD, connections, seconds, rows)
    return statements_per_second, (server.cpu_seconds() - before) / (statements_per_second * seconds) * 1e6


def compare(name, off, on, connections, seconds, rounds, rows):
    """Medians over rounds that each measure both sides, one right after the other. The cost is the median of the rounds' own, so that a machine that gets slower or faster meanwhile does not matter; a quarter of the rounds was below `cost_percent_low`, a quarter above `cost_percent_high`."""
    for side in (off, on):
        measure(side, connections, 1, rows)
    measured = {off: [], on: []}
    for round_number in range(rounds):
        # Who is first changes from round to round.
        for side in (off, on) if round_number % 2 else (on, off):
            measured[side].append(measure(side, connections, seconds, rows))
    costs = [100 - 100 * beside / without for (without, _), (beside, _) in zip(measured[off], measured[on])]
    low, middle, high = statistics.quantiles(costs, n=4)
    median = lambda side, at: statistics.median(one[at] for one in measured[side])
    return {"server": name, "connections": connections, "rounds": rounds, "off": round(median(off, 0)), "on": round(median(on, 0)),
            "cost_percent": round(middle, 1), "cost_percent_low": round(low, 1), "cost_percent_high": round(high, 1),
            "cpu_us_off": round(median(off, 1), 2), "cpu_us_on": round(median(on, 1), 2)}


def run(profile, threads, seconds, rounds, rows):
    """Statements per second without and with it: one result after the other."""
    with Squall(profile) as server:
        fill([server], rows)
        for number in threads:
            yield compare("squall", Turned(server, False), Turned(server, True), number, seconds, rounds, rows)
    with MariaDB() as off, Instrumented() as on:
        fill((off, on), rows)
        for number in threads:
            yield compare("mariadb", Always(off), Always(on), number, seconds, rounds, rows)
