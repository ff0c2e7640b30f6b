"""hostile.py - what the hostile servers of the tests share: a program is run against each of many answers, side by side, and
what it took is printed, a line each: name, exit status, seconds, peak memory in MiB, the program's last line."""
import os
import queue
import socket
import subprocess
import sys
import threading
import time


class Server:
    """A port of its own on the loopback. talk(peer, number): the whole life of connection number, from 0 on."""

    def __init__(self, talk):
        self.talk, self.number = talk, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(peer, self.number), daemon=True).start()
            self.number += 1

    def serve(self, peer, number):
        try:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.talk(peer, number)
        except OSError:
            pass
        finally:
            peer.close()

    def close(self):
        self.listener.close()


def measured(argv, limit_s, env=None):
    """The command's exit status (minus the signal's number), seconds, peak MiB, and last line of standard error."""
    began = time.monotonic()
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=dict(os.environ, **(env or {}))) as child:
        last = [b""]

        def read():  # what the program says of itself is worth more than its figures
            for line in child.stderr:
                if line.startswith(b"kv") or not last[0].startswith(b"kv"):
                    last[0] = line if line.strip() else last[0]

        reader = threading.Thread(target=read)
        reader.start()
        killer = threading.Timer(limit_s, child.kill)
        killer.start()
        reader.join()
        _, status, usage = os.wait4(child.pid, 0)
        killer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
    text = last[0].decode("ascii", "backslashreplace").strip()
    return child.returncode, time.monotonic() - began, usage.ru_maxrss / 1024, text


def run(cases, one, beside=4):
    """cases: list of (name, anything), beside of them at a time. one(anything) returns what measured does. Prints the lines in the order of cases."""
    todo, results = queue.Queue(), {}
    for case in cases:
        todo.put(case)

    def work():
        while True:
            try:
                name, what = todo.get_nowait()
            except queue.Empty:
                return
            try:
                results[name] = one(what)
            except Exception as problem:  # one that is wrong must not hide the others
                results[name] = (-99, 0, 0, "the test itself: %r" % problem)

    threads = [threading.Thread(target=work) for _ in range(beside)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, _ in cases:
        print("%s|%d|%.1f|%.0f|%s" % ((name,) + results[name]))
    sys.stdout.flush()
