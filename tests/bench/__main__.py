"""``python -m tests.bench``: measure, write docs/performance.json, and docs/performance.md from it.

``--quick`` measures little of everything and prints the report instead. Names of sources measure only these, and
print as well.
"""

from __future__ import annotations

import argparse
import json

from tests.bench.measure import FULL, QUICK
from tests.bench.office import ROOT
from tests.bench.page import rendered
from tests.bench.report import SOURCES, measured

JSON, PAGE = ROOT / "docs" / "performance.json", ROOT / "docs" / "performance.md"


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser("python -m tests.bench", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="SOURCE", help=", ".join(SOURCES))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page", action="store_true", help="print the figures as a page")
    options = parser.parse_args()
    report = measured(QUICK if options.quick else FULL, options.only)
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    if options.quick or options.only:
        print(rendered(report) if options.page else text)
        return
    JSON.write_text(text, encoding="utf-8")
    PAGE.write_text(rendered(report), encoding="utf-8")


if __name__ == "__main__":
    main()
