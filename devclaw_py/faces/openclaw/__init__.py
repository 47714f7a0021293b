"""The OpenClaw plugin: plain JavaScript in ``plugin/``, and the Python child that it talks to."""
