"""Processes that run batches, and the files in which they record them."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.random_programs.batch import run_batch
from tests.random_programs.shrink import shrunk

BATCH = 16
LIFE = 250  # batches that a process runs, so that compiled functions do not fill the memory
POLL = 0.2  # seconds
PATIENCE = 1500  # polls that a batch may last; a process that is stopped for a while polls nothing


def work(folder: Path, shares: list[list[int]]) -> None:
    """Run each share of the batches in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    running: dict[int, Any] = {}
    polls: Counter[tuple[int, str]] = Counter()
    while True:
        for job, share in enumerate(shares):
            process = running.get(job)
            at = _beat(folder, job).read_text() if process is not None else ""
            if process is not None and process.is_alive():
                polls[job, at] += 1
                if polls[job, at] < PATIENCE:
                    continue
                process.kill()
                process.join()
            if process is not None and process.exitcode != 0 and at in map(str, share):
                _record(folder, job, {"batch": int(at), "lost": process.exitcode})
            done = {line["batch"] for line in lines_of(folder, job)}
            share[:] = [batch for batch in share if batch not in done]
            running.pop(job, None)
            if share:
                _beat(folder, job).write_text(str(share[0]))
                process = spawn.Process(target=_run, args=(folder, job, share[:LIFE]))
                process.start()
                running[job] = process
        if not running:
            return
        time.sleep(POLL)


def _run(folder: Path, job: int, batches: list[int]) -> None:
    """Run batches, and record each."""
    for batch in batches:
        _beat(folder, job).write_text(str(batch))
        report = run_batch(batch, BATCH)
        line = {
            "batch": batch,
            "setting": str(report.setting),
            "outcomes": report.outcomes,
            "again": report.again,
            "seconds": round(report.seconds, 3),
            "failures": [shrunk(failure).reproducer() for failure in report.failures],
        }
        _record(folder, job, line)


def _beat(folder: Path, job: int) -> Path:
    return folder / f"job{job}.at"


def _record(folder: Path, job: int, line: dict[str, Any]) -> None:
    with (folder / f"job{job}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def lines_of(folder: Path, job: int | str = "*") -> list[dict[str, Any]]:
    """Return what is recorded; not the line that a process was ended in."""
    lines = []
    for path in sorted(folder.glob(f"job{job}.jsonl")):
        for line in path.read_text().splitlines():
            with suppress(json.JSONDecodeError):
                lines.append(json.loads(line))
    return lines
