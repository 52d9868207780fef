"""Becomes a host with the nodes of GPUs without a driver, then its agent:

    gpu_host.py FOLDER COUNT -- PROGRAM [ARGUMENT]...

To be run by root."""

import os
import sys

sys.dont_write_bytecode = True

import escape_host  # noqa: E402

if __name__ == "__main__":
    escape_host.GPUS = int(sys.argv[2])
    escape_host.make_devices(f"{sys.argv[1]}/stage", {})
    os.execvp(sys.argv[4], sys.argv[4:])
