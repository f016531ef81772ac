"""The process that reads mail: hostile mail costs it its life, and nobody else anything.

It is started when it is first needed, reads one mail after the other, and is replaced
when it dies. It holds no secret and no connection: mail goes in, facts come out.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final
from weakref import finalize

from pbem.mail import bounce, note

SECONDS: Final = 2.0  # for one mail
MEGABYTES: Final = 200  # of address space, Python's own 25 among them

_SIZE: Final = 4  # bytes that tell how long a message is


@dataclass(frozen=True, slots=True)
class Reading:
    """What a mail says: its facts, and the bounce or complaint that it is, if it is one.

    A person's mail is neither. ``complaint`` holds the Message-IDs of the letters that the
    mail reports as abuse.
    """

    facts: note.Facts
    bounce: bounce.Bounce | None
    complaint: tuple[str, ...] | None


class Parser:
    """Reads mails in a process of its own, within limits; threads may share it."""

    def __init__(self, *, seconds: float = SECONDS, megabytes: int = MEGABYTES) -> None:
        """Keep the limits, but start nothing."""
        self._limits = (str(seconds), str(megabytes))
        self._lock = Lock()
        self._child: subprocess.Popen[bytes] | None = None
        # Whoever forgets to close it leaves no process behind.
        self._forgotten: finalize[..., Any] | None = None

    def read(self, raw: bytes, *, return_path: str = "") -> Reading:
        """Return what a mail says; raises Unparseable, and nothing else whatever the bytes."""
        with self._lock:
            if self._child is None or self._child.poll() is not None:
                self._end()
                self._child = _started(self._limits)
                self._forgotten = finalize(self, self._child.communicate)
            try:
                _send(self._child.stdin, return_path.encode())
                _send(self._child.stdin, raw)
                answer = _receive(self._child.stdout)
            except (EOFError, BrokenPipeError):
                raise note.Unparseable(self._cause()) from None
        return _read_back(json.loads(answer))

    def close(self) -> None:
        """End the process; the next mail starts another."""
        with self._lock:
            self._end()

    def _cause(self) -> str:
        """Return why the process has died."""
        if self._end() == -signal.SIGALRM:
            return f"reading this mail took more than {self._limits[0]} seconds"
        return "this mail ended the process that read it"

    def _end(self) -> int:
        """End the process if there is one; returns how it ended."""
        if self._child is None:
            return 0
        if self._forgotten is not None:
            self._forgotten.detach()
        # Its input's end is what it stops at.
        self._child.communicate()
        code, self._child = self._child.returncode, None
        return code


def main() -> None:
    """Answer the mails on the standard input, until it ends or one takes too much."""
    seconds, megabytes = float(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1024 * 1024,) * 2)
    # Who presses Ctrl-C means the server, and that tells us by closing our input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The detectors of bounces log a traceback for each mail that one of them fails on.
    logging.disable()
    _send(sys.stdout.buffer, b"ready")
    while True:
        try:
            return_path, raw = _receive(sys.stdin.buffer), _receive(sys.stdin.buffer)
        except EOFError:
            return
        # The alarm ends the process, even inside of a regular expression.
        signal.setitimer(signal.ITIMER_REAL, seconds)
        answer = json.dumps(_answer(raw, return_path.decode())).encode("ascii")
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(sys.stdout.buffer, answer)


def _started(limits: tuple[str, str]) -> subprocess.Popen[bytes]:
    """Start the process; its environment holds only where our code lies."""
    child = subprocess.Popen(  # noqa: S603 - our own module, and nothing of any mail
        [sys.executable, "-m", "pbem.mail.parser", *limits],
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": os.defpath},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    # The time that Python takes to start is not the first mail's.
    _receive(child.stdout)
    return child


def _answer(raw: bytes, return_path: str) -> dict[str, Any]:
    try:
        facts = note.read(raw)
    except note.Unparseable as error:
        return {"unparseable": str(error)}
    if facts.automatic is None and return_path != "<>":
        return {"facts": asdict(facts)}
    returned = bounce.read(raw)
    return {
        "facts": asdict(facts),
        "bounce": None if returned is None else asdict(returned),
        "complaint": bounce.complaint(raw),
    }


def _read_back(answer: dict[str, Any]) -> Reading:
    if "unparseable" in answer:
        raise note.Unparseable(answer["unparseable"])
    returned, complaint = answer.get("bounce"), answer.get("complaint")
    return Reading(
        note.Facts(**_with_tuples(answer["facts"])),
        None if returned is None else bounce.Bounce(**_with_tuples(returned)),
        None if complaint is None else tuple(complaint),
    )


def _with_tuples(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with JSON's lists as the tuples that they were."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


def _send(stream: IO[bytes] | None, message: bytes) -> None:
    assert stream is not None, "it is a pipe"
    stream.write(len(message).to_bytes(_SIZE, "big") + message)
    stream.flush()


def _receive(stream: IO[bytes] | None) -> bytes:
    """Return the next message; raises EOFError where there is none."""
    assert stream is not None, "it is a pipe"
    size = stream.read(_SIZE)
    message = stream.read(int.from_bytes(size, "big"))
    if len(size) < _SIZE or len(message) < int.from_bytes(size, "big"):
        raise EOFError
    return message


if __name__ == "__main__":
    main()
