"""Lithops' configuration: that of FAKE_CONFIG."""

import json
import os


def load_config(_file, log):
    """What a file would have said."""
    return json.loads(os.environ.get("FAKE_CONFIG", '{"lithops": {"backend": "localhost"}}'))
