"""``devclaw call TOOL [JSON | -]``: one JSON object in, one JSON object out, the exit code by the error's code."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from devclaw_py import catalogue, errors
from devclaw_py.app import App
from devclaw_py.errors import ConfigError, DevClawError, InvalidArguments
from devclaw_py.faces.cli.words import json_line, prepare_streams, told
from devclaw_py.faces.opening import filled_in, open_for_report, open_workspace, who_calls
from devclaw_py.model.caller import CallerKind
from devclaw_py.operations.ending import failure


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidArguments(f"devclaw call: {message}", hint="devclaw call TOOL [JSON | -] [--workspace DIR]")


def run(argv: Sequence[str]) -> int:
    """Call one tool and print its answer."""
    prepare_streams()
    try:
        options = _options(argv)
        arguments = _read(options.arguments)
        answer = ask(_open(options), options.tool, arguments)
    except (DevClawError, OSError) as error:
        answer = failure(told(error))
    print(json_line(answer))
    return exit_code(answer)


def _open(options: argparse.Namespace) -> App:
    try:
        return open_workspace(options.workspace, os.environ)
    except ConfigError as broken:
        if options.tool != "task_complete" or "DEVCLAW_TOKEN_FILE" not in os.environ:
            raise
        return open_for_report(options.workspace, os.environ, broken)


def ask(app: App, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call one tool as whoever runs this process, and return its answer.

    Raises:
        NotAllowed: who calls cannot be told.
    """
    caller = who_calls(app, os.environ)
    if caller.kind is CallerKind.WORKER:
        arguments = filled_in(tool, arguments, os.environ, caller)
    return catalogue.call(app, tool, arguments, caller)


def exit_code(answer: Mapping[str, Any]) -> int:
    """Return 0 for a success, else what the table of error codes says."""
    if answer["success"]:
        return 0
    return _EXITS.get(answer["error"]["code"], 1)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser("devclaw call", description="Call one tool; prints exactly one JSON object.", allow_abbrev=False)
    parser.add_argument("tool")
    parser.add_argument("arguments", nargs="?", default="{}", metavar="JSON", help="an object; - reads standard input")
    parser.add_argument("--workspace", metavar="DIR")
    return parser.parse_args(argv)


def _read(text: str) -> dict[str, Any]:
    try:
        found = json.loads(sys.stdin.read() if text == "-" else text)
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(
            f"the arguments are no JSON: {error}", hint="""write an object, such as '{"issueId": 42}'"""
        ) from None
    if not isinstance(found, dict):
        raise InvalidArguments(f"the arguments must be one JSON object, not {type(found).__name__}")
    return found


def _all(kind: type[DevClawError]) -> list[type[DevClawError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in _all(child))]


_EXITS = {kind.code: kind.exit_code for kind in _all(errors.DevClawError)}
