#include "penstock/replay/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "penstock/collective/messages.hpp"
#include "penstock/core/error.hpp"
#include "penstock/layout/context.hpp"
#include "penstock/layout/experts.hpp"
#include "penstock/program/messages.hpp"
#include "penstock/replay/precision.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/schedule/weights_used.hpp"
#include "worker/division.hpp"

namespace penstock::replay {
namespace {

using core::BadInput;
using core::DeviceId;
using core::StageId;

constexpr std::size_t kMostMessages = std::size_t{1} << 24;

std::vector<std::size_t> numbers(const std::vector<StageId>& stages) {
  std::vector<std::size_t> out;
  for (const StageId stage : stages) out.push_back(stage.index());
  return out;
}

/// Checks that copies of shared parameters can be updated together; in groups, those of devices with equal
/// numbers.
void check_shared(const graph::OpGraph& graph, const plan::Plan& plan) {
  for (const plan::SharedParameters& shared : plan::shared_parameters(graph, plan)) {
    const auto refuse = [&](const char* why) {
      throw BadInput(fmt::format("stages {} share the parameters of '{}': {} is not replayed",
                                 fmt::join(numbers(shared.stages), ", "),
                                 graph.op(shared.owners.front()).name, why));
    };
    if (plan::asynchronous(plan)) refuse("a schedule without a flush");
    if (!divided_alike(graph, plan, shared)) refuse("tensor parallelism that divides them differently");
  }
}

/// Checks that each device is a member of one group.
void check_colocated(const plan::Plan& plan) {
  const auto rank = plan::rank_of_stage(plan);
  for (std::size_t s = 0; s < rank.size(); ++s)
    for (std::size_t t = 0; t < rank.size(); ++t)
      if (plan.stages[s].part && rank[t] == rank[s] &&
          (plan.stages[s].tensor_parallel != plan.stages[t].tensor_parallel ||
           plan.stages[s].context_parallel != plan.stages[t].context_parallel))
        throw BadInput(fmt::format(
            "stage {} is colocated with stage {}: groups of other sizes on the same devices are not replayed",
            s, t));
}

void check(const graph::OpGraph& graph, const plan::Plan& plan) {
  check_colocated(plan);
  for (const auto& violations :
       {layout::context_violations(graph, plan), layout::expert_violations(graph, plan)})
    if (!violations.empty()) throw BadInput(violations.front());
  if (schedule::weight_policy(plan).predicted)
    throw BadInput(plan.schedule + " predicts weights, which is not replayed");
  const auto& compression = plan.training.compression;
  if (compression.gradients != 1 || compression.activations != 1)
    throw BadInput("compressed messages are not replayed");
  precision_of(graph, plan.training);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    if (stage.context_parallel > 1 && stage.tensor_parallel > 1)
      throw BadInput(
          fmt::format("stage {}: context parallelism of tensor-parallel groups is not replayed", s));
    if (stage.experts_apart() && stage.tensor_parallel > 1)
      throw BadInput(
          fmt::format("stage {}: expert parallelism of tensor-parallel groups is not replayed", s));
    if (stage.zero > 0) throw BadInput(fmt::format("stage {}: ZeRO is not replayed", s));
    if (const auto cores = plan::inner_cores(graph, stage.operators, stage.recompute); !cores.empty())
      throw BadInput(fmt::format(
          "stage {}: the core of '{}' is inside one kernel, and selective recomputation of it is not "
          "replayed; with attention=split it is",
          s, graph.op(cores.front()).name));
    const bool by_tokens = std::ranges::any_of(
        stage.partition, [](const auto& chosen) { return chosen.second == plan::Partition::sequence; });
    if (stage.sequence_parallel || by_tokens)
      throw BadInput(fmt::format("stage {}: sequence parallelism is not replayed", s));
  }
}

/// Weights used by the k-th pass of a row, by rank and replica; in a pair the forward comes first.
schedule::WeightsUsed weights_by_pass(const plan::Plan& plan, const schedule::Schedule& order) {
  schedule::WeightsUsed out = schedule::weights_used(plan, order.ranks, order.rank_of_stage);
  for (std::size_t rank = 0; rank < out.size(); ++rank)
    for (auto& used : out[rank]) {
      std::vector<std::int32_t> passes;
      for (std::size_t p = 0; p < used.size(); ++p)
        if (const schedule::Action& action = order.ranks[rank][p]; action.micro_batch >= 0)
          passes.insert(passes.end(), parts(action).count, used[p]);
      used = std::move(passes);
    }
  return out;
}

/// Converts a program of ranks to one of devices, each with its messages.
class DeviceLowering {
 public:
  DeviceLowering(const graph::OpGraph& graph, const schedule::ScheduledPlan& scheduled)
      : graph_(graph),
        plan_(scheduled.plan),
        stages_(scheduled.stages),
        ranks_(program::lower(graph, scheduled, {.pairs_apart = true})),
        weights_(weights_by_pass(plan_, scheduled.order)) {
    for (std::size_t s = 0; s < plan_.stages.size(); ++s)
      source_.push_back(plan_.stages[s].part.before > 0 ? source_.back() : StageId(s));
  }

  DevicePrograms lower() {
    out_.shared = ranks_.shared;
    out_.mini_batches = ranks_.stages.front().samples() / plan_.training.mini_batch;
    std::size_t devices = 0;
    for (const plan::Stage& stage : plan_.stages)
      devices = std::max(devices, std::ranges::max(stage.devices).index() + 1);
    out_.devices.resize(devices);
    out_.open_at_start.resize(devices);
    for (std::size_t s = 0; s < plan_.stages.size(); ++s)
      for (std::size_t d = 0; d < plan_.stages[s].devices.size(); ++d)
        if (auto& list = out_.devices[plan_.stages[s].devices[d].index()]; list.empty())
          list = instructions(ranks_.stages[s].rank, d);
    for (const plan::StageBoundary& boundary : stages_.boundaries()) {
      const auto tensors = crossing(boundary);
      program::for_each_message(ranks_, boundary, [&](const program::StageMessage& message) {
        add(message, tensors, boundary.bytes * message.samples.count);
      });
    }
    return std::move(out_);
  }

 private:
  /// Instructions of the i-th device of a rank; a colocated stage numbers its replicas differently.
  std::vector<DeviceInstruction> instructions(std::size_t rank, std::size_t device) const {
    std::vector<DeviceInstruction> out;
    std::size_t pass = 0;
    for (const program::Instruction& of_rank : ranks_.ranks[rank].row) {
      DeviceInstruction instruction;
      instruction.kind = of_rank.kind;
      instruction.stage = of_rank.stage;
      instruction.shared = of_rank.shared;
      if (of_rank.micro_batch >= 0) {
        const program::SampleSharing& sharing = ranks_.stages[of_rank.stage.index()].sharing;
        const std::size_t replica = device / static_cast<std::size_t>(sharing.group);
        const program::ReplicaShare share =
            sharing.share(of_rank.micro_batch, static_cast<std::int64_t>(replica));
        instruction.micro_batch = share.number;
        instruction.samples = share.samples;
        instruction.weights = weights_[rank][replica].at(pass++);
      }
      out.push_back(std::move(instruction));
    }
    return out;
  }

  /// Adds messages; `bytes` are those of all parts.
  void add(const program::StageMessage& of_ranks, const std::vector<core::OpId>& tensors, core::Bytes bytes) {
    if (out_.messages.size() >= kMostMessages)
      throw core::Error(core::ExitCode::limit, "the program has more than 2^24 messages");
    const auto id = static_cast<MessageId>(out_.messages.size());
    const auto& [gradient, from, to, gate, samples, part, parts] = of_ranks;
    const DeviceId sender = device(from), receiver = device(to);
    const core::Bytes own(collective::nearly_equal_part(bytes.value(), parts, part));
    out_.messages.push_back({gradient, from.stage, to.stage, sender, receiver, tensors, samples, part, parts,
                             own, from.share.number, to.share.number, source_[from.stage.index()]});
    at(sender, from.position).sends.push_back(id);
    at(receiver, to.position).receives.push_back(id);
    if (own.value() == 0) return;
    const std::int32_t room = sender == receiver ? from.position : gate;
    (room < 0 ? out_.open_at_start[receiver.index()] : at(receiver, room).opens).push_back(id);
  }

  DeviceId device(const program::MessageEnd& end) const {
    return plan_.stages[end.stage.index()].devices[static_cast<std::size_t>(end.device)];
  }
  DeviceInstruction& at(DeviceId device, std::int32_t position) {
    return out_.devices[device.index()][static_cast<std::size_t>(position)];
  }

  /// Operators of one stage that the other reads.
  std::vector<core::OpId> crossing(const plan::StageBoundary& boundary) const {
    std::set<core::OpId> out;
    for (const core::OpId op : plan_.stages[boundary.from.index()].operators)
      for (const graph::Vertex to : graph_.dag().successors(static_cast<graph::Vertex>(op.index())))
        if (stages_.runs(boundary.to, core::OpId(static_cast<std::size_t>(to))) &&
            graph_.op(op).output_bytes.value() > 0)
          out.insert(op);
    return {out.begin(), out.end()};
  }

  const graph::OpGraph& graph_;
  const plan::Plan& plan_;
  const plan::StageGraph& stages_;
  const program::Program ranks_;
  const schedule::WeightsUsed weights_;
  std::vector<StageId> source_;  ///< [stage] see DeviceMessage::source
  DevicePrograms out_;
};

}  // namespace

DevicePrograms lower(const graph::OpGraph& graph, const schedule::ScheduledPlan& scheduled) {
  check(graph, scheduled.plan);
  check_shared(graph, scheduled.plan);
  return DeviceLowering(graph, scheduled).lower();
}

}  // namespace penstock::replay
