#!/usr/bin/env python3
"""Repeats a memory snapshot of PyTorch, for measuring the reader on large files.

usage: python3 amplify_snapshot.py FILE.pickle FACTOR OUT.pickle

Segments and events come FACTOR times, each time at other addresses and later, as if as many equal jobs had run one after
the other without giving memory back. So the blocks at the end still are what the history left, and owners add up. The
input is read with `pickle.load`: pass only files that you trust. The output has the shape that Python writes, protocol 4
with batches of 1000, and each round refers to the frames and strings of the first. Where a list of frames is forgotten, its
object stays alive with the input, so no other gets its identity.
"""

import pickle
import struct
import sys

BATCH = 1000
ADDRESS_STEP = 1 << 44
TIME_STEP_US = 1_000_000_000


class Writer:
    """Writes values as opcodes. What was written before, by identity, is fetched from the memo."""

    def __init__(self, out):
        self.out, self.slots, self.next_slot, self.kept = out, {}, 0, []

    def memoize(self, value):
        self.out.write(b"\x94")
        if value is not None and id(value) not in self.slots:
            self.slots[id(value)] = self.next_slot
            self.kept.append(value)
        self.next_slot += 1

    def forget_lists(self):
        """Lists are written again: each round has stacks of its own, as each event of a real file has."""
        for value in self.kept:
            if isinstance(value, list):
                self.slots.pop(id(value), None)
        self.kept = [value for value in self.kept if not isinstance(value, list)]

    def value(self, value):
        write = self.out.write
        if id(value) in self.slots and isinstance(value, (str, list, dict, tuple)):
            slot = self.slots[id(value)]
            write(b"h" + bytes([slot]) if slot < 256 else b"j" + struct.pack("<I", slot))
        elif value is None:
            write(b"N")
        elif isinstance(value, bool):
            write(b"\x88" if value else b"\x89")
        elif isinstance(value, int):
            write(integer(value))
        elif isinstance(value, float):
            write(b"G" + struct.pack(">d", value))
        elif isinstance(value, str):
            raw = value.encode("utf-8", "surrogatepass")
            write((b"\x8c" + bytes([len(raw)]) if len(raw) < 256 else b"X" + struct.pack("<I", len(raw))) + raw)
            self.memoize(value)
        elif isinstance(value, tuple):
            write(b"(")
            for item in value:
                self.value(item)
            write(b"t")
            self.memoize(value)
        elif isinstance(value, dict):
            self.dict(value, value)
        else:
            self.list(value, value)

    def dict(self, value, remembered):
        self.out.write(b"}")
        self.memoize(remembered)
        self.out.write(b"(")
        for key, item in value.items():
            self.value(key)
            self.value(item)
        self.out.write(b"u")

    def list(self, items, remembered, write_item=None):
        self.out.write(b"]")
        self.memoize(remembered)
        count = 0
        for item in items:
            if count % BATCH == 0:
                self.out.write(b"(" if count == 0 else b"e(")
            (write_item or self.value)(item)
            count += 1
        if count:
            self.out.write(b"e")


def integer(value):
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if 0 <= value < 65536:
        return b"M" + struct.pack("<H", value)
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def moved(value, times, round_):
    """The same dict at another address and time."""
    shift = {"address": ADDRESS_STEP, "addr": ADDRESS_STEP, "time_us": times}
    return {key: item + shift[key] * round_ if key in shift and isinstance(item, int) else item for key, item in value.items()}


def segments(snapshot, factor, writer):
    for round_ in range(factor):
        writer.forget_lists()
        for segment in snapshot.get("segments") or []:
            blocks = [moved(block, 0, round_) for block in segment.get("blocks") or []]
            yield {**moved(segment, 0, round_), "blocks": blocks}


def events(trace, factor, writer):
    for round_ in range(factor):
        writer.forget_lists()
        for event in trace:
            yield moved(event, TIME_STEP_US, round_)


def main(path, factor, target):
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
    with open(target, "wb", buffering=1 << 20) as out:
        writer = Writer(out)

        def segment(value):
            # Only what the input holds is remembered: frames and strings.
            out.write(b"}")
            writer.memoize(None)
            out.write(b"(")
            for key, item in value.items():
                writer.value(key)
                if key == "blocks":
                    writer.list(item, None, lambda block: writer.dict(block, None))
                else:
                    writer.value(item)
            out.write(b"u")

        out.write(b"\x80\x04}")
        writer.memoize(None)
        out.write(b"(")
        for key, value in snapshot.items():
            writer.value(key)
            if key == "segments":
                writer.list(segments(snapshot, factor, writer), None, segment)
            elif key == "device_traces":
                writer.list(value, None, lambda trace: writer.list(events(trace, factor, writer), None, lambda event: writer.dict(event, None)))
            else:
                writer.value(value)
        out.write(b"u.")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
