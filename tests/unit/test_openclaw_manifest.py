"""The plugin's folder follows the catalogue."""

from __future__ import annotations

import json

import pytest

from devclaw_py import catalogue
from devclaw_py.faces.openclaw import manifest
from devclaw_py.faces.openclaw.child import PROTOCOL


@pytest.mark.parametrize("name", manifest.FILES)
def test_the_plugins_files_follow_the_catalogue(name: str) -> None:
    written = (manifest.FOLDER / name).read_text(encoding="utf-8")

    assert written == manifest.text(name), "run python -m devclaw_py.faces.openclaw.manifest"


def test_every_tool_is_declared_and_registered() -> None:
    declared = manifest.manifest()["contracts"]["tools"]

    assert declared == [tool["name"] for tool in manifest.tools()] == list(catalogue.TOOLS)


def test_a_schema_holds_no_reference() -> None:
    assert "$ref" not in json.dumps(manifest.tools())


def test_everything_that_is_packed_exists() -> None:
    assert all((manifest.FOLDER / name).is_file() for name in manifest.package()["files"])


def test_plugin_and_child_speak_the_same_protocol() -> None:
    bridge = (manifest.FOLDER / "bridge.js").read_text(encoding="utf-8")

    assert f"export const PROTOCOL = {PROTOCOL};" in bridge
