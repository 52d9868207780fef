"""Peers that speak ZeroMQ and say nothing sensible: each sends frames of the largest size that is
let in, as fast as it is read, and dials again when it is cut off. Bounded by its time."""

import os
import select
import socket
import time

FRAME_BYTES = 1 << 20
# ZMTP 3.0, mechanism NULL: the greeting, then READY of a DEALER.
GREETING = (b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
READY_BODY = b"\x05READY" + b"\x0bSocket-Type" + (6).to_bytes(4, "big") + b"DEALER"
HELLO = GREETING + b"\x04" + bytes([len(READY_BODY)]) + READY_BODY
FRAME = b"\x02" + FRAME_BYTES.to_bytes(8, "big") + os.urandom(FRAME_BYTES)


class Peer:
    def __init__(self, address):
        self.address = address
        self.bytes = 0
        self.dials = 0
        self.dial()

    def dial(self):
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(self.address)
        self.left = memoryview(HELLO)
        self.dials += 1

    def push(self):
        """Sends what the kernel takes now. A connection that ended is dialled again."""
        try:
            sent = self.socket.send(self.left)
        except BlockingIOError:
            return
        except OSError:
            self.socket.close()
            self.dial()
            return
        self.bytes += sent
        self.left = self.left[sent:] or memoryview(FRAME)


def make_noise(address, peers, seconds, every=lambda: None):
    """`peers` of them at once, for so long; `every` is called ten times a second. What was sent."""
    all_peers = [Peer(address) for _ in range(peers)]
    end = time.monotonic() + seconds
    look = 0
    while time.monotonic() < end:
        by_socket = {peer.socket: peer for peer in all_peers}
        _, writable, _ = select.select([], list(by_socket), [], 0.05)
        for each in writable:
            by_socket[each].push()
        if time.monotonic() >= look:
            every()
            look = time.monotonic() + 0.1
    for peer in all_peers:
        peer.socket.close()
    return {"bytes": sum(peer.bytes for peer in all_peers),
            "dials": sum(peer.dials for peer in all_peers)}
