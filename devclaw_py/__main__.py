"""``python -m devclaw_py`` is ``devclaw``."""

from devclaw_py.faces.cli import main

main()
