#include "penstock/score/plan_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "exposed_reduction.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/plan/mesh.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "penstock/plan/stage_graph.hpp"

namespace penstock::score {
namespace {

using core::DeviceId;
using core::Picoseconds;
using core::Seconds;
using schedule::Pipeline;
using schedule::PipelineLink;
using schedule::PipelineStage;

/// Stage and replica of a machine in a device pipeline.
struct ReplicaSeat {
  std::size_t stage;
  std::size_t replica;
};

std::size_t replicas(const plan::Stage& stage) {
  return static_cast<std::size_t>(stage.replicas());
}

std::vector<ReplicaSeat> seats(const plan::Plan& plan) {
  std::vector<ReplicaSeat> out;
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (std::size_t r = 0; r < replicas(plan.stages[s]); ++r) out.push_back({s, r});
  return out;
}

Seconds on_the_clock(Seconds time) {
  constexpr double kClock = 9e6;  // seconds, a little below 2^63 ps
  if (!(time.value() < kClock))
    throw core::BadInput(fmt::format("a task of {} s leaves the clock", time.value()));
  return time;
}
Picoseconds rounded(Seconds time) {
  return to_picoseconds(on_the_clock(time));
}
Picoseconds rounded_down(Seconds time) {
  return Picoseconds(static_cast<std::int64_t>(on_the_clock(time).value() * 1e12));
}

/// First sample of a replica's share of a micro-batch.
std::int64_t share_start(const plan::Stage& stage, std::size_t replica) {
  return stage.micro_batch * static_cast<std::int64_t>(replica) / stage.replicas();
}

using Machines = std::vector<PipelineStage>;

/// Machines of a stage, one per replica.
Machines make_machines(const cost::Problem& problem, const plan::Stage& stage,
                       const std::vector<core::OpId>& reduced, bool bounding) {
  const auto room = stage.in_flight > 0 ? std::max<std::int64_t>(1, stage.in_flight / stage.micro_batch) : 0;
  cost::ReplicaTimes times(problem, stage, stage.operators);
  ExposedReduction exposed(problem, stage, reduced);
  Machines out;
  for (std::size_t r = 0; r < replicas(stage); ++r) {
    const std::int64_t samples = share_start(stage, r + 1) - share_start(stage, r);
    const cost::OpTime time = times.time(r, samples).total();
    const Picoseconds again = rounded(time.recompute);
    const Picoseconds after = rounded(exposed.time(r, samples));
    // The simulator rounds every piece of the last pass.
    const Picoseconds pieces(bounding && exposed.pieces() > 1 ? static_cast<std::int64_t>(exposed.pieces())
                                                              : 0);
    out.push_back({rounded(time.forward), std::max(Picoseconds(0), again + rounded(time.backward()) - pieces),
                   static_cast<int>(room), after, stage.recompute.early ? again : Picoseconds(0)});
  }
  return out;
}

/// Returns machines from the cache: plans of a search share most stages, and each is evaluated several times.
std::shared_ptr<const Machines> machines_of(const cost::Problem& problem, const plan::Stage& stage,
                                            const std::vector<core::OpId>& reduced, bool bounding) {
  cost::StageKey key("machines", problem, stage);
  key.add(reduced).add(stage.in_flight).add(bounding);
  return cost::StageMemo::recall(problem, key,
                                 [&] { return make_machines(problem, stage, reduced, bounding); });
}

struct MessageTime {
  Picoseconds bytes, latency;  ///< rounded down
  Picoseconds total() const { return bytes + latency; }
};

/// Time of a message between two replicas. It travels in parts, one per device of the larger group
/// (cost/sharding.hpp), all at once; the slowest counts.
MessageTime flight(const cluster::Cluster& cluster, std::span<const DeviceId> from,
                   std::span<const DeviceId> to, core::Bytes bytes) {
  const std::size_t parts = std::max(from.size(), to.size());
  const core::Bytes part(bytes.value() / static_cast<std::int64_t>(parts));
  MessageTime slowest;
  for (std::size_t i = 0; i < parts; ++i) {
    const cluster::Route route = cluster.route(from[i % from.size()], to[i % to.size()]);
    const MessageTime here{rounded_down(part / route.bandwidth), rounded_down(route.latency)};
    if (here.total() >= slowest.total()) slowest = here;
  }
  return slowest;
}

/// Adds one link for each pair of replicas of `x` and `y` that share samples.
void add_links(const cost::Problem& problem, const plan::Stage& x, int first_x, const plan::Stage& y,
               int first_y, core::Bytes bytes_per_sample, Pipeline& out) {
  for (std::size_t a = 0, b = 0; a < replicas(x) && b < replicas(y);) {
    const std::int64_t end_a = share_start(x, a + 1), end_b = share_start(y, b + 1);
    const std::int64_t samples = std::min(end_a, end_b) - std::max(share_start(x, a), share_start(y, b));
    PipelineLink link{first_x + static_cast<int>(a), first_y + static_cast<int>(b), {}, {}};
    if (bytes_per_sample.value() > 0) {
      const core::Bytes bytes = problem.training.compression.activation_bytes(bytes_per_sample * samples);
      const MessageTime there =
          flight(problem.cluster, plan::Mesh(x).replica(a), plan::Mesh(y).replica(b), bytes);
      const MessageTime back =
          flight(problem.cluster, plan::Mesh(y).replica(b), plan::Mesh(x).replica(a), bytes);
      link.forward = there.bytes, link.forward_latency = there.latency;
      link.backward = back.bytes, link.backward_latency = back.latency;
    }
    out.links.push_back(link);
    if (end_a <= end_b) ++a;
    if (end_b <= end_a) ++b;
  }
}

void require_one_size(const plan::Plan& plan) {
  const std::int64_t size = plan.stages.front().micro_batch;
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    if (plan.stages[s].micro_batch != size)
      throw core::BadInput(
          fmt::format("stages[{}]: micro-batches of {} samples, stages[0] has {}; a pipeline has one size", s,
                      plan.stages[s].micro_batch, size));
}

void slow_down(PipelineStage& stage, const PipelineStage& replica) {
  stage.forward = std::max(stage.forward, replica.forward);
  stage.backward = std::max(stage.backward, replica.backward);
  stage.after = std::max(stage.after, replica.after);
}

void slow_down(PipelineLink& link, const PipelineLink& message) {
  link.forward = std::max(link.forward, message.forward);
  link.backward = std::max(link.backward, message.backward);
  link.forward_latency = std::max(link.forward_latency, message.forward_latency);
  link.backward_latency = std::max(link.backward_latency, message.backward_latency);
}

std::string place(const plan::Plan& plan, const Pipeline& devices, std::size_t site) {
  const auto all = seats(plan);
  const auto device = [&](std::size_t machine) {
    return plan::Mesh(plan.stages[all[machine].stage]).replica(all[machine].replica).front().index();
  };
  if (site < all.size()) return fmt::format("device {} (stage {})", device(site), all[site].stage);
  const PipelineLink& link = devices.links[site - all.size()];
  const auto from = static_cast<std::size_t>(link.from), to = static_cast<std::size_t>(link.to);
  return fmt::format("devices {} to {} (stage {} to {})", device(from), device(to), all[from].stage,
                     all[to].stage);
}

}  // namespace

bool one_micro_batch_size(const plan::Plan& plan) {
  return std::all_of(plan.stages.begin(), plan.stages.end(), [&](const plan::Stage& stage) {
    return stage.micro_batch == plan.stages.front().micro_batch;
  });
}

namespace {

/// `bounding`: round down as far as the simulator may, because it cuts a last pass at its buckets.
Pipeline machines(const cost::Problem& problem, const plan::Plan& plan, bool bounding) {
  plan::refuse_colocated(plan, "a pipeline of one stage per device");
  require_one_size(plan);
  Pipeline out;
  out.micro_batches = static_cast<int>(plan.training.mini_batch / plan.stages.front().micro_batch);
  std::vector<int> first;
  const auto shared = plan::shared_parameters(problem.graph, plan);
  for (const plan::Stage& stage : plan.stages) {
    first.push_back(static_cast<int>(out.stages.size()));
    const auto here = machines_of(problem, stage, plan::unshared(stage.operators, shared), bounding);
    out.stages.insert(out.stages.end(), here->begin(), here->end());
  }
  const plan::StageGraph stages(problem.graph, plan);
  for (const plan::StageBoundary& boundary : stages.boundaries()) {
    const std::size_t x = boundary.from.index(), y = boundary.to.index();
    add_links(problem, plan.stages[x], first[x], plan.stages[y], first[y], boundary.bytes, out);
  }
  return out;
}

}  // namespace

Pipeline device_pipeline(const cost::Problem& problem, const plan::Plan& plan) {
  return machines(problem, plan, false);
}

Pipeline pipeline_of(const cost::Problem& problem, const plan::Plan& plan) {
  const Pipeline devices = device_pipeline(problem, plan);
  const auto all = seats(plan);
  Pipeline out{std::vector<PipelineStage>(plan.stages.size()), {}, devices.micro_batches};
  for (std::size_t k = 0; k < all.size(); ++k) {
    PipelineStage& stage = out.stages[all[k].stage];
    stage.room = devices.stages[k].room;
    slow_down(stage, devices.stages[k]);
  }
  const auto stage_of = [&](int machine) {
    return static_cast<int>(all[static_cast<std::size_t>(machine)].stage);
  };
  std::map<std::pair<int, int>, PipelineLink> links;
  for (const PipelineLink& message : devices.links) {
    const std::pair ends{stage_of(message.from), stage_of(message.to)};
    slow_down(links.try_emplace(ends, PipelineLink{ends.first, ends.second, {}, {}}).first->second, message);
  }
  for (const auto& [ends, link] : links) out.links.push_back(link);
  return out;
}

bool whole_backwards(const plan::Plan& plan) {
  if (plan::has_colocated(plan)) return false;
  return plan.schedule == "1f1b" || plan.schedule == "gpipe" || plan.schedule == "list_order";
}

std::optional<PlanBound> lower_bound(const cost::Problem& problem, const plan::Plan& plan,
                                     ReductionTiming reduction) {
  if (!one_micro_batch_size(plan) || !whole_backwards(plan)) return {};
  Pipeline devices = machines(problem, plan, true);
  for (PipelineStage& stage : devices.stages)
    if (reduction == ReductionTiming::free) stage.after = Picoseconds(0);
  const PipelineBounds bounds = pipeline_bounds(devices);
  const PipelineBound& best = bounds.best();
  return PlanBound{best.kind, place(plan, devices, best.site), best.time};
}

}  // namespace penstock::score
