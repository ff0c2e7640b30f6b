#!/usr/bin/env python3
"""blocks.py FILE... - prints how many whole blocks of 4 KiB there are, how many differ, and how many kvtrace wrote."""
import sys

seen, count, ours = set(), 0, 0
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        while len(block := file.read(4096)) == 4096:
            count += 1
            seen.add(block)
            ours += block[:8] == b"KVTRACE1"
print(count, len(seen), ours)
