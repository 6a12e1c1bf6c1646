"""A throwaway PostgreSQL server, found and kept as the tests find and keep theirs. Nothing here knows of pipelines."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

KEEPER = Path(__file__).resolve().parent.parent / "tests/it/postgres/keeper.sh"

# Seconds that anything may take that is waited for.
PATIENCE = 300


class Failure(SystemExit):
    """The trial cannot go on: ends the script with 1, and says why."""


class Server(AbstractContextManager):
    """A PostgreSQL server on a free port of this machine, gone when the `with` ends, or this process does."""

    def __enter__(self):
        self.programs = find_programs()
        # PostgreSQL refuses to run as root.
        self._account = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        self.directory = Path(tempfile.mkdtemp(prefix="aftercommit-postgres-"))
        if self._account:
            shutil.chown(self.directory, "postgres", "postgres")
        self.port = free_port()
        settings = f"""unix_socket_directories = '{self.directory}'
            port = {self.port}
            fsync = off
            client_connection_check_interval = 100"""  # a client that was killed is noticed while it waits for a lock
        command = ["sh", "-c", KEEPER.read_text(), "keeper", self.programs, self.directory, str(os.getpid()), settings]
        said = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/", start_new_session=True, **self._account)
        if (problem := said.stdout.read().strip()) != "ready":
            raise Failure(f"the PostgreSQL server did not start: {problem}")
        return self

    def __exit__(self, *failure):
        stop = [self.programs / "pg_ctl", "stop", "--pgdata", self.directory / "data", "--mode", "immediate", "--silent"]
        subprocess.run(stop, cwd="/", check=True, **self._account)
        shutil.rmtree(self.directory)

    def sql(self, statement: str, database: str = "shop") -> str:
        """Runs statements as the owner, and returns what they select."""
        command = [*self.psql(database), "--command", statement]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{statement}\n{done.stderr}")
        return done.stdout.strip()

    def session(self) -> "Session":
        return Session(self.psql("shop"))

    def psql(self, database: str) -> list:
        address = f"postgres://postgres@127.0.0.1:{self.port}/{database}?options=-ctimezone%3DUTC"
        return [self.programs / "psql", address, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1"]


class Session(AbstractContextManager):
    """A connection that stays open between statements; what it has not committed is rolled back at its end."""

    def __init__(self, psql: list):
        self._psql = subprocess.Popen(psql, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = int(self.sql("select pg_backend_pid()"))

    def __exit__(self, *failure):
        self._psql.communicate()

    def sql(self, statement: str) -> str:
        print(f"{statement};\n\\echo done", file=self._psql.stdin, flush=True)
        answer = []
        while (line := self._psql.stdout.readline()) != "done\n":
            if not line:
                raise Failure(f"the session ended at {statement!r}")
            answer.append(line)
        return "".join(answer).strip()


def wait_until(what: str, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise Failure(f"in vain for {PATIENCE} s: {what}")
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def find_programs() -> Path:
    """`PG_BIN`, else the newest version where Debian keeps them, else the path."""
    if named := os.environ.get("PG_BIN"):
        return Path(named)
    versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if versions:
        return max(versions, key=lambda programs: float(programs.parent.name))
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    raise Failure("PostgreSQL's server programs are not on this machine: install them, or name their directory in PG_BIN")
