"""Makes a large XPlane file of a small one: every line has its events again and again, each time later.

usage: python bench/amplify_xplane.py IN.xplane.pb FACTOR OUT.xplane.pb
"""
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def encoded(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data):
    """Number, wire type, value, and the bytes of the whole field."""
    at = 0
    while at < len(data):
        start = at
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        elif wire == 0:
            value, at = varint(data, at)
        else:
            value, at = None, at + (8 if wire == 1 else 4)
        yield number, wire, value, data[start:at]


def message(number, parts):
    body = b''.join(parts)
    return encoded(number << 3 | 2) + encoded(len(body)) + body


def later(event, by_ps):
    """The event with its offset moved."""
    parts, has_offset = [], False
    for number, wire, value, raw in fields(event):
        if (number, wire) == (2, 0):
            raw, has_offset = encoded(2 << 3) + encoded((value + by_ps) & (1 << 64) - 1), True
        parts.append(raw)
    if not has_offset:
        parts.append(encoded(2 << 3) + encoded(by_ps))
    return message(4, parts)


def line(data, factor, write):
    rest, events, last_ps = [], [], 1000
    for number, wire, value, raw in fields(data):
        if (number, wire) != (4, 2):
            rest.append(raw)
            continue
        events.append(value)
        times = {number: value for number, wire, value, _ in fields(value) if wire == 0}
        if times.get(2, 0) < 1 << 62:
            last_ps = max(last_ps, times.get(2, 0) + times.get(3, 0))
    write(b''.join(rest))
    for part in range(factor):
        write(b''.join(later(event, part * last_ps) for event in events))


def main(source, factor, target):
    with open(source, 'rb') as file:
        data = file.read()
    with open(target, 'wb') as out:
        for number, wire, value, raw in fields(data):
            if (number, wire) != (1, 2):
                out.write(raw)
                continue
            parts = []
            for inner, inner_wire, inner_value, inner_raw in fields(value):
                if (inner, inner_wire) == (3, 2):
                    pieces = []
                    line(inner_value, int(factor), pieces.append)
                    parts.append(message(3, pieces))
                else:
                    parts.append(inner_raw)
            out.write(message(1, parts))


if __name__ == '__main__':
    main(*sys.argv[1:])
