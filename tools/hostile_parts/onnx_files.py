"""ONNX files with parts or bytes changed, for penstock.torch.from_onnx of this checkout; nothing where onnx is not installed."""

import importlib
import pathlib
import random
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _from_onnx():
    """Only the reader: the package needs no compiled part for it."""
    package = types.ModuleType("penstock")
    package.__path__ = [str(ROOT / "python/penstock")]
    sys.modules.setdefault("penstock", package)
    return importlib.import_module("penstock.torch.onnx_import").from_onnx


def _seed():
    from onnx import TensorProto, helper

    def value(name, *dims):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

    def weight(name, *dims):
        count = 1
        for extent in dims:
            count *= extent
        return helper.make_tensor(name, TensorProto.FLOAT, dims, [0.5] * count)

    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["a"], pads=[1] * 4), helper.make_node("Relu", ["a"], ["r"]),
             helper.make_node("Flatten", ["r"], ["f"]), helper.make_node("MatMul", ["f", "w2"], ["p"]),
             helper.make_node("Add", ["p", "b2"], ["y"])]
    weights = [weight("w1", 2, 3, 3, 3), weight("b1", 2), weight("w2", 32, 4), weight("b2", 4)]
    graph = helper.make_graph(nodes, "g", [value("x", 2, 3, 4, 4)], [value("y", 2, 4)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    return model.SerializeToString(), 2 * 27 + 2 + 128 + 4


def _structural(data, rng):
    """A tensor, node, edge or attribute changed."""
    import onnx

    model = onnx.ModelProto()
    model.ParseFromString(data)
    graph = model.graph
    weight, node = rng.choice(graph.initializer), rng.choice(graph.node)
    way = rng.randrange(9)
    if way == 0:
        weight.dims[rng.randrange(len(weight.dims))] = rng.choice([0, -1, 1, 5, 1 << 40, 1 << 62])
    elif way == 1:
        weight.data_type = rng.choice([2, 6, 7, 9, 10, 11, 16, 99])
    elif way == 2:
        graph.initializer.remove(weight)
    elif way == 3:
        node.input[rng.randrange(len(node.input))] = rng.choice(["", "none", "x", node.output[0], "y"])
    elif way == 4:
        node.output[0] = rng.choice(["x", "a", "y", ""])
    elif way == 5:
        node.op_type = rng.choice(["Gemm", "Conv", "Softmax", "Reshape", "NoSuch", "Gather", "MaxPool", "Add"])
    elif way == 6:
        graph.node.add().CopyFrom(node)
    elif way == 7:
        graph.node.remove(node)
    else:
        extent = rng.choice(graph.input[0].type.tensor_type.shape.dim)
        rng.choice([lambda: setattr(extent, "dim_value", rng.choice([0, -3, 1, 7, 1 << 40])), extent.Clear,
                    lambda: setattr(extent, "dim_param", "n")])()
    return model.SerializeToString()


def run(seed, cases, keep):
    """(outcome, count, failures) of each kind."""
    try:
        data, parameters = _seed()
        from_onnx = _from_onnx()
        import onnx
    except ImportError as fault:
        print(f"onnx: skipped: {fault}")
        return []
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(cases):
            rng = random.Random(f"{seed}/onnx/{number}")
            changed = bytearray(_structural(data, rng) if number % 2 else data)
            for _ in range(rng.randint(1, 3) if number % 2 == 0 else 0):
                at = rng.randrange(len(changed))
                changed[at] = rng.choice([0, 1, 127, 255, changed[at] ^ (1 << rng.randrange(8))])
            path = pathlib.Path(folder) / "bad.onnx"
            path.write_bytes(bytes(changed))
            fault, outcome = "", "taken"
            try:
                held = sum(op.parameters for op in from_onnx(path).operators)
                onnx.checker.check_model(str(path), full_check=True)
                if not 0 <= held <= parameters:
                    fault = f"{held} parameters of {parameters}"
            except ValueError as refused:
                outcome = "exit 11"
                fault = "" if path.name in str(refused) else f"a message without the file's name: {refused}"
            except Exception as other:  # whatever it is, no reader may end like this
                fault = f"{type(other).__name__}: {other}"
            if fault:
                print(f"FAILED onnx case {number}: {fault}")
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"onnx-{number}.onnx").write_bytes(bytes(changed))
            out.append(("failure" if fault else outcome, 1, [fault] if fault else []))
    return out
