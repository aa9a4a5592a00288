"""What a process that reads strangers' files may not do: reach a network, start programs, fill the disk, work for ever.

Each of these is a limit of its own, and which of them a platform has is said: `confine` returns their names.

- On Linux the process moves into a network namespace without any interface, where that is permitted (to root, and
  where users may make namespaces), and, on x86-64 and arm64, a filter refuses the system calls that make sockets, to
  code in C as well, and to programs that it starts.
- Everywhere a hook of Python's own refuses sockets, host names and programs other than tesseract. It guards against
  what libraries in Python do by themselves; code in C, or hostile Python, is beyond it.
- POSIX limits end a process that works too long, and keep it from writing large files and core dumps.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000  # of unshare(2)
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2  # of prctl(2)
# Of each machine: its name in audit.h, and the numbers of socket(2) and io_uring_setup(2), which can make sockets too.
_MACHINES = {"x86_64": (0xC000003E, 41, 425), "aarch64": (0xC00000B7, 198, 425)}
_OTHER_NUMBERS = 0x40000000  # from here on x86-64 has its calls a second time (x32)
_PROGRAMS = ("tesseract",)
_REFUSED = ("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system", "pty.spawn")
LARGEST_FILE = 1 << 20
"""What a reader may write, in bytes: compiled modules, and no more."""


def confine() -> list[str]:
    """Cut this process off from the network; return which protections work: namespace, filter, hook."""
    found = []
    if sys.platform == "linux":
        found += ["namespace"] if _leave_network() else []
        found += ["filter"] if _filter_sockets() else []
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    sys.addaudithook(_refuse)
    return [*found, "hook"]


def limit_processor(seconds: float) -> None:
    """Let the system end this process after some further seconds of processor time; not possible on Windows."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(usage.ru_utime + usage.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _leave_network() -> bool:
    """Move into a network namespace of its own, without root rights inside a new user namespace."""
    unshare = getattr(ctypes.CDLL(None), "unshare", None)
    if unshare is None:
        return False
    user, group = os.geteuid(), os.getegid()
    if user == 0:  # within a namespace of users root would lose its right to read others' files
        return bool(unshare(NEW_NETWORK) == 0)
    if unshare(NEW_USER | NEW_NETWORK) != 0:
        return False
    with suppress(OSError):  # so that it is still called what it was; it may read the same files in any case
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    return True


class _Program(ctypes.Structure):
    """The C structure `sock_fprog`: the length and the instructions of a filter."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _filter_sockets() -> bool:
    """Let the system refuse to create sockets from now on, for this process and those that it starts."""
    known = _MACHINES.get(platform.machine())
    if known is None:
        return False
    machine, socket, ring = known
    load, equal, at_least, end = 0x20, 0x15, 0x35, 0x06  # of BPF: load a word, jump if equal, if not below, return
    refuse, allow = 0x00050000 | 13, 0x7FFF0000  # an error (EACCES), and a go
    steps = (
        (load, 0, 0, 4),  # the machine
        (equal, 0, 5, machine),
        (load, 0, 0, 0),  # the number of the call
        (equal, 3, 0, socket),
        (equal, 2, 0, ring),
        (at_least, 1, 0, _OTHER_NUMBERS),
        (end, 0, 0, allow),
        (end, 0, 0, refuse),
    )
    program = b"".join(struct.pack("HBBI", *step) for step in steps)
    filter = _Program(len(steps), program)
    control = ctypes.CDLL(None).prctl
    control.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    if control(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    return bool(control(SECCOMP, FILTER, ctypes.addressof(filter), 0, 0) == 0)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse some of Python's audit events, such as opening a connection. The hook cannot be removed."""
    if event.startswith("socket.") and event not in ("socket.gethostname", "socket.sethostname"):
        raise PermissionError(13, f"a process that reads files has no network ({event})")
    if event == "subprocess.Popen":
        name = os.path.basename(os.fsdecode(arguments[0] or arguments[1][0]))
        if name.removesuffix(".exe") not in _PROGRAMS:
            raise PermissionError(13, f"a process that reads files starts no programs ({name})")
    elif event in _REFUSED:
        raise PermissionError(13, f"a process that reads files starts no programs ({event})")
