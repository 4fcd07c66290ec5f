"""ONNX files read with their own shape inference; the same network in torch is the oracle."""

from __future__ import annotations

import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from penstock.torch import from_onnx  # noqa: E402


def tensor(name, *dims):
    """An initializer of zeros."""
    count = 1
    for extent in dims:
        count *= extent
    return helper.make_tensor(name, TensorProto.FLOAT, dims, [0.0] * count)


def written(tmp_path, nodes, inputs, output, initializers, opset=20):
    graph = helper.make_graph(nodes, "g", inputs, [output], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 9
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return path


def floats(name, *dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def residual_block(tmp_path, samples):
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["a"], name="conv1", pads=[1] * 4, strides=[2, 2]),
        node("BatchNormalization", ["a", "scale", "shift", "mean", "var"], ["n"], name="norm"),
        node("Relu", ["n"], ["r"], name="relu"),
        node("Conv", ["r", "w2"], ["c"], name="conv2", pads=[1] * 4),
        node("Add", ["c", "r"], ["s"], name="add"),
        node("MaxPool", ["s"], ["m"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["m"], ["f"], name="flatten"),
        node("MatMul", ["f", "w3"], ["y0"], name="fc"),
        node("Add", ["y0", "b3"], ["y"], name="fc.bias"),
    ]
    weights = [tensor("w1", 4, 3, 3, 3), tensor("b1", 4), *(tensor(x, 4) for x in ("scale", "shift", "mean", "var"))]
    weights += [tensor("w2", 4, 4, 3, 3), tensor("w3", 64, 10), tensor("b3", 10)]
    return written(tmp_path, nodes, [floats("x", samples, 3, 16, 16)], floats("y", samples, 10), weights)


def figures(op):
    sizes = (op.forward_flops, op.input_gradient_flops, op.weight_gradient_flops, op.parameters)
    return (op.kind, {k: v for k, v in op.shape.items() if v}, *sizes, op.output_bytes, op.kept_bytes)


@pytest.mark.parametrize("samples", ["batch", 1, 5])
def test_a_block_equals_the_same_one_of_torch(tmp_path, samples):
    torch = pytest.importorskip("torch", minversion="2.15")
    from penstock.torch import from_torch

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.norm = torch.nn.Conv2d(3, 4, 3, 2, 1), torch.nn.BatchNorm2d(4)
            self.conv2 = torch.nn.Conv2d(4, 4, 3, padding=1, bias=False)
            self.fc = torch.nn.Linear(64, 10)

        def forward(self, x):
            x = torch.relu(self.norm(self.conv1(x)))
            x = torch.nn.functional.max_pool2d(self.conv2(x) + x, 2)
            return self.fc(torch.flatten(x, 1))

    ours = from_onnx(residual_block(tmp_path, samples))
    theirs = from_torch(Block(), torch.zeros(2, 3, 16, 16))
    assert [figures(op) for op in ours.operators] == [figures(op) for op in theirs.operators]
    assert ours.total("parameters") == sum(p.numel() for p in Block().parameters())
    number = [{op.name: i for i, op in enumerate(model.operators)} for model in (ours, theirs)]
    edges = [[[n[x] for x in op.inputs] for op in m.operators] for n, m in zip(number, (ours, theirs))]
    assert edges[0] == edges[1]


def test_a_tied_table_and_named_sizes(tmp_path):
    """Tokens x 4 numbers looked up; the head, a product with the table turned, uses the same 40 parameters."""
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "tokens"], ["e"], name="embedding"),
        node("Gelu", ["e"], ["g"], name="gelu"),
        node("Gemm", ["g", "table"], ["y"], name="head", transB=1),
    ]
    tokens = helper.make_tensor_value_info("tokens", TensorProto.INT64, ["tokens"])
    path = written(tmp_path, nodes, [tokens], floats("y", "tokens", 10), [tensor("table", 10, 4)])
    ops = {op.name: op for op in from_onnx(path, sizes={"tokens": 1}).operators}
    assert ops["embedding"].shape == {"lookups": 1, "rows": 10, "width": 4} and ops["embedding"].parameters == 40
    assert ops["head"].parameters_of == "embedding" and ops["head"].weight_gradient_flops == 80
    assert ops["tokens"].output_bytes == 8


def test_unknown_operators_are_profiled_and_unknown_sizes_refused(tmp_path):
    path = written(
        tmp_path, [helper.make_node("Erf", ["x"], ["y"])], [floats("x", "n", "width")], floats("y", "n", "w"), []
    )
    with pytest.raises(ValueError, match="say how large 'width' is"):
        from_onnx(path)
    model = from_onnx(path, sizes={"width": 6})
    assert (model.operators[1].kind, model.operators[1].output_bytes) == ("profiled", 24)
    assert "1 operators are of no kind" in model.summary()


def test_resnet50_as_torch_exports_it(tmp_path, zoo):
    """In training mode, so that norms stay: the zoo's parameters, FLOPs and bytes."""
    torch, torchvision = pytest.importorskip("torch", minversion="2.15"), pytest.importorskip("torchvision")
    pytest.importorskip("onnxscript")
    path = tmp_path / "resnet50.onnx"
    module = torchvision.models.resnet50(weights=None).train()
    torch.onnx.export(module, (torch.zeros(2, 3, 64, 64),), path, dynamo=True, optimize=False, verbose=False)
    ours, theirs = from_onnx(path), zoo("resnet50", resolution=64)
    for size in ("parameters", "forward_flops", "input_gradient_flops", "weight_gradient_flops", "kept_bytes"):
        assert ours.total(size) == sum(op.get(size, 0) for op in theirs), size


def small(nodes, weights, inputs=("x",)):
    graph = helper.make_graph(nodes, "g", [floats(x, "batch", 4) for x in inputs], [floats("y", "batch", 4)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    return model


def refused(tmp_path, model, **arguments):
    path = tmp_path / "bad.onnx"
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    with pytest.raises(ValueError, match=r"bad\.onnx: ") as fault:
        from_onnx(path, **arguments)
    return str(fault.value)


def test_what_onnx_itself_refuses_is_refused_with_the_files_name(tmp_path):
    node = helper.make_node
    product, weight = node("MatMul", ["x", "w"], ["y"]), tensor("w", 4, 4)
    path = tmp_path / "good.onnx"
    onnx.save(small([product], [weight]), path)
    assert sum(op.parameters for op in from_onnx(path).operators) == 16

    twice = small([node("Relu", ["x"], ["r"]), node("Tanh", ["x"], ["r"]), node("MatMul", ["r", "w"], ["y"])], [weight])
    assert "single static assignment" in refused(tmp_path, twice)
    whole = small([product], [helper.make_tensor("w", TensorProto.INT64, (4, 4), [0] * 16)])
    assert "onnx.checker refuses the file" in refused(tmp_path, whole)
    missing = small([product], [])
    assert "onnx.checker refuses the file" in refused(tmp_path, missing)
    huge = small([node("Add", ["x", "w"], ["y"])], [tensor("w", 4)])
    huge.graph.initializer[0].dims[0] = 1 << 62
    assert "initializer 'w': dimensions [4611686018427387904]" in refused(tmp_path, huge)
    short = small([product], [weight])
    short.graph.initializer[0].dims[0] = 5
    assert "onnx.checker refuses the file" in refused(tmp_path, short)
    none = small([product], [weight])
    none.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 0
    assert "input 'x': an extent of 0" in refused(tmp_path, none)
    assert "is no ONNX file" in refused(tmp_path, b"\xff\xff\xff\xff")
    assert "sizes: batch: expected a whole number from 1 on, found 0" in refused(
        tmp_path, small([product], [weight]), sizes={"batch": 0}
    )


def test_weights_of_a_file_that_is_not_there_are_counted(tmp_path):
    model = small([helper.make_node("MatMul", ["x", "w"], ["y"])], [tensor("w", 4, 4)])
    weight = model.graph.initializer[0]
    weight.ClearField("float_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="weights.bin")
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    assert sum(op.parameters for op in from_onnx(path).operators) == 16


def test_mutated_files_are_read_or_refused_by_name(tmp_path):
    """Each mutant that is read is one that onnx accepts, with as many parameters as its initializers hold."""
    import random

    seed = residual_block(tmp_path, 2).read_bytes()
    rng = random.Random(5)
    taken = 0
    for turn in range(150):
        data = bytearray(seed)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data))
            data[at] = rng.choice([0, 1, 255, data[at] ^ (1 << rng.randrange(8))])
        path = tmp_path / f"mutant{turn}.onnx"
        path.write_bytes(bytes(data))
        try:
            read = from_onnx(path)
        except ValueError as fault:
            assert path.name in str(fault)
            continue
        taken += 1
        onnx.checker.check_model(str(path), full_check=True)
        assert 0 < sum(op.parameters for op in read.operators) <= 4 * 3 * 9 + 4 + 4 * 4 + 4 * 4 * 9 + 64 * 10 + 10
    assert taken > 10
