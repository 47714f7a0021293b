"""One kept-alive connection to GitLab on python-gitlab. Nothing is followed, waited out or, but for reads, sent twice.

Four habits of the library are met here. Its time-out is none. It sleeps through a 429, in the caller. It reads
Retry-After as a number and breaks at a date. And its errors have no headers, in which GitLab says until when to wait.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from gitlab import Gitlab
from gitlab.exceptions import GitlabError
from requests import Response
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import Retry

from devclaw_py.errors import TrackerUnavailable
from devclaw_py.trackers.forge.reply import Reply

READS = frozenset({"GET", "HEAD"})
# A write is sent again only where no connection came about: then nothing was carried out.
RETRY = Retry(
    total=2,
    other=0,
    allowed_methods=READS,
    status_forcelist=frozenset({500, 502, 503, 504}),
    backoff_factor=0.3,
    backoff_max=2,
    respect_retry_after_header=False,
    raise_on_status=False,
)
SUFFIX = "/api/v4"


class _Answered(Exception):
    """An answer that is no success: it is taken before the library acts upon it."""

    def __init__(self, response: Response) -> None:
        self.response = response
        super().__init__(response.status_code)


class Connection:
    """Requests to the interface at ``api`` with one token. Not for several threads at once.

    ``wire`` takes the place of the network in tests that have recorded answers.
    """

    def __init__(self, api: str, token: str, *, timeout_s: float, wire: BaseAdapter | None = None) -> None:
        self._api = api
        self._gitlab = Gitlab(
            url=api.removesuffix(SUFFIX),
            # As a bearer personal, project and group tokens are taken, and those of OAuth, too.
            oauth_token=token,
            timeout=timeout_s,
            user_agent="devclaw",
            retry_transient_errors=False,
            keep_base_url=True,
        )
        session = self._gitlab.session
        for scheme in ("https://", "http://"):
            session.mount(scheme, wire or HTTPAdapter(max_retries=RETRY))
        session.hooks["response"].append(_stop)

    def send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: object = None,
    ) -> Reply:
        """Send one request to a path below the interface and return the answer, whatever it says.

        Raises:
            TrackerUnavailable: no answer, or none that can be read. A write may have been carried out all the same.
        """
        try:
            response = self._gitlab.http_request(
                method,
                path,
                query_data=dict(parameters or {}),
                post_data=dict(body) if isinstance(body, Mapping) else None,
                extra_headers=dict(headers or {}),
                obey_rate_limit=False,
                retry_transient_errors=False,
                max_retries=0,
            )
        except _Answered as answered:
            response = answered.response
        except (OSError, GitlabError) as error:  # OSError is the base of everything that requests raises
            raise TrackerUnavailable(
                f"{self._api} gave no answer to {method} {path}: {type(error).__name__}",
                hint="it is tried again later; see that the network and the service are up",
            ) from error
        return self._reply(response)

    def close(self) -> None:
        """Close the connection."""
        self._gitlab.session.close()

    def _reply(self, response: Response) -> Reply:
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status_code, headers, self._parsed(response))

    def _parsed(self, response: Response) -> object:
        if not response.content:
            return None
        try:
            return json.loads(response.content)
        except ValueError as error:
            if response.status_code >= 300:
                return None
            raise TrackerUnavailable(
                f"{self._api} answered {response.status_code} with something that is not JSON",
                hint="see that this is the address of GitLab's interface, and that no proxy answers in its place",
            ) from error


def _stop(response: Response, *_: object, **__: object) -> None:
    if not 200 <= response.status_code < 300:
        raise _Answered(response)
