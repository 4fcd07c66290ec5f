"""Puts several edits of one C++ source behind a switch each; tools/mutate compiles the result.

An edit replaces a piece of text. The smallest expression, argument or statement that holds the piece is switched, so
that both versions are C++. Edits that share one become a chain of versions.
"""
import re

OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")": "(", "]": "[", "}": "{"}
KEYWORDS = re.compile(r"(if|for|while|return|const|constexpr|auto|else|static|using|case|throw|do|switch|template|struct)\b")
DECLARATION = re.compile(r"(?s)(?!return\b)((?:static |constexpr |const )*([A-Za-z_][\w:]*(?:<.*?>)?)[ &*]+\w+) = (.*);")
MEMBER = re.compile(r"(?s)(\.?\w+ = )(.*)")  # of a designated initialiser, or one of several declared at once


def code_positions(text):
    """[position] whether it is code: neither comment nor text in quotes."""
    code, i = [True] * len(text), 0
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])\'', re.S)
    for found in pattern.finditer(text):
        code[found.start():found.end()] = [False] * (found.end() - found.start())
    return code


class Source:
    def __init__(self, text):
        self.text, self.code = text, code_positions(text)
        self.match, stack = {}, []
        for i, c in enumerate(text):
            if not self.code[i]:
                continue
            if c in OPEN:
                stack.append(i)
            elif c in CLOSE and stack:
                at = stack.pop()
                self.match[at], self.match[i] = i, at

    def before(self, i):
        """The last position before i that is neither blank nor comment; -1: none."""
        i -= 1
        while i >= 0 and (self.text[i].isspace() or (not self.code[i] and self.text[i] not in "\"'")):
            i -= 1
        return i

    def balanced(self, start, end):
        return all(start <= self.match.get(i, -1) < end for i in range(start, end)
                   if self.code[i] and self.text[i] in "()[]{}")

    def lists(self, start, end):
        """True if commas part it."""
        i = start
        while i < end:
            if self.code[i] and self.text[i] == ",":
                return True
            i = self.match[i] + 1 if self.code[i] and self.text[i] in OPEN and i in self.match else i + 1
        return False

    def expression(self, start, end):
        piece, text = self.text[start:end], self.text
        if ";" in piece or not self.balanced(start, end) or KEYWORDS.match(piece.lstrip()):
            return False
        if re.match(r"[\w.]", piece[0]) and start > 0 and re.match(r"[\w.]", text[start - 1]):
            return False
        if re.match(r"[\w(\[{]", text[end:end + 1] or " ") and re.match(r"\w", piece[-1]):
            return False
        if self.lists(start, end):
            return False
        if piece[-1] in "=+-*/<>&|?:," or piece[0] in "=*/<>|?:,.":
            return False
        left = self.before(start)
        return not (left >= 0 and (text[left] == "." or text[left - 1:left + 1] in ("->", "::")))

    def assigns(self, i):
        """True if an = is there that is no part of another operator."""
        return self.text[i] == "=" and self.text[i + 1] not in "=" and self.text[i - 1] not in "=<>!"

    def operand(self, start, end):
        """The argument, condition, initialiser or returned value that holds the piece."""
        first = start
        while first > 0:
            c = self.text[first - 1] if self.code[first - 1] else " "
            if c in CLOSE and first - 1 in self.match:
                first = self.match[first - 1]
                continue
            if c in OPEN or c in ",;" or self.assigns(first - 1) or re.search(r"\breturn $", self.text[first - 7:first]):
                break
            first -= 1
        last = end
        while last < len(self.text):
            c = self.text[last] if self.code[last] else " "
            if c in OPEN and last in self.match:
                last = self.match[last] + 1
                continue
            if c in CLOSE or c in ",;":
                break
            last += 1
        while first < last and (self.text[first].isspace() or not self.code[first]):
            first += 1
        return (first, last) if self.expression(first, last) else None

    def member(self, start, end):
        """From the name of a designated initialiser to the end of its value."""
        if self.text[start] != "." or not MEMBER.match(self.text, start) or self.text[self.before(start)] not in ",{(":
            return None
        found = self.operand(self.text.index("= ", start) + 2, end)
        return (start, found[1]) if found else None

    def begins_block(self, brace):
        left = self.before(brace)
        opens = re.compile(r"\b(else|do|try|const|noexcept|mutable|(namespace|struct|class)( [\w:]+)?)$")
        return left < 0 or self.text[left] in ");{}" or opens.search(self.text[max(0, left - 60):left + 1]) is not None

    def statement(self, start, end):
        i = start - 1
        while i >= 0:
            c = self.text[i] if self.code[i] else " "
            if c == ";" or (c == "{" and self.begins_block(i)):
                break
            if c == "}" and self.begins_block(self.match.get(i, i)):
                break
            i = self.match[i] - 1 if c in CLOSE and i in self.match else i - 1
        first = i + 1
        while self.text[first].isspace() or not self.code[first]:
            first += 1
        if self.text.startswith("else ", first) and first < start:
            first += 5
        i = end - 1 if self.text[end - 1] == ";" else end
        while i < len(self.text):
            c = self.text[i] if self.code[i] else " "
            if c == ";" and re.match(r"\s*else\b", self.text[i + 1:]):
                i += 1
                continue
            if c == ";":
                return first, i + 1
            if c == "{" and self.begins_block(i) and i in self.match:
                return first, self.match[i] + 1
            i = self.match[i] + 1 if c in OPEN and i in self.match else i + 1
        raise ValueError("no end of a statement")

    def region(self, start, end):
        piece = self.text[start:end]
        alone = not re.match(r"[\w.>:]", self.text[start - 1]) and not re.match(r"[\w.(\[{:<]|->", self.text[end:end + 2])
        if re.fullmatch(r"\w+", piece) and alone:
            while not self.code[start - 1] and not self.code[start]:  # a word in quotes: the whole text
                start -= 1
            while not self.code[start] and not self.code[end]:
                end += 1
            return start, end, "expression"
        found = self.member(start, end) or self.operand(start, end)
        if found and self.text[found[0]] != "{":
            return *found, "expression"
        return *self.statement(start, end), "statement"


def difference(text, start, old, new):
    """Where the words of the two differ: begin and end of the old ones."""
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    while same > 0 and re.match(r"\w", old[same - 1]):
        same -= 1
    alike = 0
    while alike < min(len(old), len(new)) - same and old[-1 - alike] == new[-1 - alike]:
        alike += 1
    while alike > 0 and re.match(r"\w", old[len(old) - alike]):
        alike -= 1
    return start + same, start + len(old) - alike


def chain(kind, original, versions):
    """versions: [(number, text)]."""
    if kind == "expression":
        members = [MEMBER.fullmatch(text) for text in [original, *(text for _, text in versions)]]
        if all(members):
            return members[0][1] + chain(kind, members[0][2], [(n, m[2]) for (n, _), m in zip(versions, members[1:])])
        out = f"({original})"
        for number, text in versions:
            out = f"(penstock_mutant == {number} ? ({text}) : {out})"
        return out
    parts = [DECLARATION.fullmatch(text) for text in [original, *(text for _, text in versions)]]
    if all(parts) and len({part[1] for part in parts}) == 1:
        values = [(part[2] if part[3].startswith("{") else "") + part[3] for part in parts]
        value = chain("expression", values[0], [(n, text) for (n, _), text in zip(versions, values[1:])])
        return f"{parts[0][1].replace('constexpr', 'const')} = {value};"
    # On lines of their own: a version may end with a comment.
    out = "".join(f"if (penstock_mutant == {number}) {{ {text or ';'}\n}} else " for number, text in versions)
    return f"{{ {out}{{ {original}\n}} }}"


def switched(text, edits):
    """`text` with all of its edits, [(number, old, new)], each behind its switch."""
    source, regions = Source(text), []
    for number, old, new in edits:
        start = text.index(old)
        end = start + len(old)
        if new.strip(" ;"):
            first, last = difference(text, start, old, new)
            left = new[first - start:len(new) - (end - last)]
            level = all(left.count(a) == left.count(b) for a, b in OPEN.items()) and source.balanced(first, last)
            region = source.region(first, last) if level else source.region(start, end)
        else:  # nothing is left of it, but a body of a loop is to be one
            region = *source.statement(start, source.before(end) + 1), "statement"
            new = ";" if text[source.before(end)] == ";" else new
        # The versions hold all of the edit.
        regions.append([min(region[0], start), max(region[1], end), region[2], [(number, start, old, new)]]
                       if region[2] == "statement" else [*region, [(number, start, old, new)]])
    merged = True
    while merged:
        merged = False
        regions.sort(key=lambda r: (r[0], -r[1]))
        for a, b in zip(regions, regions[1:]):
            if b[0] < a[1]:
                if b[1] > a[1]:
                    a[0], a[1], a[2] = *source.statement(a[0], b[1]), "statement"
                a[3] += b[3]
                regions.remove(b)
                merged = True
                break
    for start, end, kind, _ in regions:  # what a switch decides is no constant expression
        begin = source.statement(start, end)[0] if kind == "expression" else start
        found = re.match(r"(static )?constexpr ", text[begin:])
        if found and kind == "expression":
            at = begin + len(found[1] or "")
            text = text[:at] + "const    " + text[at + len("constexpr"):]
    for start, end, kind, members in reversed(regions):
        versions = []
        for number, at, old, new in members:
            changed = text[:at] + new + text[at + len(old):]
            versions.append((number, changed[start:end + len(new) - len(old)]))
        text = text[:start] + chain(kind, text[start:end], versions) + text[end:]
    return text
