"""docs/reference says what the code says."""

from __future__ import annotations

import inspect

import pytest

from devclaw_py import errors
from devclaw_py.rules.reference import errors_reference
from tests.docs.generate import COMMAND, PAGES, ROOT


@pytest.mark.parametrize("path", PAGES)
def test_a_reference_page_is_what_the_code_says(path: str) -> None:
    found = (ROOT / path).read_text(encoding="utf-8")
    assert found == PAGES[path](), f"{path} is out of date; write it again with: {COMMAND}"


def test_every_error_code_has_one_row() -> None:
    rows = [line.split("`")[1] for line in errors_reference().splitlines() if "`" in line]
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    codes = {kind.code for kind in kinds if issubclass(kind, errors.DevClawError)}
    assert sorted(rows) == sorted(codes)
