"""The SMTP server that stands for everybody's mail provider; fault runs have the same one."""

from torture.relay import Mailbox, free_port, running_mailbox

__all__ = ["Mailbox", "free_port", "running_mailbox"]
