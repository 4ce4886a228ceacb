#!/usr/bin/env python3
"""faults.py PROGRAM [ROUNDS] [PART]: harms one of three agents, ROUNDS (20) times for each fault in
each phase of a run, and compares its output and counts with the stand-in's own log.

PROGRAM is a springload built with all features. PART runs only the cases whose name contains it,
such as `stop-` or `-fill`. Skewed clocks need Linux and the right to make a time namespace.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

RATE, SECONDS, CONNECTIONS, DOCUMENTS = 300, 6, 9, 30_000
# The agent that is harmed, by the order in which they are started.
HARMED = 1


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Round:
    """A run on its own server, with three agents started by this script."""

    def __init__(self, program, folder, offset_s=0):
        self.program, self.folder, self.children = program, folder, []
        self.log = os.path.join(folder, "server.csv")
        self.environment = dict(os.environ, SPRINGLOAD_STATE="", SPRINGLOAD_JOIN_TOKEN="a" * 32)
        port, door = free_port(), free_port()
        address = f"127.0.0.1:{port}"
        # Slow enough that the fill takes seconds.
        self.start("serve", "--listen", address, "--log", self.log, "--capacity", "2000/s")
        wait(lambda: reachable(port), "the server")
        self.record = os.path.join(folder, "run.json")
        self.coordinator = self.start(
            "run", f"http://{address}/faults", "--agents", "3", "-c", str(CONNECTIONS),
            "-r", str(RATE), "-d", f"{SECONDS}s", "--docs", str(DOCUMENTS), "--batch", "10",
            "--listen", f"127.0.0.1:{door}", "-o", self.record, "--ready-timeout", "20s",
        )
        self.agents = []
        for index in range(3):
            skew = [] if index != HARMED or offset_s == 0 else [
                "unshare", "--time", f"--monotonic={offset_s}", f"--boottime={offset_s}"]
            self.agents.append(self.start("agent", "--join", f"tcp://127.0.0.1:{door}", before=skew))
        self.harmed = self.agents[HARMED]

    def start(self, *words, before=()):
        name = f"{len(self.children)}-{words[0]}.out"
        with open(os.path.join(self.folder, name), "w") as out:
            child = subprocess.Popen(
                [*before, self.program, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                cwd=self.folder, env=self.environment)
        self.children.append(child)
        return child

    def requests(self):
        with open(self.log) as log:
            return max(sum(1 for _ in log) - 1, 0)

    def reach(self, phase):
        """Waits for the middle of a phase."""
        if phase == "ready":
            wait(lambda: "have joined" in self.text(), "the start")
            return
        wait(lambda: self.requests() > 20, "the fill")
        if phase == "fill":
            return
        wait(lambda: self.requests() > DOCUMENTS / 10 + 100, "the mix")
        time.sleep({"mixed": 1.5, "end": SECONDS - 0.6}[phase])

    def end(self):
        """Waits for the run, and for load after it. Returns the exit status and late requests."""
        try:
            status = self.coordinator.wait(timeout=90)
        except subprocess.TimeoutExpired:
            status = "HANGS"
        time.sleep(1)
        before = self.requests()
        time.sleep(5)
        return status, self.requests() - before

    def stop(self):
        for child in self.children:
            if child.poll() is None:
                child.send_signal(signal.SIGCONT)
                child.kill()
            child.wait()

    def text(self):
        with open(os.path.join(self.folder, "1-run.out")) as out:
            return out.read()


def reachable(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def wait(holds, what):
    for _ in range(1_200):
        if holds():
            return
        time.sleep(0.05)
    raise RuntimeError(f"{what} never began")


def kill(run):
    run.harmed.kill()


def stop(seconds):
    def harm(run):
        run.harmed.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        run.harmed.send_signal(signal.SIGCONT)
    return harm


def slow(run):
    """Niceness 19 beside two busy loops per processor."""
    os.setpriority(os.PRIO_PROCESS, run.harmed.pid, 19)
    for thread in os.listdir(f"/proc/{run.harmed.pid}/task"):
        os.setpriority(os.PRIO_PROCESS, int(thread), 19)
    for _ in range(2 * os.cpu_count()):
        run.children.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))


FAULTS = {
    "kill": (kill, 0),
    "stop1": (stop(1), 0),
    "stop2": (stop(2), 0),
    "stop5": (stop(5), 0),
    "stop8": (stop(8), 0),
    "slow": (slow, 0),
    "ahead": (lambda run: None, 2),
    "behind": (lambda run: None, -2),
}


def judge(fault, phase, run, status, late):
    """The mistakes in the output of the run."""
    wrong, text = [], run.text()
    if status == "HANGS":
        wrong.append("the run hangs")
    if late:
        wrong.append(f"{late} requests came after the run had ended")
    if any(agent.poll() is None for agent in run.agents):
        wrong.append("an agent is still there")
    record = {}
    if os.path.exists(run.record):
        with open(run.record) as file:
            record = json.load(file)
    # They are numbered in the order of arrival.
    numbers = {agent["pid"]: agent["index"] for agent in record.get("agents", [])}
    harmed = {numbers.get(run.harmed.pid)}
    blamed = {index for index in range(3) if f"agent {index}" in text.lower()}
    if record and not blamed <= harmed:
        wrong.append(f"agents {sorted(blamed)} are blamed, {sorted(harmed)} was harmed")
    harmless = fault in ("ahead", "behind") or (fault in ("stop1", "stop2") and phase == "ready")
    if harmless and blamed:
        wrong.append("an agent is blamed for nothing")
    if not harmless and fault != "slow" and not blamed:
        wrong.append("nobody is blamed")
    if not record:
        if phase != "ready":
            wrong.append("there is no record")
        return wrong
    counted = {kind: 0 for kind in ("requests", "sent")}
    for stage in record["stages"]:
        counted["requests"] += sum(it["requests"] for it in stage["operations"])
    answered, held = run.requests(), 0
    if fault == "kill":
        # Its share of the last second, and requests under way; bulks of ten at full capacity.
        held = (2_000 if phase == "fill" else RATE) / 3 * 1.5 + CONNECTIONS
    # The run's own requests that look for the database and create it.
    own = 12
    if not counted["requests"] - own <= answered <= counted["requests"] + own + held:
        wrong.append(f"{answered} requests came, {counted['requests']} are in the record")
    return wrong


def main():
    program = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    failed = done = 0
    for number in range(rounds):
        for fault, (harm, offset_s) in FAULTS.items():
            for phase in ("ready", "fill", "mixed", "end"):
                name = f"{fault}-{phase}"
                if part not in name or (offset_s and phase != "ready"):
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    run = Round(program, folder, offset_s)
                    try:
                        run.reach(phase)
                        harm(run)
                        status, late = run.end()
                        wrong = judge(fault, phase, run, status, late)
                    except RuntimeError as error:
                        wrong, status = [str(error)], "?"
                    finally:
                        run.stop()
                    done, failed = done + 1, failed + bool(wrong)
                    print(f"round {number + 1} {name}: exit {status}: {'; '.join(wrong) or 'right'}",
                          flush=True)
                    if wrong:
                        print(run.text(), flush=True)
    print(f"{done} runs, {failed} not right")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
