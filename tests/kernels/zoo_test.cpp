// The zoo has all data that a kernel needs.

#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <set>

#include "kernels/operands.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"

using namespace penstock;
using graph::OpKind;
using kernels::Slot;
using kernels::Slots;

namespace {

std::int64_t count(const std::vector<Slot>& slots) {
  std::int64_t sum = 0;
  for (const Slot& slot : slots) sum += slot.count();
  return sum;
}

/// Two FLOPs per multiply-add of one sample, from the shapes of the operands; -1 if they do not determine it.
double multiply_adds(OpKind kind, const Slots& s) {
  const auto extent = [](const Slot& slot, std::size_t axis) {
    return static_cast<double>(slot.shape[axis]);
  };
  const auto n = [](const Slot& slot) { return static_cast<double>(slot.count()); };
  switch (kind) {
    case OpKind::linear:
      return n(s.inputs[0]) * extent(s.parameters[0], 0);
    case OpKind::matmul:
      return n(s.output) * extent(s.inputs[0], 3);
    case OpKind::convolution:
      return n(s.output) * n(s.parameters[0]) / extent(s.parameters[0], 0);
    case OpKind::attention: {
      double sum = n(s.output) * extent(s.parameters[3], 1) + 2 * n(s.output) * extent(s.inputs[1], 1);
      for (std::size_t i = 0; i < 3; ++i) sum += n(s.inputs[i]) * extent(s.parameters[i], 0);
      return sum;
    }
    case OpKind::experts: {
      const auto rows = n(s.inputs[0]) / extent(s.inputs[0], 2);
      double sum = 0;
      for (const Slot& matrix : s.parameters) sum += n(matrix) / extent(s.inputs[1], 2);  // of one expert
      return rows * sum;
    }
    default:
      return -1;
  }
}

/// Operands as many as the graph counts: of the output, of the parameters, of the producers' outputs.
void compare(const graph::OpGraph& g, core::OpId id, const Slots& slots) {
  const graph::Operator& op = g.op(id);
  CHECK(slots.output.count() * g.element_bytes() == op.output_bytes.value());
  if (op.parameters > 0) CHECK(count(slots.parameters) == op.parameters);
  if (const double work = multiply_adds(op.kind, slots); work >= 0)
    CHECK(2 * work == op.forward_flops.value());
  std::set<std::int64_t> produced, wanted;
  for (const graph::Vertex v : g.dag().predecessors(static_cast<graph::Vertex>(id.index())))
    produced.insert(g.op(core::OpId(static_cast<std::size_t>(v))).output_bytes.value());
  for (const Slot& slot : slots.inputs)
    wanted.insert(slot.count() * (slot.element == kernels::Element::int64 ? 8 : g.element_bytes()));
  CHECK(produced == wanted);
}

using Given = std::map<std::string, std::string>;

/// Small enough to prepare every kernel at once.
const std::map<std::string, Given> kSmall = {
    {"mmt", {{"branches", "2"}, {"layers", "2"}, {"hidden", "32"}, {"heads", "4"}, {"sequence", "8"}}},
    {"dlrm", {{"branches", "2"}, {"table_rows", "50"}, {"tower_input", "16"}, {"width", "16"}}},
    {"candle_uno", {{"width", "16"}}},
    {"case_study", {{"hidden", "32"}, {"heads", "4"}, {"sequence", "8"}}},
    {"clip",
     {{"text_sequence", "8"},
      {"text_hidden", "16"},
      {"resolution", "32"},
      {"image_hidden", "32"},
      {"image_layers", "2"}}},
    {"transformer", {{"layers", "2"}, {"hidden", "32"}, {"heads", "4"}, {"sequence", "8"}}},
    {"bert", {{"sequence", "8"}}},
    {"gpt", {{"vocabulary", "97"}, {"layers", "1"}, {"hidden", "32"}, {"heads", "4"}, {"sequence", "8"}}},
    {"opt", {{"vocabulary", "97"}, {"layers", "1"}, {"hidden", "32"}, {"heads", "4"}, {"sequence", "8"}}},
    {"encoder_decoder",
     {{"vocabulary", "97"}, {"layers", "1"}, {"hidden", "32"}, {"heads", "4"}, {"feed_forward", "64"}}},
    {"resnet50", {{"resolution", "64"}}},
    {"vgg16", {{"resolution", "224"}}},
    {"vit", {{"resolution", "32"}, {"layers", "1"}, {"hidden", "32"}, {"heads", "4"}, {"classes", "10"}}},
    {"inception_v3", {{"resolution", "75"}}}};

/// Models that costs support and kernels do not.
const std::set<std::string> kNotComputed = {"llama",       "gpt_neox", "decoder", "mixtral",
                                            "deepseek_v3", "vlm",      "dit"};

}  // namespace

TEST_CASE("kernels refuse Llama's operators by name, with the unsupported extent") {
  const auto graph = models::build("llama", {{"layers", "1"}});
  std::set<std::string> refused;
  for (const auto& op : graph.operators()) {
    if (!kernels::has_kernel(op.kind)) continue;
    try {
      kernels::slots_of(op, 1, kernels::Precision::fp32);
    } catch (const core::BadInput& e) {
      CHECK(std::string(e.what()).ends_with("no kernel computes it"));
      CHECK(std::string(e.what()).starts_with("operator '" + op.name + "'"));
      refused.insert(op.name);
    }
  }
  CHECK(refused ==
        std::set<std::string>{"layer0.norm1", "layer0.attention", "layer0.norm2", "layer0.swiglu", "norm"});
}

TEST_CASE("operands of every operator of the zoo are as many as its graph counts") {
  for (const auto& model : models::catalogue()) {
    if (kNotComputed.contains(model.name)) continue;
    CAPTURE(model.name);
    const auto g = models::build(model.name);
    for (std::size_t i = 0; i < g.size(); ++i) {
      const auto& op = g.op(core::OpId(i));
      CAPTURE(op.name);
      if (kernels::has_kernel(op.kind))
        compare(g, core::OpId(i), kernels::slots_of(op, 1, kernels::Precision::fp32));
    }
  }
}

TEST_CASE("the host prepares every operator of the zoo") {
  const auto host = kernels::open_device("host", 1);
  for (const auto& model : models::catalogue()) {
    if (kNotComputed.contains(model.name)) continue;
    CAPTURE(model.name);
    std::set<std::pair<OpKind, graph::Attributes>> seen;
    const auto g = models::build(model.name, kSmall.at(model.name));
    for (const auto& op : g.operators())
      if (kernels::has_kernel(op.kind) && seen.emplace(op.kind, op.attributes).second) {
        CAPTURE(op.name);
        CHECK_NOTHROW(host->make_kernel(op, 1, kernels::Precision::fp32));
      }
  }
}
