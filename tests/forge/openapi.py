"""GitHub's published OpenAPI description, and what a request does that it does not describe."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jsonschema import Draft202012Validator

ROOT = re.compile(r"^/api/v3(?=/)")
# A repository by its number is in no description; GitHub redirects there from the old name of one that was renamed.
BY_NUMBER = re.compile(r"^/repositories/\d+(?=/|$)")
VARIABLE = re.compile(r"\\\{[^/]+?\\\}")


class Description:
    """The description in ``file``."""

    def __init__(self, file: Path) -> None:
        self._whole: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        self._paths = {path: re.compile(VARIABLE.sub("[^/]+", re.escape(path))) for path in self._whole["paths"]}

    def path_of(self, target: str) -> str | None:
        """Return the described path that a request's is one of; one with fewer variables before others."""
        path = BY_NUMBER.sub("/repos/acme/shop", ROOT.sub("", urlsplit(target).path))
        found = [known for known, pattern in self._paths.items() if pattern.fullmatch(path)]
        return min(found, key=lambda known: known.count("{"), default=None)

    def objections(self, line: str, body: bytes) -> list[str]:
        """Return what of a request, ``METHOD /path?query`` and its body, is not as described; empty when all is."""
        method, _, target = line.partition(" ")
        path = self.path_of(target)
        operation = self._whole["paths"].get(path, {}).get(method.lower())
        if operation is None:
            return [f"{line}: there is no such operation"]
        return [f"{line}: {what}" for what in (*self._query(operation, target), *self._body(operation, body))]

    def _query(self, operation: dict[str, Any], target: str) -> Iterator[str]:
        listed = [self._plain(parameter) for parameter in operation.get("parameters", ())]
        known = {parameter["name"]: parameter["schema"] for parameter in listed if parameter["in"] == "query"}
        asked = dict(parse_qsl(urlsplit(target).query, keep_blank_values=True, strict_parsing=bool("=" in target)))
        for name, text in asked.items():
            if name not in known:
                yield f"the query has {name}, which is not described"
                continue
            value = int(text) if known[name].get("type") == "integer" and text.isdecimal() else text
            yield from (f"{name}: {error}" for error in _errors(known[name], value))

    def _body(self, operation: dict[str, Any], body: bytes) -> Iterator[str]:
        described = self._plain(operation.get("requestBody", {}))
        if not body:
            if described.get("required"):
                yield "it has no body and needs one"
            return
        if not described:
            yield "it has a body and none is described"
            return
        schema, value = described["content"]["application/json"]["schema"], json.loads(body)
        yield from _errors(schema, value)
        if isinstance(value, dict) and "properties" in schema:
            yield from (f"the body has {name}, which is not described" for name in value.keys() - schema["properties"])

    def _plain(self, part: Any) -> Any:
        """Return a part of the description with its references followed, as JSON Schema has it."""
        if isinstance(part, list):
            return [self._plain(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            found: Any = self._whole
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            return self._plain(found)
        plain = {name: self._plain(value) for name, value in part.items() if name not in ("examples", "example")}
        if plain.pop("nullable", False) is True and isinstance(plain.get("type"), str):
            plain["type"] = [plain["type"], "null"]
        return plain


def _errors(schema: Any, value: object) -> Iterator[str]:
    return (error.message for error in Draft202012Validator(schema).iter_errors(value))
