#!/usr/bin/env python3
"""A gang's heartbeat: a ring all-reduce over TCP, with the standard library only.

Every step each rank contributes rank + step; after the ring every rank must hold the same known
sum, and exits 1 when it does not. When a peer dies its neighbours fail at once and so, around the
ring, does everybody.
"""

import argparse
import json
import os
import socket
import struct
import sys
import time

CONNECT_SECONDS = 30
NUMBER = struct.Struct("!q")


def connect(address, deadline):
    """Retries until the peer listens: ranks start in any order."""
    while True:
        try:
            peer = socket.create_connection(address, timeout=max(0.1, deadline - time.monotonic()))
        except OSError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.05)
        else:
            peer.settimeout(None)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return peer


def listen(host, port, backlog):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # create_server sets SO_REUSEADDR, which a held MASTER_PORT needs.
    return socket.create_server((host, port), family=family, backlog=backlog)


def accept(server, deadline):
    server.settimeout(max(0.1, deadline - time.monotonic()))
    peer, _ = server.accept()
    peer.settimeout(None)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def read_exactly(peer, size):
    data = b""
    while len(data) < size:
        chunk = peer.recv(size - len(data))
        if not chunk:
            raise ConnectionError("a peer is gone")
        data += chunk
    return data


def write_message(peer, value):
    data = json.dumps(value).encode()
    peer.sendall(struct.pack("!I", len(data)) + data)


def read_message(peer):
    return json.loads(read_exactly(peer, struct.unpack("!I", read_exactly(peer, 4))[0]))


def serve_rendezvous(master, world_size, ring_port, deadline):
    """Rank 0 collects where every rank listens and tells all of them."""
    with listen(master[0], master[1], world_size) as server:
        addresses = {0: [master[0], ring_port]}
        peers = []
        while len(addresses) < world_size:
            peer = accept(server, deadline)
            rank, address = read_message(peer)
            addresses[rank] = address
            peers.append(peer)
        ordered = [addresses[rank] for rank in range(world_size)]
        for peer in peers:
            write_message(peer, ordered)
            peer.close()
    return ordered


def rendezvous(rank, world_size, master, deadline):
    """Returns this rank's ring server and the ring addresses of all ranks."""
    if rank == 0:
        server = listen(master[0], 0, 1)
        return server, serve_rendezvous(master, world_size, server.getsockname()[1], deadline)
    with connect(master, deadline) as peer:
        # The address this host reaches the master from is one the other hosts can reach.
        server = listen(peer.getsockname()[0], 0, 1)
        write_message(peer, [rank, list(server.getsockname()[:2])])
        peer.settimeout(max(0.1, deadline - time.monotonic()))
        return server, read_message(peer)


def build_ring(rank, world_size, master):
    deadline = time.monotonic() + CONNECT_SECONDS
    server, addresses = rendezvous(rank, world_size, master, deadline)
    with server:
        right = connect(tuple(addresses[(rank + 1) % world_size]), deadline)
        return accept(server, deadline), right


def all_reduce(left, right, value, world_size):
    """Each rank passes on what it got last: after world_size - 1 rounds everybody saw all."""
    total, passing = value, value
    for _ in range(world_size - 1):
        right.sendall(NUMBER.pack(passing))
        passing = NUMBER.unpack(read_exactly(left, NUMBER.size))[0]
        total += passing
    return total


def write_ledger(path):
    """One line a run that got to its end: who runs twice is found out."""
    if path:
        with open(path, "a", encoding="ascii") as ledger:
            ledger.write(f"{os.environ.get('MUSTER_JOB_ID', '0')}\n")


def run(arguments, rank, world_size, master):
    left = right = None
    if world_size > 1:
        left, right = build_ring(rank, world_size, master)
    total = 0
    for step in range(arguments.steps):
        total = all_reduce(left, right, rank + step, world_size)
        expected = world_size * (world_size - 1) // 2 + world_size * step
        if total != expected:
            print(f"rank {rank} step {step}: sum {total}, expected {expected}", file=sys.stderr)
            return 1
        if rank == 0:
            print(f"step {step} sum={total} ranks={world_size}", flush=True)
        time.sleep(arguments.step_seconds)
    if rank == 0:
        write_ledger(arguments.ledger)
        print(f"done steps={arguments.steps} sum={total}", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description="ring all-reduce over the ranks of a gang")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--step-seconds", type=float, default=0.2)
    parser.add_argument("--ledger", help="rank 0 appends its job's id to this file when done")
    arguments = parser.parse_args()
    rank = int(os.environ.get("RANK", "0"))
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    master = (os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "0")))
    try:
        return run(arguments, rank, world_size, master)
    except OSError as error:
        print(f"rank {rank}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
