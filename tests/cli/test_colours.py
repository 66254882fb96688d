"""Colours of the command line: on a terminal only."""

import subprocess
import sys

import pytest

from tests.terminal import on_a_terminal

ESCAPE = "\x1b["
COMMAND = ("-m", "relgraph", "why-not", "log(x * y)", "log_multiply_expo", "-i", "x,y:f8[n]")


def test_a_terminal_has_colours():
    shown = on_a_terminal(*COMMAND)
    assert f"{ESCAPE}31mlog_multiply_expo does not fire" in shown


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_turned_off(environment):
    shown = on_a_terminal(*COMMAND, **environment)
    assert "log_multiply_expo does not fire" in shown
    assert ESCAPE not in shown


def test_json_and_pipes_have_none():
    shown = on_a_terminal(*COMMAND, "--json")
    assert '"fires": false' in shown
    assert ESCAPE not in shown
    piped = subprocess.run([sys.executable, *COMMAND], capture_output=True, text=True, check=False)
    assert "log_multiply_expo does not fire" in piped.stdout
    assert ESCAPE not in piped.stdout
