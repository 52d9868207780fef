"""frames_with.py HEX...: counts the frames of all links of this namespace that hold each of these
byte strings, until TERM; then prints one number a string."""

import signal
import socket
import sys

ALL_FRAMES = 3  # ETH_P_ALL
FRAME_BYTES = 1 << 16
RECEIVE_BUFFER_FORCE = 33  # SO_RCVBUFFORCE, which the module does not name.
BUFFER_BYTES = 64 << 20


def main(words):
    wanted = [bytes.fromhex(word) for word in words]
    counts = [0] * len(wanted)
    ends = []
    signal.signal(signal.SIGTERM, lambda *_: ends.append(True))
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_FRAMES))
    tap.setsockopt(socket.SOL_SOCKET, RECEIVE_BUFFER_FORCE, BUFFER_BYTES)
    tap.settimeout(0.1)
    print("ready", flush=True)
    while not ends:
        try:
            frame = tap.recv(FRAME_BYTES)
        except TimeoutError:
            continue
        for index, word in enumerate(wanted):
            counts[index] += word in frame
    print(*counts, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
