"""What the performance schema costs point selects: Squall with it on and off, and MariaDB, in turn."""
import statistics
from accounts import rate
from peers import MariaDB, Squall
from profile import fill

WORKLOAD = "oltp_point_select"


class Instrumented(MariaDB):
    """MariaDB with its performance schema on; which instruments it has on is its own choice."""

    def command(self):
        return [option.replace("--performance-schema=OFF", "--performance-schema=ON") for option in super().command()]


class Uninstrumented(Squall):
    def start(self):
        seconds = super().start()
        self.sql("SET GLOBAL performance_schema = OFF")
        return seconds


def run(profile, threads, seconds, rounds, rows):
    """Statements per second without and with it, medians of some rounds: one result after the other."""
    for name, off, on in (("squall", Uninstrumented(profile), Squall(profile)), ("mariadb", MariaDB(), Instrumented())):
        with off, on:
            fill((off, on), rows)
            for number in threads:
                rates = {off: [], on: []}
                for server in (off, on):
                    rate(server, WORKLOAD, number, 1, rows)
                for round_number in range(rounds):
                    # Who is first changes from round to round.
                    for server in (off, on) if round_number % 2 else (on, off):
                        rates[server].append(rate(server, WORKLOAD, number, seconds, rows))
                without, beside = statistics.median(rates[off]), statistics.median(rates[on])
                yield {"server": name, "connections": number, "off": round(without), "on": round(beside), "cost_percent": round(100 - 100 * beside / without, 1)}
