"""Small modules read by torch.export: each count derived in words."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", minversion="2.15")
from torch import nn  # noqa: E402

from penstock.torch import from_torch  # noqa: E402


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(8, 16), nn.Linear(16, 8, bias=False)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(x)))


def by_name(module, *inputs):
    model = from_torch(module, inputs)
    return model, {op.name: op for op in model.operators}


def test_sizes_are_per_sample():
    """fc1: 2 x 8 x 16 = 256 FLOPs, no gradient of the model's input; 8 x 16 + 16 = 144 parameters."""
    model, ops = by_name(Residual(), torch.zeros(5, 8))
    assert list(ops) == ["x", "fc1", "relu", "fc2", "add"]
    fc1, fc2, relu = ops["fc1"], ops["fc2"], ops["relu"]
    assert (fc1.forward_flops, fc1.input_gradient_flops, fc1.weight_gradient_flops) == (256, 0, 256)
    assert (fc1.parameters, fc1.output_bytes, fc1.kept_bytes) == (144, 64, 64)
    assert fc2.input_gradient_flops == 256 and fc2.parameters == 128
    assert relu.kept_bytes == 0 and relu.shape == {"elements": 16, "relu": 1}  # in its input's place
    assert ops["add"].inputs == ("x", "fc2") and ops["add"].kept_bytes == 0  # over fc2's output
    assert model.total("parameters") == sum(p.numel() for p in Residual().parameters())


def test_a_sum_keeps_what_others_read():
    """fc's output is read twice, so that a sum cannot take its place: 4 numbers of 4 bytes are kept."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            y = self.fc(x)
            return (x + y) * y

    _, ops = by_name(Twice(), torch.zeros(2, 4))
    assert ops["add"].kept_bytes == 16
    assert ops["mul"].shape == {"elements": 4, "terms": 2, "product": 1} and ops["mul"].inputs == ("add", "fc")
    assert ops["mul"].input_gradient_flops == 8  # the other factor times the gradient, for each of both


def test_tied_parameters_are_counted_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.head = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
            self.head.weight = self.table.weight

        def forward(self, tokens):
            return self.head(self.table(tokens))

    model, ops = by_name(Tied(), torch.zeros(3, 6, dtype=torch.long))
    assert ops["table"].parameters == 40 and ops["table"].shape == {"lookups": 6, "rows": 10, "width": 4}
    assert ops["head"].parameters == 0 and ops["head"].parameters_of == "table"
    assert ops["tokens"].output_bytes == 6 * 8
    assert ops["head"].weight_gradient_flops == 2 * 6 * 4 * 10


def test_a_layer_run_twice_has_two_operators():
    """Names stay apart by a letter; a number at the end would begin a layer."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return self.fc(self.fc(x))

    _, ops = by_name(Twice(), torch.zeros(2, 4))
    assert list(ops) == ["x", "fc", "fc_b"]
    assert ops["fc_b"].parameters_of == "fc" and ops["fc"].parameters == 20


def test_what_has_no_kind_is_profiled_and_said():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(4, 4, 3, groups=2, bias=False)

        def forward(self, x):
            return torch.cumsum(self.conv(x), 1)

    model, ops = by_name(Odd(), torch.zeros(2, 4, 5, 5))
    # 4 x 3 x 3 outputs, each of 2 channels x 3 x 3 multiply-adds.
    assert (ops["conv"].kind, ops["conv"].forward_flops) == ("profiled", 36 * 18 * 2)
    assert ops["conv"].parameters == 4 * 2 * 9 and ops["cumsum"].output_bytes == 36 * 4
    assert "1 conv2d, 1 cumsum" in model.summary()


def test_views_are_seen_through_and_slices_are_not():
    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(6, 4)

        def forward(self, x):
            y = self.fc(x.transpose(1, 2).contiguous())
            return torch.cat([y[:, :1], torch.flatten(y, 1).view(-1, 5, 4)], 1)

    _, ops = by_name(Views(), torch.zeros(2, 6, 5))
    assert [op.kind for op in ops.values()] == ["input", "linear", "reshape", "reshape", "concat"]
    assert ops["fc"].inputs == ("x",) and ops["slice"].shape == {"elements": 4}
    assert ops["cat"].shape == {"elements": 24, "parts": 2, "rows": 1, "part0": 4, "part1": 20}


def test_packed_projections_are_one_attention():
    """nn.MultiheadAttention: 3 x 8 x 8 + 3 x 8 parameters in, 8 x 8 + 8 out."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x):
            return self.attention(x, x, x, need_weights=False)[0]

    _, ops = by_name(Block(), torch.zeros(3, 5, 8))
    (attention,) = [op for op in ops.values() if op.kind == "attention"]
    assert attention.parameters == 192 + 24 + 64 + 8 and attention.inputs == ("x", "x", "x")
    assert attention.shape["heads"] == 2 and attention.shape["bias"] == 1
    # Four projections of 2 x 5 x 8 x 8 FLOPs, scores and their weighted sum of 2 x 5 x 5 x 8 each.
    assert attention.forward_flops == 4 * 640 + 2 * 400


def test_attention_without_projections_is_profiled():
    class Core(nn.Module):
        def forward(self, q, k):
            return nn.functional.scaled_dot_product_attention(q, k, k)

    _, ops = by_name(Core(), torch.zeros(2, 3, 4, 8), torch.zeros(2, 3, 6, 8))
    core = ops["scaled_dot_product_attention"]
    assert (core.kind, core.forward_flops) == ("profiled", 2 * 2 * 3 * 4 * 6 * 8)


def test_frozen_parameters_are_said_and_ask_for_no_gradient():
    module = Residual()
    module.fc1.requires_grad_(False)
    model, ops = by_name(module, torch.zeros(2, 8))
    assert ops["fc1"].parameters == 0 and ops["fc1"].weight_gradient_flops == 0
    assert ops["fc2"].input_gradient_flops == 0  # nothing trainable comes before
    assert "144 numbers are frozen" in model.summary()


def test_training_dropout_is_an_operator_and_idle_dropout_none():
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    assert len(from_torch(module.eval(), torch.zeros(2, 4)).operators) == 2
    dropout = from_torch(module.train(), torch.zeros(2, 4)).operators[-1]
    assert dropout.kind == "profiled" and dropout.kept_bytes == 4 * 4 + 4  # its output and a byte of mask each


def test_the_number_of_samples_changes_nothing():
    sizes = [from_torch(Residual(), torch.zeros(n, 8)).operators for n in (1, 2, 7)]
    assert sizes[0] == sizes[1] == sizes[2]


def test_inputs_that_are_no_tensors_are_refused():
    with pytest.raises(ValueError, match="found a float"):
        from_torch(Residual(), (torch.zeros(2, 8), 0.5))
