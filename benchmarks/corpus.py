"""NumPy programs as users write them: relgraph beside NumPy, numba, JAX and torch.compile.

    python benchmarks/corpus.py                        # all programs, and results/corpus.json
    python benchmarks/corpus.py --only jacobi          # those whose name or theme holds "jacobi"
    python benchmarks/corpus.py --quick --no-torch     # one size, few rounds
    python benchmarks/corpus.py --only lorenz --save   # measures these rows anew in the file
    python benchmarks/corpus.py --threads 1            # on one processor, where others are busy

A program is a NumPy function with its arguments at one or two sizes (``corpus_programs``).
relgraph runs it unchanged; numba and JAX do if they can, and else a form that their users would
write, with a loop where JAX needs one.  A row says why a form is missing.  Each result is compared
with NumPy's before it is timed.

All contenders of a row run in one process, in turns; a time is the median of all turns.  A first
call is the time from the function to its first result, in a process that has compiled others, with
empty caches on disk.  One that takes longer than ``--limit`` seconds is stopped, if need be with
its process, and the row says so.  Arguments that a program changes are given anew by a copy, which
counts (``corpus_peers.py``).  ``--threads 1`` keeps every framework to one processor, and times are
those of the processor: on a machine that other processes use, too, anything else measures them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from calibration import calibrate, interleaved, machine, versions
from corpus_peers import FRAMEWORKS, Missing, Reference, Stopped
from corpus_programs import NPBENCH, PROGRAMS, THEME_OF
from corpus_programs.program import Program
from first_call import environment
from harness import Plan, measure

from relgraph.settings import processors

RESULTS = Path(__file__).parent / "results" / "corpus.json"
PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "tbb", "jax", "jaxlib", "torch")
AGAIN = 5.0  # seconds until a compilation that goes on is stopped again
GRACE = 20.0  # seconds in which a stopped compilation returns to Python
ROW_SECONDS = 12.0  # in which the turns of a row begin
BEHIND = 0.9
WINDOW = 0.004  # seconds of the processor
BLAS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # they select BLAS kernels for another processor
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise Stopped in the body after some seconds, and again where something swallowed it."""
    running = True

    def stop(*_: object) -> None:
        if running:
            raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Worker:
    """What the process that measures rows keeps: the frameworks that are open."""

    def __init__(self, connection: Connection, names: list[str], limit: float, quick: bool) -> None:
        self.connection, self.limit, self.quick = connection, limit, quick
        self.frameworks: dict[str, Any] = {}
        for name in names:
            try:
                self.frameworks[name] = FRAMEWORKS[name]()
            except ImportError as error:
                print(f"{name} is left out: {error}")
        connection.send({name: x.setting for name, x in self.frameworks.items()})

    def serve(self) -> None:
        """Measure rows until the connection ends."""
        while True:
            try:
                name, size, skipped = self.connection.recv()
            except EOFError:
                return
            self.connection.send(self.row(PROGRAMS[name], size, skipped))

    def row(self, program: Program, size: tuple[int, ...], skipped: dict[str, str]) -> Any:
        """Return what is measured of a program at one size."""
        reference = Reference(program, program.arguments(size))
        contenders: dict[str, Any] = {}
        first: dict[str, float] = {}
        missing = dict(skipped)
        for name, framework in self.frameworks.items():
            if name in skipped:
                continue
            self.connection.send(name)
            start = time.perf_counter()
            try:
                with limited(self.limit):
                    contender = framework.contender(reference)
                    contender.check()
                seconds = contender.first_call or time.perf_counter() - start
                if seconds > self.limit:  # a destructor or a callback swallowed it
                    raise Stopped
                first[name], contenders[name] = seconds, contender
            except Missing as reason:
                missing[name] = str(reason)
            except Stopped:
                missing[name] = f"stopped: its first call takes more than {self.limit:g} s"
            except Exception as error:  # a framework that fails does not end the run
                missing[name] = _short(error)
        self.connection.send("measuring")
        times = self.times(contenders)
        return {
            "program": program.name,
            "theme": THEME_OF[program.name],
            "size": program.label(size),
            "µs": {name: _digits(x * 1e6) for name, x in times.items()},
            "first call s": {name: _digits(x) for name, x in first.items()},
            "missing": missing,
            "notes": self.notes(program, contenders),
        }

    def times(self, contenders: dict[str, Any]) -> dict[str, float]:
        """Return the median seconds of a call of each."""
        rounds = 5 if self.quick else 7
        if processors() == 1:
            windows = {name: _processor(x) for name, x in contenders.items()}
            turns = interleaved(windows, rounds, WINDOW)
            return {name: statistics.median(x) for name, x in turns.items()}
        deadline = time.perf_counter() + ROW_SECONDS
        plan = Plan(rounds, 0.01 if self.quick else 0.03, 2, patience=1.0, deadline=deadline)
        return {name: x.median for name, x in measure(contenders, plan).items()}

    def notes(self, program: Program, contenders: dict[str, Any]) -> list[str]:
        """Return what a reader must know of a row."""
        found = []
        if "relgraph" in contenders and program.relgraph_reason:
            found.append(f"relgraph: {program.relgraph_reason}")
        if "numba" in contenders:
            found.append(f"numba: {self.frameworks['numba'].chosen}")
        return found


def _processor(call: Any) -> Any:
    """Return a function that times some calls, in seconds of the processor."""
    start = time.process_time()
    call()
    calls = max(1, round(WINDOW / 4 / max(time.process_time() - start, 1e-7)))

    def window() -> float:
        start = time.process_time()
        for _ in range(calls):
            call()
        return (time.process_time() - start) / calls

    return window


def _digits(x: float) -> float:
    return float(f"{x:.4g}")


def _short(error: Exception) -> str:
    lines = [x.strip() for x in str(error).splitlines() if x.strip()]
    return f"{type(error).__name__}: {' '.join(lines)}"[:200]


def work(connection: Connection, names: list[str], limit: float, quick: bool) -> None:
    """Run in the process that measures; it has the processors of its parent."""
    warnings.simplefilter("ignore")
    Worker(connection, names, limit, quick).serve()


class Process:
    """A process that measures rows, and is started anew if one hangs or kills it."""

    def __init__(self, names: list[str], limit: float, quick: bool) -> None:
        self.options = (names, limit, quick)
        self.limit = limit
        self.start()

    def start(self) -> None:
        """Start it, and wait until the frameworks are loaded."""
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=work, args=(other, *self.options), daemon=True)
        self.process.start()
        other.close()
        self.settings: dict[str, str] = self.connection.recv()

    def row(self, program: Program, size: tuple[int, ...]) -> dict[str, Any]:
        """Return what it measures of a program at one size."""
        skipped: dict[str, str] = {}
        while True:
            self.connection.send((program.name, size, skipped))
            doing = "numpy"
            try:
                while self.connection.poll(self.limit + GRACE + 3 * ROW_SECONDS):
                    answer = self.connection.recv()
                    if isinstance(answer, dict):
                        return answer
                    doing = answer
                reason = f"stopped: its first call takes more than {self.limit:g} s"
            except EOFError:
                reason = "ended the process"
            self.process.kill()
            self.process.join()
            self.start()
            if doing in ("numpy", "measuring"):
                return {"program": program.name, "theme": THEME_OF[program.name],
                        "size": program.label(size), "µs": {}, "first call s": {},
                        "missing": {"relgraph": f"{doing}: {reason}"}, "notes": []}  # fmt: skip
            skipped[doing] = reason


def ratio(row: dict[str, Any]) -> tuple[str, float] | None:
    """Return the fastest peer of a row, and how many times as fast relgraph is."""
    times = row["µs"]
    peers = {name: x for name, x in times.items() if name != "relgraph"}
    if "relgraph" not in times or not peers:
        return None
    best = min(peers, key=peers.__getitem__)
    return best, peers[best] / times["relgraph"]


def means(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the geometric means of ratios, by groups of rows: to the best peer and to each."""
    groups = {"all": rows, NPBENCH: [x for x in rows if x["theme"] == NPBENCH]}
    groups["the others"] = [x for x in rows if x["theme"] != NPBENCH]
    groups["without loops"] = [x for x in rows if not PROGRAMS[x["program"]].loops]
    found: dict[str, dict[str, float]] = {}
    for group, members in groups.items():
        found[group] = {}
        best = [answer[1] for x in members if (answer := ratio(x)) is not None]
        if best:
            found[group]["best peer"] = _digits(statistics.geometric_mean(best))
        for peer in FRAMEWORKS:
            ratios = [
                x["µs"][peer] / x["µs"]["relgraph"]
                for x in members
                if peer != "relgraph" and {peer, "relgraph"} <= set(x["µs"])
            ]
            if ratios:
                found[group][peer] = _digits(statistics.geometric_mean(ratios))
    return found


def _time(microseconds: float | None) -> str:
    if microseconds is None:
        return "–"
    if microseconds < 1e3:
        return f"{microseconds:.3g} µs"
    return f"{microseconds / 1e3:.3g} ms" if microseconds < 1e6 else f"{microseconds / 1e6:.3g} s"


def heading(names: list[str]) -> str:
    """Return the heads of the columns."""
    columns = "".join(f"{name:>14}" for name in names)
    return f"{'program':26}{'size':30}{columns}{'best peer':>15}{'ratio':>8}  first calls, s"


def line(row: dict[str, Any], names: list[str]) -> str:
    """Return the row of the table."""
    times = "".join(f"{_time(row['µs'].get(name)):>14}" for name in names)
    best, value = ratio(row) or ("–", None)
    shown = "–" if value is None else f"{value:.3g}"
    first = " ".join(
        f"{row['first call s'][name]:.3g}" if name in row["first call s"] else "–" for name in names
    )
    return f"{row['program']:26}{row['size']:30}{times}{best:>15}{shown:>8}  {first}"


def report(rows: list[dict[str, Any]]) -> list[str]:
    """Return what is said below the table."""
    lines = ["", "times as fast as, geometric means:"]
    for group, values in means(rows).items():
        parts = ", ".join(f"{name} {value:.3g}" for name, value in values.items())
        lines.append(f"  {group}: {parts}")
    answers = [(row, answer) for row in rows if (answer := ratio(row)) is not None]
    behind = sorted((x for x in answers if x[1][1] < BEHIND), key=lambda x: x[1][1])
    lines.append(f"{len(behind)} of {len(answers)} rows below {BEHIND} of the best peer:")
    for row, (peer, value) in behind:
        notes = "; ".join(row["notes"])
        lines.append(f"  {value:.3g} of {peer}: {row['program']}, {row['size']} ({notes})")
    without = [row for row in rows if "relgraph" in row["missing"]]
    lines.append(f"{len(without)} rows without relgraph:")
    lines += [f"  {x['program']}, {x['size']}: {x['missing']['relgraph']}" for x in without]
    lines.append("peers that are missing:")
    for row in rows:
        for name, reason in row["missing"].items():
            if name != "relgraph":
                lines.append(f"  {row['program']}, {row['size']}: {name}: {reason}")
    return lines


def selected(only: str, quick: bool) -> list[tuple[Program, tuple[int, ...]]]:
    """Return the programs and sizes to measure."""
    return [
        (program, size)
        for name, program in PROGRAMS.items()
        if any(part in name or part in THEME_OF[name] for part in only.split(","))
        for size in program.sizes[: 1 if quick else None]
    ]


def merged(before: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in which those measured anew replace those of before, in the corpus's order."""
    rows = {(x["program"], x["size"]): x for x in [*before, *new]}
    order = list(PROGRAMS)
    known = [x for x in rows.values() if x["program"] in PROGRAMS]
    return sorted(known, key=lambda x: order.index(x["program"]))


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", default="", help="names or themes that hold one of these")
    parser.add_argument("--quick", action="store_true", help="one size, few rounds")
    for name in ("numba", "jax", "torch"):
        parser.add_argument(f"--no-{name}", action="store_true", help=f"leave {name} out")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a first call")
    parser.add_argument("--threads", type=int, default=processors(), help="of every framework")
    parser.add_argument("--save", action="store_true", help="put the rows into the results")
    parser.add_argument("--list", action="store_true", help="print the programs and sizes")
    given = parser.parse_args()
    given.names = [
        name for name in FRAMEWORKS if not getattr(given, f"no_{name.split('.')[0]}", False)
    ]
    given.all = not (given.only or given.quick) and given.names == list(FRAMEWORKS)
    return given


def main() -> None:
    """Measure what is asked for, print it, and save it."""
    given = arguments()
    chosen = selected(given.only, given.quick)
    if given.list:
        for program, size in chosen:
            print(f"{THEME_OF[program.name]:18}{program.name:26}{program.label(size)}")
        return
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            **environment(folder),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            **dict.fromkeys(THREADS, str(given.threads)),
        }
        for name in BLAS:
            os.environ.pop(name, None)
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.threads])
        clock = "the processor's" if given.threads == 1 else "the wall's"
        process = Process(given.names, given.limit, given.quick)
        results: dict[str, Any] = {
            "machine": machine(),
            "versions": versions(*PACKAGES),
            "calibration": calibrate(),
            "settings": {
                "threads": given.threads,
                "clock": clock,
                "limit s": given.limit,
                **process.settings,
            },
        }
        names = list(process.settings)
        print(heading(names))
        for program, size in chosen:
            rows.append(process.row(program, size))
            print(line(rows[-1], names))
            sys.stdout.flush()
            if given.all or given.save:  # so that an interruption loses one row
                fresh = given.all or not RESULTS.exists()
                before = {} if fresh else json.loads(RESULTS.read_text("utf-8"))
                together = merged(before.get("rows", []), rows)
                text = {**results, "rows": together, "means": means(together)}
                RESULTS.write_text(
                    json.dumps(text, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
                )
        process.connection.close()
        process.process.join(GRACE)
    print("\n".join(report(rows)))


if __name__ == "__main__":
    main()
