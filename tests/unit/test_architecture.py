"""Imports point down, foreign packages stay behind their fences, modules fit on a few screens."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "devclaw_py"
MODULES = sorted(PACKAGE.rglob("*.py"))

# A module may import from its own layer's folder and from layers further down; folders of one layer do not import
# each other.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors"}),
    frozenset({"model"}),
    frozenset({"rules"}),
    frozenset({"kernel"}),
    frozenset({"state", "work", "trackers", "terminals"}),
    frozenset({"agents", "chat"}),
    frozenset({"app"}),
    frozenset({"operations"}),
    frozenset({"tools"}),
    frozenset({"catalogue"}),
    frozenset({"night", "demo"}),
    frozenset({"faces"}),
    frozenset({"__main__"}),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

FENCES = {
    "libtmux": {"terminals/tmux.py"},
    "sqlite3": {"state/"},
    "subprocess": {"kernel/proc.py"},
    "typer": {"faces/cli/"},
    "rich": {"faces/cli/"},
    "fcntl": {"kernel/"},
    "psutil": {"terminals/", "agents/", "work/", "kernel/"},
    "yaml": {"trackers/"},
    "github": {"trackers/github/connection.py"},
    "jwt": {"trackers/github/connection.py"},
    "gitlab": {"trackers/gitlab/connection.py"},
    "urllib3": {"trackers/github/connection.py", "trackers/gitlab/connection.py"},
    "requests": {"trackers/github/connection.py", "trackers/gitlab/connection.py"},
    "mcp": {"faces/mcp/"},
    "mcp_types": {"faces/mcp/"},
    "anyio": {"faces/mcp/"},
    "starlette": {"faces/mcp/"},
    "uvicorn": {"faces/mcp/"},
    "tomlkit": {"operations/setup_steps.py", "demo/prepare.py"},
}

MAX_LINES = 300


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a module imports, wherever it does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    here = layer(path)
    if here == "__init__":
        return
    ours = [name.split(".")[1] for name in imported(ast.parse(path.read_text())) if name.startswith("devclaw_py.")]
    upward = [name for name in ours if name in RANK and name != here and RANK[name] >= RANK[here]]
    assert upward == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_foreign_packages_stay_behind_their_fences(path: Path) -> None:
    name = str(path.relative_to(PACKAGE))
    tops = {found.split(".")[0] for found in imported(ast.parse(path.read_text()))}
    outside = [top for top in tops & FENCES.keys() if not name.startswith(tuple(FENCES[top]))]
    assert outside == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_has_at_most_300_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_environment_is_not_read_at_import(path: Path) -> None:
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert "os.environ" not in ast.unparse(node)


def test_every_folder_has_its_layer() -> None:
    assert {layer(path) for path in MODULES} - {"__init__"} <= RANK.keys()


def test_the_suite_runs_on_a_supported_python() -> None:
    assert sys.version_info >= (3, 11)
