"""The console script `hedgerow`: the same program as the one built by Cargo."""

import signal
import sys
from typing import NoReturn

from hedgerow import _hedgerow


def main() -> NoReturn:
    """Run the command line with this process's arguments."""
    # The program listens for Ctrl-C itself; the interpreter's own handler would only note it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_hedgerow.command_line(["hedgerow", *sys.argv[1:]]))
