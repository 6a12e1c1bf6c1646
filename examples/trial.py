"""Runs a real pipeline against a throwaway PostgreSQL, a relay and a mock receiver, and holds the receiver's journal
against the pipeline's own tables. What the examples share, so that each `run` shows only what is its own.

The standard library alone; needs cargo and PostgreSQL's programs.
"""

import ctypes
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from throwaway import Failure, Server, wait_until

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / os.environ.get("CARGO_TARGET_DIR", "target")

# Seconds that a pipeline may take.
PATIENCE = 300

# From Linux's sys/prctl.h.
PR_SET_PDEATHSIG = 1

# What the receiver should know of one topic: the payload of each row key.
Truth = Callable[[], dict[str, object]]


@dataclass(frozen=True)
class Step:
    """One line of the report."""

    name: str
    changes: int  # rows that the pipeline changed, as the example expects
    effects: int  # what the receiver did since the step before
    repeated: int  # effects that told of a row what the receiver knew already
    differ: int  # rows of which the receiver's last word is not the table's

    def is_fine(self) -> bool:
        return self.effects == self.changes and not self.repeated and not self.differ


class Trial(AbstractContextManager):
    """A database `shop`, a relay and a receiver that fails now and then; gone when the `with` ends."""

    def __init__(self, name: str, topics: dict[str, str]):
        """`topics` gives each topic its kind: state or event."""
        self.name, self.topics = name, topics
        self.token = secrets.token_urlsafe(32)
        self.steps: list[Step] = []
        self._truths: dict[str, Truth] = {}
        self._pipeline: subprocess.Popen | None = None
        self._seen = 0
        self._known: dict[tuple[str, str], object] = {}

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
        subprocess.run(["cargo", "build", "--quiet", "--locked", "--bin", "aftercommit"], cwd=PROJECT, check=True)
        with ExitStack() as undo:
            self.directory = Path(tempfile.mkdtemp(prefix=f"aftercommit-{self.name}-"))
            undo.callback(shutil.rmtree, self.directory, ignore_errors=True)
            self.server = undo.enter_context(Server())
            self.server.sql("create database shop", database="postgres")
            self.receiver = self._start(undo, "mock", "receiver", "--listen", "127.0.0.1:0", "--faults", "fail=503:0.1,drop:0.1")
            self._configure()
            self.aftercommit("migrate")
            self.aftercommit("apply")
            self.admin = self._start(undo, "run")
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *failure):
        if self._pipeline and self._pipeline.poll() is None:
            os.killpg(self._pipeline.pid, signal.SIGKILL)
        self._undo.close()

    def url(self, role: str = "postgres") -> str:
        """The address of the database, for a role that needs no password."""
        return f"postgres://{role}@127.0.0.1:{self.server.port}/shop"

    def sql(self, statement: str) -> str:
        """Runs statements as the owner of the database, and returns what they select."""
        return self.server.sql(statement)

    def aftercommit(self, *arguments: str) -> str:
        """Runs a verb to its end, and returns what it prints."""
        done = subprocess.run(self._command(*arguments), stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    def tell_truth(self, topic: str, truth: Truth) -> None:
        """Says what the receiver should know of a topic once nothing is owed."""
        self._truths[topic] = truth

    def table(self, relation: str, key: str, *, without: tuple[str, ...] = ()) -> Truth:
        """The rows of a table by their key, with the columns that the payload has."""
        row = "".join(["to_jsonb(t)", *(f" - '{column}'" for column in without)])
        query = f"select coalesce(json_object_agg({key}, {row}), '{{}}') from {relation} as t"
        return lambda: json.loads(self.sql(query))

    def rows(self) -> int:
        """How many rows the receiver should know."""
        return sum(len(truth()) for truth in self._truths.values())

    def run(self, command: list, environment: dict[str, str]) -> None:
        """Runs the pipeline to its end, which must be a good one."""
        pipeline = self._begin(command, environment)
        try:
            status = pipeline.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            status = f"nothing: it was still running after {PATIENCE} s"
        if status != 0:
            raise Failure(f"the pipeline ended with {status}\n{self._log.read_text()}")

    def kill_half_way(self, command: list, environment: dict[str, str], *, holding: str) -> None:
        """Runs the pipeline until somebody waits for what the statement `holding` locks, and ends it there by SIGKILL.

        The lock is given free once the server has noticed the death and rolled back what the pipeline's own role had open.
        What the relay does on the pipeline's behalf goes on then, to its end.
        """
        with self.server.session() as holder:
            holder.sql(f"begin; {holding}")
            blocked = f"from pg_stat_activity where {holder.pid} = any (pg_blocking_pids(pid))"
            count = f"select count(*) {blocked}"
            pipeline = self._begin(command, environment)
            wait_until("the pipeline is half way", lambda: self.sql(count) != "0" or pipeline.poll() is not None)
            if pipeline.returncode is not None:
                raise Failure(f"the pipeline ended before it could be killed\n{self._log.read_text()}")
            waited = self.sql(f"select coalesce(array_agg(pid), '{{}}') {blocked}")
            os.killpg(pipeline.pid, signal.SIGKILL)
            pipeline.wait()
            wait_until("the server notices", lambda: self.sql(f"{count} and usename <> current_user") == "0")
        at_work = f"select count(*) from pg_stat_activity where pid = any ('{waited}') and state <> 'idle'"
        wait_until("what waited comes to its end", lambda: self.sql(at_work) == "0")

    def check(self, step: str, *, changes: int) -> None:
        """Waits until nothing is owed, and compares what the receiver did since the last step with the tables."""
        wait_until("nothing is owed", lambda: self.sql("select count(*) from aftercommit.owed") == "0")
        effects = repeated = 0
        for record in self._journal():
            if record["effect"] != "first":
                continue
            row, payload = row_of(record)
            effects += 1
            repeated += self._known.get(row) == payload
            self._known[row] = payload
        told = {row: payload for row, payload in self._known.items() if payload is not None}
        truth = {(topic, key): row for topic, rows in self._truths.items() for key, row in rows().items()}
        differ = sum(told.get(row) != truth.get(row) for row in told.keys() | truth.keys())
        self.steps.append(Step(step, changes, effects, repeated, differ))

    def report(self) -> None:
        """Prints the table, and ends the process with 1 if anything is off."""
        print(f"\n {self.name:<48} changes  effects  repeated  differ")
        for step in self.steps:
            mark = "" if step.is_fine() else "   <-- off"
            print(f" {step.name:<48} {step.changes:>7} {step.effects:>8} {step.repeated:>9} {step.differ:>7}{mark}")
        effects = sum(step.effects for step in self.steps)
        print(f" {effects} effects by {self._seen} requests, some of which the receiver failed or left without an answer")
        if not all(step.is_fine() for step in self.steps):
            sys.exit(1)

    def _command(self, *arguments: str) -> list:
        return [TARGET / "debug" / "aftercommit", "--config", self.directory / "aftercommit.toml", *arguments]

    def _configure(self) -> None:
        (self.directory / "token").write_text(self.token)
        kinds = "\n".join(f'[topics.{topic}]\nkind = "{kind}"' for topic, kind in self.topics.items())
        (self.directory / "aftercommit.toml").write_text(f"""
[database]
url = "{self.url()}"
[admin]
listen = "127.0.0.1:0"
token = {{ file = "token" }}
[relay]
poll_idle = "50ms"
{kinds}
[destinations.receiver]
type = "webhook"
url = "{self.receiver}"
topics = {json.dumps(list(self.topics))}
allow_http = true
allow_networks = ["127.0.0.0/8"]
retry = {{ first = "50ms", factor = 1 }}
""")

    def _start(self, undo: ExitStack, *arguments: str) -> str:
        """Starts a daemon, and returns the address at which it listens."""
        log = undo.enter_context(open(self.directory / f"{arguments[0]}.log", "w"))
        command = self._command(*arguments, "--json")
        daemon = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True, preexec_fn=die_with_the_trial
        )
        undo.callback(end, daemon)
        ready = daemon.stdout.readline()
        if not ready:
            raise Failure(f"{arguments[0]} did not start\n{Path(log.name).read_text()}")
        ready = json.loads(ready)
        return ready.get("url") or ready["admin"]

    def _begin(self, command: list, environment: dict[str, str]) -> subprocess.Popen:
        self._log = self.directory / "pipeline.log"
        with open(self._log, "w") as log:
            self._pipeline = subprocess.Popen(
                command,
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_the_trial,
            )
        return self._pipeline

    def _journal(self) -> list[dict]:
        # A proxy of the environment has no business with a receiver on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.receiver}journal?after={self._seen}") as answer:
            records = json.load(answer)
        self._seen += len(records)
        return records


def environment(example: Path) -> Path:
    """The virtual environment of an example, made anew when its requirements have changed. Returns its programs' folder."""
    wanted = example / "requirements.txt"
    venv = TARGET / "examples" / f"{example.name}-venv"
    installed = venv / "requirements.txt"
    if not installed.exists() or installed.read_bytes() != wanted.read_bytes():
        print(f"installing what {example.name} needs into {venv}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        install = [venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", wanted]
        subprocess.run(install, check=True)
        shutil.copy(wanted, installed)
    return venv / "bin"


def row_of(record: dict) -> tuple[tuple[str, str], object]:
    """Topic and row key of a request, and its payload; none for a delete."""
    headers = dict(record["headers"])
    row = (headers["aftercommit-topic"], headers["aftercommit-row-key"])
    return row, None if headers["aftercommit-op"] == "delete" else json.loads(record["body"])


def end(daemon: subprocess.Popen) -> None:
    daemon.terminate()
    daemon.wait(PATIENCE)


def die_with_the_trial() -> None:
    """Linux ends this process when the trial ends, even by SIGKILL. Elsewhere that one case leaves it behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


