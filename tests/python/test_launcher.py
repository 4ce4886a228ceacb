"""The launcher when something fails, with stand-ins for Lithops and for springload.

python -m unittest discover tests/python
"""

import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
FAKE = HERE / "fake"
URL = "amqp://ann:secret@127.0.0.1:1"
# The launcher with shorter timeouts, for the tests in which Lithops hangs.
LAUNCHER = """
import sys
from springload import _agents, lithops
_agents.POLL, _agents.LAST_WORDS, lithops.PATIENCE = 0.05, 0.5, 1.0
sys.exit(lithops.main())
"""


class Launched:
    """A launcher under test, in its own folder."""

    def __init__(self, folder, words, **more):
        """Starts it."""
        self.folder = Path(folder)
        paths = [str(HERE.parent.parent / "python"), str(FAKE)]
        environment = {
            **os.environ,
            "FAKE_FOLDER": folder,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join(paths),
            "SPRINGLOAD_BIN": str(FAKE / "springload"),
            "SPRINGLOAD_BROKER": URL,
            **more.pop("env", {}),
        }
        more.setdefault("stdin", subprocess.DEVNULL)
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, *words.split()],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )

    def told(self, name):
        """The text that a stand-in writes, once it has."""
        file = self.folder / name
        for _ in range(2000):
            if file.exists():
                return json.loads(file.read_text())
            time.sleep(0.01)
        self.process.kill()
        raise AssertionError(f"no {name}: {self.process.communicate()}")

    def lithops(self, what):
        """The launcher's calls to Lithops with this name."""
        lines = (self.folder / "lithops").read_text().splitlines()
        return [said for said in map(json.loads, lines) if said["what"] == what]

    def end(self):
        """Lets the coordinator and the agents end."""
        (self.folder / "end").touch()

    def ended(self):
        """Waits a little for the exit status and the output."""
        try:
            _, stderr = self.process.communicate(timeout=20)
        finally:
            self.process.kill()
        return self.process.returncode, stderr


class LauncherTest(unittest.TestCase):
    """Each test starts one launcher."""

    def launch(self, words, **more):
        """Starts it in a folder that is removed with the test."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        launched = Launched(folder.name, words, **more)
        self.addCleanup(launched.end)
        return launched

    def test_coordinator_and_agents_belong_together(self):
        """One run, N agents, the broker only in the environment, and Lithops' data deleted."""
        it = self.launch("-n 3 -- bm-couchdb -n 600 -t 20")
        coordinator = it.told("coordinator")["argv"]
        self.assertEqual(coordinator[:6], ["bm-couchdb", "-n", "600", "-t", "20", "--agents"])
        run = coordinator[coordinator.index("--run-id") + 1]
        for index in range(3):
            agent = it.told(f"agent{index}")
            wanted = ["agent", "--run", run, "--index", str(index)]
            self.assertEqual((agent["argv"][:5], agent["broker"]), (wanted, URL))
        it.end()
        self.assertEqual(it.ended(), (0, ""))
        [executor], [mapped] = it.lithops("executor"), it.lithops("map")
        self.assertEqual(executor["worker_processes"], 3)
        self.assertEqual(executor["runtime"], sys.executable)
        self.assertEqual((mapped["chunksize"], mapped["extra_env"]), (1, {}))
        self.assertTrue(it.lithops("exit") and it.lithops("clean")[0]["force"])

    def test_elsewhere_each_agent_has_a_function_of_its_own(self):
        """Lithops' limits on workers would make agents wait for each other."""
        config = '{"lithops": {"backend": "k8s"}, "k8s": {"worker_processes": 4}}'
        it = self.launch(
            "-n 150 --runtime image --timeout 900 -- run x",
            env={"FAKE_CONFIG": config, "FAKE_LITHOPS": "killed"},
        )
        it.told("coordinator")
        while not (it.folder / "lithops").exists() or not it.lithops("map"):
            time.sleep(0.01)
        it.end()
        it.ended()
        [executor], [mapped] = it.lithops("executor"), it.lithops("map")
        self.assertEqual((executor["worker_processes"], executor["max_workers"]), (1, 150))
        self.assertEqual((executor["runtime"], executor["runtime_timeout"]), ("image", 900))
        self.assertEqual(mapped["extra_env"], {"SPRINGLOAD_BROKER": URL})
        self.assertEqual(mapped["timeout"], 900)

    def test_lithops_does_not_start_the_agents(self):
        """The coordinator, which would wait for them, is stopped."""
        it = self.launch("-n 2 -- run x", env={"FAKE_LITHOPS": "fails"})
        status, stderr = it.ended()
        self.assertEqual(status, 1)
        self.assertIn("did not start the agents: ConnectionError: no such backend here", stderr)

    def test_the_coordinator_ends_while_lithops_hangs(self):
        """Its exit status is passed on, and Lithops is not waited for."""
        it = self.launch("-n 2 -- run x", env={"FAKE_LITHOPS": "hangs", "FAKE_STATUS": "3"})
        it.told("coordinator")
        it.end()
        status, stderr = it.ended()
        self.assertEqual(status, 3)
        self.assertIn("is left", stderr)

    def test_failed_agents_are_named(self):
        """Their output is shown; the run continues, because the coordinator decides that."""
        it = self.launch("-n 3 -- run x", env={"FAKE_FAILS": "1"})
        for index in range(3):
            it.told(f"agent{index}")
        line = it.process.stderr.readline()
        wanted = "springload-lithops: agent 1: exit status 1: error: the broker refuses the user\n"
        self.assertEqual(line, wanted)
        it.end()
        self.assertEqual(it.ended(), (0, ""))

    def test_a_killed_host_is_explained(self):
        """Lithops reports it as a lack of memory."""
        it = self.launch("-n 1 -- run x", env={"FAKE_LITHOPS": "killed"})
        self.assertIn("agent 0: its Python process was killed", it.process.stderr.readline())
        it.end()
        self.assertEqual(it.ended(), (0, ""))

    def test_lithops_knows_nothing_of_its_functions(self):
        """This is reported once, and has no other effect."""
        it = self.launch("-n 1 -- run x", env={"FAKE_LITHOPS": "blind", "FAKE_STATUS": "5"})
        self.assertIn("the storage does not answer", it.process.stderr.readline())
        time.sleep(0.3)
        it.end()
        self.assertEqual(it.ended(), (5, ""))

    def test_signals_are_passed_on(self):
        """Once and twice, in order; without a terminal the coordinator is in another group."""
        it = self.launch("-n 1 -- run x", env={"FAKE_DRAINS": "1"}, start_new_session=True)
        self.assertNotEqual(it.told("coordinator")["group"], it.process.pid)
        it.told("agent0")
        for number in (1, 2):
            os.killpg(it.process.pid, signal.SIGINT)
            self.assertEqual(it.told(f"signal{number}")["number"], signal.SIGINT)
            self.assertFalse((it.folder / f"signal{number + 1}").exists())
        self.assertEqual(it.ended(), (130, ""))

    def test_asked_to_terminate(self):
        """The coordinator is."""
        it = self.launch("-n 1 -- run x")
        it.told("coordinator")
        it.process.terminate()
        self.assertEqual(it.told("signal1")["number"], signal.SIGTERM)
        self.assertEqual(it.ended()[0], 130)

    def test_a_terminal_tells_the_coordinator_itself(self):
        """Ctrl-C reaches it once."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        it = self.launch(
            "-n 1 -- run x",
            env={"FAKE_DRAINS": "1"},
            stdin=theirs,
            preexec_fn=on_terminal,
        )
        os.close(theirs)
        self.assertEqual(it.told("coordinator")["group"], it.process.pid)
        it.told("agent0")
        os.write(ours, b"\x03")
        self.assertEqual(it.told("signal1")["number"], signal.SIGINT)
        time.sleep(0.3)
        self.assertFalse((it.folder / "signal2").exists())
        os.write(ours, b"\x03")
        it.told("signal2")
        self.assertEqual(it.ended(), (130, ""))

    def test_what_cannot_be_meant_is_refused(self):
        """Before anything is started."""
        for words, reason in (
            ("-n 0 -- run x", "at least one"),
            ("-n 2 run x", "unrecognized"),
            ("-n 2 -- cushion x", "one of run, burst"),
            ("-n 2 -- run x --agents=4", "before --"),
            ("-n 2 --broker amqp://ann:secret@h -- run x", "SPRINGLOAD_BROKER"),
        ):
            it = self.launch(words)
            status, stderr = it.ended()
            self.assertEqual((status, reason in stderr), (2, True), stderr)
            self.assertNotIn("secret", stderr)
            self.assertFalse((it.folder / "coordinator").exists())
        status, stderr = self.launch("-n 2 -- run x", env={"SPRINGLOAD_BROKER": ""}).ended()
        self.assertEqual((status, "RabbitMQ" in stderr), (2, True), stderr)


def on_terminal():
    """In a new process: its standard input is its terminal, and it is in the foreground."""
    os.setsid()
    os.close(os.open(os.ttyname(0), os.O_RDWR))


if __name__ == "__main__":
    unittest.main()
