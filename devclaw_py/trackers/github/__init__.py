"""GitHub, and GitHub Enterprise, as issue tracker and as forge of pull requests.

`tracker.GitHubTracker` and `requests.GitHubRequests` are the ports; both speak through a `client.Client`, one a token.
Only `connection` knows PyGithub, and it is not imported before the first request.
"""
