from __future__ import annotations

import json
from typing import Any

import pytest

from devclaw_py.state.document import Document, parse

KEYS = ("-1", "-2", "-3")
TEXT = '{"kept": 1, "projects": {"-1": {"a": 1},\n\n"-2": {"a": 2},   "-3": {"a": 3}}, "also": [2]}\n'


def change(document: Document, key: str, entry: dict[str, Any]) -> Document:
    return document.with_entries({**document.entries, key: entry})


@pytest.mark.parametrize("value", ["longer than what stood there before", None], ids=["longer", "shorter"])
@pytest.mark.parametrize("first", KEYS)
@pytest.mark.parametrize("second", KEYS)
def test_a_document_changed_twice_is_what_its_text_says(first: str, second: str, value: str | None) -> None:
    document = change(change(parse(TEXT.encode(), "x"), first, {"a": value}), second, {"b": value})

    read = parse(document.text.encode(), "x")
    assert (read.entries, read.spans, read.start, read.end) == (
        document.entries,
        document.spans,
        document.start,
        document.end,
    )


@pytest.mark.parametrize("key", KEYS)
def test_a_change_of_one_entry_leaves_every_other_byte(key: str) -> None:
    number = KEYS.index(key) + 1

    after = change(parse(TEXT.encode(), "x"), key, {"a": "new"})

    written = json.dumps({"a": "new"}, indent=2).replace("\n", "\n    ")
    assert after.text == TEXT.replace(f'{{"a": {number}}}', written)
