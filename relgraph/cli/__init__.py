"""The command line: ``relgraph COMMAND``, or ``python -m relgraph COMMAND``.

Exit codes: 0 for a positive answer, 1 for a negative one (a relation is refuted, or it does not
fire), 2 for arguments that are wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from relgraph.cli.commands import COMMANDS, Answer
from relgraph.errors import RelgraphError
from relgraph.viz.display import Displayed, has_colour
from relgraph.viz.document import text

WRONG = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, print its answer, and return the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line, by default of this process.

    Returns
    -------
    int
        0, 1 or 2, as above.
    """
    options = _parser().parse_args(arguments)
    try:
        answer: Answer = options.run(options)
        print(_data(answer) if options.json else _text(answer), flush=True)
    except RelgraphError as error:
        print(f"relgraph: {error}", file=sys.stderr)
        return WRONG
    except BrokenPipeError:  # the reader, such as head, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0 if answer.positive else 1


def _data(answer: Answer) -> str:
    return json.dumps(answer.data, indent=1, default=str)


def _text(answer: Answer) -> str:
    """Return an answer as text, with colours on a terminal that has them."""
    if isinstance(answer.text, Displayed) and has_colour():
        return text(answer.text._document(), colour=True)
    return str(answer.text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="relgraph",
        description="Rewrite tensor expressions by algebraic identities, and ask what happened.",
        epilog="Exit codes: 0 yes, 1 no (refuted, does not fire), 2 wrong arguments.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        one = commands.add_parser(command.name, help=command.help, description=command.help)
        command.declare(one)
        one.add_argument("--json", action="store_true", help="print the answer as JSON")
        one.set_defaults(run=command.run)
    return parser


__all__ = ["main"]
