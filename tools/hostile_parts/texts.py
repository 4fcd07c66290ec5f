"""Scripts, tables and bytes, changed as people and programs get them wrong."""

import re

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


def mutate_bytes(data, rng):
    """Changes that a disk, an editor or a program that stops makes to any file."""
    way = rng.choice(("cut", "append", "twice", "bom", "crlf", "nul", "flip", "flip", "insert", "delete"))
    at = rng.randrange(len(data) + 1)
    if way == "cut":
        return data[:at], f"cut at {at}"
    if way == "append":
        more = rng.choice((b"x", b"\n---\na: 1\n", b"{}", b"\n\x00", b"}", b"\n- 1\n"))
        return data + more, f"append {more!r}"
    if way == "twice":
        return data + data, "twice"
    if way == "bom":
        return b"\xef\xbb\xbf" + data, "bom"
    if way == "crlf":
        return data.replace(b"\n", b"\r\n"), "crlf"
    if way == "nul":
        return data[:at] + b"\x00" + data[at:], f"nul at {at}"
    if way == "insert":
        more = rng.choice((b"\xff", b"\t", b"'", b'"', b"[", b"{", b": ", b"- ", b"#", b"&a ", b"*a "))
        return data[:at] + more + data[at:], f"insert {more!r} at {at}"
    if way == "delete":
        return data[:at] + data[at + rng.randint(1, 4):], f"delete at {at}"
    out = bytearray(data)
    if out:
        at %= len(out)
        out[at] ^= 1 << rng.randrange(8)
    return bytes(out), f"flip at {at}"


def _other_number(found, rng):
    value = float(found)
    return rng.choice(["0", f"-{found}", f"{value * 2:g}", f"{value / 2:g}", f"{value * 1000:g}", f"{value / 1000:g}",
                       f"{value + 1:g}", f"{value * 1e6:g}", "1e308", "9223372036854775808", "nan", f"'{found}'", f"0{found}", ""])


def _change_number(text, rng):
    found = list(NUMBER.finditer(text))
    if not found:
        return text, "no number"
    one = rng.choice(found)
    other = _other_number(one[0], rng)
    return text[: one.start()] + other + text[one.end():], f"number {one[0]} to {other}"


def mutate_numbers(text, rng):
    """Numbers, lines and blanks of any text."""
    if rng.random() < 0.6:
        text, done = _change_number(text, rng)
        return text.encode(), done
    lines = text.splitlines()
    at = rng.randrange(len(lines))
    way = rng.choice(("drop", "repeat", "swap", "blank", "tab"))
    if way == "drop":
        del lines[at]
    elif way == "repeat":
        lines.insert(at, lines[at])
    elif way == "swap":
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif way == "blank":
        lines[at] = lines[at].replace(" ", "", 1)
    else:
        lines[at] = lines[at].replace("\t", " ") if "\t" in lines[at] else "\t" + lines[at]
    return ("\n".join(lines) + "\n").encode(), f"{way} line {at + 1}"


def mutate_script(text, rng):
    lines = text.splitlines()
    at = rng.randrange(len(lines))
    words = re.findall(r"--[\w-]+", text)
    way = rng.choice(("number", "number", "drop", "repeat", "branch", "array", "option", "value", "quote", "comment", "loop", "case",
                      "rename", "equals"))
    if way == "number":
        return _change_number(text, rng)
    if way == "drop":
        del lines[at]
    elif way == "repeat":
        lines.insert(rng.randrange(len(lines) + 1), lines[at])
    elif way == "branch":
        one = _change_number(lines[at], rng)[0]
        lines[at] = rng.choice(("if [ $SIZE = big ]; then\n{}\nelse\n{}\nfi", "if [ -f x ]; then\n{}\nfi\n{}", "test -d y && {}\n{}")).format(
            lines[at].rstrip("\\"), one)
    elif way == "array":
        lines.insert(0, "OTHER=(" + _change_number(" ".join(words[:1]) + " 7", rng)[0] + ")")
    elif way == "loop":
        lines.insert(0, "for i in 1 2 3; do"), lines.append("done")
    elif way == "case":
        lines.insert(at, "case $NAME in a) PP=8;; b) PP=1;; esac")
    elif way == "option":
        word = rng.choice(words)
        lines = "\n".join(lines).replace(word, rng.choice((word + " no", word + "=off", word + " 1 2", word.replace("-", "_"), word[:-1])), 1).splitlines()
    elif way == "value":
        word = rng.choice(words)
        lines = "\n".join(lines).replace(word, word + " " + rng.choice(("", "[1, 2]", "$UNSET", "${X:-3}", "$(nproc)", "$((1/0))", "'", "é")), 1).splitlines()
    elif way == "quote":
        lines[at] = lines[at] + rng.choice(("'", '"', "`", "$(", "${", "((", "<<EOF"))
    elif way == "comment":
        lines.insert(at, "# " + lines[at])
    elif way == "rename":
        return re.sub(rng.choice(words), "--unknown-option", text, count=1), "rename"
    elif way == "equals":
        return re.sub(r"(--[\w-]+) (\d+)", r"\1=\2", text), "equals"
    return "\n".join(lines) + "\n", f"{way} in line {at + 1}"


def mutate_table(text, rng):
    """A CSV file with a header."""
    rows = [line.split(",") for line in text.splitlines()]
    row, column = rng.randrange(len(rows)), rng.randrange(len(rows[0]))
    way = rng.choice(("cell", "cell", "cell", "drop row", "repeat row", "drop cell", "more cells", "column twice", "swap columns", "word"))
    if way == "cell":
        row = rng.randrange(1, len(rows)) if len(rows) > 1 else 0
        numbers = [c for c in range(len(rows[row])) if NUMBER.fullmatch(rows[row][c])]
        if numbers:
            column = rng.choice(numbers)
            rows[row][column] = _other_number(rows[row][column], rng)
    elif way == "drop row":
        del rows[row]
    elif way == "repeat row":
        rows.append(list(rows[row]))
    elif way == "drop cell":
        del rows[row][column % len(rows[row])]
    elif way == "more cells":
        rows[row].append("1")
    elif way == "column twice":
        rows[0][column] = rows[0][rng.randrange(len(rows[0]))]
    elif way == "swap columns":
        other = rng.randrange(len(rows[0]))
        rows[0][column], rows[0][other] = rows[0][other], rows[0][column]
    else:
        rows[row][column % len(rows[row])] = rng.choice(("", "x", "=1+1", '"', "é", " 1", "1 "))
    return "\n".join(",".join(row) for row in rows) + "\n", f"{way} in row {row + 1}, column {column + 1}"
