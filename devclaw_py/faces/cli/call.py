"""``devclaw call TOOL [JSON | -]``: one JSON object in, one JSON object out, the exit code by the error's code."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from devclaw_py import catalogue, errors
from devclaw_py.errors import DevClawError, InvalidArguments
from devclaw_py.faces.opening import filled_in, open_workspace, who_calls
from devclaw_py.model.caller import CallerKind
from devclaw_py.operations.ending import failure


def run(argv: Sequence[str]) -> int:
    """Call one tool and print its answer."""
    parser = argparse.ArgumentParser("devclaw call", description="Call one tool; prints exactly one JSON object.")
    parser.add_argument("tool")
    parser.add_argument("arguments", nargs="?", default="{}", metavar="JSON", help="an object; - reads standard input")
    parser.add_argument("--workspace", metavar="DIR")
    options = parser.parse_args(argv)
    try:
        arguments = _read(options.arguments)
        app = open_workspace(options.workspace, os.environ)
        caller = who_calls(app, os.environ)
        if caller.kind is CallerKind.WORKER:
            arguments = filled_in(options.tool, arguments, os.environ)
        answer = catalogue.call(app, options.tool, arguments, caller)
    except DevClawError as error:
        answer = failure(error)
    print(json.dumps(answer, ensure_ascii=False, default=str))
    return exit_code(answer)


def _read(text: str) -> dict[str, Any]:
    source = sys.stdin.read() if text == "-" else text
    try:
        found = json.loads(source)
    except ValueError as error:
        raise InvalidArguments(
            f"the arguments are no JSON: {error}", hint="""write an object, such as '{"issueId": 42}'"""
        ) from None
    if not isinstance(found, dict):
        raise InvalidArguments(f"the arguments must be one JSON object, not {type(found).__name__}")
    return found


def exit_code(answer: dict[str, Any]) -> int:
    """Return 0 for a success, else what the table of error codes says."""
    if answer["success"]:
        return 0
    return _EXITS.get(answer["error"]["code"], 1)


def _all(kind: type[DevClawError]) -> list[type[DevClawError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in _all(child))]


_EXITS = {kind.code: kind.exit_code for kind in _all(errors.DevClawError)}
