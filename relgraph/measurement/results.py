"""What a benchmark found: a table, a verdict, a plot, and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from relgraph.errors import MissingPackageError
from relgraph.ir.records import record
from relgraph.measurement.windows import Ratio
from relgraph.viz.display import Displayed
from relgraph.viz.document import Element, Heading, Note, Table, text

SMALL = 0.03  # a difference that counts as none
NOISY = 0.25  # the width of an interval that tells nothing
LEAST = 3  # rounds for a median
WRITTEN, REWRITTEN = "as written", "rewritten"


@record
class Measured:
    """One row of a benchmark.

    Attributes
    ----------
    name : str
        "as written", "rewritten", a step of a derivation, or a peer.
    seconds, spread : float
        The median of the time of a call, and half of the distance between the quartiles.
    speedup : Ratio
        The time as written over this one, the median over the rounds, with its noise.
    first_call : float
        The seconds until the first result, with rewriting and compiling.
    rounds, disturbed : int
        How many windows were measured, and how many of them other processes disturbed.
    flops, bytes, kernels, library_calls : int or None
        As :func:`relgraph.cost` counts them; None for a peer.
    ulps, bound : float or None
        The largest difference from the results as written, and the largest that rounding in both
        programs explains, in units in the last place of the largest element; None where no bound is
        known.  Other differences than of floats do not count.
    within : bool
        Whether every difference is within its bound, or no bound is known.
    """

    name: str
    seconds: float
    spread: float
    speedup: Ratio
    first_call: float
    rounds: int
    disturbed: int
    flops: int | None = None
    bytes: int | None = None
    kernels: int | None = None
    library_calls: int | None = None
    ulps: float | None = None
    bound: float | None = None
    within: bool = True

    @property
    def verdict(self) -> str:
        """ "faster", "slower", "equal", or "too noisy to tell"."""
        value, noise = self.speedup
        low, high = value - 2 * noise, value + 2 * noise
        if self.rounds < LEAST or not math.isfinite(noise):
            return "too noisy to tell"
        if low > 1 + SMALL:
            return "faster"
        if high < 1 - SMALL:
            return "slower"
        return "too noisy to tell" if high - low > NOISY else "equal"


@record
class Point:
    """The rows of a benchmark for one size.

    Attributes
    ----------
    sizes : dict of str and int
        The sizes.
    rows : tuple of Measured
        The graph as written, rewritten, then the steps and the peers.
    """

    sizes: Mapping[str, int]
    rows: tuple[Measured, ...]

    def __getitem__(self, name: str) -> Measured:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)


@record
class Benchmark(Displayed):
    """What :func:`relgraph.benchmark` found.

    Attributes
    ----------
    points : tuple of Point
        One for each size.
    changed : bool
        Whether rewriting changed the graph.
    left_out : dict of str and str
        The peers that did not run, each with the reason.
    budget, seconds : float
        The time that was given, and the time that it took.
    """

    points: tuple[Point, ...]
    changed: bool
    left_out: Mapping[str, str]
    budget: float
    seconds: float

    @property
    def rows(self) -> tuple[Measured, ...]:
        """The rows for the last size."""
        return self.points[-1].rows

    def __getitem__(self, name: str) -> Measured:
        """Return the row of that name for the last size."""
        return self.points[-1][name]

    @property
    def ratio(self) -> float:
        """How many times as fast as written the rewritten graph is, for the last size."""
        return self[REWRITTEN].speedup.value if self.changed else 1.0

    @property
    def crossover(self) -> tuple[float, ...]:
        """The sizes at which the faster of the two forms changes, between those measured.

        Empty for a single size, or if one of them is the faster throughout.
        """
        if not self.changed or len(self.points) < 2:
            return ()
        name = self.varied
        found = []
        for one, two in zip(self.points, self.points[1:], strict=False):
            a, b = (math.log(x[REWRITTEN].speedup.value) for x in (one, two))
            kinds = {x[REWRITTEN].verdict for x in (one, two)}
            if a * b < 0 and kinds == {"faster", "slower"}:
                m, n = (math.log(x.sizes[name]) for x in (one, two))
                found.append(math.exp(m + (n - m) * a / (a - b)))
        return tuple(found)

    @property
    def varied(self) -> str:
        """The name of the size that varies; "" for none."""
        return next(
            (x for x in self.points[0].sizes if len({p.sizes[x] for p in self.points}) > 1), ""
        )

    @property
    def verdict(self) -> str:
        """What rewriting gains, in a sentence."""
        if not self.changed:
            return "Rewriting gains nothing here: it leaves the graph as written."
        row = self[REWRITTEN]
        value, noise = row.speedup
        if row.rounds < LEAST:
            return (
                "The budget ended before the times could be compared: give more than "
                f"budget={self.budget:g}."
            )
        if row.verdict == "too noisy to tell":
            return "The machine was too noisy to tell whether rewriting gains anything."
        if row.verdict == "equal":
            return f"Rewriting gains nothing here: the ratio is {value:.2f} +- {2 * noise:.2f}."
        times = value if row.verdict == "faster" else 1 / value
        return f"The rewritten graph is {times:.3g} times as {_ADVERB[row.verdict]} as written."

    def __str__(self) -> str:
        return text(self._document())

    __repr__ = __str__

    def _document(self) -> list[Element]:
        elements: list[Element] = []
        for point in self.points:
            heads, *rows = _kept([_HEAD, *map(_cells, point.rows)])
            sizes = ", ".join(f"{k} = {v}" for k, v in point.sizes.items())
            elements += [Note(sizes)] if sizes else []
            elements.append(Table(heads, tuple(rows), frozenset(range(1, len(heads)))))
        verdict, *rest = self._remarks()
        tone = "good" if self.changed and self[REWRITTEN].verdict == "faster" else ""
        return [*elements, Heading(verdict, tone), *map(Note, rest)]

    def _remarks(self) -> Iterator[str]:
        several = len(self.points) > 1
        name = self.varied
        yield (
            self.verdict
            if not several
            else f"For {name} = {self.points[-1].sizes[name]}: "
            + (self.verdict[0].lower() + self.verdict[1:])
        )
        for size in self.crossover:
            yield f"The faster form changes near {name} = {size:.3g}."
        for row in self.rows:
            if not row.within:
                yield f"{row.name}: a result differs by more than rounding explains."
        for peer, reason in self.left_out.items():
            yield f"{peer} is left out: {reason}"
        disturbed = sum(x.disturbed for p in self.points for x in p.rows)
        if disturbed:
            total = sum(x.rounds for p in self.points for x in p.rows)
            yield f"Other processes disturbed {disturbed} of {total} windows."

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the benchmark as JSON, and write it to a file if a path is given.

        Parameters
        ----------
        path : str or path, optional
            The file.

        Returns
        -------
        str
            An object with the fields of this class and the verdict; times are in seconds.
        """
        data = {
            "verdict": self.verdict,
            "ratio": self.ratio,
            "changed": self.changed,
            "budget": self.budget,
            "seconds": self.seconds,
            "left_out": dict(self.left_out),
            "crossover": list(self.crossover),
            "points": [
                {"sizes": dict(p.sizes), "rows": [_fields(x) for x in p.rows]} for p in self.points
            ],
        }
        written = json.dumps(data, indent=1, allow_nan=False)
        if path is not None:
            Path(path).write_text(written + "\n", encoding="utf-8")
        return written

    def plot(self, ax: Any = None) -> Any:
        """Plot the times: bars for one size, curves over several.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to plot; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes.

        Raises
        ------
        MissingPackageError
            Without matplotlib.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise MissingPackageError(
                "plots need matplotlib", fix="Install it: pip install 'relgraph[plot]'."
            ) from error
        axes = Figure(layout="constrained").subplots() if ax is None else ax
        names = [x.name for x in self.rows]
        if len(self.points) == 1:
            times = [1e3 * x.seconds for x in self.rows]
            axes.barh(names, times, xerr=[1e3 * _finite(x.spread) for x in self.rows])
            axes.invert_yaxis()
            axes.set_xlabel("ms a call")
            return axes
        for name in names:
            points = [p for p in self.points if any(x.name == name for x in p.rows)]
            sizes = [p.sizes[self.varied] for p in points]
            axes.plot(sizes, [1e3 * p[name].seconds for p in points], marker="o", label=name)
        for size in self.crossover:
            axes.axvline(size, linestyle=":", color="grey")
        axes.set(xscale="log", yscale="log", xlabel=self.varied, ylabel="ms a call")
        axes.legend()
        return axes


_ADVERB = {"faster": "fast", "slower": "slow"}
_HEAD = (
    "",
    "a call",
    "+-",
    "times as fast",
    "first call",
    "flops",
    "bytes",
    "kernels",
    "calls",
    "ULP",
)


def _cells(row: Measured) -> tuple[str, ...]:
    """Return the texts of a row."""
    ratio = f"{row.speedup.value:.2f}" + ("" if row.verdict != "too noisy to tell" else " ?")
    ulps = "" if row.ulps is None else f"{row.ulps:.3g}"
    if row.bound is not None:
        ulps += f" of {row.bound:.3g}"
    counts = (row.flops, row.bytes, row.kernels, row.library_calls)
    return (
        row.name,
        time_text(row.seconds),
        time_text(row.spread, 1) if math.isfinite(row.spread) else "?",
        ratio,
        time_text(row.first_call, 2),
        *("" if x is None else f"{x:,}" for x in counts),
        ulps,
    )


def time_text(seconds: float, digits: int = 3) -> str:
    """Return a time with its unit, rounded to some digits.

    Parameters
    ----------
    seconds : float
        The time.
    digits : int
        How many digits to keep.

    Returns
    -------
    str
        Such as "12.3 ms".
    """
    units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
    unit = next((x for x, scale in units.items() if seconds >= scale), "ns")
    number = float(f"{seconds / units[unit]:.{digits - 1}e}")
    return f"{number:g} {unit}"


def _kept(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return rows without the columns that are empty below the head."""
    kept = [i for i in range(len(rows[0])) if any(row[i] for row in rows[1:])]
    return [tuple([row[i] for i in kept]) for row in rows]


def _fields(row: Measured) -> dict[str, Any]:
    """Return a row for JSON, without what is not finite."""
    data = {name: getattr(row, name) for name in Measured.__annotations__}
    data["speedup"], data["noise"] = row.speedup
    data["verdict"] = row.verdict
    return {
        k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in data.items()
    }


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


__all__ = ["Benchmark", "Measured", "Point"]
