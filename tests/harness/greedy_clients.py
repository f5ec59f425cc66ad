#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""TCP clients that ask and never read: the kernel's own, in the network namespace that this program runs in.

    greedy_clients.py SERVER PORT NAME COUNT RATE SECONDS SOURCE...

Opens RATE connections per second for SECONDS from the sources in turn, each with a small receive buffer; each sends COUNT queries for NAME
TXT at once and then does nothing. Prints `opened=N failed=N` when the time is over or its standard input ends. Rate 0: nothing.
"""
import resource
import select
import socket
import struct
import sys
import time

import dns.message

RECEIVE_BUFFER = 2048
IN_PROGRESS_MAX = 20000


def flood(server, port, wires, rate, seconds, sources):
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    poll = select.epoll()
    open_socks, opened, failed, made = {}, 0, 0, 0
    begin = time.monotonic()
    while (now := time.monotonic()) < begin + seconds:
        while made < (now - begin) * rate and len(open_socks) < IN_PROGRESS_MAX:
            sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
            sock.setsockopt(socket.IPPROTO_IP, 24, 1)       # IP_BIND_ADDRESS_NO_PORT: so many ports for each source
            made += 1
            try:
                sock.bind((sources[made % len(sources)], 0))
                sock.connect_ex((server, port))
            except OSError:
                failed += 1
                sock.close()
                continue
            open_socks[sock.fileno()] = sock
            poll.register(sock, select.EPOLLOUT | select.EPOLLONESHOT)
        for fd, events in poll.poll(0.002):
            try:
                if events & select.EPOLLOUT and not events & select.EPOLLERR:
                    open_socks[fd].send(wires)
                    opened += 1
                    poll.modify(fd, 0)      # of what follows only that it is over
                    continue
            except OSError:
                pass
            failed += not events & select.EPOLLHUP
            poll.unregister(fd)
            open_socks.pop(fd).close()
        if select.select([sys.stdin], [], [], 0)[0] and not sys.stdin.buffer.raw.read(1):
            break
    return opened, failed


def main():
    server, port, name, count, rate, seconds, *sources = sys.argv[1:]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    query = dns.message.make_query(name, "TXT").to_wire()
    wires = (struct.pack("!H", len(query)) + query) * int(count)
    print("opened=%d failed=%d" % flood(server, int(port), wires, float(rate), float(seconds), sources), flush=True)


if __name__ == "__main__":
    main()
