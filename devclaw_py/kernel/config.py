"""The workspace and its settings: where they come from, and a refusal that names the place of every mistake.

Default, then the models of OpenClaw's plugin config, then devclaw.toml, then the environment, then flags; the last one
that sets a key wins, and each layer is checked for itself.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from devclaw_py.errors import ConfigError
from devclaw_py.model.settings import Section, Settings

FILE = "devclaw.toml"
PREFIX = "DEVCLAW_"
WORKSPACE_VARIABLE = "DEVCLAW_WORKSPACE"
PLUGIN = "openclaw plugin config"
PLUGIN_FILE = Path("memory", "openclaw.json")
REGISTRY = Path("memory", "projects.json")

SECTIONS: dict[str, type[Section]] = {
    name: kind
    for name, found in Settings.model_fields.items()
    if isinstance(kind := found.annotation, type) and issubclass(kind, Section)
}


@dataclass(frozen=True)
class Loaded:
    """The settings in force. ``origin`` maps ``section.key`` to where its value came from, for every key."""

    settings: Settings
    origin: Mapping[str, str]


@dataclass(frozen=True)
class _Given:
    """One value that somebody set. ``readings`` are tried in turn; ``label`` goes into the origin."""

    section: str
    key: str
    readings: Sequence[object]
    label: str
    where: str


@dataclass
class _Merged:
    values: dict[str, dict[str, object]] = field(default_factory=lambda: {section: {} for section in SECTIONS})
    origin: dict[str, str] = field(
        default_factory=lambda: {
            f"{name}.{key}": "default" for name, kind in SECTIONS.items() for key in kind.model_fields
        }
    )


def find_workspace(flag: str | Path | None, environ: Mapping[str, str], cwd: Path) -> Path:
    """Return the workspace's absolute path; it need not exist.

    The flag, else ``$DEVCLAW_WORKSPACE``, else the nearest folder at or above ``cwd`` that holds
    memory/projects.json, else ``~/.devclaw``.

    Raises:
        ConfigError: the flag is blank, or a file stands where the workspace should be.
    """
    if flag is not None and not str(flag).strip():
        raise ConfigError("--workspace is blank; name a folder or leave it out")
    named = str(flag) if flag is not None else environ.get(WORKSPACE_VARIABLE, "")
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()

    if named:
        found = cwd / (home / named[2:] if named == "~" or named.startswith("~/") else named)
    else:
        # os.path, because a folder above that may not be looked into is not ours, and Path.is_file raises there.
        above = (folder for folder in (cwd, *cwd.parents) if os.path.isfile(folder / REGISTRY))
        found = next(above, home / ".devclaw")

    if found.exists() and not found.is_dir():
        raise ConfigError(f"the workspace {found} is not a folder; name another with --workspace")
    return found.resolve()


def socket_name(workspace: Path, configured: str = "") -> str:
    """Return the tmux socket's name: as configured, else ``devclaw-`` and 8 hex of the real path's sha256."""
    return configured or f"devclaw-{hashlib.sha256(str(workspace.resolve()).encode()).hexdigest()[:8]}"


def load(
    workspace: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
    *,
    plugin_models: Mapping[str, object] | None = None,
) -> Loaded:
    """Return the settings of a workspace.

    ``flags`` maps ``section.key`` to a value, None for one that was not given; ``plugin_models`` are the models in
    OpenClaw's plugin config, by tier, left out: as the plugin last wrote them down in memory/openclaw.json.

    Raises:
        ConfigError: an unknown key, a wrong value, a file that is no TOML; names the place and the key.
    """
    merged = _Merged()
    plugin = _plugin_file(workspace / PLUGIN_FILE) if plugin_models is None else _plugin_models(plugin_models)
    for layer in (plugin, _toml(workspace / FILE), _environment(environ), _flags(flags or {})):
        for given in layer:
            merged.values[given.section][given.key] = _checked(given)
            merged.origin[f"{given.section}.{given.key}"] = given.label

    sections = {name: SECTIONS[name].model_validate(values) for name, values in merged.values.items()}
    return Loaded(Settings.model_validate(sections), merged.origin)


def _plugin_models(models: Mapping[str, object]) -> Iterator[_Given]:
    for tier, model in models.items():
        _known("models", tier, PLUGIN)
        yield _Given("models", tier, [model], PLUGIN, PLUGIN)


def _plugin_file(path: Path) -> Iterator[_Given]:
    """Read what the gateway's plugin is configured with: a worker's report is no child of the gateway."""
    try:
        found = json.loads(_read(path) or "{}")
        models, kind = found.get("models", {}), found.get("notify")
        yield from _plugin_models(models)
    except (ValueError, AttributeError) as error:
        raise ConfigError(f"{path} is not as the gateway's plugin writes it: {error}", hint="remove it") from error
    if kind is not None:
        yield _Given("notify", "kind", [kind], PLUGIN, PLUGIN)


def _toml(path: Path) -> Iterator[_Given]:
    text = _read(path)
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        raise ConfigError(f"{path}:{found[1] if found else _last(text)}: not TOML: {error}") from error

    lines = _lines(text)
    for section, table in tables.items():
        _known(section, None, f"{path}:{lines.get(section, 1)}")
        if not isinstance(table, dict):
            raise ConfigError(
                f"{path}:{lines.get(section, 1)}: {section} is a section; write [{section}] and its keys below"
            )
        for key, value in table.items():
            line = lines.get(f"{section}.{key}", lines.get(section, 1))
            _known(section, key, f"{path}:{line}")
            yield _Given(section, key, [value], f"{FILE}:{line}", f"{path}:{line}")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        if path.is_symlink():
            raise ConfigError(f"{path} is a link to a file that does not exist") from None
        return ""
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}:{line}: not UTF-8") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error


def _last(text: str) -> int:
    return max(1, len(text.rstrip().splitlines()))


def _lines(text: str) -> dict[str, int]:
    """Map ``section`` and ``section.key`` to the line that sets it; an inline table's keys stand on its line."""
    found: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"""\s*\[\s*([\w"'.\s-]+?)\s*\]""", line):
            section = _bare(header[1])
            # [budget.prices.x] sets `budget.prices`, and that sets something in [budget].
            parts = section.split(".")
            for deep in range(1, len(parts) + 1):
                found.setdefault(".".join(parts[:deep]), number)
        elif entry := re.match(r"""\s*([\w"'-]+(?:\s*\.\s*[\w"'-]+)*)\s*=""", line):
            name = _bare(f"{section}.{entry[1]}" if section else entry[1])
            found.setdefault(name, number)
            found.setdefault(name.split(".")[0], number)
    return found


def _bare(name: str) -> str:
    return re.sub(r"""["'\s]""", "", name)


def _environment(environ: Mapping[str, str]) -> Iterator[_Given]:
    for name in sorted(environ):
        if not name.startswith(PREFIX) or "__" not in name:
            continue
        section, _, key = name.removeprefix(PREFIX).lower().partition("__")
        _known(section, None, f"environment {name}")
        _known(section, key, f"environment {name}")
        yield _Given(section, key, _readings(environ[name]), f"environment {name}", f"environment {name}")


def _flags(flags: Mapping[str, object]) -> Iterator[_Given]:
    for name, value in flags.items():
        section, _, key = name.partition(".")
        _known(section, None, f"flag {name}")
        _known(section, key, f"flag {name}")
        if value is not None:
            yield _Given(section, key, _readings(value) if isinstance(value, str) else [value], "flag", f"flag {name}")


def _readings(text: str) -> Sequence[object]:
    try:
        return [json.loads(text), text]
    except ValueError:
        return [text]


def _known(section: str, key: str | None, where: str) -> None:
    kind = SECTIONS.get(section)
    if kind is None:
        raise ConfigError(f"{where}: unknown section {section}; {_nearest(section, SECTIONS)}")
    if key is not None and key not in kind.model_fields:
        raise ConfigError(f"{where}: unknown key {section}.{key}; {_nearest(key, kind.model_fields)}")


def _nearest(word: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"


def _checked(given: _Given) -> object:
    refusals = []
    for reading in given.readings:
        try:
            # JSON, because its strict form takes an array for a tuple and still no text for a number.
            document = json.dumps({given.key: reading}, default=_foreign)
            checked = SECTIONS[given.section].model_validate_json(document, strict=True)
        except ValidationError as error:
            refusals.append(_complaint(error))
        else:
            value: object = getattr(checked, given.key)
            return value
    shown = repr(given.readings[-1])[:100]
    raise ConfigError(f"{given.where}: {given.section}.{given.key} = {shown}: {refusals[0]}")


def _foreign(value: object) -> object:
    """Stand in for what TOML has and JSON has not (dates, Python's own values): an object, which no setting is."""
    return str(value) if isinstance(value, Path) else {type(value).__name__: str(value)}


def _complaint(error: ValidationError) -> str:
    return "; ".join(dict.fromkeys(problem["msg"].replace("Input should", "it should") for problem in error.errors()))
