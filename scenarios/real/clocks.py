"""Wall clocks of real agents that jump: a preloaded library reads from a file how far. Other clocks
stay true."""

import struct

import lab

LIBRARY = lab.ROOT / "build" / "release" / "bench" / "libbench_jump_clock.so"


def path_of(agent):
    return agent.lab.directory / f"{agent.name}.clock"


def environment_of(agent):
    if not LIBRARY.exists():
        raise lab.Failure("a clock cannot jump here: ninja -C build/release bench_jump_clock")
    path_of(agent).write_bytes(struct.pack("=q", 0))
    return {"LD_PRELOAD": str(LIBRARY), "MUSTER_JUMP_CLOCK": str(path_of(agent))}


def jump(agent, seconds):
    """By so much, from where the clock is now."""
    with open(path_of(agent), "r+b") as file:
        offset, = struct.unpack("=q", file.read())
        file.seek(0)
        file.write(struct.pack("=q", offset + round(seconds)))
