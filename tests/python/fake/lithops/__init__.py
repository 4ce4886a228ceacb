"""Stands in for Lithops: runs functions in threads, fails as FAKE_LITHOPS asks, logs its calls."""

import json
import os
import threading
import time
from pathlib import Path

MODE = os.environ.get("FAKE_LITHOPS", "works")


def note(what, **said):
    """Appends a line to the log that the test reads."""
    line = json.dumps({"what": what, **said}, default=str)
    with (Path(os.environ["FAKE_FOLDER"]) / "lithops").open("a") as file:
        file.write(line + "\n")


class Future:
    """One function."""

    def __init__(self, function, arguments):
        """Starts it in a thread."""
        self.error = self.success = self.done = False
        self._exception = (Exception, Exception(), None)
        self.call = lambda: function(*arguments)
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        """Runs it to its end."""
        try:
            if MODE == "killed":
                raise MemoryError("The function process was killed with SIGKILL")
            self.call()
        except Exception as error:
            self._exception = (type(error), error, None)
            self.error = True
        self.success = self.done = True


class FunctionExecutor:
    """The part of Lithops' executor that the launcher uses."""

    def __init__(self, **settings):
        """Logs its settings."""
        note("executor", **settings)

    def map(self, function, data, **settings):
        """Starts the functions, or fails to."""
        note("map", **settings)
        if MODE == "fails":
            raise ConnectionError("no such backend here")
        if MODE == "hangs":
            # Lithops has threads like this, which the interpreter would wait for.
            threading.Thread(target=time.sleep, args=(1000,), daemon=False).start()
            time.sleep(1000)
        os.environ.update(settings["extra_env"])
        return [Future(function, arguments) for arguments in data]

    def wait(self, futures, **settings):
        """Returns silently, or reports that nothing is known."""
        if MODE == "blind":
            raise OSError("the storage does not answer")

    def clean(self, **settings):
        """Logs the call."""
        note("clean", **settings)

    def __exit__(self, *_):
        """Logs the call."""
        note("exit")
