"""A Postfix of our own that takes all mail, writes it to the disk, and throws it away."""

from __future__ import annotations

import os
import pwd
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from torture.relay import free_port
from torture.servers import PATH, PATIENCE, end, greets, run, wait_for

# Mail is on the disk before "250" is said, as it always is; nothing ever leaves this machine.
_MAIN_CF: Final = """\
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/log/postfix.log
maillog_file_prefixes = {folder}/log
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mx.play.example
mynetworks = 127.0.0.0/8
mydestination =
alias_maps =
alias_database =
default_transport = discard:
relay_transport = discard:
smtpd_relay_restrictions = permit_mynetworks, reject
"""

_MASTER_CF: Final = """\
127.0.0.1:{port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
"""


@dataclass
class Postfix:
    """A running Postfix, known by its port."""

    folder: Path
    port: int
    _read: int = 0  # signs of the log

    def taken(self) -> Sequence[str]:
        """Return the Message-IDs of the mails that came since the last look, in their order."""
        self._wait_until_idle()
        mark = secrets.token_hex(8)
        self._call("postlog", mark)
        path = self.folder / "log" / "postfix.log"
        # A process apart writes the log, in its own time.
        wait_for(lambda: mark in path.read_text()[self._read :], "the log")
        log = path.read_text()
        fresh, self._read = log[self._read :], len(log)
        return re.findall(r"/cleanup\[.*message-id=(<.*>)", fresh)

    def send_bare(self, mail: Path, *, times: int, sessions: int) -> None:
        """Let Postfix's own source of mail send a file so often, over lines that stay open."""
        sender, to = "bare@play.example", "ann@players.example"
        command = ["smtp-source", "-d", "-s", str(sessions), "-m", str(times), "-F", str(mail)]
        command += ["-f", sender, "-t", to, f"127.0.0.1:{self.port}"]
        subprocess.run(command, env={"PATH": PATH}, check=True, timeout=PATIENCE)

    def _wait_until_idle(self) -> None:
        queues = [self.folder / "queue" / name for name in ("incoming", "active", "deferred")]
        wait_for(
            lambda: not any(path.is_file() for queue in queues for path in queue.rglob("*")),
            "the queue to be empty",
        )

    def _call(self, program: str, *what: str) -> None:
        log = self.folder / "log" / "start"
        run(program, "-c", str(self.folder / "postfix"), *what, log=log)

    def start(self) -> None:
        """Start it and wait until it takes mail."""
        for name in ("postfix", "queue", "data", "log"):
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)
        (self.folder / "log").chmod(0o777)
        os.chown(self.folder / "data", pwd.getpwnam("postfix").pw_uid, -1)
        for name, text in (("main.cf", _MAIN_CF), ("master.cf", _MASTER_CF)):
            filled = text.format(folder=self.folder, port=self.port)
            (self.folder / "postfix" / name).write_text(filled)
        self._call("postfix", "start")
        wait_for(lambda: greets(self.port), "Postfix")

    def stop(self) -> None:
        """End it, whatever state it is in."""
        end(self.folder / "queue" / "pid" / "master.pid")


@contextmanager
def running_postfix() -> Iterator[Postfix]:
    """Run Postfix beside the block, in a folder that is gone afterwards."""
    assert shutil.which("smtp-source", path=PATH), "apt-get install postfix"
    assert os.geteuid() == 0, "only root can start Postfix"
    found = Postfix(Path(tempfile.mkdtemp(prefix="postfix")), free_port())
    try:
        found.start()
        yield found
    finally:
        found.stop()
        shutil.rmtree(found.folder, ignore_errors=True)
