"""What goes on beside the calls: the heartbeat, and announcements as soon as they are in the outbox."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable

from devclaw_py.chat.pump import pump
from devclaw_py.errors import DevClawError, ProjectBusy
from devclaw_py.faces.openclaw.office import Office
from devclaw_py.faces.openclaw.rpc import Peer
from devclaw_py.faces.openclaw.sending import GatewayNotifier
from devclaw_py.model.caller import HEARTBEAT
from devclaw_py.night.dispatch import Known
from devclaw_py.night.heartbeat import tick

# A worker's report is a process of its own: this is how long its announcement waits at most.
LOOK_S = 1.0
FALLBACK_S = 60.0


class Service:
    """Two threads that end when the gateway is gone."""

    def __init__(self, office: Office, peer: Peer) -> None:
        self._office, self._peer = office, peer
        self._started = threading.Lock()
        self._complaints: dict[str, str] = {}
        self._known = Known()

    def start(self) -> None:
        """Begin, once."""
        if not self._started.acquire(blocking=False):
            return
        self._office.send_by(lambda settings: GatewayNotifier(self._peer, timeout_s=settings.timeouts.notify_s))
        rounds = (("announcements", self._send, self._look_s), ("heartbeat", self._beat, self._every_s))
        for name, deed, pause_s in rounds:
            threading.Thread(target=self._repeat, args=(name, deed, pause_s), daemon=True).start()

    def _repeat(self, name: str, deed: Callable[[], None], pause_s: Callable[[], float]) -> None:
        while not self._peer.closed.is_set():
            try:
                deed()
                self._complaints.pop(name, None)
            except ProjectBusy:
                pass  # another process does the same
            except (DevClawError, OSError) as error:
                self._complain(name, str(error))
            except Exception as error:  # noqa: BLE001 - a bug of one round must not end all that follow
                self._complain(name, f"a bug: {type(error).__name__}: {error}", trace=True)
            self._peer.closed.wait(pause_s())

    def _send(self) -> None:
        app = self._office.app()
        if app.store.journal.outbox():
            pump(app.store, app.notifier, app.clock, caller=HEARTBEAT)

    def _beat(self) -> None:
        for visit in tick(self._office.app(), known=self._known).visits:
            if visit.error:
                self._complain(f"heartbeat of {visit.project}", visit.error["message"])
            if visit.settled:
                print(f"heartbeat of {visit.project}: {'; '.join(visit.settled)}", file=sys.stderr, flush=True)

    def _look_s(self) -> float:
        return LOOK_S

    def _every_s(self) -> float:
        try:
            return self._office.app().settings.heartbeat.every_s
        except (DevClawError, OSError):
            return FALLBACK_S

    def _complain(self, name: str, words: str, *, trace: bool = False) -> None:
        """Say what is wrong, once for as long as it stays the same: the gateway's log is read by people."""
        if self._complaints.get(name) == words:
            return
        self._complaints[name] = words
        if trace:
            traceback.print_exc(file=sys.stderr)
        print(f"{name}: {words}", file=sys.stderr, flush=True)
