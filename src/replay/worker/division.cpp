#include "worker/division.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/layout/context.hpp"
#include "penstock/plan/mesh.hpp"

namespace penstock::replay {
namespace {

using core::BadInput;
using core::OpId;
using graph::Operator;
using graph::OpKind;
using layout::Placement;
using plan::Partition;

/// Divides one operator over one group.
class OperatorDivider {
 public:
  /// `shares` are cumulative from 0; `sizes` are those of the sources, per sample.
  OperatorDivider(const Operator& op, const kernels::OperatorWiring& wire, Partition how,
                  std::vector<std::int64_t> shares, std::size_t member, std::vector<std::int64_t> sizes)
      : op_(op),
        wire_(wire),
        rule_(layout::rule(op, how)),
        shares_(std::move(shares)),
        member_(member),
        sizes_(std::move(sizes)) {
    out_.how = how;
    out_.op = op;
    out_.sums_output = rule_.partial_output;
    out_.sums_inputs = rule_.partial_input_gradient;
    out_.reads.resize(wire.sources.size());
    out_.parameters = wire.parameters;
    out_.shardings.resize(wire.parameters.size());
  }

  /// `sources`: sharding of each source.
  void divide(const std::vector<TensorSharding>& sources) {
    if (out_.how == Partition::whole) return;
    if (out_.how == Partition::sequence) return by_tokens();
    if (out_.how == Partition::batch) return by_samples();
    switch (op_.kind) {
      case OpKind::linear:
      case OpKind::convolution:
        return out_.how == Partition::column ? columns() : rows(sources);
      case OpKind::embedding:
        return out_.how == Partition::column ? table_columns() : table_rows();
      case OpKind::attention:
        return heads();
      case OpKind::experts:
        return each_expert();
      case OpKind::norm:
      case OpKind::pool:
        return channels(sources);
      case OpKind::concat:
        return side_by_side(sources);
      case OpKind::softmax:
        return flat("rows", asked<graph::Softmax>().rows, as<graph::Softmax>(op_).width);
      case OpKind::matmul:
        return flat("batch", asked<graph::Matmul>().batch, wire_.made.count / as<graph::Matmul>(op_).batch);
      case OpKind::input:
      case OpKind::activation:
      case OpKind::elementwise:
      case OpKind::reshape:
        return follow(sources);
      default:
        refuse("is not divided by features");
    }
  }

  OperatorShard shard() { return std::move(out_); }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw BadInput(fmt::format("operator '{}' ({}): a replay with tensor parallelism: it {}", op_.name,
                               graph::name(op_.kind), why));
  }

  /// Attributes of this device's part.
  template <class Kind>
  Kind& asked() {
    return std::get<Kind>(out_.op.attributes);
  }
  /// Outputs of a dense layer or convolution.
  std::int64_t& outputs() {
    return op_.kind == OpKind::linear ? asked<graph::Linear>().out : asked<graph::Convolution>().out;
  }
  std::int64_t& inputs() {
    return op_.kind == OpKind::linear ? asked<graph::Linear>().in
                                      : asked<graph::Convolution>().window.channels;
  }
  bool& bias() {
    return op_.kind == OpKind::linear ? asked<graph::Linear>().bias : asked<graph::Convolution>().bias;
  }

  // Columns of matrices.

  using Sections = std::vector<Bounds>;

  Sections split(std::int64_t all, const std::string& of) const {
    Bounds out;
    for (const std::int64_t share : shares_) out.push_back(all * share / shares_.back());
    for (std::size_t m = 0; m + 1 < out.size(); ++m)
      if (out[m] == out[m + 1])
        refuse(fmt::format("has {} {}, too few for device {} of its group", all, of, m));
    return {out};
  }
  /// Division of source i, if it is divided by these columns: then it need not be resharded.
  Sections split_as(const std::vector<TensorSharding>& sources, std::size_t i, std::int64_t all,
                    const std::string& of) const {
    const bool alike = sources[i].placement == Placement::shard_features && sources[i].width == all;
    return alike ? sources[i].sections : split(all, of);
  }
  std::int64_t mine(const Sections& sections) const {
    std::int64_t out = 0;
    for (const Bounds& bounds : sections) out += bounds[member_ + 1] - bounds[member_];
    return out;
  }
  static TensorSharding features(std::int64_t count, std::int64_t width, Sections sections) {
    return {Placement::shard_features, count / width, width, std::move(sections)};
  }
  static Sections scaled(Sections sections, std::int64_t factor) {
    for (Bounds& bounds : sections)
      for (std::int64_t& bound : bounds) bound *= factor;
    return sections;
  }

  /// Divides parameter i along the axis of the rule.
  void shard(std::size_t i, const Sections& bounds) {
    rule_.weights == layout::WeightAxis::first ? cut_first(i, bounds) : cut_last(i, bounds);
  }
  void cut_first(std::size_t i, const Sections& bounds) {
    kernels::Slot& slot = out_.parameters[i].slot;
    out_.shardings[i] = features(slot.count(), slot.count(), scaled(bounds, slot.count() / slot.shape[0]));
    slot.shape[0] = mine(bounds);
  }
  void cut_last(std::size_t i, const Sections& bounds) {
    kernels::Slot& slot = out_.parameters[i].slot;
    out_.shardings[i] = features(slot.count(), slot.shape.back(), bounds);
    slot.shape.back() = mine(bounds);
  }
  /// Leaves the last parameter, which is added to a sum once, to the first device.
  void leave_last_to_first_device() {
    if (member_ > 0) out_.parameters.pop_back(), out_.shardings.pop_back();
  }

  // Divisions by kind of operator.

  void by_samples() {
    out_.makes = {Placement::shard_batch, 1, 0, {shares_}};
    for (TensorSharding& sharding : out_.reads) sharding = out_.makes;
  }

  /// Divides over a context group, where every member has all weights.
  void by_tokens() {
    const std::size_t members = shares_.size() - 1;
    out_.op = layout::token_shard(op_, static_cast<int>(members));
    out_.makes = sharded_by_tokens(wire_.made.count, members);
    for (std::size_t i = 0; i < out_.reads.size(); ++i) out_.reads[i] = sharded_by_tokens(sizes_[i], members);
  }

  void columns() {
    const std::int64_t all = outputs();
    const auto bounds = split(all, op_.kind == OpKind::linear ? "columns" : "channels");
    outputs() = mine(bounds);
    for (std::size_t i = 0; i < out_.shardings.size(); ++i) shard(i, bounds);
    out_.makes = features(wire_.made.count, all, bounds);
  }

  void rows(const std::vector<TensorSharding>& sources) {
    const std::int64_t all = inputs();
    const auto bounds =
        split_as(sources, 0, all, op_.kind == OpKind::linear ? "rows of weights" : "channels to read");
    inputs() = mine(bounds);
    shard(0, bounds);
    if (out_.shardings.size() > 1) leave_last_to_first_device();
    bias() = out_.shardings.size() > 1;
    out_.reads[0] = features(sizes_[0], all, bounds);
    if (const graph::Function function = as<graph::Linear>(op_).function; function != graph::Function::none)
      apply_after(function);
  }
  void apply_after(graph::Function function) {
    asked<graph::Linear>().function = graph::Function::none;
    Operator& after = out_.after.emplace();
    after.name = op_.name;
    after.kind = OpKind::activation;
    after.attributes = graph::Activation{wire_.made.count, function};
  }

  void table_columns() {
    auto& table = asked<graph::Embedding>();
    const std::int64_t all = table.width;
    const auto bounds = split(all, "columns");
    table.width = mine(bounds);
    shard(0, bounds);
    out_.makes = features(wire_.made.count, all, bounds);
  }
  void table_rows() {
    auto& table = asked<graph::Embedding>();
    const std::int64_t all = table.rows;
    const auto bounds = split(all, "rows");
    table.rows = mine(bounds);
    table.first = bounds.front()[member_];
    table.table = all;
    shard(0, bounds);
  }

  void heads() {
    auto& attention = asked<graph::Attention>();
    const std::int64_t all = attention.heads, head = attention.inner_width() / all;
    const auto bounds = split(all, "heads"), inner = scaled(bounds, head);
    attention.heads = mine(bounds);
    attention.inner = mine(inner);
    for (std::size_t i = 0; i < out_.shardings.size(); ++i)
      if (i != 3 && i != 7) cut_first(i, inner);
    cut_last(3, inner);
    if (out_.shardings.size() > 7) leave_last_to_first_device();
    attention.partial = member_ > 0;
  }

  /// Divides every expert: columns of its first matrices, and the rows of its last one that read these.
  void each_expert() {
    auto& experts = asked<graph::Experts>();
    const std::int64_t all = experts.inner, hidden = experts.hidden;
    const auto bounds = split(all, "columns in each expert");
    experts.inner = mine(bounds);
    for (std::size_t i = 0; i + 1 < out_.shardings.size(); ++i) {
      kernels::Slot& slot = out_.parameters[i].slot;
      out_.shardings[i] = features(slot.count(), all * hidden, scaled(bounds, hidden));
      slot.shape[0] = experts.experts * experts.inner;
    }
    cut_last(out_.shardings.size() - 1, bounds);
  }

  /// Divides batch norms and pools, which process each channel separately.
  void channels(const std::vector<TensorSharding>& sources) {
    auto* norm = std::get_if<graph::Norm>(&out_.op.attributes);
    if (norm != nullptr && norm->form != graph::NormForm::batch)
      refuse("needs the statistics of all features, and is not divided by them");
    std::int64_t& channels = norm != nullptr ? norm->channels : asked<graph::Pool>().window.channels;
    const std::int64_t all = channels;
    const auto bounds = split_as(sources, 0, all, "channels");
    channels = mine(bounds);
    if (norm != nullptr) norm->elements = wire_.made.count / all * channels;
    for (std::size_t i = 0; i < out_.shardings.size(); ++i) shard(i, bounds);
    out_.makes = features(wire_.made.count, all, bounds);
    out_.reads[0] = features(sizes_[0], all, bounds);
  }

  /// Takes a part of each of the tensors.
  void side_by_side(const std::vector<TensorSharding>& sources) {
    Sections sections;
    std::int64_t before = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      std::int64_t& width = asked<graph::Concat>().widths[i];
      const std::int64_t all = width;
      const Sections own = split_as(sources, i, all, "columns");
      width = mine(own);
      out_.reads[i] = features(sizes_[i], all, own);
      for (Bounds bounds : own) {
        for (std::int64_t& bound : bounds) bound += before;
        sections.push_back(std::move(bounds));
      }
      before += all;
    }
    out_.makes = features(wire_.made.count, before, std::move(sections));
  }

  /// Divides rows, or matrices of a batch; the output has `each` numbers per row.
  void flat(const std::string& of, std::int64_t& extent, std::int64_t each) {
    const std::int64_t all = extent;
    const auto bounds = split(all, of);
    extent = mine(bounds);
    out_.makes = features(each * all, each * all, scaled(bounds, each));
    for (std::size_t i = 0; i < out_.reads.size(); ++i)
      out_.reads[i] = features(sizes_[i], sizes_[i], scaled(bounds, sizes_[i] / all));
  }

  /// Number of elements of an element-wise operator.
  std::int64_t& elements() {
    if (auto* function = std::get_if<graph::Activation>(&out_.op.attributes)) return function->elements;
    if (auto* sum = std::get_if<graph::Elementwise>(&out_.op.attributes)) return sum->elements;
    return asked<graph::Elements>().elements;
  }

  /// Divides element-wise operators like the first source that is divided by features.
  void follow(const std::vector<TensorSharding>& sources) {
    const std::int64_t count = wire_.made.count;
    if (op_.kind == OpKind::reshape && sizes_[0] != count)
      refuse("shows a part of its tensor, and is not divided by features");
    const auto divided = std::ranges::find(sources, Placement::shard_features, &TensorSharding::placement);
    out_.makes = divided != sources.end() ? *divided : features(count, count, split(count, "numbers"));
    for (TensorSharding& sharding : out_.reads) sharding = out_.makes;
    elements() = out_.makes.shard(member_, 1, count).count();
  }

  const Operator& op_;
  const kernels::OperatorWiring& wire_;
  const layout::PlacementRule rule_;
  const std::vector<std::int64_t> shares_;
  const std::size_t member_;
  const std::vector<std::int64_t> sizes_;
  OperatorShard out_;
};

/// Assigns experts, whose matrices are stored one after the other.
void give_experts(OperatorShard& shard, std::size_t parts) {
  shard.dispatches = true;
  for (std::size_t i = 0; i < shard.parameters.size(); ++i) {
    kernels::Slot& slot = shard.parameters[i].slot;
    shard.shardings[i] = sharded_by_columns(slot.count(), slot.count(), parts);
    slot.shape[0] /= static_cast<std::int64_t>(parts);
  }
}

std::vector<std::int64_t> shares_of(const plan::Stage& stage) {
  const std::vector<std::int64_t> even(static_cast<std::size_t>(stage.replica_size()), 1);
  std::vector<std::int64_t> out = {0};
  for (const std::int64_t share : stage.shares.empty() ? even : stage.shares)
    out.push_back(out.back() + share);
  return out;
}

}  // namespace

OperatorDivision::OperatorDivision(const graph::OpGraph& graph, const plan::Plan& plan, core::DeviceId device,
                                   const std::vector<kernels::OperatorWiring>& wires) {
  for (const plan::Stage& stage : plan.stages) {
    const auto place = std::ranges::find(stage.devices, device);
    if (place == stage.devices.end()) continue;
    const auto number = static_cast<std::size_t>(place - stage.devices.begin());
    const plan::Mesh mesh(stage);
    const auto group = mesh.replica(mesh.coordinate(number, plan::MeshDim::data));
    group_ = {group.begin(), group.end()};
    members_ = group_.size();
    member_ = number % members_;
    number_ = number;
    devices_ = stage.devices.size();
    experts_ = static_cast<std::size_t>(stage.expert_parallel);
    const layout::StageLayout placed = layout::infer(graph, stage);
    for (std::size_t i = 0; i < stage.operators.size(); ++i)
      add(graph, wires, stage, stage.operators[i],
          stage.context_parallel > 1 ? Partition::sequence : placed.partition[i]);
    for (const auto& [id, sources] : placed.completes) parts_.at(id).completes = sources;
  }
}

bool OperatorDivision::divides_as(const OperatorDivision& other, kernels::ParameterRef parameter) const {
  const auto here = weights_.find(parameter), there = other.weights_.find(parameter);
  if (here == weights_.end() || there == other.weights_.end())
    return here == weights_.end() && there == other.weights_.end();
  return here->second.sharding == there->second.sharding;
}

void OperatorDivision::add(const graph::OpGraph& graph, const std::vector<kernels::OperatorWiring>& wires,
                           const plan::Stage& stage, OpId id, Partition how) {
  const kernels::OperatorWiring& wire = wires[id.index()];
  std::vector<std::int64_t> sizes;
  std::vector<TensorSharding> sources;
  for (const OpId source : wire.sources) {
    sizes.push_back(wires[source.index()].made.count);
    sources.push_back(std::ranges::binary_search(stage.operators, source) ? shard(source).makes
                                                                          : TensorSharding());
  }
  OperatorDivider divider(graph.op(id), wire, how, shares_of(stage), member_, std::move(sizes));
  divider.divide(sources);
  OperatorShard& shard = parts_[id] = divider.shard();
  if (experts_ > 1 && graph.op(id).kind == OpKind::experts) give_experts(shard, experts_);
  const std::size_t part = shard.dispatches ? expert_part() : member_;
  for (std::size_t i = 0; i < shard.parameters.size(); ++i) {
    const kernels::ParameterRef owner = shard.parameters[i].owner;
    const auto [known, fresh] = weights_.try_emplace(
        owner, WeightShard{wires[owner.op.index()].parameters[owner.slot].slot, shard.shardings[i], part});
    if (!fresh && known->second.sharding != shard.shardings[i])
      throw BadInput(
          fmt::format("operators '{}' and '{}' share parameters, and are not divided alike; with tensor "
                      "parallelism that is not replayed",
                      graph.op(owner.op).name, graph.op(id).name));
  }
}

std::vector<OpId> dispatched(const graph::OpGraph& graph, const plan::Stage& stage) {
  std::vector<OpId> out;
  if (stage.expert_parallel > 1)
    std::ranges::copy_if(stage.operators, std::back_inserter(out),
                         [&](OpId id) { return graph.op(id).kind == OpKind::experts; });
  return out;
}

bool divided_alike(const graph::OpGraph& graph, const plan::Plan& plan,
                   const plan::SharedParameters& shared) {
  const plan::Stage& first = plan.stages[shared.stages.front().index()];
  const auto wires = kernels::wire(graph, kernels::Precision::fp32);
  for (const core::StageId s : shared.stages) {
    const plan::Stage& stage = plan.stages[s.index()];
    if (stage.tensor_parallel != first.tensor_parallel) return false;
    if (stage.tensor_parallel == 1) continue;
    for (std::size_t m = 0; m < static_cast<std::size_t>(stage.tensor_parallel); ++m) {
      const OperatorDivision here(graph, plan, stage.devices[m], wires),
          there(graph, plan, first.devices[m], wires);
      for (const core::OpId owner : shared.owners)
        for (const kernels::ParameterSlot& parameter : wires[owner.index()].parameters)
          if (!here.divides_as(there, parameter.owner)) return false;
    }
  }
  return true;
}

}  // namespace penstock::replay
