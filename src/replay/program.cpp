#include "penstock/replay/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "penstock/core/error.hpp"
#include "penstock/plan/mesh.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/schedule/weights_used.hpp"
#include "rows.hpp"
#include "worker/division.hpp"

namespace penstock::replay {
namespace {

using core::BadInput;
using core::StageId;
using schedule::ActionKind;

constexpr std::size_t kMostMessages = std::size_t{1} << 24;

std::vector<std::size_t> numbers(const std::vector<StageId>& stages) {
  std::vector<std::size_t> out;
  for (const StageId stage : stages) out.push_back(stage.index());
  return out;
}

/// Copies of shared parameters are updated together; in groups, those of devices with one number.
void check_shared(const graph::OpGraph& graph, const plan::Plan& plan) {
  for (const plan::SharedParameters& shared : plan::shared_parameters(graph, plan)) {
    const auto refuse = [&](const char* why) {
      throw BadInput(fmt::format("stages {} share the parameters of '{}': {} is not replayed",
                                 fmt::join(numbers(shared.stages), ", "), graph.op(shared.owner).name, why));
    };
    if (plan::asynchronous(plan)) refuse("a schedule without a flush");
    if (!divided_alike(graph, plan, shared)) refuse("tensor parallelism that divides them differently");
  }
}

void check(const graph::OpGraph& graph, const plan::Plan& plan) {
  if (schedule::weight_policy(plan).predicted)
    throw BadInput(plan.schedule + " predicts weights, which is not replayed");
  const auto& compression = plan.training.compression;
  if (compression.gradients != 1 || compression.activations != 1)
    throw BadInput("compressed messages are not replayed");
  if (const auto& held = plan.training.precision;
      held && (held->gradients != held->weights || held->state != held->weights || held->master ||
               held->pass_gradients))
    throw BadInput("mixed precision is not replayed");
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
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

/// What one replica computes of one micro-batch.
struct Share {
  std::int32_t in_row = 0;  ///< micro-batch as its row counts
  std::int32_t number = 0;  ///< among all of the stage
  std::size_t replica = 0;
  Samples samples;
};

class Lowering {
 public:
  Lowering(const graph::OpGraph& graph, const schedule::ScheduledPlan& scheduled)
      : graph_(graph),
        plan_(scheduled.plan),
        order_(scheduled.order),
        stages_(scheduled.stages),
        in_turn_(plan::asynchronous(plan_)),
        rows_(plain_rows(order_)),
        versions_(schedule::weights_used(plan_, rows_, order_.rank_of_stage)) {
    out_.shared = plan::shared_parameters(graph, plan_);
    for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
      drop_needless(rank);
      add_shared(rank);
    }
  }

  Program lower() {
    for (std::size_t s = 0; s < plan_.stages.size(); ++s)
      places_.push_back(places(row(s), static_cast<std::int32_t>(s), !plan_.stages[s].recompute.early));
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) devices_ = std::max(devices_, end_of(s));
    out_.devices.resize(devices_);
    out_.open_at_start.resize(devices_);
    add_instructions();
    for (const plan::Boundary& boundary : stages_.boundaries()) add_boundary(boundary);
    const auto count = static_cast<std::int64_t>(shares(0).back().samples.end());
    out_.mini_batches = count / plan_.training.mini_batch;
    return std::move(out_);
  }

 private:
  void drop_needless(std::size_t rank) {
    schedule::RankOrder& row = rows_[rank];
    std::size_t kept = 0;
    for (std::size_t p = 0; p < row.size(); ++p) {
      if (needless(graph_, plan_, out_.shared, row[p])) continue;
      row[kept] = row[p];
      for (auto& used : versions_[rank]) used[kept] = used[p];
      ++kept;
    }
    row.resize(kept);
  }

  /// In one order on all ranks, so that nobody waits for who waits for him.
  void add_shared(std::size_t rank) {
    std::vector<std::int32_t>& which = shared_.emplace_back(rows_[rank].size(), -1);
    std::size_t next = 0;
    for (std::size_t k = 0; k < out_.shared.size(); ++k) {
      const auto& stages = out_.shared[k].stages;
      const auto here = std::find_if(stages.begin(), stages.end(), [&](StageId s) {
        return static_cast<std::size_t>(order_.rank_of_stage[s.index()]) == rank;
      });
      if (here == stages.end()) continue;
      const auto place = static_cast<std::ptrdiff_t>(place_of(out_.shared[k], rows_[rank], next));
      rows_[rank].insert(rows_[rank].begin() + place,
                         {ActionKind::reduce_gradient, static_cast<std::int32_t>(here->index())});
      for (auto& used : versions_[rank]) used.insert(used.begin() + place, -1);
      which.insert(which.begin() + place, static_cast<std::int32_t>(k));
      next = static_cast<std::size_t>(place) + 1;
    }
  }

  const schedule::RankOrder& row(std::size_t stage) const {
    return rows_[static_cast<std::size_t>(order_.rank_of_stage[stage])];
  }
  std::size_t end_of(std::size_t stage) const {
    const auto& devices = plan_.stages[stage].devices;
    return std::max_element(devices.begin(), devices.end())->index() + 1;
  }

  // Instructions.

  void add_instructions() {
    std::vector<bool> seen(devices_);
    for (std::size_t s = 0; s < plan_.stages.size(); ++s)
      for (const core::DeviceId device : plan_.stages[s].devices)
        if (!seen[device.index()]) {
          seen[device.index()] = true;
          add_device(device, s);
        }
  }

  void add_device(core::DeviceId device, std::size_t of_stage) {
    const auto rank = static_cast<std::size_t>(order_.rank_of_stage[of_stage]);
    auto& list = out_.devices[device.index()];
    for (std::size_t p = 0; p < rows_[rank].size(); ++p) {
      const schedule::Action& action = rows_[rank][p];
      Instruction instruction;
      instruction.kind = action.kind;
      instruction.shared = shared_[rank][p];
      if (action.stage >= 0) instruction.stage = StageId(static_cast<std::size_t>(action.stage));
      if (action.micro_batch >= 0) {
        const Share part = share(instruction.stage, device, action.micro_batch);
        instruction.micro_batch = part.number;
        instruction.samples = part.samples;
        instruction.weights = versions_[rank][part.replica][p];
      }
      list.push_back(std::move(instruction));
    }
  }

  Share share(StageId id, core::DeviceId device, std::int32_t in_row) const {
    const plan::Stage& stage = plan_.stages[id.index()];
    const auto place = std::find(stage.devices.begin(), stage.devices.end(), device);
    const auto number = static_cast<std::size_t>(place - stage.devices.begin());
    return share(stage, number / static_cast<std::size_t>(stage.tensor_parallel), in_row);
  }

  Share share(const plan::Stage& stage, std::size_t replica, std::int32_t in_row) const {
    const std::int64_t replicas = stage.replicas(), size = stage.micro_batch,
                       r = static_cast<std::int64_t>(replica);
    if (in_turn_) {
      const std::int64_t number = in_row * replicas + r;
      return {in_row, static_cast<std::int32_t>(number), replica, {number * size, size}};
    }
    const std::int64_t begin = size * r / replicas, end = size * (r + 1) / replicas;
    return {in_row, in_row, replica, {in_row * size + begin, end - begin}};
  }

  /// All of a stage, in the order of their samples.
  std::vector<Share> shares(std::size_t s) const {
    const plan::Stage& stage = plan_.stages[s];
    std::vector<Share> out;
    for (std::size_t m = 0; m < places_[s].forward.size(); ++m)
      for (std::size_t r = 0; r < static_cast<std::size_t>(stage.replicas()); ++r)
        out.push_back(share(stage, r, static_cast<std::int32_t>(m)));
    return out;
  }

  // Messages.

  /// Samples that a share of one stage and a share of the other have in common travel together.
  void add_boundary(const plan::Boundary& boundary) {
    const std::size_t x = boundary.from.index(), y = boundary.to.index();
    const auto tensors = crossing(boundary);
    const std::vector<Share> from = shares(x), to = shares(y);
    for (std::size_t i = 0, j = 0; i < from.size() && j < to.size();) {
      const Share &a = from[i], &b = to[j];
      const std::int64_t begin = std::max(a.samples.first, b.samples.first),
                         end = std::min(a.samples.end(), b.samples.end());
      if (begin < end) {
        Message message;
        message.tensors = tensors;
        message.samples = {begin, end - begin};
        add_pair(message, boundary, a, b);
      }
      i += a.samples.end() == end;
      j += b.samples.end() == end;
    }
  }

  void add_pair(Message message, const plan::Boundary& boundary, const Share& a, const Share& b) {
    const std::size_t x = boundary.from.index(), y = boundary.to.index();
    const auto ma = static_cast<std::size_t>(a.in_row), mb = static_cast<std::size_t>(b.in_row);
    const core::Bytes bytes = boundary.bytes * message.samples.count;
    add_parts(message, bytes, boundary.from, a, places_[x].forward[ma], boundary.to, b,
              places_[y].forward[mb], places_[y].room_forward[mb]);
    message.gradient = true;
    add_parts(message, bytes, boundary.to, b, places_[y].backward[mb], boundary.from, a,
              places_[x].gradient[ma], places_[x].room_backward[ma]);
  }

  /// From and to the devices of both groups in turn.
  void add_parts(Message message, core::Bytes bytes, StageId from, const Share& a, std::int32_t sent,
                 StageId to, const Share& b, std::int32_t needed, std::int32_t room) {
    const auto senders = plan::Mesh(plan_.stages[from.index()]).replica(a.replica),
               receivers = plan::Mesh(plan_.stages[to.index()]).replica(b.replica);
    message.from = from;
    message.to = to;
    message.sent_in = a.number;
    message.needed_in = b.number;
    message.parts = static_cast<std::int32_t>(std::max(senders.size(), receivers.size()));
    for (; message.part < message.parts; ++message.part) {
      const auto i = static_cast<std::size_t>(message.part);
      message.sender = senders[i % senders.size()];
      message.receiver = receivers[i % receivers.size()];
      message.bytes =
          core::Bytes(bytes.value() / message.parts + (message.part < bytes.value() % message.parts));
      add(message, sent, needed, room);
    }
  }

  void add(Message message, std::int32_t sent, std::int32_t needed, std::int32_t room) {
    if (out_.messages.size() >= kMostMessages)
      throw core::Error(core::ExitCode::limit, "the program has more than 2^24 messages");
    const auto id = static_cast<MessageId>(out_.messages.size());
    const bool local = message.sender == message.receiver;
    at(message.sender, sent).sends.push_back(id);
    at(message.receiver, needed).receives.push_back(id);
    if (message.bytes.value() > 0) {
      if (local) room = sent;
      (room < 0 ? out_.open_at_start[message.receiver.index()] : at(message.receiver, room).opens)
          .push_back(id);
    }
    out_.messages.push_back(std::move(message));
  }

  Instruction& at(core::DeviceId device, std::int32_t place) {
    return out_.devices[device.index()][static_cast<std::size_t>(place)];
  }

  /// Operators of one stage that the other reads.
  std::vector<core::OpId> crossing(const plan::Boundary& boundary) const {
    std::set<core::OpId> out;
    for (const core::OpId op : plan_.stages[boundary.from.index()].operators)
      for (const graph::Vertex to : graph_.dag().successors(static_cast<graph::Vertex>(op.index())))
        if (stages_.stage_of(core::OpId(static_cast<std::size_t>(to))) == boundary.to &&
            graph_.op(op).output_bytes.value() > 0)
          out.insert(op);
    return {out.begin(), out.end()};
  }

  const graph::OpGraph& graph_;
  const plan::Plan& plan_;
  const schedule::Schedule& order_;
  const plan::StageGraph& stages_;
  const bool in_turn_;
  std::vector<schedule::RankOrder> rows_;  ///< [rank]
  schedule::WeightsUsed versions_;
  std::vector<std::vector<std::int32_t>> shared_;  ///< [rank][position]: Instruction::shared
  std::vector<Places> places_;                     ///< [stage]
  std::size_t devices_ = 0;
  Program out_;
};

}  // namespace

Program lower(const graph::OpGraph& graph, const schedule::ScheduledPlan& scheduled) {
  check(graph, scheduled.plan);
  check_shared(graph, scheduled.plan);
  return Lowering(graph, scheduled).lower();
}

}  // namespace penstock::replay
