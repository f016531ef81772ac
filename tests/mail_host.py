"""A real mail host on this machine: Postfix takes mail in, Dovecot keeps it and shows it by IMAP.

Both run from a folder of their own, on free ports, beside any other of their kind.
"""

from __future__ import annotations

import imaplib
import os
import pwd
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path

from cast import parsed
from conftest import missing
from mail_server import free_port

from torture.servers import PATH, PATIENCE, end, greets, run, wait_for

DOMAINS = ("players.example", "play.example")  # every address there has a mailbox
GONE, LATER = "gone.example", "later.example"  # refused at RCPT, for good and for now
BY_LMTP, BY_PIPE = "lmtp.example", "pipe.example"  # handed on to us
PASSWORD = "for-tests-only"  # of every mailbox, by IMAP and by SMTP
PACKAGES = "postfix dovecot-imapd dovecot-lmtpd dovecot-sieve"
_POSTFIX_PID, _DOVECOT_PID = "queue/pid/master.pid", "run/master.pid"

_MAIN_CF = """\
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
local_recipient_maps =
recipient_delimiter = +

# Mail for anybody in these domains goes to Dovecot; whom `transports` names is sent elsewhere.
virtual_mailbox_domains = {domains}
virtual_mailbox_maps = static:anybody
virtual_transport = {to_mailbox}
relay_domains = {routed}
transport_maps = inline:{{ {transports} }}
# Nothing ever leaves this machine.
default_transport = error:5.7.1 this is a test
relay_transport = error:5.7.1 this is a test
smtpd_relay_restrictions = permit_sasl_authenticated, reject_unauth_destination
lmtp_dns_support_level = disabled
smtp_dns_support_level = disabled

smtpd_tls_cert_file = {folder}/tls/host.pem
smtpd_tls_key_file = {folder}/tls/host.key
smtpd_tls_loglevel = 1
smtpd_sasl_type = dovecot
smtpd_sasl_path = private/auth

message_size_limit = 4194304
queue_run_delay = 2s
minimal_backoff_time = 2s
maximal_backoff_time = 10s
maximal_queue_lifetime = 60s
bounce_queue_lifetime = 60s
"""

# Port {smtp} takes mail as a server on the internet does; the other two as a provider does
# from its customers: only encrypted, and only from who has logged in.
_MASTER_CF = """\
127.0.0.1:{smtp} inet n - n - - smtpd
127.0.0.1:{starttls} inet n - n - - smtpd
  -o smtpd_tls_security_level=encrypt
  -o smtpd_sasl_auth_enable=yes
  -o smtpd_relay_restrictions=permit_sasl_authenticated,reject
127.0.0.1:{tls} inet n - n - - smtpd
  -o smtpd_tls_wrappermode=yes
  -o smtpd_sasl_auth_enable=yes
  -o smtpd_relay_restrictions=permit_sasl_authenticated,reject
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
smtp unix - - n - - smtp
lmtp unix - - n - - lmtp
ours unix - n n - - pipe flags=R user=mail argv={folder}/ours/take ${{recipient}} ${{sender}}
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
"""

_DOVECOT_CONF = """\
protocols = imap lmtp
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log/dovecot.log
listen = 127.0.0.1
ssl = yes
ssl_cert = <{folder}/tls/host.pem
ssl_key = <{folder}/tls/host.key
disable_plaintext_auth = no
auth_mechanisms = plain login
auth_failure_delay = 0
mail_location = maildir:{folder}/mail/%u
mail_uid = mail
mail_gid = mail
first_valid_uid = 1
first_valid_gid = 1
recipient_delimiter = +
lmtp_save_to_detail_mailbox = no
submission_host = 127.0.0.1:{smtp}
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid=mail gid=mail home={folder}/mail/%u allow_all_users=yes
}}
namespace inbox {{
  inbox = yes
}}
service imap-login {{
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = {imaps}
    ssl = yes
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    port = {lmtp}
  }}
}}
service auth {{
  unix_listener {folder}/queue/private/auth {{
    user = postfix
    mode = 0600
  }}
}}
# No growing delays for a client whose logins fail.
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
protocol lmtp {{
  mail_plugins = $mail_plugins sieve
  postmaster_address = postmaster@play.example
}}
plugin {{
  sieve = file:~/sieve;active=~/.dovecot.sieve
}}
"""


@dataclass
class MailHost:
    """A running mail host. Its three SMTP ports: plain, STARTTLS, and TLS from the first byte."""

    folder: Path
    smtp: int = field(default_factory=free_port)
    starttls: int = field(default_factory=free_port)
    tls: int = field(default_factory=free_port)
    imap: int = field(default_factory=free_port)
    imaps: int = field(default_factory=free_port)
    lmtp: int = field(default_factory=free_port)
    to_us: int = field(default_factory=free_port)  # where our own LMTP listener may listen
    transports: dict[str, str] = field(default_factory=dict)
    _begins: int = 0

    @property
    def authority(self) -> Path:
        """The certificate that the host's own is signed by; it names `localhost` only."""
        return self.folder / "tls" / "authority.pem"

    @property
    def to_mailbox(self) -> str:
        """The transport into Dovecot."""
        return f"lmtp:inet:127.0.0.1:{self.lmtp}"

    @property
    def first_transports(self) -> dict[str, str]:
        """The routes of domains whose mail does not go to Dovecot."""
        return {
            GONE: "error:5.1.1 mailbox unavailable",
            LATER: "retry:4.7.1 greylisted",
            BY_LMTP: f"lmtp:inet:127.0.0.1:{self.to_us}",
            BY_PIPE: "ours:",
        }

    def mails(self, address: str) -> list[EmailMessage]:
        """Return what lies in a mailbox, parsed, in the order of arrival."""
        return [parsed(raw) for raw in self.raw_mails(address)]

    def raw_mails(self, address: str) -> list[bytes]:
        """Return the bytes of what lies in a mailbox."""
        with imaplib.IMAP4("127.0.0.1", self.imap, timeout=PATIENCE) as line:
            line.login(address, PASSWORD)
            _status, (number,) = line.select("INBOX", readonly=True)
            if number == b"0":
                return []
            _status, parts = line.fetch("1:*", "(BODY.PEEK[])")
            return [part[1] for part in parts if isinstance(part, tuple)]

    def log(self) -> str:
        """Return what Postfix has logged since the last `empty`."""
        return self._whole_log()[self._begins :]

    def taken(self) -> list[str]:
        """Return the Message-IDs in the order in which Postfix took the mails."""
        return re.findall(r"/cleanup\[.*message-id=(<.*>)", self.log())

    def connections(self) -> int:
        """Return how many SMTP connections there were."""
        return len(re.findall(r"smtpd\[\d+\]: connect from", self.log()))

    def wait_until_delivered(self) -> None:
        """Wait until no mail is under way."""
        # In the order in which mails move, so that none is missed on its way.
        names = ("deferred", "incoming", "active", "deferred")
        queues = [self.folder / "queue" / name for name in names]
        wait_for(lambda: not any(_files(queue) for queue in queues), "the queue to be empty")

    def empty(self) -> None:
        """Forget all mail, and what was logged and routed before."""
        self.wait_until_delivered()
        for mailbox in (self.folder / "mail").iterdir():
            shutil.rmtree(mailbox)
        if self.transports != self.first_transports:
            self._use(self.first_transports)
        self._begins = len(self._whole_log())

    def route(self, domain: str, transport: str) -> None:
        """Send a domain's mail by another transport of master.cf from now on."""
        self._use(self.transports | {domain: transport})

    def accept(self, domain: str) -> None:
        """Let a domain that was refused have mailboxes as the others do."""
        self.route(domain, self.to_mailbox)

    def configure(self) -> None:
        """Write all configuration."""
        routes = ", ".join(f"{{ {domain} = {way} }}" for domain, way in self.transports.items())
        values = vars(self) | {
            "domains": ", ".join(DOMAINS),
            "routed": ", ".join(self.transports),
            "transports": routes,
            "to_mailbox": self.to_mailbox,
            "password": PASSWORD,
        }
        for name, text in (
            ("postfix/main.cf", _MAIN_CF),
            ("postfix/master.cf", _MASTER_CF),
            ("dovecot.conf", _DOVECOT_CONF),
        ):
            (self.folder / name).write_text(text.format(**values))

    def start_relay(self) -> None:
        """Start Postfix and wait until it takes mail."""
        self._postfix("start")
        wait_for(lambda: greets(self.smtp), "Postfix")

    @contextmanager
    def relay_down(self) -> Iterator[None]:
        """Stop Postfix for the time of a block; what it has taken stays in its queue."""
        self._postfix("stop")
        (self.folder / _POSTFIX_PID).unlink()
        try:
            yield
        finally:
            # Its checks are done; without them the start is quick.
            (self.folder / "queue" / "quick-start").touch()
            self.start_relay()

    def start_mailboxes(self) -> None:
        """Start Dovecot and wait until it takes mail and shows it."""
        run("dovecot", "-c", str(self.folder / "dovecot.conf"), log=self.folder / "log" / "start")
        wait_for(lambda: greets(self.lmtp) and greets(self.imap), "Dovecot")

    @contextmanager
    def mailboxes_down(self) -> Iterator[None]:
        """Stop Dovecot for the time of a block; mail to it waits in Postfix's queue."""
        end(self.folder / _DOVECOT_PID)
        (self.folder / _DOVECOT_PID).unlink(missing_ok=True)
        try:
            yield
        finally:
            self.start_mailboxes()

    def hang_up(self, address: str) -> None:
        """Cut the lines of whoever has a mailbox open."""
        config = str(self.folder / "dovecot.conf")
        run("doveadm", "-c", config, "kick", address, log=self.folder / "log" / "start")

    def stop(self) -> None:
        """Stop both, whatever state they are in."""
        end(self.folder / _POSTFIX_PID)
        end(self.folder / _DOVECOT_PID)

    def _postfix(self, *what: str, program: str = "postfix") -> None:
        run(program, "-c", str(self.folder / "postfix"), *what, log=self.folder / "log" / "start")

    def _use(self, transports: dict[str, str]) -> None:
        """Start Postfix anew with other routes.

        `postfix reload` would be over before its processes have changed, and a mail on its
        way just then lies still for five minutes.
        """
        self.transports = transports
        self.wait_until_delivered()
        with self.relay_down():
            self.configure()

    def _whole_log(self) -> str:
        """Return the log, once all that was said so far is in it: a process apart writes it."""
        mark = secrets.token_hex(8)
        self._postfix(mark, program="postlog")
        path = self.folder / "log" / "postfix.log"
        wait_for(lambda: mark in path.read_text(), "the log")
        return path.read_text()


@contextmanager
def running_mail_host() -> Iterator[MailHost]:
    """Run Postfix and Dovecot beside the block; skips or fails where they can't be run."""
    _look_for_parts()
    # Not under pytest's folder: that one is closed to the users whom these servers run as.
    folder = Path(tempfile.mkdtemp(prefix="mailhost"))
    host = MailHost(folder)
    host.transports = host.first_transports
    try:
        _make_folders(folder)
        _make_certificate(folder / "tls")
        host.configure()
        host.start_relay()
        host.start_mailboxes()
        yield host
    finally:
        host.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _look_for_parts() -> None:
    how = f"as root: apt-get install --no-install-recommends {PACKAGES}"
    for program in ("postfix", "dovecot", "openssl"):
        if shutil.which(program, path=PATH) is None:
            missing(program, how)
    if os.geteuid() != 0:
        missing("the right to start Postfix", "run the tests as root")
    version = _output("dovecot", "--version")
    if not version.startswith("2.3."):
        missing(f"Dovecot 2.3 (not {version.strip()})", "use Debian 12")


def _make_folders(folder: Path) -> None:
    folder.chmod(0o755)
    for name in ("postfix", "queue", "data", "log", "mail", "ours", "run", "state", "tls"):
        (folder / name).mkdir()
    os.chown(folder / "data", pwd.getpwnam("postfix").pw_uid, -1)
    os.chown(folder / "ours", pwd.getpwnam("mail").pw_uid, -1)
    os.chown(folder / "mail", pwd.getpwnam("mail").pw_uid, -1)
    (folder / "log").chmod(0o777)


def _make_certificate(folder: Path) -> None:
    """Make an authority, and a certificate of `localhost` that it signs."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    made = ("openssl", "req", "-x509", "-days", "2", *key)
    authority = ("-keyout", "authority.key", "-out", "authority.pem", "-subj", "/CN=Tests")
    signed = ("-CA", "authority.pem", "-CAkey", "authority.key")
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    log = folder / "log"
    run(*made, *authority, log=log, folder=folder)
    host = ("-keyout", "host.key", "-out", "host.pem", "-addext", "basicConstraints=CA:FALSE")
    run(*made, *signed, *host, *names, log=log, folder=folder)


def _output(*command: str) -> str:
    return subprocess.run(
        command, env={"PATH": PATH}, capture_output=True, text=True, check=True, timeout=PATIENCE
    ).stdout


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
