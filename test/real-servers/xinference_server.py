"""Runs xinference-local without its limit of two minutes for a start, which are too few on a busy machine."""

import sys

from xinference.deploy import api_host, cmdline, local_host

if __name__ == "__main__":
    api_host.STARTUP_TIMEOUT = local_host.STARTUP_TIMEOUT = 1500
    sys.exit(cmdline.local())
