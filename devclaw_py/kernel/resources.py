"""Texts that ship with the package: role instructions and the orchestrator's pages."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from devclaw_py.errors import ConfigError
from devclaw_py.kernel.files import writing
from devclaw_py.model.pipeline import Role

WORKSPACE_TEXTS = ("AGENTS.md", "HEARTBEAT.md")


def role_text(role: Role) -> str:
    """Return the default instructions of a role, as they stand in roles/default of a new workspace."""
    return read(_package(), f"_roles/default/{role}.md", f"../roles/default/{role}.md")


def workspace_text(name: str) -> str:
    """Return one of `WORKSPACE_TEXTS` as devclaw_setup writes it.

    Raises:
        KeyError: no such text ships with the package.
    """
    if name not in WORKSPACE_TEXTS:
        raise KeyError(name)
    return read(_package(), f"texts/{name}")


def read(package: Traversable, *places: str) -> str:
    """Return the first of ``places``, relative to the package: where a wheel has it, then where a checkout has it.

    Raises:
        ConfigError: it is at none of them, or cannot be read.
    """
    for place in places:
        found = package.parent / place[3:] if place.startswith("../") and isinstance(package, Path) else package / place
        if found.is_file():
            with writing(Path(str(found)), "read"):
                return found.read_text(encoding="utf-8")
    raise ConfigError(f"this installation of devclaw lacks {places[0]}; install it again")


def _package() -> Traversable:
    return files("devclaw_py")
