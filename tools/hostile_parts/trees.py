"""Trees of mappings, lists and scalars: written as YAML or JSON, and changed as people and programs get them wrong."""

import copy
import json
import re

PLAIN = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./%+*-]*\Z")
UNITS = {"s": ("ms", "us", "ns", "h", "m"), "ms": ("s", "us"), "us": ("ms", "s", "ns"), "GB/s": ("Gb/s", "MB/s", "TB/s", "B/s"),
         "Gb/s": ("GB/s", "Mb/s"), "GiB": ("MiB", "GB", "TiB", "B"), "MiB": ("GiB", "KiB"),
         "TFLOP/s": ("GFLOP/s", "PFLOP/s", "FLOP/s"), "B": ("KiB", "GB"), "%": ("",)}
QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)([A-Za-z/%]+)\Z")
WORDS = ("yes", "no", "on", "off", "True", "FALSE", "null", "~", "", "n", "0", "1", "-1", ".nan", ".inf", "1e308", "1_000",
         "0x10", "010", "1:30", "<script>alert(1)</script>", "é😀", "\x07", "a" * 3000, "../../etc/passwd", "-o", "*", "${X}")


class Tree:
    """A seed's tree; `fixed` mappings hold what may not be reordered."""

    def __init__(self, root):
        self.root = root

    def copy(self):
        return Tree(copy.deepcopy(self.root))

    def places(self):
        """(parent, key) of all nodes below the root."""
        out, open_ = [], [self.root]
        while open_:
            node = open_.pop()
            if isinstance(node, Pairs):
                continue
            keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
            for key in keys:
                out.append((node, key))
                if isinstance(node[key], (dict, list)):
                    open_.append(node[key])
        return out


class Pairs(list):
    """A mapping that has a key twice: (key, value) pairs."""


def yaml_text(node, indent=""):
    """Block form above, flow form inside lists."""
    if isinstance(node, Pairs):
        return "".join(_yaml_entry(key, value, indent) for key, value in node)
    if isinstance(node, dict) and node:
        return "".join(_yaml_entry(key, value, indent) for key, value in node.items())
    return indent + flow(node) + "\n"


def _yaml_entry(key, value, indent):
    if isinstance(value, (dict, Pairs)) and value:
        return f"{indent}{flow(key)}:\n{yaml_text(value, indent + '  ')}"
    if isinstance(value, str) and "\n" in value:
        return f"{indent}{flow(key)}: |\n" + "".join(f"{indent}  {line}\n" for line in value.splitlines())
    return f"{indent}{flow(key)}: {flow(value)}\n"


def flow(node):
    if isinstance(node, Pairs):
        return "{" + ", ".join(f"{flow(k)}: {flow(v)}" for k, v in node) + "}"
    if isinstance(node, dict):
        return "{" + ", ".join(f"{flow(k)}: {flow(v)}" for k, v in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(flow(x) for x in node) + "]"
    if isinstance(node, bool):
        return "true" if node else "false"
    if node is None:
        return "null"
    if isinstance(node, str):
        return node if PLAIN.match(node) else json.dumps(node)
    return repr(node)


def json_text(node):
    if isinstance(node, Pairs):
        return "{" + ", ".join(f"{json.dumps(k)}: {json_text(v)}" for k, v in node) + "}"
    if isinstance(node, dict):
        return "{" + ", ".join(f"{json.dumps(str(k))}: {json_text(v)}" for k, v in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(json_text(x) for x in node) + "]"
    return json.dumps(node)


def mutate(tree, rng):
    """Changes a copy; returns it and what was done."""
    tree = tree.copy()
    places = tree.places()
    parent, key = rng.choice(places)
    value = parent[key]
    at = f"{key}"
    ways = [_replace, _remove] + ([_rename, _twice] if isinstance(parent, dict) else [_repeat, _drop_tail])
    if isinstance(value, bool):
        ways += [_switch] * 3
    elif isinstance(value, (int, float)):
        ways += [_number] * 4
    elif isinstance(value, str):
        ways += [_quantity if QUANTITY.match(value) else _word] * 4
    elif value is None:
        ways += [_swap]
    else:
        ways += [_swap, _flatten]
    way = rng.choice(ways)
    done = way(tree, parent, key, places, rng)
    return tree, f"{way.__name__[1:]} {at}: {done}"


def _replace(tree, parent, key, places, rng):
    other_parent, other_key = rng.choice(places)
    parent[key] = copy.deepcopy(rng.choice([other_parent[other_key], None, [], {}, [parent[key]], {"a": parent[key]}]))
    return flow(parent[key])[:60]


def _remove(tree, parent, key, places, rng):
    del parent[key]
    return "gone"


def _rename(tree, parent, key, places, rng):
    new = rng.choice([str(key)[:-1], str(key) + "s", str(key).upper(), str(key).replace("_", "-"), ""])
    parent[new] = parent.pop(key)
    return new


def _twice(tree, parent, key, places, rng):
    pairs = Pairs(parent.items())
    pairs.append((key, _scaled(parent[key], 2) if isinstance(parent[key], (int, float)) else parent[key]))
    for above, name in places:
        if above[name] is parent:
            above[name] = pairs
            break
    else:
        tree.root = pairs
    return "twice"


def _repeat(tree, parent, key, places, rng):
    parent.insert(key, copy.deepcopy(parent[key]))
    return "item twice"


def _drop_tail(tree, parent, key, places, rng):
    del parent[key:]
    return "tail gone"


def _scaled(value, factor):
    return int(value * factor) if isinstance(value, int) and float(factor).is_integer() else value * factor


def _number(tree, parent, key, places, rng):
    value = parent[key]
    parent[key] = rng.choice([0, -value, 1, value + 1, value - 1, _scaled(value, 2), value / 2, _scaled(value, 1000), value / 1000,
                              _scaled(value, 10**6), value / 1e6, _scaled(value, 100), 2**31, 2**63, 1e308, str(value), f"{value}.0", None])
    return flow(parent[key])


def _switch(tree, parent, key, places, rng):
    parent[key] = rng.choice([not parent[key], *WORDS[:12], "false", "true"])
    return flow(parent[key])


def _word(tree, parent, key, places, rng):
    words = [p[k] for p, k in places if isinstance(p[k], str)]
    parent[key] = rng.choice([rng.choice(WORDS), rng.choice(words), parent[key] + "x", parent[key][:-1]])
    return flow(parent[key])[:60]


def _quantity(tree, parent, key, places, rng):
    number, unit = QUANTITY.match(parent[key]).groups()
    unit_now = rng.choice(UNITS.get(unit, ("x",)))
    parent[key] = rng.choice([number + unit_now, number, "-" + parent[key], f"{float(number) * 1000:g}{unit}", "0" + unit,
                              f"{float(number) / 1000:g}{unit}", "1e300" + unit, f"{float(number) * 1e6:g}{unit}", "nan" + unit])
    return flow(parent[key])


def _swap(tree, parent, key, places, rng):
    other_parent, other_key = rng.choice(places)
    inside = copy.deepcopy(other_parent[other_key])
    other_parent[other_key] = copy.deepcopy(parent[key])
    if key in parent if isinstance(parent, dict) else key < len(parent):
        parent[key] = inside
    return f"with {other_key}"


def _flatten(tree, parent, key, places, rng):
    value = parent[key]
    parent[key] = next(iter(value.values() if isinstance(value, dict) else value), None)
    return flow(parent[key])[:60]


def reordered(tree, rng):
    """Keys of mappings in another order: the same file."""
    tree = tree.copy()

    def shuffled(node):
        if isinstance(node, dict):
            keys = list(node)
            head = [key for key in keys[:1] if str(key).startswith(("penstock", "experiment"))]  # names the kind of file
            rest = keys[len(head):]
            rng.shuffle(rest)
            return {key: shuffled(node[key]) for key in head + rest}
        return [shuffled(x) for x in node] if isinstance(node, list) else node

    tree.root = shuffled(tree.root)
    return tree
