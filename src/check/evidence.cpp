#include "evidence.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "penstock/cost/sharding.hpp"
#include "penstock/plan/mesh.hpp"

namespace penstock::check {
namespace {

/// The replica of the i-th device of a stage.
std::size_t replica_of(const plan::Stage& stage, std::size_t i) {
  return plan::Mesh(stage).coordinate(i, plan::MeshDim::data);
}

/// First sample, within a micro-batch, of a replica's share. The replicas of a colocated stage's parts share
/// it part after part.
std::int64_t share_begin(const plan::Stage& stage, std::int64_t replica) {
  if (!stage.part) return stage.micro_batch * replica / stage.replicas();
  return stage.micro_batch * (stage.part.before + replica) / stage.part.of;
}

using schedule::ActionKind;

std::optional<TaskKind> kind_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return TaskKind::forward;
    case ActionKind::backward:
      return TaskKind::backward;
    case ActionKind::input_gradient:
      return TaskKind::input_gradient;
    case ActionKind::weight_gradient:
      return TaskKind::weight_gradient;
    case ActionKind::recompute:
      return TaskKind::recompute;
    default:
      return std::nullopt;
  }
}

}  // namespace

TraceEvidence::TraceEvidence(const cost::Problem& problem_in, const schedule::ScheduledPlan& scheduled,
                             const trace::Trace& trace_in, const sim::SimulationOptions& options_in)
    : problem(problem_in),
      plan(scheduled.plan),
      order(scheduled.order),
      trace(trace_in),
      options(options_in),
      stages(problem.graph, plan),
      in_turn(plan::asynchronous(plan)),
      ran(problem.cluster.size()),
      shared(plan::shared_parameters(problem.graph, plan)),
      devices_(order.ranks.size()) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    devices_[static_cast<std::size_t>(order.rank_of_stage[s])] = plan.stages[s].devices;
  fill_samples();
  if (trace.devices.size() != problem.cluster.size())
    violation("the trace has {} devices", trace.devices.size());
  for (const Span& span : trace.spans) {
    if (!exists(span)) {
      violation("a {} names a device or stage that does not exist", name(span.kind));
      continue;
    }
    if (span.start < Picoseconds(0) || span.end < span.start)
      violation("a {} ends before it starts", name(span.kind));
    if (trace::computes(span.kind))
      ran[span.device.index()].push_back({&span, span.start, span.end, nullptr});
    if (span.peer.valid()) moved.push_back(&span);
    if (span.peer.valid() && span.kind == TaskKind::collective)
      collectives[{span.peer, span.stage, span.micro_batch}].push_back(&span);
  }
  for (std::size_t r = 0; r < ranks(); ++r)
    for (std::size_t i = 0; i < devices(r).size(); ++i)
      sort(ran[devices(r)[i].index()], asked.emplace(std::pair(r, i), ask(r, i)).first->second);
}

bool TraceEvidence::exists(const Span& span) const {
  const auto known = [&](DeviceId device) {
    return device.valid() && device.index() < problem.cluster.size();
  };
  const bool travels = span.kind == TaskKind::transfer || span.peer.valid();
  return known(span.device) && span.stage.valid() && span.stage.index() < plan.stages.size() &&
         (!travels || (known(span.peer) && span.peer != span.device));
}

/// Sorts by time; passes without duration at one moment get the order of the row.
void TraceEvidence::sort(std::vector<PassRun>& passes, const DeviceTasks& row) {
  std::map<std::tuple<TaskKind, StageId, std::int32_t>, std::size_t> position;
  for (std::size_t p = 0; p < row.passes.size(); ++p)
    position.try_emplace({row.passes[p].kind, row.passes[p].stage, row.passes[p].micro_batch}, p);
  const auto key = [&](const PassRun& pass) {
    const auto found = position.find({pass.span->kind, pass.span->stage, pass.span->micro_batch});
    return std::tuple(pass.first, pass.last, found == position.end() ? row.passes.size() : found->second);
  };
  std::stable_sort(passes.begin(), passes.end(),
                   [&](const PassRun& a, const PassRun& b) { return key(a) < key(b); });
}

/// Steps exist only for stages with weights.
DeviceTasks TraceEvidence::ask(std::size_t rank, std::size_t i) const {
  DeviceTasks out;
  for (const schedule::Action& action : order.ranks[rank]) {
    if (action.kind == ActionKind::barrier) out.barriers.push_back(out.passes.size());
    if (action.stage < 0) continue;
    const StageId stage(static_cast<std::size_t>(action.stage));
    const bool weights = has_weights(stage);
    if (action.kind == ActionKind::reduce_gradient && weights)
      out.reductions.push_back({stage, out.passes.size() - 1});
    if (action.kind == ActionKind::step && weights) {
      const auto oldest = std::find_if(
          out.reductions.begin(), out.reductions.end(),
          [&](const auto& reduction) { return reduction.stage == stage && reduction.step == 0; });
      if (oldest != out.reductions.end()) oldest->step = out.passes.size();
      out.passes.push_back({TaskKind::step, stage, -1, false});
    }
    bool joined = false;
    for (const schedule::Action& part : parts(action)) {
      const auto kind = kind_of(part.kind);
      if (!kind) continue;
      const StageId id(static_cast<std::size_t>(part.stage));
      const plan::Stage& s = plan.stages[id.index()];
      const auto turns = in_turn ? static_cast<std::int32_t>(s.replicas()) : 1;
      const std::int32_t m =
          part.micro_batch * turns + (in_turn ? static_cast<std::int32_t>(replica_of(s, i)) : 0);
      out.passes.push_back({*kind, id, m, joined});
      joined = true;
    }
  }
  return out;
}

std::vector<ReplicaShare> TraceEvidence::shares(StageId stage) const {
  const plan::Stage& s = plan.stages[stage.index()];
  const std::int64_t replicas = s.replicas();
  const auto group = [&](std::int64_t replica) {
    return plan::Mesh(s).replica(static_cast<std::size_t>(replica));
  };
  std::vector<ReplicaShare> out;
  for (std::int64_t m = 0; m < plan.training.mini_batch * trace.mini_batches / s.micro_batch; ++m) {
    const std::int64_t first = m * s.micro_batch;
    const auto number = static_cast<std::int32_t>(m);
    for (std::int64_t r = 0; !in_turn && r < replicas; ++r)
      out.push_back({number, group(r), first + share_begin(s, r), first + share_begin(s, r + 1)});
    if (in_turn) out.push_back({number, group(m % replicas), first, first + s.micro_batch});
  }
  return out;
}

std::int64_t TraceEvidence::samples(StageId stage, std::size_t i) const {
  const plan::Stage& s = plan.stages[stage.index()];
  if (in_turn) return s.micro_batch;
  const auto r = static_cast<std::int64_t>(replica_of(s, i));
  return share_begin(s, r + 1) - share_begin(s, r);
}

cost::OpTime TraceEvidence::time(StageId stage, std::span<const core::OpId> operators, std::size_t i) const {
  const plan::Stage& s = plan.stages[stage.index()];
  using CountedWaits = cost::ReplicaTimes::CountedWaits;
  cost::ReplicaTimes times(problem, s, cost::OperatorSets{{operators.begin(), operators.end()}},
                           links() ? CountedWaits::ring : CountedWaits::all);
  return times.time(replica_of(s, i), std::max<std::int64_t>(1, samples(stage, i))).total();
}

const std::vector<cost::OpTime>& TraceEvidence::pieces(StageId stage, std::size_t i, std::int32_t micro_batch,
                                                       bool cut) {
  const plan::Stage& s = plan.stages[stage.index()];
  auto& out = pieces_[{stage, static_cast<std::int64_t>(replica_of(s, i)), shorter_ ? micro_batch : -1, cut}];
  if (!out.empty()) return out;
  if (shorter_) return out = filled_pieces(stage, i, micro_batch, cut);
  if (!cut) return out.assign(1, time(stage, s.operators, i)), out;
  for (const auto& operators : buckets(stage)) out.push_back(time(stage, operators, i));
  return out;
}

void TraceEvidence::fill_samples() {
  if (options.perturbation == nullptr || !options.perturbation->lengths) return;
  const sim::SequenceLengths& lengths = *options.perturbation->lengths;
  shorter_ = std::make_unique<cost::ShorterModels>(problem);
  const std::int64_t room = sim::room(lengths, problem.graph);
  for (std::int64_t k = 0; k < trace.mini_batches; ++k)
    for (const sim::SampleContent& sample :
         sim::fillings(lengths, room, plan.training.mini_batch, options.seed, k, options.stop))
      samples_.push_back(sample);
}

/// Samples that the i-th device has of a micro-batch: [first, second).
std::pair<std::int64_t, std::int64_t> TraceEvidence::range(StageId stage, std::size_t i,
                                                           std::int32_t micro_batch) const {
  const plan::Stage& s = plan.stages[stage.index()];
  const std::int64_t first = micro_batch * s.micro_batch;
  if (in_turn) return {first, first + s.micro_batch};
  const auto r = static_cast<std::int64_t>(replica_of(s, i));
  return {first + share_begin(s, r), first + share_begin(s, r + 1)};
}

sim::SampleContent TraceEvidence::filling(std::int64_t begin, std::int64_t end) const {
  sim::SampleContent sum;
  for (std::int64_t i = begin; i < end; ++i) sum += samples_.at(static_cast<std::size_t>(i));
  return sum;
}

double TraceEvidence::filled_share(StageId stage, std::size_t i, std::int32_t micro_batch) const {
  if (!shorter_) return 1;
  const auto [begin, end] = range(stage, i, micro_batch);
  return filling(begin, end).per_sample(end - begin).tokens / static_cast<double>(shorter_->sequence());
}

Bytes TraceEvidence::sent(const plan::StageBoundary& boundary, std::int64_t begin, std::int64_t end) const {
  if (!shorter_) return boundary.bytes * (end - begin);
  Bytes sum;
  const auto shortest = shorter_->at(1, 1);
  const std::int64_t tokens = filling(begin, end).computed, sequence = shorter_->sequence();
  std::int64_t shrinks = 0;  // bytes of tensors over the sequence
  for (const core::OpId id : plan.stages[boundary.from.index()].operators)
    for (const graph::Vertex reader : problem.graph.dag().successors(static_cast<graph::Vertex>(id.index())))
      if (stages.runs(boundary.to, core::OpId(static_cast<std::size_t>(reader)))) {
        const Bytes bytes = problem.graph.op(id).output_bytes;
        if (shortest->op(id).output_bytes != bytes)
          shrinks += bytes.value();
        else
          sum += bytes * (end - begin);
        break;
      }
  return sum + Bytes(shrinks / sequence * tokens + shrinks % sequence * tokens / sequence);
}

/// Like time(), with the actual filling of the samples.
std::vector<cost::OpTime> TraceEvidence::filled_pieces(StageId stage, std::size_t i, std::int32_t micro_batch,
                                                       bool cut) {
  const plan::Stage& s = plan.stages[stage.index()];
  const auto replica = replica_of(s, i);
  const auto [begin, end] = range(stage, i, micro_batch);
  auto& times = length_times_[{stage, end - begin, cut}];
  if (times == nullptr)
    times = std::make_unique<cost::LengthTimes>(
        *shorter_, s, cut ? buckets(stage) : cost::OperatorSets{s.operators},
        std::vector<std::int64_t>(static_cast<std::size_t>(s.replicas()), end - begin));
  std::vector<cost::OpTime> out;
  for (const cost::StageTime& time : times->times(replica, filling(begin, end).per_sample(end - begin)))
    out.push_back(time.total());
  return out;
}

bool TraceEvidence::has_weights(StageId stage) const {
  return cost::stage_load(problem, plan.stages[stage.index()].operators).parameters.value() > 0;
}

/// Starts with the last operators. A bucket is full when it has the bytes of the bucket size; the next
/// gradient opens another.
std::vector<std::vector<core::OpId>> TraceEvidence::buckets(StageId stage) const {
  const plan::Stage& s = plan.stages[stage.index()];
  std::vector<std::vector<core::OpId>> out(1);
  Bytes held;
  const auto reads = [&](core::OpId op) { return !problem.graph.operands(op).empty(); };
  const bool later =
      cost::framework_memory(problem).buckets_first_chunk && std::ranges::all_of(s.operators, reads);
  for (std::size_t i = s.operators.size(); i-- > 0;) {
    const Bytes bytes = problem.training.gradients(problem.graph.parameter_bytes(s.operators[i]));
    const bool cut =
        !later && problem.training.bucket.value() > 0 && plan::reduces_gradients(s) && !s.spans_ranks();
    if (cut && held >= problem.training.bucket && bytes.value() > 0) out.emplace_back(), held = Bytes(0);
    out.back().push_back(s.operators[i]);
    held += bytes;
  }
  return out;
}

void TraceEvidence::pair_up() {
  for (std::size_t r = 0; r < ranks(); ++r)
    for (std::size_t i = 0; i < devices(r).size(); ++i) {
      const auto& passes = asked.at({r, i}).passes;
      auto& here = ran[devices(r)[i].index()];
      for (std::size_t p = 1; p < passes.size(); ++p)
        if (passes[p].joined) {
          here[p - 1].last = here[p].last, here[p].first = here[p - 1].first;
          here[p - 1].partner = here[p].span, here[p].partner = here[p - 1].span;
        }
      for (const PassRun& pass : here)
        index_[{pass.span->device, pass.span->stage, pass.span->kind, pass.span->micro_batch}] = &pass;
    }
}

const PassRun* TraceEvidence::find(DeviceId device, StageId stage, TaskKind kind,
                                   std::int32_t micro_batch) const {
  const auto found = index_.find({device, stage, kind, micro_batch});
  return found == index_.end() ? nullptr : found->second;
}

const PassRun* TraceEvidence::forward(DeviceId device, StageId stage, std::int32_t m) const {
  return find(device, stage, TaskKind::forward, m);
}

const PassRun* TraceEvidence::backward(DeviceId device, StageId stage, std::int32_t m) const {
  const PassRun* whole = find(device, stage, TaskKind::backward, m);
  return whole ? whole : find(device, stage, TaskKind::input_gradient, m);
}

const PassRun* TraceEvidence::release(DeviceId device, StageId stage, std::int32_t m) const {
  const PassRun* half = find(device, stage, TaskKind::weight_gradient, m);
  return half ? half : find(device, stage, TaskKind::backward, m);
}

bool TraceEvidence::steady_messages() const {
  return perfect() || (!options.perturbation->jitter.contains(TaskKind::transfer) &&
                       !options.perturbation->jitter.contains(TaskKind::all_reduce) &&
                       !options.perturbation->jitter.contains(TaskKind::collective));
}

}  // namespace penstock::check
