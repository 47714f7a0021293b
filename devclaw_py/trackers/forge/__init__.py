"""What GitHub and GitLab have in common: requests within a budget that processes share, and lists kept between polls.

`github` and `gitlab` say what an answer means, which paths there are, and with which library they are asked.
"""
