"""A tool's arguments as JSON Schema, in the form that models are given: no references, no titles."""

from __future__ import annotations

from typing import Any

from devclaw_py.rules.arguments import HIGHEST
from devclaw_py.tools.base import Tool


def parameters(tool: Tool) -> dict[str, Any]:
    """Return the schema of all of a tool's arguments."""
    schema = tool.args.model_json_schema(by_alias=True)
    shapes = schema.get("$defs", {})
    return {
        "type": "object",
        "properties": {name: _resolved(plain(shape, shapes), shapes) for name, shape in schema["properties"].items()},
        "required": list(schema.get("required", ())),
        "additionalProperties": False,
    }


def _resolved(found: Any, shapes: dict[str, Any]) -> Any:  # noqa: ANN401 - a piece of JSON
    """Return a piece of schema with every reference inside replaced by what it means."""
    if isinstance(found, list):
        return [_resolved(part, shapes) for part in found]
    if not isinstance(found, dict):
        return found
    if "$ref" in found:
        referred = shapes[found["$ref"].rpartition("/")[2]]
        return {key: value for key, value in referred.items() if key in ("type", "enum")}
    return {key: _resolved(value, shapes) for key, value in found.items()}


def plain(shape: dict[str, Any], shapes: dict[str, Any]) -> dict[str, Any]:
    """Return a property's schema without references, titles, and the null that stands for "left out"."""
    found = {key: value for key, value in shape.items() if key not in ("title", "anyOf", "$ref", "default")}
    for part in (shape, *shape.get("anyOf", ())):
        if "$ref" in part:
            referred = shapes[part["$ref"].rpartition("/")[2]]
            found |= {key: value for key, value in referred.items() if key in ("type", "enum")}
        elif part is not shape and part.get("type") != "null":
            found |= part
    # pydantic's own words, which it leaves standing behind a validator. The highest number that the journal holds is
    # beyond what a JavaScript client can say, and goes without saying.
    for word, meaning in (("gt", "exclusiveMinimum"), ("le", "maximum")):
        if word in found:
            found[meaning] = found.pop(word)
    if found.get("maximum") == HIGHEST:
        del found["maximum"]
    return found
