"""Tables of the reference pages, written from the settings' model and from the errors."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Iterator
from typing import Annotated, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from devclaw_py import errors
from devclaw_py.errors import DevClawError
from devclaw_py.model.settings import Price, Section, Settings

HEAD = """# Settings

All are optional. A value comes from its default, `devclaw.toml` in the workspace, the environment, or a flag of the
command; the last one that sets a key wins. `devclaw config` prints each value and where it came from. In the
environment a value is JSON or plain text. Times ending in `_s` are seconds, in `_min` minutes. An unknown section or
key, a wrong type and a file that is no TOML are `config_error` with file, line and key; nothing falls back silently.

`permission_mode`, `allow`, `claude_bin` and `env_file` are for `kind = "claude"`, `program` for `kind = "scripted"`;
docs/concepts/claude.md says how they are used.
"""

NAMES: dict[object, str] = {str: "text", int: "whole number", float: "number", Price: "table"}
COLUMNS = ("| key | values | default | meaning | environment |", "|---|---|---|---|---|")
ERROR_COLUMNS = ("| code | meaning | retryable | exit |", "|---|---|---|---|")


def settings_reference() -> str:
    """Return the page as markdown: a table for each section, one row a key."""
    return "\n".join([HEAD, *(_section(name, field) for name, field in Settings.model_fields.items())])


def errors_reference() -> str:
    """Return a markdown table of the error codes, in the order of errors.py: one row a code."""
    return "\n".join([*ERROR_COLUMNS, *(_error_row(code, kinds) for code, kinds in _by_code().items())])


def _section(name: str, field: FieldInfo) -> str:
    kind = field.annotation
    if not (isinstance(kind, type) and issubclass(kind, Section)):
        raise TypeError(f"{name} is no section")
    rows = [_row(name, key, found) for key, found in kind.model_fields.items()]
    return "\n".join([f"## [{name}]", "", kind.__doc__ or "", "", *COLUMNS, *rows, ""])


def _row(section: str, key: str, field: FieldInfo) -> str:
    default = json.dumps(field.get_default(call_default_factory=True), ensure_ascii=False)
    variable = f"DEVCLAW_{section.upper()}__{key.upper()}"
    return f"| `{key}` | {_values(field.annotation)} | `{default}` | {field.description} | `{variable}` |"


def _values(annotation: object) -> str:
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(annotation))
    if get_origin(annotation) is dict:
        _, value = get_args(annotation)
        return f"table of {_values(value)}s"
    if isinstance(annotation, types.GenericAlias):
        return "list of texts"
    if get_origin(annotation) is Annotated:
        return _values(get_args(annotation)[0])
    return NAMES.get(annotation, str(annotation))


def _by_code() -> dict[str, list[type[DevClawError]]]:
    found: dict[str, list[type[DevClawError]]] = {}
    for kind in _raised():
        found.setdefault(kind.code, []).append(kind)
    return found


def _raised() -> Iterator[type[DevClawError]]:
    """Yield the classes that stand for one code; a group's head has subclasses with other codes."""
    for kind in vars(errors).values():
        if inspect.isclass(kind) and issubclass(kind, DevClawError) and not _heads_a_group(kind):
            yield kind


def _heads_a_group(kind: type[DevClawError]) -> bool:
    return any(child.code != kind.code and child.__module__ == kind.__module__ for child in kind.__subclasses__())


def _error_row(code: str, kinds: list[type[DevClawError]]) -> str:
    meaning = " ".join(inspect.cleandoc(kind.__doc__ or "").partition("\n")[0] for kind in kinds).replace("``", "`")
    retryable = "yes" if kinds[0].retryable else "no"
    return f"| `{code}` | {meaning} | {retryable} | {kinds[0].exit_code} |"
