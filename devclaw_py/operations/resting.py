"""Putting workers to rest that must not go on, before anything is decided about their tasks."""

from __future__ import annotations

from devclaw_py.app import App
from devclaw_py.rules.diagnosis import Pulse, Snapshot, Worker


def put_to_rest(app: App, snapshot: Snapshot) -> Snapshot:
    """End the sessions of workers that have used up a budget or are stuck for good; return how the project stands then.

    A budget's first of all and whatever the tracker says: until then such a worker goes on spending. Its task is put
    back once the issues can be asked for; until then its session is not started again.

    Raises:
        SessionFailed: one could not be stopped.
    """
    workers = dict(snapshot.workers or {})
    for key, worker in workers.items():
        must = worker.spent or (_stuck(worker) and snapshot.issues is not None)
        if must and worker.pulse is not Pulse.GONE and snapshot.project.seat(*key).issue not in snapshot.claimed:
            app.sessions.end(worker.session)
            workers[key] = worker.model_copy(update={"pulse": Pulse.GONE, "resumable": False})
    return snapshot.model_copy(update={"workers": workers}) if workers else snapshot


def _stuck(worker: Worker) -> bool:
    return worker.pulse is Pulse.BUSY and worker.case is not None and worker.case.over
