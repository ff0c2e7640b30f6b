#!/usr/bin/env python3
# faultfs.py MOUNTPOINT FAULT - a file system in memory that fails as drives and network file systems do. Speaks the
# kernel's FUSE protocol (include/uapi/linux/fuse.h), so it needs root and /dev/fuse but no library. Serves in the
# foreground until it is unmounted; exit status 77 where it cannot be mounted. FAULT is one of
#   none        nothing fails
#   flush       closing a file that was written fails with EIO, as on a network file system
#   read:NAME   reading an object fails with that errno
#   flip        each write to an object arrives with one bit changed, behind the header of its first block
#   delay:MS    each read takes that many milliseconds, one after another; what each took, in nanoseconds, is written to the
#               standard output
import ctypes, errno, os, stat, struct, sys, time

mountpoint, fault = sys.argv[1:3]
delay = int(fault[6:]) / 1e3 if fault.startswith("delay:") else 0
read_error = getattr(errno, fault[5:]) if fault.startswith("read:") else 0
LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, UNLINK, RMDIR, OPEN, READ, WRITE = 1, 2, 3, 4, 9, 10, 11, 14, 15, 16
STATFS, RELEASE, FSYNC, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR = 17, 18, 20, 25, 26, 27, 28, 29
FSYNCDIR, CREATE, BATCH_FORGET, FALLOCATE = 30, 35, 42, 43
BIG_WRITES, SIZE_VALID, DIRECT_IO = 1 << 5, 1 << 3, 1


class Node:
    def __init__(self, mode):
        self.mode, self.data, self.names, self.written = mode, bytearray(), {}, False


nodes, last = {1: Node(stat.S_IFDIR | 0o755)}, 1


def attributes(number):
    node, size = nodes[number], len(nodes[number].data)
    return struct.pack("<6Q10I", number, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, node.mode, 1, 0, 0, 0, 4096, 0)


def entry(number):
    return struct.pack("<4Q2I", number, 0, 0, 0, 0, 0) + attributes(number)


def name_in(payload):
    return payload.split(b"\0", 1)[0]


def make(parent, name, mode):
    global last
    if name in nodes[parent].names:
        return -errno.EEXIST
    last += 1
    nodes[last] = Node(mode)
    nodes[parent].names[name] = last
    return last


def is_object(number):
    return any(number in node.names.values() and any(name.endswith(b".kv") and node.names[name] == number
        for name in node.names) for key, node in nodes.items() if key != 1)


def serve(op, number, payload):
    node = nodes[number] if number in nodes else None
    if op == INIT:
        return struct.pack("<4I2H2I2HI7I", 7, 31, 65536, BIG_WRITES, 64, 48, 131072, 1, 32, 0, 0, *[0] * 7)
    if op == LOOKUP:
        found = node.names.get(name_in(payload))
        return entry(found) if found else -errno.ENOENT
    if op == GETATTR:
        return struct.pack("<Q2I", 0, 0, 0) + attributes(number)
    if op == SETATTR:
        valid, _, _, size = struct.unpack_from("<2I2Q", payload)
        if valid & SIZE_VALID:
            del node.data[size:]
            node.data.extend(bytes(size - len(node.data)))
        return struct.pack("<Q2I", 0, 0, 0) + attributes(number)
    if op == MKDIR:
        made = make(number, name_in(payload[8:]), stat.S_IFDIR | 0o755)
        return entry(made) if made > 0 else made
    if op == CREATE:
        made = make(number, name_in(payload[16:]), stat.S_IFREG | 0o644)
        return entry(made) + struct.pack("<Q2I", 0, DIRECT_IO, 0) if made > 0 else made
    if op in (UNLINK, RMDIR):
        if name_in(payload) not in node.names:
            return -errno.ENOENT
        if nodes[node.names[name_in(payload)]].names:
            return -errno.ENOTEMPTY
        del node.names[name_in(payload)]
        return b""
    if op in (OPEN, OPENDIR):
        return struct.pack("<Q2I", 0, DIRECT_IO if op == OPEN else 0, 0)
    if op == READ:
        _, at, size = struct.unpack_from("<2QI", payload)
        if delay:
            time.sleep(delay)
        return -read_error if read_error and is_object(number) else bytes(node.data[at:at + size])
    if op == WRITE:
        _, at, size = struct.unpack_from("<2QI", payload)
        data = bytearray(payload[40:40 + size])
        if fault == "flip" and size > 1000 and is_object(number):
            data[1000] ^= 4
        node.data.extend(bytes(max(0, at + size - len(node.data))))
        node.data[at:at + size] = data
        node.written = True
        return struct.pack("<2I", size, 0)
    if op == FLUSH:
        return -errno.EIO if fault == "flush" and node.written and is_object(number) else b""
    if op == STATFS:
        return struct.pack("<5Q4I6I", 1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 20, 4096, 255, 4096, 0, *[0] * 6)
    if op == READDIR:
        _, at, size = struct.unpack_from("<2QI", payload)
        out = b""
        names = [(b".", number), (b"..", 1)] + sorted(node.names.items())
        for i in range(at, len(names)):
            name, child = names[i]
            kind = stat.S_IFMT(nodes[child].mode) >> 12 if child in nodes else 4
            one = struct.pack("<2Q2I", child, i + 1, len(name), kind) + name + bytes(-len(name) % 8)
            if len(out) + len(one) > size:
                break
            out += one
        return out
    if op in (RELEASE, RELEASEDIR, FSYNC, FSYNCDIR):
        return b""
    return -(errno.EOPNOTSUPP if op == FALLOCATE else errno.ENOSYS)


libc = ctypes.CDLL(None, use_errno=True)
try:
    fuse = os.open("/dev/fuse", os.O_RDWR)
except OSError as e:
    sys.exit(77)
options = f"fd={fuse},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}".encode()
if libc.mount(b"faultfs", mountpoint.encode(), b"fuse", 0, options) < 0:
    sys.exit(77)
while True:
    try:
        request = os.read(fuse, 1 << 18)
    except OSError as e:
        if e.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
            continue
        break  # unmounted
    _, op, unique, number = struct.unpack_from("<2I2Q", request)
    if op in (FORGET, BATCH_FORGET):
        continue
    since = time.monotonic_ns()
    answer = serve(op, number, request[40:])
    error, body = (answer, b"") if isinstance(answer, int) else (0, answer)
    try:
        os.write(fuse, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
    except OSError:
        pass  # the caller was killed
    if delay and op == READ:
        print(time.monotonic_ns() - since, flush=True)
