"""The agents, as functions of Lithops. Knows nothing of the coordinator but how to stop it."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from springload import find_springload_bin

BROKER = "SPRINGLOAD_BROKER"
# All that agents need to know of the broker.
VARIABLES = (BROKER, "SPRINGLOAD_BROKER_USER", "SPRINGLOAD_BROKER_PASSWORD")
# How often what Lithops knows is asked for, in seconds.
POLL = 1.0
# How long functions may take to tell their end once the coordinator has ended, in seconds.
LAST_WORDS = 5.0
# Of what a failed agent wrote, so much is brought here.
TAIL = 4000


def agent(index: int, run: str) -> None:
    """Runs one agent to its end, wherever Lithops has started this function."""
    if not os.environ.get(BROKER):
        raise RuntimeError(f"{BROKER} did not reach this function")
    # The coordinator is there before its agents: one that does not hear it has come too late.
    patience = ["--ready-timeout", "60s"]
    command = [find_springload_bin(), "agent", "--run", run, "--index", str(index), *patience]
    # A function that is killed must not leave an agent behind.
    command.append("--die-with-parent")
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        told = done.stderr.strip()[-TAIL:] or "it wrote nothing"
        raise RuntimeError(f"{ended(done.returncode)}: {told}")


def ended(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def say(text: str) -> None:
    """A line on stderr, in one piece: the coordinator writes there, too."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"springload-lithops: {text}\n")
        sys.stderr.flush()


class Agents(threading.Thread):
    """All that is done with Lithops, in a thread of its own: it may block, and may even hang."""

    def __init__(self, options: argparse.Namespace, run: str, stop: Callable[[], None]) -> None:
        """Nothing is done before `start`."""
        super().__init__(name="agents", daemon=True)
        self.options = options
        self.run_id = run
        self.stop = stop
        self.over = threading.Event()
        self.failed = self.blind = False
        self.told: set[int] = set()

    def run(self) -> None:
        """Starts the functions, tells which fail, and takes away what Lithops keeps of them."""
        executor: Any = None
        futures: Any = []
        try:
            try:
                executor = self.executor()
                if not self.over.is_set():
                    futures = self.launch(executor)
            except Exception as error:
                if not self.over.is_set():
                    self.failed = True
                    say(
                        f"Lithops did not start the agents: {type(error).__name__}: {error}\n"
                        "  The coordinator is stopped. See that the backend, its storage and its "
                        "runtime work by themselves:\n"
                        "  lithops hello, with the same configuration; docs/lithops.md has what "
                        "each backend needs."
                    )
                    self.stop()
                return
            while not self.over.wait(POLL):
                self.look(executor, futures)
            last = time.monotonic() + LAST_WORDS
            while self.look(executor, futures) and time.monotonic() < last:
                time.sleep(0.1)
        finally:
            if executor is not None:
                tidy(executor, futures)

    def executor(self) -> Any:
        """Lithops' executor, with the settings without which agents would wait for each other."""
        import lithops
        from lithops.config import load_config
        from lithops.constants import LOCALHOST, STANDALONE, STANDALONE_BACKENDS

        config: Any = load_config(self.options.config, log=False)
        common = config.get("lithops") or {}
        backend = self.options.backend or common.get("backend") or common.get("mode")
        own = config.get(backend) or {}
        settings: dict[str, Any] = {}
        if self.options.runtime:
            settings["runtime"] = self.options.runtime
        if self.options.timeout:
            settings["runtime_timeout"] = self.options.timeout
        if backend == LOCALHOST:
            # By default as many as there are processors: the other agents would never start.
            settings["worker_processes"] = self.options.agents
            # By default the first `python` on the path, which may be without Lithops.
            settings.setdefault("runtime", own.get("runtime") or sys.executable)
        elif backend not in (*STANDALONE_BACKENDS, STANDALONE):
            # Each agent has a function to itself, and all run at the same time.
            settings.update(worker_processes=1, max_workers=self.options.agents)
        self.inherits = backend == LOCALHOST and settings["runtime"].startswith("/")
        # Lithops' own words on its progress would be written into those of the coordinator.
        level = common.get("log_level", "error")
        return lithops.FunctionExecutor(
            config=config, backend=self.options.backend, log_level=level, **settings
        )

    def launch(self, executor: Any) -> Any:
        """One function for each agent. The broker's address is only in their environment."""
        # On this machine they inherit it, and Lithops need not write it into its files.
        given = {name: os.environ[name] for name in VARIABLES if os.environ.get(name)}
        environment = {} if self.inherits else given
        limit = {"timeout": self.options.timeout} if self.options.timeout else {}
        return executor.map(
            agent,
            [(index, self.run_id) for index in range(self.options.agents)],
            chunksize=1,
            extra_env=environment,
            # The package is installed wherever its binary is.
            include_modules=None,
            **limit,
        )

    def look(self, executor: Any, futures: Any) -> bool:
        """Tells what became of functions, and returns whether some have not ended."""
        try:
            # 0: what is known by now, without waiting for more. A limit of time would need
            # signals, which belong to the main thread.
            executor.wait(futures, return_when=0, throw_except=False, show_progressbar=False)
        except Exception as error:
            if not self.blind:
                say(f"Lithops cannot tell how its functions are: {type(error).__name__}: {error}")
            self.blind = True
        for index, future in enumerate(futures):
            if future.error and index not in self.told:
                self.told.add(index)
                say(f"agent {index}: {reason(future)}")
        return any(not (future.success or future.done) for future in futures)


def reason(future: Any) -> str:
    """Why a function failed, in words that help more than Lithops' own."""
    error = future._exception[1]
    if isinstance(error, MemoryError):
        return (
            "its Python process was killed by SIGKILL, or ran out of memory: Lithops calls both "
            "MemoryError"
        )
    if isinstance(error, TimeoutError):
        return f"its time is over: {error}; --timeout gives functions more"
    return str(error) or type(error).__name__


def tidy(executor: Any, futures: Any) -> None:
    """Ends functions that still run, where the backend can, and deletes what Lithops stored."""
    with contextlib.suppress(Exception):
        executor.__exit__(None, None, None)
    with contextlib.suppress(Exception):
        executor.clean(fs=futures, clean_cloudobjects=False, clean_fn=True, force=True)
