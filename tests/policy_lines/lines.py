#!/usr/bin/env python3
"""Is every line of the system call policies needed?

Takes lines away one at a time, builds the process with the filter that is
left, beside an ordinary build, and runs the duty of that process, which then
must fail. Of net, worker, http and init every line is tried; of supervisor,
exec and child the calls that their own code makes after its lock-down, as
strace sees them, and every line of their own files. A line that only some
hosts need says so: "(only HOST)" ends its reason.

usage: lines.py BUILD [ROLE[:CALL]...]

By hand, as root of the host, on a release build; nothing of it is part of a
release.
"""
import functools
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
POLICIES = os.path.join(SOURCE, 'policy', 'syscalls')
DUTY = os.path.join(SOURCE, 'tests', 'policy_lines', 'duty.mjs')
DUTY_SECONDS = 60

# role: its texts, the executable that holds its filter
ROLES = {
    'net': (['net'], 'net/sallyport-net'),
    'worker': (['worker'], 'exec/sallyport-exec'),
    'bridge': (['bridge'], 'exec/sallyport-exec'),
    'http': (['http'], 'http/sallyport-http'),
    'init': (['init'], 'exec/sallyport-exec'),
    'supervisor': (['supervisor', 'exec', 'child'], 'sallyport'),
    'exec': (['exec', 'child'], 'exec/sallyport-exec'),
    'child': (['child'], 'exec/sallyport-exec'),
}
EVERY_LINE = ('net', 'worker', 'bridge', 'http', 'init')
EXECUTABLES = ('sallyport', 'net/sallyport-net', 'exec/sallyport-exec',
               'exec/sallyport-worker', 'http/sallyport-http',
               'cli/sallyport-tool')
MACHINE = {'x86_64': 'x86_64', 'aarch64': 'aarch64'}[os.uname().machine]
RULE = re.compile(r'^([a-z_0-9]+)(?: \[(\w+)\])?[^#]*#\s*(.*)$')


class Line:
    """One rule of a text."""

    def __init__(self, text, number, match):
        self.text, self.number = text, number
        self.call, self.machine, self.reason = match.groups()

    def __str__(self):
        return f'{self.text}.policy:{self.number}: {self.call}'

    def is_elsewhere(self):
        return self.machine not in (None, MACHINE)

    def host(self):
        found = re.search(r'\(only ([^)]*)\)$', self.reason)
        return found and found.group(1)


@functools.lru_cache(maxsize=None)
def read_text(name):
    """Once: numbers of lines must stay what they are."""
    with open(os.path.join(POLICIES, name + '.policy'), encoding='utf8') as f:
        return f.read().splitlines()


def rules_of(name):
    lines = []
    for number, text in enumerate(read_text(name), 1):
        match = RULE.match(text)
        if match and match.group(1) not in ('default', 'unknown'):
            lines.append(Line(name, number, match))
    return lines


class Tree:
    """Executables as in a build tree, one of which is linked anew."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.path = tempfile.mkdtemp(prefix='sallyport-lines-', dir='/var/tmp')
        os.chmod(self.path, 0o755)
        for name in EXECUTABLES:
            self.restore(name)

    def restore(self, name):
        to = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy2(os.path.join(self.build, name), to)

    def remove(self):
        shutil.rmtree(self.path)

    def run(self, args):
        subprocess.run(args, cwd=self.build, check=True,
                       stdout=subprocess.DEVNULL)

    def link(self, role, without):
        """without(name, number, text): whether the line is left out."""
        names, executable = ROLES[role]
        files = []
        for name in names:
            files.append(os.path.join(self.path, name + '.policy'))
            with open(files[-1], 'w', encoding='utf8') as f:
                for number, text in enumerate(read_text(name), 1):
                    left_out = without(name, number, text)
                    f.write(('' if left_out else text) + '\n')
        code = os.path.join(self.path, 'filter.c')
        made = os.path.join(self.path, 'filter.o')
        self.run(['policy/policy-compile', '--filter', role, code, *files])
        self.run(['cc', '-c', '-fPIE', '-I', SOURCE, '-o', made, code])
        command = subprocess.run(['ninja', '-t', 'commands', executable],
                                 cwd=self.build, check=True,
                                 capture_output=True, text=True)
        link = command.stdout.splitlines()[-1].split()
        link = [made if word == f'policy/libfilter_{role}.a' else word
                for word in link]
        link[link.index('-o') + 1] = os.path.join(self.path, executable)
        self.run(link)


class Kernel:
    """What the kernel tells its readers of those that a filter has killed: the
    end of one that ends anyway is seen by nobody else. Its log leaves lines
    out when there are many."""
    FAMILY, READERS, KILLED = 9, 1, 1326  # of linux/audit.h
    LATE = 0.1  # seconds; they are sent by a thread of its own

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                                    self.FAMILY)
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # RCVBUFFORCE
        self.socket.bind((0, self.READERS))

    def has_killed(self, path):
        """Whether, since the last call, an executable below path."""
        found = False
        while select.select([self.socket], [], [], self.LATE)[0]:
            record = self.socket.recv(1 << 16)  # ENOBUFS: some were lost
            kind = struct.unpack_from('=IH', record)[1]
            found |= kind == self.KILLED and path.encode() in record
        return found


KERNEL = Kernel()


def run_duty(tree, role, front=()):
    """(did it do all, seconds)"""
    env = dict(os.environ, SALLYPORT_BUILD=tree.path)
    KERNEL.has_killed(tree.path)
    started = time.monotonic()
    try:
        done = subprocess.run([*front, 'node', DUTY, role], env=env,
                              timeout=DUTY_SECONDS * (5 if front else 1),
                              capture_output=True,
                              text=True, check=False)
        passed = done.returncode == 0
        said = done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        passed, said = False, 'it took too long'
    if KERNEL.has_killed(tree.path):
        passed, said = False, 'somebody was killed by a filter'
    return passed, time.monotonic() - started, said


# --- what a role's own code calls --------------------------------------------

STRACE = re.compile(r'^(\d+)<([^>]*)> +(?:<\.\.\. )?([a-z_0-9]+)')


def own_calls(log, role):
    """Calls after the lock-down that only sallyport's own code can make."""
    names = {'supervisor': 'sallyport', 'exec': 'sallyport-exec',
             'child': 'sallyport-exec'}
    locked, calls, first = {}, set(), None
    seen, server = set(), None
    with open(log, encoding='utf8', errors='replace') as f:
        for text in f:
            match = STRACE.match(text)
            if not match:
                continue
            pid, comm, call = match.groups()
            if comm != names[role]:
                continue
            if first is None:
                first = pid
            # A program begins with one of these, a fork of it does not.
            if pid not in seen and call in ('brk', 'execve'):
                server = pid
            seen.add(pid)
            # Both ways to load a filter.
            if 'SECCOMP_SET_MODE_FILTER' in text or \
               'SECCOMP_MODE_FILTER' in text:
                locked[pid] = locked.get(pid, 0) + 1
            count = locked.get(pid, 0)
            if role == 'supervisor':
                # Forks of it before they become a role are its own code too.
                if server in locked and (count or pid != server):
                    calls.add(call)
            elif role == 'exec':
                # Its children have no filter of their own at first.
                if first in locked and (pid == first or count == 0):
                    calls.add(call)
            elif pid != first and count and is_before_program(text, call):
                calls.add(call)
    return calls


def is_before_program(text, call):
    """Between the child's filter and its program: exec/child.c, the last two
    steps. Inits and file workers, which go on, have filters of their own."""
    return call in ('chdir', 'write', 'execve') and 'exited' not in text


def strace_calls(tree, role):
    log = os.path.join(tree.path, 'strace.log')
    passed, _, said = run_duty(tree, role, [
        'strace', '-f', '-qq', '--decode-pids=comm', '-o', log])
    if not passed:
        sys.exit(f'{role}: its duty under strace failed:\n{said}')
    calls = own_calls(log, role)
    os.unlink(log)
    return calls


# --- the figures -------------------------------------------------------------

class Count:
    def __init__(self):
        self.lines = self.needed = self.marked = self.elsewhere = 0
        self.unneeded = []
        self.slowest = 0.0


def try_line(tree, role, what, without, count, host=None):
    tree.link(role, without)
    passed, seconds, _ = run_duty(tree, role)
    count.lines += 1
    if not passed:
        count.needed += 1
    elif host:
        count.marked += 1
        print(f'  {what}: only {host}')
    else:
        count.unneeded.append(str(what))
        print(f'  {what}: NOT NEEDED', flush=True)
    return seconds


def try_every_line(tree, role, calls, count):
    for line in rules_of(role):
        if calls and line.call not in calls:
            continue
        if line.is_elsewhere():
            count.lines += 1
            count.elsewhere += 1
            continue
        try_line(tree, role, line,
                 lambda name, number, text, it=line: number == it.number,
                 count, line.host())


def try_own_calls(tree, role, only, count):
    calls = strace_calls(tree, role)
    names = ROLES[role][0]
    listed = {line.call for name in names for line in rules_of(name)
              if not line.is_elsewhere()}
    said = {line.call: line.host() for line in rules_of(role)
            if not line.is_elsewhere()}
    wanted = calls & listed
    if role != 'child':
        wanted |= set(said)
    for call in sorted(wanted & only if only else wanted):
        rule = re.compile(rf'{call}[ :#]')
        try_line(tree, role, f'{role}: {call}',
                 lambda name, number, text, it=rule: bool(it.match(text)),
                 # A line of child.policy has its reason there.
                 count, said.get(call, 'programs'))


def main():
    wanted = {}  # role: the calls, none for all
    for word in sys.argv[2:] or ROLES:
        role, _, call = word.partition(':')
        wanted.setdefault(role, set()).update([call] if call else [])
    if len(sys.argv) < 2 or any(role not in ROLES for role in wanted):
        sys.exit(__doc__)
    started = time.monotonic()
    tree = Tree(sys.argv[1])
    failed = False
    try:
        for role, calls in wanted.items():
            count = Count()
            tree.link(role, lambda *_: False)
            passed, seconds, said = run_duty(tree, role)
            if not passed:
                sys.exit(f'{role}: its duty fails with every line:\n{said}')
            print(f'{role}: its duty takes {seconds:.1f} s', flush=True)
            if role in EVERY_LINE:
                try_every_line(tree, role, calls, count)
            else:
                try_own_calls(tree, role, calls, count)
            tree.restore(ROLES[role][1])
            print(f'{role}: {count.lines} lines, {count.needed} needed, '
                  f'{count.marked} for other hosts or programs, '
                  f'{count.elsewhere} for '
                  f'other machines, {len(count.unneeded)} not needed',
                  flush=True)
            failed = failed or bool(count.unneeded)
    finally:
        tree.remove()
    print(f'{time.monotonic() - started:.0f} s')
    sys.exit(1 if failed else 0)


main()
