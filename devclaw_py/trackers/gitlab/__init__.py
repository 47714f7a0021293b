"""GitLab, its own service and self-managed ones, as issue tracker and as forge of merge requests.

`tracker.GitLabTracker` and `requests.GitLabRequests` are the ports; both speak through a `client.GitLabClient`, one a
token. Only `connection` knows python-gitlab, and it is not imported before the first request.
"""
