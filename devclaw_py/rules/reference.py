"""The reference page of the settings, written from their model."""

from __future__ import annotations

import json
import types
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from devclaw_py.model.settings import Section, Settings

HEAD = """# Settings

All are optional. A value comes from its default, the models in OpenClaw's plugin config, `devclaw.toml` in the
workspace, the environment, or a flag; the last one that sets a key wins. `devclaw config` prints each value and where
it came from. In the environment a value is JSON or plain text. Times ending in `_s` are seconds, in `_min` minutes.
"""

NAMES: dict[object, str] = {str: "text", int: "whole number", float: "number"}
COLUMNS = ("| key | values | default | meaning | environment |", "|---|---|---|---|---|")


def settings_reference() -> str:
    """Return the page as markdown: a table for each section, one row a key."""
    return "\n".join([HEAD, *(_section(name, field) for name, field in Settings.model_fields.items())])


def _section(name: str, field: FieldInfo) -> str:
    kind = field.annotation
    if not (isinstance(kind, type) and issubclass(kind, Section)):
        raise TypeError(f"{name} is no section")
    rows = [_row(name, key, found) for key, found in kind.model_fields.items()]
    return "\n".join([f"## [{name}]", "", kind.__doc__ or "", "", *COLUMNS, *rows, ""])


def _row(section: str, key: str, field: FieldInfo) -> str:
    default = json.dumps(field.default, ensure_ascii=False)
    variable = f"DEVCLAW_{section.upper()}__{key.upper()}"
    return f"| `{key}` | {_values(field.annotation)} | `{default}` | {field.description} | `{variable}` |"


def _values(annotation: object) -> str:
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(annotation))
    if isinstance(annotation, types.GenericAlias):
        return "list of texts"
    return NAMES.get(annotation, str(annotation))
