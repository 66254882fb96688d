"""Programs as users write them in NumPy, by theme, each with its forms for the peers.

The NumPy functions of NPBench's programs are those that ``tests/numerical_programs`` traces.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from corpus_programs import (
    finance,
    image,
    machine_learning,
    npbench_data,
    npbench_linear_algebra,
    npbench_stencils,
    physics,
    signal,
    statistics,
)
from corpus_programs.program import Program

NPBENCH = "NPBench"
THEMES: dict[str, list[Program]] = {
    NPBENCH: sorted(
        [*npbench_linear_algebra.PROGRAMS, *npbench_stencils.PROGRAMS, *npbench_data.PROGRAMS],
        key=lambda program: program.name,
    ),
    "images": image.PROGRAMS,
    "signals": signal.PROGRAMS,
    "finance": finance.PROGRAMS,
    "statistics": statistics.PROGRAMS,
    "physics": physics.PROGRAMS,
    "machine learning": machine_learning.PROGRAMS,
}
PROGRAMS = {program.name: program for programs in THEMES.values() for program in programs}
THEME_OF = {program.name: theme for theme, programs in THEMES.items() for program in programs}
