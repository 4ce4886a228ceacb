"""springload-lithops: a coordinator here, and agents that Lithops starts.

    springload-lithops -n 600 -- burst http://couch:5984 -c 600 -d 20s -s 250

Lithops only starts the agents. When they begin, what they measure and whether one is lost is
between them and the coordinator, over RabbitMQ; what Lithops says of its functions is shown, and
decides nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from types import FrameType
from urllib.parse import urlsplit

from springload import _agents, find_springload_bin
from springload._agents import BROKER, say

VERBS = ("run", "burst", "sweep", "max", "ab", "http", "ycsb", "bm-couchdb", "siege")
# Given by this launcher to the coordinator.
OURS = ("--agents", "--broker", "--run-id")
# How long Lithops may take to tidy up after that, and a coordinator to end once it is asked.
PATIENCE = 20.0


class Coordinator:
    """The coordinator as a process, with the streams of this one."""

    def __init__(self, command: list[str]) -> None:
        """Starts it, and passes signals on to it."""
        # What a terminal sends to its foreground reaches the coordinator by itself, and passed on
        # it would count twice. Without one it gets a group of its own, so that a signal to a whole
        # group does not count twice either.
        self.on_terminal = on_terminal()
        self.process = subprocess.Popen(command, start_new_session=not self.on_terminal)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Ignored, it was ignored on purpose: nohup.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self.pass_on)

    def pass_on(self, number: int, _frame: FrameType | None) -> None:
        """A signal to this process is meant for the coordinator, while there is one."""
        if self.process.returncode is not None:
            os._exit(128 + number)
        if number != signal.SIGINT or not self.on_terminal:
            self.process.send_signal(number)

    def stop(self) -> None:
        """Asks it to end as Ctrl-C does; then to end at once; then ends it."""
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGKILL):
            self.process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE)
                return

    def status(self) -> int:
        """Waits for its end: its exit status, or that of a shell where a signal ended it."""
        status = self.process.wait()
        return status if status >= 0 else 128 - status


def on_terminal() -> bool:
    """Whether this process is in the foreground of a terminal."""
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def parsed(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The launcher's own options, and the coordinator's command after `--`."""
    parser = argparse.ArgumentParser(
        prog="springload-lithops",
        usage="%(prog)s -n AGENTS [options] -- {" + ",".join(VERBS) + "} ...",
        description="Runs springload with agents that Lithops starts; docs/lithops.md.",
        epilog="After -- comes the command line of springload, without those of its options that "
        "are given here: " + ", ".join(OURS) + ".",
    )
    add = parser.add_argument
    add("-n", "--agents", type=int, required=True, metavar="N", help="how many agents")
    add("--backend", metavar="NAME", help="Lithops' backend, if not that of its configuration")
    add("--config", metavar="FILE", help="Lithops' configuration, if not where it looks for it")
    add("--broker", metavar="URL", help=f"RabbitMQ; with a password, in {BROKER} instead")
    add("--runtime", metavar="IMAGE", help="the backend's runtime, with this package in it")
    add("--timeout", type=int, metavar="S", help="how long a function may run, in seconds")
    cut = words.index("--") if "--" in words else len(words)
    options, command = parser.parse_args(words[:cut]), words[cut + 1 :]
    if options.agents < 1:
        parser.error("-n: at least one agent")
    if not command or command[0] not in VERBS:
        parser.error("after --, one of " + ", ".join(VERBS) + ", with its arguments")
    if command[0] == "max" and "--" in command:
        parser.error("agents stay for one command line: leave out the second -- and what follows")
    for word in command:
        if word.split("=")[0] in OURS:
            parser.error(f"{word} stands before --: the agents need it, too, or it is made here")
    if options.broker:
        if urlsplit(options.broker).password is not None:
            parser.error(f"--broker: everybody here can read this: give a password in {BROKER}")
        os.environ[BROKER] = options.broker
    if not os.environ.get(BROKER):
        parser.error(f"say where RabbitMQ is: --broker amqp://HOST, or {BROKER}")
    return options, command


def main(words: list[str] | None = None) -> int:
    """Runs all of it; returns the exit status of the coordinator, or 1 without agents."""
    options, command = parsed(sys.argv[1:] if words is None else words)
    if find_spec("lithops") is None:
        say("Lithops is not installed: pip install 'lithops>=3.8,<4'")
        return 1
    try:
        program = find_springload_bin()
    except FileNotFoundError as error:
        say(str(error))
        return 1
    run = time.strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(4)
    coordinator = Coordinator(
        [program, *command, "--agents", str(options.agents), "--run-id", run],
    )
    agents = _agents.Agents(options, run, coordinator.stop)
    agents.start()
    status = coordinator.status()
    agents.over.set()
    agents.join(_agents.LAST_WORDS + PATIENCE)
    status = 1 if agents.failed else status
    if agents.is_alive():
        say("Lithops does not come to an end, and is left: lithops clean deletes what it stored")
        sys.stdout.flush()
        os._exit(status)
    return status


if __name__ == "__main__":
    sys.exit(main())
