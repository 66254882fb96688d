"""Processes that run batches, and the files in which they record them."""

from __future__ import annotations

import json
import multiprocessing
import time
from pathlib import Path
from typing import Any

from tests.random_programs.batch import run_batch
from tests.random_programs.shrink import shrunk

BATCH = 16
LIFE = 250  # batches that a process runs, so that compiled functions do not fill the memory
PATIENCE = 300.0  # seconds that a batch may take


def work(folder: Path, shares: list[list[int]]) -> None:
    """Run each share of the batches in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    running: dict[int, Any] = {}
    while True:
        for job, share in enumerate(shares):
            process = running.get(job)
            if process is not None and process.is_alive():
                if time.time() - _beat(folder, job).stat().st_mtime < PATIENCE:
                    continue
                process.kill()
                process.join()
            if process is not None and process.exitcode != 0 and share:
                batch = int(_beat(folder, job).read_text())
                if batch in share:
                    _record(folder, job, {"batch": batch, "lost": process.exitcode})
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
        time.sleep(0.2)


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
    return [
        json.loads(line)
        for path in sorted(folder.glob(f"job{job}.jsonl"))
        for line in path.read_text().splitlines()
    ]
