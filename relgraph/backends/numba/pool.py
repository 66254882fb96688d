"""A thread pool that shares the range of a kernel.

The caller offers its range to the helpers and takes chunks of it like them.  If helpers are late
because other processes occupy the processors, the caller does their work and waits only for those
in the middle of a chunk. (OpenMP threads meet in a barrier at the end of every range, so on a busy
machine one late thread costs milliseconds.) A caller that finds the helpers busy works alone.

Helpers spin for some microseconds, then sleep.  They never hold the GIL. A forked child has no
helpers and starts its own when it needs them.
"""

from __future__ import annotations

import ctypes
import platform
import signal
from typing import Any

from relgraph.errors import CompileError

SPINS = 1000  # checks for a job before a helper goes to sleep: about 20 us
SIZE = 1024  # bytes of a pool

# The offsets of the fields of a pool: a mutex and two conditions, for which 128 bytes suffice on
# every system; the job; and the fields that change often, on separate cache lines.
MUTEX, WORK, DONE = 0, 128, 256
KERNEL, ARRAYS, INTEGERS, COUNT, CHUNK, CHUNKS = 384, 392, 400, 408, 416, 424
OPEN, ACTIVE, LIMIT, TAKEN, NUMBER = 512, 520, 528, 536, 576
NEXT = 640

_PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}
_PAUSE["arm64"] = _PAUSE["aarch64"]
_PAUSE["AMD64"] = _PAUSE["x86_64"]

_DECLARED = """
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i64 @llvm.smin.i64(i64, i64)
"""

_FIELDS = """
; The fields of a pool.
define internal i64 @get(ptr %pool, i64 %offset) alwaysinline {
  %at = getelementptr i8, ptr %pool, i64 %offset
  %value = load i64, ptr %at, align 8
  ret i64 %value
}

define internal void @set(ptr %pool, i64 %offset, i64 %value) alwaysinline {
  %at = getelementptr i8, ptr %pool, i64 %offset
  store i64 %value, ptr %at, align 8
  ret void
}
"""

_PIECES = f"""
; Take piece after piece of the job until none is left.
define internal void @work(ptr %pool, ptr %kernel, ptr %arrays, ptr %integers, i64 %count,
                           i64 %chunk, i64 %chunks) {{
entry:
  %next = getelementptr i8, ptr %pool, i64 {NEXT}
  br label %take
take:
  %k = atomicrmw add ptr %next, i64 1 seq_cst
  %some = icmp slt i64 %k, %chunks
  br i1 %some, label %run, label %none
run:
  %start = mul i64 %k, %chunk
  %end = add i64 %start, %chunk
  %stop = call i64 @llvm.smin.i64(i64 %end, i64 %count)
  call void %kernel(ptr %arrays, ptr %integers, i64 %start, i64 %stop)
  br label %take
none:
  ret void
}}
"""

# The job is written under the lock and stays valid while ACTIVE helpers run it: the next caller
# writes a job only when TAKEN is 0, and this caller clears TAKEN after OPEN and ACTIVE are 0.
_SHARE = f"""
; Offer a range to the helpers and take part in it; alone, where another caller has them.
define void @NAME_share(ptr %kernel, ptr %arrays, ptr %integers, i64 %count, i64 %chunk,
                        i64 %chunks, i64 %threads, ptr %pool) {{
entry:
  %taken = getelementptr i8, ptr %pool, i64 {TAKEN}
  %found = cmpxchg ptr %taken, i64 0, i64 1 seq_cst seq_cst
  %ours = extractvalue {{ i64, i1 }} %found, 1
  br i1 %ours, label %offer, label %alone
alone:
  call void %kernel(ptr %arrays, ptr %integers, i64 0, i64 %count)
  ret void
offer:
  %mutex = getelementptr i8, ptr %pool, i64 {MUTEX}
  %work = getelementptr i8, ptr %pool, i64 {WORK}
  %done = getelementptr i8, ptr %pool, i64 {DONE}
  %active = getelementptr i8, ptr %pool, i64 {ACTIVE}
  %next = getelementptr i8, ptr %pool, i64 {NEXT}
  %number = getelementptr i8, ptr %pool, i64 {NUMBER}
  %kernel.n = ptrtoint ptr %kernel to i64
  %arrays.n = ptrtoint ptr %arrays to i64
  %integers.n = ptrtoint ptr %integers to i64
  %helpers = sub i64 %threads, 1
  %1 = call i32 @pthread_mutex_lock(ptr %mutex)
  call void @set(ptr %pool, i64 {KERNEL}, i64 %kernel.n)
  call void @set(ptr %pool, i64 {ARRAYS}, i64 %arrays.n)
  call void @set(ptr %pool, i64 {INTEGERS}, i64 %integers.n)
  call void @set(ptr %pool, i64 {COUNT}, i64 %count)
  call void @set(ptr %pool, i64 {CHUNK}, i64 %chunk)
  call void @set(ptr %pool, i64 {CHUNKS}, i64 %chunks)
  call void @set(ptr %pool, i64 {LIMIT}, i64 %helpers)
  call void @set(ptr %pool, i64 {OPEN}, i64 1)
  store atomic i64 0, ptr %next seq_cst, align 8
  %2 = atomicrmw add ptr %number, i64 1 seq_cst
  %3 = call i32 @pthread_cond_broadcast(ptr %work)
  %4 = call i32 @pthread_mutex_unlock(ptr %mutex)
  call void @work(ptr %pool, ptr %kernel, ptr %arrays, ptr %integers, i64 %count, i64 %chunk,
                  i64 %chunks)
  %5 = call i32 @pthread_mutex_lock(ptr %mutex)
  call void @set(ptr %pool, i64 {OPEN}, i64 0)
  %6 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %look
look:  ; helpers end a piece at about the time the caller does
  %i = phi i64 [ 0, %offer ], [ %i.next, %again ]
  %left = load atomic i64, ptr %active seq_cst, align 8
  %free = icmp eq i64 %left, 0
  br i1 %free, label %leave, label %again
again:
  PAUSE
  %i.next = add i64 %i, 1
  %patient = icmp slt i64 %i.next, {SPINS}
  br i1 %patient, label %look, label %sleep
sleep:
  %7 = call i32 @pthread_mutex_lock(ptr %mutex)
  br label %check
check:
  %some = load atomic i64, ptr %active seq_cst, align 8
  %empty = icmp eq i64 %some, 0
  br i1 %empty, label %awake, label %wait
wait:
  %8 = call i32 @pthread_cond_wait(ptr %done, ptr %mutex)
  br label %check
awake:
  %9 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %leave
leave:
  store atomic i64 0, ptr %taken seq_cst, align 8
  ret void
}}
"""

# NUMBER counts jobs, so that a helper can detect a new job without the lock.
_HELP = f"""
; What a helper does, for ever: join the job that is open, or wait for one.
define ptr @NAME_help(ptr %pool) {{
entry:
  %mutex = getelementptr i8, ptr %pool, i64 {MUTEX}
  %work = getelementptr i8, ptr %pool, i64 {WORK}
  %done = getelementptr i8, ptr %pool, i64 {DONE}
  %active = getelementptr i8, ptr %pool, i64 {ACTIVE}
  %number = getelementptr i8, ptr %pool, i64 {NUMBER}
  br label %lock
lock:
  %1 = call i32 @pthread_mutex_lock(ptr %mutex)
  br label %look
look:  ; under the lock: is there a job with room for one more?
  %seen = load atomic i64, ptr %number seq_cst, align 8
  %open = call i64 @get(ptr %pool, i64 {OPEN})
  %is.open = icmp ne i64 %open, 0
  %others = load atomic i64, ptr %active seq_cst, align 8
  %limit = call i64 @get(ptr %pool, i64 {LIMIT})
  %has.room = icmp slt i64 %others, %limit
  %next = call i64 @get(ptr %pool, i64 {NEXT})
  %chunks = call i64 @get(ptr %pool, i64 {CHUNKS})
  %has.work = icmp slt i64 %next, %chunks
  %both = and i1 %is.open, %has.room
  %joins = and i1 %both, %has.work
  br i1 %joins, label %join, label %wait
wait:
  %2 = call i32 @pthread_cond_wait(ptr %work, ptr %mutex)
  br label %look
join:
  %3 = atomicrmw add ptr %active, i64 1 seq_cst
  %kernel.n = call i64 @get(ptr %pool, i64 {KERNEL})
  %arrays.n = call i64 @get(ptr %pool, i64 {ARRAYS})
  %integers.n = call i64 @get(ptr %pool, i64 {INTEGERS})
  %count = call i64 @get(ptr %pool, i64 {COUNT})
  %chunk = call i64 @get(ptr %pool, i64 {CHUNK})
  %kernel = inttoptr i64 %kernel.n to ptr
  %arrays = inttoptr i64 %arrays.n to ptr
  %integers = inttoptr i64 %integers.n to ptr
  %4 = call i32 @pthread_mutex_unlock(ptr %mutex)
  call void @work(ptr %pool, ptr %kernel, ptr %arrays, ptr %integers, i64 %count, i64 %chunk,
                  i64 %chunks)
  %5 = call i32 @pthread_mutex_lock(ptr %mutex)
  %6 = atomicrmw sub ptr %active, i64 1 seq_cst
  %last = icmp eq i64 %6, 1
  br i1 %last, label %tell, label %told
tell:
  %7 = call i32 @pthread_cond_broadcast(ptr %done)
  br label %told
told:
  %8 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %spin
spin:  ; the next job often comes at once
  %i = phi i64 [ 0, %told ], [ %i.next, %spun ]
  %now = load atomic i64, ptr %number seq_cst, align 8
  %new = icmp ne i64 %now, %seen
  br i1 %new, label %lock, label %spun
spun:
  PAUSE
  %i.next = add i64 %i, 1
  %patient = icmp slt i64 %i.next, {SPINS}
  br i1 %patient, label %spin, label %lock
}}
"""


def text() -> str:
    """Return the module with two functions: ``NAME_share`` for callers and ``NAME_help`` for
    helpers.
    """
    declared, pause = _PAUSE.get(platform.machine(), ("", ""))
    module = f"{_DECLARED}{declared}\n{_FIELDS}{_PIECES}{_SHARE}{_HELP}"
    return module.replace("PAUSE", pause)


class Pool:
    """A pool of helpers that run the function at the address ``help_``."""

    def __init__(self, help_: int) -> None:
        # 64 more bytes, so that the fields can be aligned to a cache line.
        self._memory: Any = ctypes.create_string_buffer(SIZE + 64)
        self.address = (ctypes.addressof(self._memory) + 63) & -64
        self._help = help_
        self._library: Any = ctypes.CDLL(None)
        self._helpers: list[Any] = []
        for make, place in (
            (self._library.pthread_mutex_init, MUTEX),
            (self._library.pthread_cond_init, WORK),
            (self._library.pthread_cond_init, DONE),
        ):
            if make(ctypes.c_void_p(self.address + place), None):
                raise CompileError(
                    "the threads of kernels cannot be started",
                    fix="Let the process have more threads, or use target='numpy'.",
                )

    def grow(self, helpers: int) -> None:
        """Start helpers until there are ``helpers`` of them, or as many as the system allows."""
        create = self._library.pthread_create
        # Helpers block all signals: Python handles signals in the main thread.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            while len(self._helpers) < helpers:
                identity = ctypes.c_void_p()
                arguments = ctypes.c_void_p(self._help), ctypes.c_void_p(self.address)
                if create(ctypes.byref(identity), None, *arguments):
                    break
                self._helpers.append(identity)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


__all__ = ["Pool", "text"]
