"""Real servers that DVC pushes to, on loopback; and what lies on them, seen from the server's side."""

import getpass
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tests.pipeline.checkout import Checkout

HOST = "127.0.0.1"
BUCKET, KEY, SECRET = "results", "tester", "not-so-secret"
GRPC = 10_000  # so far above its port, each service of SeaweedFS listens for the others
SSHD_CONFIG = """\
ListenAddress {host}
Port {port}
HostKey {state}/host_key
AuthorizedKeysFile {state}/user_key.pub
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
MaxSessions 64
MaxStartups 100
Subsystem sftp internal-sftp
"""


@dataclass(frozen=True)
class Remote(ABC):
    """An address for DVC, the settings it needs there, and the bytes behind it."""

    url: str
    settings: dict[str, str]
    secrets: dict[str, str]

    def add_to(self, checkout: Checkout) -> None:
        """What the commands of docs/remotes.md leave behind; they take seconds, and these are many tests."""
        shared, own = checkout.top / ".dvc/config", checkout.top / ".dvc/config.local"
        text = shared.read_text().replace("[core]\n", "[core]\n    remote = store\n")
        shared.write_text(text + _section({"url": self.url, "verify": "true", **self.settings}))
        own.write_text(_section(self.secrets))
        checkout.commit()

    def flip(self, oid: str, at: bytes = b"") -> None:
        """Changes one bit of an object: in its middle, or where `at` begins."""
        data = bytearray(self.read(oid))
        data[data.index(at) if at else len(data) // 2] ^= 1
        self.write(oid, bytes(data))

    @abstractmethod
    def read(self, oid: str) -> bytes: ...

    @abstractmethod
    def write(self, oid: str, data: bytes) -> None: ...


@final
@dataclass(frozen=True)
class Folder(Remote):
    """A folder of this machine, reached as such or through a server."""

    folder: Path

    def read(self, oid: str) -> bytes:
        return self._path(oid).read_bytes()

    def write(self, oid: str, data: bytes) -> None:
        path = self._path(oid)
        mode = path.stat().st_mode
        path.unlink()  # as DVC leaves them, objects in a folder are read-only
        path.write_bytes(data)
        path.chmod(mode)  # a rotten disk does not tell either

    def _path(self, oid: str) -> Path:
        return self.folder / "files/md5" / oid[:2] / oid[2:]


@final
@dataclass(frozen=True)
class Bucket(Remote):
    client: Any
    prefix: str

    def read(self, oid: str) -> bytes:
        return self.client.get_object(Bucket=BUCKET, Key=self._key(oid))["Body"].read()

    def write(self, oid: str, data: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=self._key(oid), Body=data)

    def _key(self, oid: str) -> str:
        return f"{self.prefix}/files/md5/{oid[:2]}/{oid[2:]}"


def _section(settings: dict[str, str]) -> str:
    return "".join(["['remote \"store\"']\n", *(f"    {name} = {value}\n" for name, value in settings.items())])


def sshd() -> str | None:
    return shutil.which("sshd", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")


def weed() -> str | None:
    return shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@contextmanager
def ssh_server(state: Path) -> Iterator[Callable[[Path], Remote]]:
    """OpenSSH's server; makes a remote of a folder."""
    [port] = free_ports(1)
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", state / name], check=True)
    (state / "config").write_text(SSHD_CONFIG.format(host=HOST, port=port, state=state))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd gives up its rights in there, when it has any
    secrets = {"user": getpass.getuser(), "keyfile": str(state / "user_key")}
    with _running([str(sshd()), "-D", "-e", "-f", str(state / "config")], state / "log", {}, lambda: _listens(port)):
        yield lambda folder: Folder(f"ssh://{HOST}:{port}{folder}", {}, secrets, folder)


@contextmanager
def s3_server(state: Path) -> Iterator[Callable[[str], Remote]]:
    """SeaweedFS with one bucket; makes a remote of a prefix in it."""
    services = ("master", "volume", "filer", "s3", "admin")
    ports = dict(zip(services, free_ports(len(services), also=GRPC), strict=True))
    off = ["-webdav=false", "-admin.ui=false", "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]
    place = [f"-dir={state}", f"-ip={HOST}", f"-ip.bind={HOST}", f"-bucket={BUCKET}"]
    sockets = [f"-{name}.localSocket={state}/{name}" for name in ("filer", "s3")]
    command = [str(weed()), "mini", *place, *off, *sockets, *(f"-{name}.port={port}" for name, port in ports.items())]
    endpoint = f"http://{HOST}:{ports['s3']}"
    client = _s3_client(endpoint)
    settings, secrets = {"endpointurl": endpoint}, {"access_key_id": KEY, "secret_access_key": SECRET}
    keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
    try:
        with _running(command, state / "log", keys, lambda: _has_bucket(client)), closing(client):
            yield lambda prefix: Bucket(f"s3://{BUCKET}/{prefix}", settings, secrets, client, prefix)
    finally:
        for port in ports.values():  # of a server that had to be killed
            for left in Path("/tmp").glob(f"seaweedfs-*-grpc-{port + GRPC}.sock"):
                left.unlink()


def free_ports(count: int, also: int = 0) -> list[int]:
    """Ports nobody listens on, nor on those `also` above; below the range that systems give away by themselves."""
    found: list[int] = []
    for port in random.sample(range(11_000, 22_000), 1000):
        if len(found) < count and all(_is_free(each) for each in {port, port + also}):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _s3_client(endpoint: str) -> Any:
    once = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=20)
    return botocore.session.Session().create_client(
        "s3", "us-east-1", endpoint_url=endpoint, aws_access_key_id=KEY, aws_secret_access_key=SECRET, config=once
    )


def _has_bucket(client: Any) -> bool:
    try:
        client.head_bucket(Bucket=BUCKET)
    except (BotoCoreError, ClientError):
        return False
    return True


@contextmanager
def _running(command: list[str], log: Path, environment: dict[str, str], ready: Callable[[], bool]) -> Iterator[None]:
    """A server until the block ends, however it ends; where Linux can, also when these tests are killed."""
    leash = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*leash, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    try:
        _await(process, log, ready)
        yield
    finally:
        process.terminate()
        try:
            process.wait(3)  # SeaweedFS waits longer than that for its own parts, and has nothing worth saving
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _await(process: subprocess.Popen[bytes], log: Path, ready: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not ready():
        assert process.poll() is None and time.monotonic() < end, log.read_text(errors="replace")[-3000:]
        time.sleep(0.1)
