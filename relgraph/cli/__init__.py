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
        text = json.dumps(answer.data, indent=1, default=str) if options.json else answer.text
        print(text, flush=True)
    except RelgraphError as error:
        print(f"relgraph: {error}", file=sys.stderr)
        return WRONG
    except BrokenPipeError:  # the reader, such as head, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0 if answer.positive else 1


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
