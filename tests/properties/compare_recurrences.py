"""The comparison at length: ``python -m tests.properties.compare_recurrences --comparisons N``.

Around every change of the clocks of 2020-2040 in every zone of the cases, round after round, until
there were as many comparisons as asked for. Ends with a table, and with 1 if any difference has no
explanation. Equal seeds and numbers make equal comparisons, on however many processes.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count

from tests.properties.recurrence_cases import cases, places
from tests.properties.recurrence_comparison import Tally

EXPRESSIONS_BY_PLACE = 12
"""In one round; several, for the clock on the wall is drawn once for all of them."""

PLACES_BY_TASK = 40
MAX_TASKS = 1_000_000


def tasks(seed: int) -> Iterator[tuple[int, int, int]]:
    """Without end: rounds, each of which goes to every place once, in slices."""
    slices = range(0, len(places(random.Random(seed))), PLACES_BY_TASK)
    for number in count():
        yield from ((seed, number, start) for start in slices)


def run_task(task: tuple[int, int, int]) -> Tally:
    """Compare the cases of one slice of a round; the task is all its chance."""
    seed, number, start = task
    tally = Tally()
    round_places = places(random.Random(f"{seed} {number}"))
    for place in range(start, min(start + PLACES_BY_TASK, len(round_places))):
        chance = random.Random(f"{seed} {number} {place}")
        for case in cases(chance, *round_places[place], EXPRESSIONS_BY_PLACE):
            tally.compare(case)
    return tally


def compare(comparisons: int, seed: int, processes: int) -> Tally:
    """Compare until there were enough, telling how far it is."""
    total, began, wanted = Tally(), time.monotonic(), tasks(seed)
    with ProcessPoolExecutor(processes) as pool:
        running = deque(pool.submit(run_task, next(wanted)) for _ in range(2 * processes))
        for _ in range(MAX_TASKS):
            # In their order, so that the sum does not depend on which process is the faster.
            total.add(running.popleft().result())
            seconds = time.monotonic() - began
            _say(f"\r{total.comparisons:>12,} of {comparisons:,}  {seconds:6.0f} s")
            _say(f"  unexplained: {total.unexplained}")
            if total.comparisons >= comparisons:
                break
            running.append(pool.submit(run_task, next(wanted)))
        pool.shutdown(cancel_futures=True)
    _say("\n\n")
    return total


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def table_of(tally: Tally, column: int, heading: str) -> str:
    """Comparisons by zone (1) or kind (2) in rows, by oracle in columns."""
    sums: Counter[tuple[str, str]] = Counter()
    for key, number in tally.compared.items():
        sums[key[column], key[0]] += number
    oracles = sorted({key[0] for key in tally.compared})
    rows = [[heading, *oracles]]
    for name in sorted({row for row, _ in sums}):
        rows.append([name, *(f"{sums[name, oracle]:,}" for oracle in oracles)])
    totals = (sum(n for (_, oracle), n in sums.items() if oracle == each) for each in oracles)
    rows.append(["all", *(f"{total:,}" for total in totals)])
    return "\n".join(f"{row[0]:<38}" + "".join(f"{cell:>14}" for cell in row[1:]) for row in rows)


def report_of(tally: Tally) -> Iterable[str]:
    """The final table, line by line."""
    yield table_of(tally, 1, "zone")
    yield ""
    yield table_of(tally, 2, "kind, gap and fold")
    yield f"\ncases {tally.cases:,}, comparisons {tally.comparisons:,}"
    for reason, number in tally.explained.items():
        yield f"explained differences: {number:,} ({reason})"
    yield f"unexplained differences: {tally.unexplained:,}"
    yield from map(str, tally.shown)


def main() -> int:
    """Read the command line, compare and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    tally = compare(options.comparisons, options.seed, options.processes)
    _say("\n".join(report_of(tally)) + "\n")
    return 1 if tally.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
