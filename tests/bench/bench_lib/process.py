# SPDX-License-Identifier: BSD-2-Clause
"""What a server's processes use: CPU time, memory, processors."""
import collections
import contextlib
import os
import pathlib
import re
import threading
import time

TICK = os.sysconf("SC_CLK_TCK")
Cpu = collections.namedtuple("Cpu", "user system")      # seconds


def family(pid):
    """pid and all its descendants that live."""
    children = collections.defaultdict(list)
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            children[int(path.read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()[1])].append(int(path.parts[2]))
    found = [pid]
    for one in found:
        found += children[one]
    return found


def cpu(pid):
    """User and system time of a process, its descendants, and those of them that have ended."""
    user = system = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{one}/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()
            user += int(fields[11]) + int(fields[13])
            system += int(fields[12]) + int(fields[14])
    return Cpu(user / TICK, system / TICK)


def cpu_clock(pid):
    """Seconds of CPU that the threads of one process have used, to the nanosecond; cheap."""
    return time.clock_gettime(~pid << 3 | 2)        # MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of the kernel


def clock_of_all(pid):
    """As cpu_clock(), of a process and its descendants that live."""
    total = 0.0
    for one in family(pid):
        with contextlib.suppress(OSError):
            total += cpu_clock(one)
    return total


def threads(pid):
    """{thread: seconds of CPU that it has used}"""
    found = {}
    for path in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found[int(path.name)] = int(pathlib.Path(path, "schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    return found


def thread_named(pid, name):
    """The thread of that name; None: there is none."""
    for path in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            if pathlib.Path(path, "comm").read_text(encoding="ascii").strip() == name:
                return int(path.name)
    return None


def waited(pid, thread):
    """Seconds that a thread was ready to run so far, and other threads had its processor."""
    return int(pathlib.Path(f"/proc/{pid}/task/{thread}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9


def faults(pid, thread):
    """Page faults of a thread so far."""
    fields = pathlib.Path(f"/proc/{pid}/task/{thread}/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()
    return int(fields[7]) + int(fields[9])


def memory(pid):
    """Bytes of anonymous and shared memory in RAM, once where processes share a page: no pages of files, which the system may drop."""
    total = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            text = pathlib.Path(f"/proc/{one}/smaps_rollup").read_text(encoding="ascii")
            total += sum(int(value) for value in re.findall(r"^Pss_(?:Anon|Shmem):\s+(\d+) kB", text, re.M))
    return total * 1024


def anonymous(pid):
    """Bytes of anonymous memory of one process, cheap to ask often."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    match = re.search(r"RssAnon:\s+(\d+) kB", text)
    return int(match.group(1)) * 1024 if match else 0


class Peak:
    """The highest anonymous memory of a process while the block runs, looked at every 5 ms."""

    def __init__(self, pid):
        self.pid, self.bytes = pid, 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self):
        while not self._end.wait(0.005):
            self.bytes = max(self.bytes, anonymous(self.pid))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()


def pin(pid, processor):
    """All threads of a process and its descendants on one processor, whatever they have chosen."""
    for one in family(pid):
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{one}/task"):
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(int(task), {processor})


def processors():
    """(the server's processor, the load's): the last and the first; the same on a machine with one."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[-1], usable[0]


def interrupts():
    """{processor: interrupts that devices have sent to it so far}"""
    head, *lines = pathlib.Path("/proc/interrupts").read_text(encoding="ascii", errors="replace").splitlines()
    numbers = [int(word.removeprefix("CPU")) for word in head.split()]
    counts = dict.fromkeys(numbers, 0)
    for name, _, rest in (line.partition(":") for line in lines):
        if name.strip().isdigit():
            for number, count in zip(numbers, rest.split()):
                counts[number] += int(count)
    return counts


def apart():
    """(a processor for the thread that is measured, the load's, one for all else): the first is that which devices interrupt least, as an operator
    chooses it. All else shares the load's on a machine with two."""
    counts = interrupts()
    usable = sorted(os.sched_getaffinity(0), key=lambda number: counts.get(number, 0))
    return usable[0], usable[-1], usable[-2 if len(usable) > 2 else -1]


@contextlib.contextmanager
def on_processor(processor):
    """What is started in the block begins on that processor. None: no change."""
    before = os.sched_getaffinity(0)
    if processor is not None:
        os.sched_setaffinity(0, {processor})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def written(pid):
    """Bytes that a process has written so far, and whether a thread of it waits for a disk."""
    total, waits = 0, False
    for one in family(pid):
        with contextlib.suppress(OSError):
            text = pathlib.Path(f"/proc/{one}/io").read_text(encoding="ascii")
            total += int(re.search(r"^wchar: (\d+)", text, re.M).group(1)) + int(re.search(r"^write_bytes: (\d+)", text, re.M).group(1))
            for task in pathlib.Path(f"/proc/{one}/task").glob("*/stat"):
                waits |= task.read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()[0] == "D"
    return total, waits


def busy_until(pid, quiet=1.0, timeout=120):
    """Wait until loading, saving and cleaning up are over: hardly any CPU time, nothing written, for `quiet` seconds.

    Returns the monotonic clock when that began.
    """
    last = time.monotonic()
    end, before = last + timeout, (sum(cpu(pid)), written(pid)[0])
    while time.monotonic() - last < quiet and time.monotonic() < end:
        time.sleep(0.05)
        bytes_written, waits = written(pid)
        now = (sum(cpu(pid)), bytes_written)
        if now[0] - before[0] > 0.015 or now[1] != before[1] or waits:
            last = time.monotonic()
        before = now
    return last


def settle(pid, timeout=120):
    busy_until(pid, 1.0, timeout)


def idle_rate(pid, seconds=1.0):
    """What it uses without any query, per second: not the replies' fault."""
    before = cpu(pid)
    time.sleep(seconds)
    after = cpu(pid)
    return Cpu(*((b - a) / seconds for a, b in zip(before, after)))
