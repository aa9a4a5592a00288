"""Confine a process that reads untrusted files: no network, no programs, no large files, no endless work.

Platforms support different protections; `confine` returns the names of those that work.

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
# For each machine: its name in audit.h, and the numbers of socket(2) and io_uring_setup(2), which can make sockets too.
_MACHINES = {"x86_64": (0xC000003E, 41, 425), "aarch64": (0xC00000B7, 198, 425)}
_FIRST_X32_CALL = 0x40000000  # From this number on, x86-64 has its system calls a second time (x32).
_PERMITTED_PROGRAMS = ("tesseract",)
_REFUSED_EVENTS = (
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
    "os.system",
    "pty.spawn",
)
MAXIMUM_FILE_BYTES = 1 << 20
"""Maximum size of a file that a reader may write, in bytes: enough for compiled modules."""


def confine() -> list[str]:
    """Cut this process off from the network and from programs, and limit the files that it writes.

    Return the names of the protections that work: "namespace", "filter", "hook".
    """
    protections = []
    if sys.platform == "linux":
        protections += ["namespace"] if _enter_empty_network() else []
        protections += ["filter"] if _install_socket_filter() else []
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (MAXIMUM_FILE_BYTES, MAXIMUM_FILE_BYTES))
    sys.addaudithook(_refuse_event)
    return [*protections, "hook"]


def limit_processor(seconds: float) -> None:
    """Let the system end this process after so many further seconds of processor time; no effect on Windows."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(usage.ru_utime + usage.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _enter_empty_network() -> bool:
    """Move this process into a network namespace without any interface; return whether that worked."""
    unshare = getattr(ctypes.CDLL(None), "unshare", None)
    if unshare is None:
        return False
    user, group = os.geteuid(), os.getegid()
    if user == 0:  # In a user namespace, root would lose its right to read the files of other users.
        return bool(unshare(NEW_NETWORK) == 0)
    if unshare(NEW_USER | NEW_NETWORK) != 0:  # Without root rights, that needs a user namespace as well.
        return False
    with suppress(OSError):  # Keep the ids of user and group; the rights on files do not depend on these.
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    return True


class _FilterProgram(ctypes.Structure):
    """The C structure `sock_fprog`: the length and the instructions of a filter."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _install_socket_filter() -> bool:
    """Let the system refuse to create sockets for this process and those that it starts; return whether that worked."""
    numbers = _MACHINES.get(platform.machine())
    if numbers is None:
        return False
    machine, socket, ring = numbers
    load, equal, at_least, end = 0x20, 0x15, 0x35, 0x06  # BPF: load a word, jump if equal, jump if not below, return
    refuse, allow = 0x00050000 | 13, 0x7FFF0000  # SECCOMP_RET_ERRNO with EACCES, SECCOMP_RET_ALLOW
    # Each instruction: its code, the instructions to skip if it holds, those to skip if it does not, its operand.
    instructions = (
        (load, 0, 0, 4),  # the machine
        (equal, 0, 5, machine),
        (load, 0, 0, 0),  # the number of the system call
        (equal, 3, 0, socket),
        (equal, 2, 0, ring),
        (at_least, 1, 0, _FIRST_X32_CALL),
        (end, 0, 0, allow),
        (end, 0, 0, refuse),
    )
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    filter = _FilterProgram(len(instructions), program)
    control = ctypes.CDLL(None).prctl
    control.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    if control(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    return bool(control(SECCOMP, FILTER, ctypes.addressof(filter), 0, 0) == 0)


def _refuse_event(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise `PermissionError` for an audit event of Python that opens a socket or starts a program but tesseract."""
    if event.startswith("socket.") and event not in ("socket.gethostname", "socket.sethostname"):
        raise PermissionError(13, f"a process that reads files has no network ({event})")
    if event == "subprocess.Popen":
        executable, command, *_ = arguments
        name = os.path.basename(os.fsdecode(executable or command[0]))
        if name.removesuffix(".exe") not in _PERMITTED_PROGRAMS:
            raise PermissionError(13, f"a process that reads files starts no programs ({name})")
    elif event in _REFUSED_EVENTS:
        raise PermissionError(13, f"a process that reads files starts no programs ({event})")
