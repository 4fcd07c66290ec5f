"""Plans run by torch.distributed.pipelining in processes of this machine: losses and gradients of the uncut module.

The oracle is plain autograd on the whole mini-batch in one process. In fp64 both may differ only by rounding of sums in another
order: 1e-10 relative and absolute.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", minversion="2.15")
pytest.importorskip("yaml")
from torch import nn  # noqa: E402

import ranks  # noqa: E402
from penstock.torch import CannotRun, build, from_torch  # noqa: E402
from penstock.torch.capture import capture  # noqa: E402
from penstock.torch.cut import Cutter  # noqa: E402
from penstock.torch.groups import gather  # noqa: E402
from penstock.torch.plan_file import read_plan  # noqa: E402

MINI_BATCH, MICRO_BATCH, WIDTH = 8, 2, 6


class Skipping(nn.Module):
    """Four layers in a row; the first one's result is needed again at the end, the input in the middle."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x):
        first = torch.relu(self.layers[0](x))
        second = torch.tanh(self.layers[1](first)) + x
        third = self.layers[2](second).relu_()
        return self.layers[3](third) * first.unsqueeze(1).transpose(1, 2).squeeze(2)


class Tied(nn.Module):
    """A language model in small: its head uses the table of its tokens."""

    def __init__(self):
        super().__init__()
        self.table, self.middle, self.head = nn.Embedding(9, 4), nn.Linear(4, 4), nn.Linear(4, 9, bias=False)
        self.head.weight = self.table.weight

    def forward(self, tokens):
        return self.head(torch.tanh(self.middle(self.table(tokens)))).mean(1)


class Normed(nn.Module):
    """Two batch norms, whose statistics are those of a micro-batch."""

    def __init__(self):
        super().__init__()
        self.fc1, self.norm1 = nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH)
        self.fc2, self.norm2 = nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        return self.norm2(self.fc2(torch.relu(self.norm1(self.fc1(x)))))


class Branches(nn.Module):
    """Three layers side by side, and their sum."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x):
        return self.a(x) + self.b(x) + self.c(x)


def bert():
    transformers = pytest.importorskip("transformers")
    sizes = dict(hidden_size=8, num_attention_heads=2, intermediate_size=16, vocab_size=9, max_position_embeddings=8)
    return transformers.BertModel(transformers.BertConfig(num_hidden_layers=2, **sizes)).eval()


MODULES = {"skipping": Skipping, "tied": Tied, "bert": bert, "normed": Normed, "branches": Branches}


def problem(name):
    """Equal in every process: module, inputs and targets of a mini-batch."""
    torch.manual_seed(7)
    module = MODULES[name]().double()
    if name == "bert":
        tokens = {"input_ids": torch.randint(9, (MINI_BATCH, 5)), "attention_mask": torch.ones(MINI_BATCH, 5).long()}
        tokens["attention_mask"][::2, 3:] = 0
        return module, tokens, torch.randn(MINI_BATCH, 8, dtype=torch.double)
    if name == "tied":
        return module, torch.randint(9, (MINI_BATCH, 5)), torch.randn(MINI_BATCH, 9, dtype=torch.double)
    return module, torch.randn(MINI_BATCH, WIDTH).double(), torch.randn(MINI_BATCH, WIDTH).double()


def plan_of(name, rank_of, schedule="1f1b", **stage):
    """Operators in their order, as many stages as ranks (or lists of replicas) are named, of about equal numbers."""
    module, inputs, _ = problem(name)
    names = [op.name for op in from_torch(module, inputs).operators]
    ends = [round(len(names) * (i + 1) / len(rank_of)) for i in range(len(rank_of))]
    stages = [
        {
            "devices": rank if isinstance(rank, list) else [rank],
            "micro_batch": MICRO_BATCH,
            "operators": names[begin:end],
        }
        | stage
        for rank, begin, end in zip(rank_of, [0, *ends], ends)
    ]
    return {"penstock_plan": 1, "training": {"mini_batch": MINI_BATCH}, "schedule": schedule, "stages": stages}


def loss_of(output, target):
    return nn.functional.mse_loss(getattr(output, "pooler_output", output), target)


def trained(name, plan, csv=None, steps=1):
    module, inputs, target = problem(name)
    pipeline = build(plan, module, inputs, loss=loss_of, schedule_csv=csv)
    for _ in range(steps):
        step = pipeline.step(inputs, target)
    return step.loss, step.seconds, {key: p.grad for key, p in pipeline.named_parameters().items()}


def trained_statistics():
    """Gradients and statistics of batch norms after one step."""
    module, inputs, target = problem("normed")
    pipeline = build(plan_of("normed", [0, 1]), module, inputs, loss=loss_of)
    pipeline.step(inputs, target)
    return {key: p.grad for key, p in pipeline.named_parameters().items()}, dict(module.named_buffers())


def check(results, name, steps=1):
    module, inputs, target = problem(name)
    loss = loss_of(module(**inputs) if isinstance(inputs, dict) else module(inputs), target)
    loss.backward()
    expected, seen = dict(module.named_parameters()), set()
    for found, seconds, gradients in results:
        assert found == pytest.approx(loss.item(), rel=1e-10) and seconds > 0
        for key, gradient in gradients.items():
            torch.testing.assert_close(gradient, steps * expected[key].grad, rtol=1e-10, atol=1e-10)
            seen.add(key)
    assert seen == set(expected)


ON_TWO = {
    "1f1b": ("skipping", [0, 1]),
    "gpipe": ("skipping", [0, 1]),
    "interleaved_1f1b": ("skipping", [0, 1, 0, 1]),
    "zb_h1": ("skipping", [0, 1]),
    "interleaved_zb": ("skipping", [0, 1, 0, 1]),
    "zbv": ("skipping", [0, 1, 1, 0]),
}
BY_FILE = ("zb_h1", "interleaved_zb", "zbv")


def trained_all(cases):
    """One start of the processes for all of them."""
    return {key: trained(*case) for key, case in cases.items()}


@pytest.fixture(scope="module")
def on_two(penstock, tmp_path_factory):
    """Results of two processes, by case and rank."""
    cases = {"tied": ("tied", plan_of("tied", [0, 1])), "bert": ("bert", plan_of("bert", [0, 1]))}
    for family, (name, rank_of) in ON_TWO.items():
        schedule = family
        if family in BY_FILE:
            schedule = str(tmp_path_factory.mktemp("schedules") / f"{family}.csv")
            count = MINI_BATCH // MICRO_BATCH
            penstock("schedule", family, "--ranks", 2, "--microbatches", count, "--csv", schedule)
        cases[family] = (name, plan_of(name, rank_of, schedule))
    found = ranks.run(2, trained_all, cases)
    return {key: [of_rank[key] for of_rank in found] for key in cases}


@pytest.mark.parametrize("family", ON_TWO)
def test_two_processes_train_as_one(family, on_two):
    """Zero bubble is by a schedule file: weight gradients apart; zbv's last stage is on the first rank."""
    check(on_two[family], "skipping")


def test_tied_parameters_on_two_ranks_get_both_gradients(on_two):
    check(on_two["tied"], "tied")


def test_a_transformer_with_a_mask_trains_as_one(on_two):
    """The mask is an input that both stages read: each makes its own of it, and nothing is sent for it."""
    check(on_two["bert"], "bert")


def test_batch_norms_see_one_micro_batch_at_a_time():
    """The oracle runs micro-batch by micro-batch, adds up gradients and averages running statistics as torch does."""
    module, inputs, target = problem("normed")
    for x, y in zip(inputs.split(MICRO_BATCH), target.split(MICRO_BATCH)):
        (loss_of(module(x), y) * MICRO_BATCH / MINI_BATCH).backward()
    expected = dict(module.named_buffers())
    for rank, (gradients, statistics) in enumerate(ranks.run(2, trained_statistics)):
        for key, gradient in gradients.items():
            torch.testing.assert_close(gradient, module.get_parameter(key).grad, rtol=1e-9, atol=1e-9)
        for key in (key for key in expected if key.startswith(f"norm{rank + 1}")):
            torch.testing.assert_close(statistics[key], expected[key], rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def on_four():
    cases = {
        "skip": ("skipping", plan_of("skipping", [0, 1, 2, 3]), None, 2),
        "replicas": ("tied", plan_of("tied", [[0, 1], [2, 3]])),
        "branches": ("branches", branches_in_a_row(after=True)),
    }
    found = ranks.run(4, trained_all, cases)
    return {key: [of_rank[key] for of_rank in found] for key in cases}


def test_four_processes_pass_a_skip_through(on_four):
    """The first layer's result goes through stages 1 and 2, which do not read it. Gradients of two steps add up."""
    check(on_four["skip"], "skipping", steps=2)


def test_branches_that_a_plan_puts_in_a_row_run_in_a_row(on_four):
    """Stage 1 reads nothing of stage 0, but `after` puts it next: its result passes through."""
    check(on_four["branches"], "branches")


def test_replicas_share_every_micro_batch(on_four):
    """Two stages of two replicas; a tied parameter is held by all four, whose gradients add up."""
    check(on_four["replicas"], "tied")


def cut(plan, name="skipping"):
    read = read_plan(plan)
    module, inputs, _ = problem(name)
    captured = capture(module, inputs[:MICRO_BATCH])
    return Cutter(captured, gather(captured), read).parts()


def test_a_cut_sends_what_later_stages_read():
    """Stage 0 sends what relu and tanh made; the input, which both read, is not sent: each takes it by name."""
    parts = cut(plan_of("skipping", [0, 1]))
    assert len(parts[0].sends) == 2 and parts[0].sends == parts[1].receives
    assert [part.module.inputs for part in parts] == [("x",), ("x",)]
    counts = [sum(p.numel() for p in part.module.parameters()) for part in parts]
    assert counts == [2 * WIDTH * (WIDTH + 1)] * 2


def branches_in_a_row(after=False):
    """A branch per stage, then the sums."""
    plan = plan_of("branches", [0, 1, 2, 3])
    for i, names in enumerate((["x", "a"], ["b"], ["c"], ["add", "add_b"])):
        plan["stages"][i]["operators"] = names
        if i and after:
            plan["stages"][i]["after"] = [i - 1]
    return plan


def test_branches_side_by_side_are_refused():
    with pytest.raises(CannotRun, match="no row: stage 1 reads nothing of stage 0"):
        cut(branches_in_a_row(), "branches")


@pytest.mark.parametrize(
    "stage, reason",
    [
        ({"devices": [0, 1, 2]}, "3 replicas cannot share 2 samples"),
        ({"zero": 1}, "divides its state"),
        ({"recompute": "layers"}, "recomputes"),
        ({"tensor_parallel": 2}, "divides its operators"),
        ({"micro_batch": 3}, "no whole number of micro-batches"),
    ],
)
def test_what_torch_cannot_run_is_refused_by_name(stage, reason):
    with pytest.raises(CannotRun, match=reason):
        read_plan(plan_of("skipping", [0, 1], **stage))


def test_all_reasons_are_given_at_once():
    plan = plan_of("skipping", [0, 1], recompute="stage")
    plan["training"] |= {"precision": "mixed_bf16", "compression": {"gradients": 0.5}}
    with pytest.raises(CannotRun) as error:
        read_plan(plan)
    assert len(error.value.reasons) == 4  # two stages, precision, compression


def test_unlike_numbers_of_replicas_are_refused():
    plan = plan_of("skipping", [0, 1])
    plan["stages"][1]["devices"] = [1, 2]
    with pytest.raises(CannotRun, match="on 1, 2 devices"):
        read_plan(plan)


def test_a_plan_of_another_module_is_refused():
    with pytest.raises(ValueError, match="differ in operators, first 'add'"):
        cut(plan_of("skipping", [0, 1]) | {"stages": [{"devices": [0], "micro_batch": 2, "operators": ["x"]}]})


def test_text_that_is_no_plan_is_refused(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text("penstock_plan: 1\nstages: []\n")
    with pytest.raises(ValueError, match="'training' is missing"):
        read_plan(path)


def test_a_process_alone_is_refused():
    module, inputs, _ = problem("skipping")
    with pytest.raises(ValueError, match="runs on 2 processes"):
        build(plan_of("skipping", [0, 1]), module, inputs, loss=loss_of)
