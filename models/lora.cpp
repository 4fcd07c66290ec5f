#include "models/lora.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <utility>
#include <vector>

#include "models/frozen.hpp"
#include "models/product_layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/graph/adapters.hpp"
#include "penstock/graph/attention_core.hpp"
#include "penstock/graph/with_operators.hpp"

namespace penstock::models {
namespace {

using core::Flops;
using core::OpId;
using graph::Operator;
using graph::OpKind;

constexpr std::int64_t kMostRank = 4096;
constexpr std::array<std::string_view, 3> kTargetNames = {"attention", "mlp", "all"};
constexpr std::array<std::string_view, 3> kFrozenBits = {"16", "8", "4"};

std::int64_t read_rank(const std::string& text) {
  std::int64_t out = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, out);
  if (fault != std::errc() || stop != end || out < 1 || out > kMostRank)
    throw core::BadInput(fmt::format("rank: expected a number from 1 to {}, not '{}'", kMostRank, text));
  return out;
}

void read_setting(LoraForm& out, const std::string& name, const std::string& value) {
  if (name == "rank")
    out.rank = read_rank(value);
  else if (name == "targets")
    out.targets = static_cast<LoraTargets>(core::index_of(value, kTargetNames, "target"));
  else if (name == "frozen")
    out.frozen = static_cast<graph::FrozenFormat>(
        core::index_of(value, kFrozenBits, "number of bits of frozen weights"));
  else
    throw core::BadInput(fmt::format("unknown setting '{}'; {}", name,
                                     core::did_you_mean(name, {"rank", "targets", "frozen"})));
}

/// True for either product of a feed-forward layer, by the names that the zoo gives these.
bool is_feed_forward(const Operator& op) {
  const std::string_view name(op.name);
  return std::ranges::any_of(std::array{".dense1", ".dense2", ".gate_up", ".down"},
                             [&](std::string_view end) { return name.ends_with(end); });
}

class LoraModel {
 public:
  LoraModel(const graph::OpGraph& graph, const LoraForm& form)
      : graph_(graph), form_(form), narrows_(product_layers(graph)), trains_(graph.size()) {}

  graph::OpGraph run() {
    std::vector<Operator> out;
    for (std::size_t v = 0; v < graph_.size(); ++v) {
      out.push_back(frozen(OpId(v)));
      if (is_target(OpId(v))) adapt(out.back(), graph_.op(OpId(v)));
      const bool above = trains_above(OpId(v));
      if (!above) out.back().input_gradient_flops = of_core(out.back(), graph_.op(OpId(v)));
      trains_[v] = above || out.back().adapter_rank > 0;
    }
    if (!std::ranges::any_of(out, [](const Operator& op) { return op.adapter_rank > 0; }))
      fail(fmt::format("has no layer for targets={}", kTargetNames[static_cast<std::size_t>(form_.targets)]));
    return without_unread(graph::with_operators(graph_, std::move(out)));
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw core::BadInput(fmt::format("model {} with LoRA {}", graph_.name(), why));
  }

  bool trains_above(OpId id) const {
    return std::ranges::any_of(graph_.operands(id), [&](OpId from) { return trains_[from.index()]; });
  }

  bool is_target(OpId id) const {
    const Operator& op = graph_.op(id);
    if (op.kind == OpKind::experts && form_.targets != LoraTargets::attention)
      fail(fmt::format("has adapters of experts ('{}'), which are not modelled: targets=attention", op.name));
    if (op.kind == OpKind::attention && form_.targets != LoraTargets::mlp) {
      if (as<graph::Attention>(op).rotary_width > 0)
        fail(fmt::format("has adapters of latent attention ('{}'), which are not modelled", op.name));
      return op.parameters > 0;
    }
    return op.kind == OpKind::linear && form_.targets != LoraTargets::attention && narrows_[id.index()] &&
           is_feed_forward(op);
  }

  Operator frozen(OpId id) const {
    Operator out = graph_.op(id);
    if (!out.parameters_of.empty())
      fail(
          fmt::format("has tied weights ('{}' uses those of '{}'), which are frozen only if each has its own",
                      out.name, out.parameters_of));
    out.frozen_parameters += std::exchange(out.parameters, 0);
    out.weight_gradient_flops = Flops(0);
    if (narrows_[id.index()] && out.frozen_parameters > 0) out.frozen_format = form_.frozen;
    return out;
  }

  void adapt(Operator& out, const Operator& before) const {
    out.adapter_rank = form_.rank;
    out.parameters = graph::adapter_numbers(out);
    const Flops work = graph::adapter_flops(out);
    out.forward_flops += work;
    out.weight_gradient_flops = work;
    if (before.input_gradient_flops.value() > 0) out.input_gradient_flops += work;
    out.saved_bytes += core::Bytes(graph::adapter_saved(out) * graph_.element_bytes());
  }

  /// FLOPs of input gradients where no gradient of the input is needed: an adapter of a query still needs those of
  /// attention's core and output.
  static Flops of_core(const Operator& now, const Operator& before) {
    const auto& a = as<graph::Attention>(now);
    if (now.adapter_rank == 0 || now.kind != OpKind::attention) return Flops(0);
    const Flops core = before.forward_flops * graph::core_share(before),
                output(2 * static_cast<double>(a.queries) * static_cast<double>(a.result_width()) *
                       static_cast<double>(a.hidden));
    return std::min(now.input_gradient_flops, core * 2 + output);
  }

  const graph::OpGraph& graph_;
  const LoraForm& form_;
  std::vector<bool> narrows_;  ///< [operator]
  std::vector<bool> trains_;   ///< [operator] its output needs a gradient
};

}  // namespace

LoraForm read_lora(const std::string& text) {
  LoraForm out;
  if (text == "off") return out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    const auto equals = part.find('=');
    if (equals == part.npos)
      throw core::BadInput(
          fmt::format("expected settings such as rank=16,targets=attention,frozen=16, not '{}'", part));
    read_setting(out, part.substr(0, equals), part.substr(equals + 1));
  }
  if (out.rank == 0) throw core::BadInput("expected a rank, such as rank=16,targets=attention");
  return out;
}

graph::OpGraph with_lora(const graph::OpGraph& graph, const LoraForm& form) {
  return form.rank > 0 ? LoraModel(graph, form).run() : graph;
}

}  // namespace penstock::models
