#include "penstock/score/estimate.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "penstock/cost/sharding.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "penstock/plan/colocated.hpp"

namespace penstock::score {
namespace {

using cluster::Cluster;
using core::Bytes;
using core::DeviceId;

/// Message time if every device sends to the device `distance` further on, all at the same time.
cost::AffineTime shifted_traffic(const Cluster& cluster, std::size_t distance) {
  std::vector<cluster::Route> routes;
  std::vector<int> flows(cluster.links().size(), 0);
  for (std::size_t d = 0; d + distance < cluster.size(); ++d) {
    routes.push_back(cluster.route(DeviceId(d), DeviceId(d + distance)));
    for (std::size_t l : routes.back().links) ++flows[l];
  }
  cost::AffineTime slowest;
  for (const cluster::Route& route : routes) {
    slowest.latency = std::max(slowest.latency, route.latency.value());
    for (std::size_t l : route.links)
      slowest.per_byte = std::max(slowest.per_byte, flows[l] / cluster.links()[l].bandwidth.value());
  }
  return slowest;
}

/// All-reduce of the slowest group; groups start at multiples of their size, as plan placement aligns them.
cost::AllReduce slowest_group(const Cluster& cluster, std::size_t replicas) {
  constexpr Bytes kTypical(64 << 20);
  cost::AllReduce slowest;
  for (std::size_t start = 0; start + replicas <= cluster.size(); start += replicas) {
    std::vector<DeviceId> group;
    for (std::size_t d = start; d < start + replicas; ++d) group.emplace_back(d);
    cost::AllReduce candidate = cost::all_reduce(cluster, group);
    if (candidate.time(kTypical) > slowest.time(kTypical)) slowest = std::move(candidate);
  }
  return slowest;
}

core::Seconds slowest_compute(const cost::Problem& problem, const plan::Stage& stage, std::int64_t samples) {
  const auto key = cost::StageKey("slowest", problem, stage).add(samples);
  return *cost::StageMemo::recall(problem, key,
                                  [&] { return cost::stage_time(problem, stage, samples).total().total(); });
}

/// Index into Network::link for a stage's messages, which go as many devices further on as it has.
std::size_t reach(const plan::Stage& stage) {
  return stage.devices.size();
}

/// Samples of each micro-batch whose bytes one device of a stage sends; a group's devices send one part each.
double sent_samples(const plan::Stage& stage) {
  return static_cast<double>(plan::samples_per_device(stage.micro_batch, stage.replicas())) /
         static_cast<double>(stage.replica_size());
}

double reduce_seconds(const cost::Problem& problem, const plan::Stage& stage) {
  return *cost::StageMemo::recall(problem, cost::StageKey("reduced", problem, stage), [&] {
    double sum = 0;
    for (const cost::GradientReduction& reduction : cost::reductions(problem, stage, stage.operators))
      sum += cost::time(problem, reduction).value();
    return sum;
  });
}

/// Bucket of a stage, in bytes of weights; 0: one bucket (cost::bucket_size).
Bytes bucket_of(const AssumedNetwork& network, const cost::StageLoad& load) {
  return load.framework.buckets_first_chunk && load.inputs > Bytes(0) ? Bytes(0) : network.bucket;
}

StageTerms terms_of(const cost::Problem& problem, const AssumedNetwork& network, const plan::Stage& stage,
                    std::int64_t samples) {
  const auto replicas = static_cast<int>(stage.replicas());
  const core::Seconds compute = slowest_compute(problem, stage, plan::samples_per_device(samples, replicas));
  const cost::StageLoad load = cost::stage_load(problem, stage.operators);
  StageTerms terms = stage_terms(network, load, compute, samples, replicas, problem.training.mini_batch);
  if (stage.replica_size() == 1 && !plan::replica_placement(stage).shards_state()) return terms;
  const cost::AffineTime& link = network.link[reach(stage)];
  const double messages = (load.inputs.value() > 0) + (load.outputs.value() > 0);
  const double share = static_cast<double>(plan::samples_per_device(samples, replicas)) /
                       static_cast<double>(stage.replica_size());
  const double moved = static_cast<double>((load.inputs + load.outputs).value()) * share;
  terms.communication = (messages * link.latency + moved * link.per_byte) / static_cast<double>(samples);
  const core::Bytes weights(load.parameters.value() / stage.tensor_parallel);
  terms.reduce =
      exposed(core::Seconds(reduce_seconds(problem, stage)), weights, bucket_of(network, load), compute)
          .value() /
      static_cast<double>(problem.training.mini_batch);
  return terms;
}

/// Stages for which terms are computed: a part of a colocated stage counts as the whole.
std::vector<plan::Stage> whole_stages(const plan::Plan& plan) {
  std::vector<plan::Stage> out = plan.stages;
  for (const auto& parts : plan::colocated_stages(plan))
    for (const core::StageId part : parts) out[part.index()] = plan::whole_stage(plan, parts);
  return out;
}

/// Values of colocated stages, or of the others; 0 for the rest.
std::vector<double> only(const plan::Plan& plan, std::vector<double> of_stage, bool colocated) {
  for (std::size_t s = 0; s < of_stage.size(); ++s)
    if (bool(plan.stages[s].part) != colocated) of_stage[s] = 0;
  return of_stage;
}

/// Sums over the stages of each rank; the result has as many entries as stages.
std::vector<double> sum_by_rank(const std::vector<std::int32_t>& rank, const std::vector<double>& of_stage) {
  std::vector<double> sum(of_stage.size());
  for (std::size_t s = 0; s < of_stage.size(); ++s) sum[static_cast<std::size_t>(rank[s])] += of_stage[s];
  return sum;
}

}  // namespace

AssumedNetwork assume_network(const Cluster& cluster, const plan::Training& training,
                              std::vector<int> sizes) {
  if (sizes.empty()) {
    sizes.resize(cluster.size());
    std::iota(sizes.begin(), sizes.end(), 1);
  }
  AssumedNetwork network{std::vector<cost::AffineTime>(cluster.size() + 1),
                         std::vector<cost::AllReduce>(cluster.size() + 1), bucket_of_weights(training)};
  for (const int size : sizes) {
    const auto r = static_cast<std::size_t>(size);
    // If one stage has more than half of the devices, the others are at most half the cluster away.
    network.link[r] = shifted_traffic(cluster, std::min(r, std::max<std::size_t>(1, cluster.size() / 2)));
    network.link[r].per_byte *= training.compression.activations;
    network.all_reduce[r] = slowest_group(cluster, r);
    for (cost::AffineTime& algorithm : network.all_reduce[r].algorithms)
      algorithm.per_byte *= training.sent_per_weight();
    network.all_reduce[r].sent = training.sent_per_weight();
  }
  return network;
}

Bytes bucket_of_weights(const plan::Training& training) {
  constexpr std::int64_t kPage = 1 << 20;
  const double held = static_cast<double>(training.gradients(Bytes(kPage)).value()) / kPage;
  return Bytes(static_cast<std::int64_t>(static_cast<double>(training.bucket.value()) / held));
}

core::Seconds exposed(core::Seconds reduce, Bytes weights, Bytes bucket, core::Seconds compute) {
  if (bucket.value() == 0 || weights <= bucket) return reduce;
  constexpr double kBackward = 2.0 / 3;  // one gradient for each of the forward pass's two factors
  const double last = static_cast<double>(bucket.value()) / static_cast<double>(weights.value());
  return std::max(reduce * last, reduce - compute * kBackward);
}

StageTerms stage_terms(const AssumedNetwork& network, const cost::StageLoad& load, core::Seconds compute,
                       std::int64_t micro_batch, int replicas, std::int64_t mini_batch) {
  const auto b = static_cast<double>(micro_batch);
  const double messages = (load.inputs.value() > 0) + (load.outputs.value() > 0);
  const std::int64_t share = cost::samples_per_device(micro_batch, replicas);
  const double moved = static_cast<double>((load.inputs.value() + load.outputs.value()) * share);
  const cost::AffineTime& link = network.link[static_cast<std::size_t>(replicas)];
  StageTerms terms;
  terms.compute = compute.value() / b;
  terms.communication = (messages * link.latency + moved * link.per_byte) / b;
  const core::Seconds reduce = network.all_reduce[static_cast<std::size_t>(replicas)].time(load.parameters);
  terms.reduce = exposed(reduce, load.parameters, bucket_of(network, load), compute).value() /
                 static_cast<double>(mini_batch);
  return terms;
}

double busiest_device(const plan::Plan& plan, const std::vector<double>& tps) {
  const auto load = sum_by_rank(plan::rank_of_stage(plan), tps);
  return *std::max_element(load.begin(), load.end());
}

double iteration_seconds(const plan::Plan& plan, const plan::StageGraph& stages,
                         const std::vector<double>& tps, const AssumedNetwork& network) {
  const auto rank = plan::rank_of_stage(plan);
  std::vector<double> once(tps.size());   // seconds of one micro-batch
  std::vector<double> until(tps.size());  // longest path that ends before this stage
  std::vector<double> since(tps.size());  // longest path that begins behind it
  const auto there_and_back = [&](std::size_t s, const plan::StageBoundary& boundary) {
    const cost::AffineTime& link = network.link[reach(plan.stages[s])];
    const double moved = static_cast<double>(boundary.bytes.value()) * sent_samples(plan.stages[s]);
    return moved > 0 ? 2 * (link.latency + moved * link.per_byte) : 0;
  };
  const auto pipelined = only(plan, tps, false);
  for (std::size_t s = 0; s < tps.size(); ++s)
    once[s] = pipelined[s] * static_cast<double>(plan.stages[s].micro_batch);
  for (std::size_t s = 0; s < tps.size(); ++s)
    for (std::size_t e : stages.outgoing(core::StageId(s))) {
      if (plan.stages[s].part) continue;
      const plan::StageBoundary& boundary = stages.boundaries()[e];
      double& next = until[boundary.to.index()];
      next = std::max(next, until[s] + once[s] + there_and_back(s, boundary));
    }
  for (std::size_t s = tps.size(); s-- > 0;)
    for (std::size_t e : stages.outgoing(core::StageId(s))) {
      const plan::StageBoundary& boundary = stages.boundaries()[e];
      const std::size_t next = boundary.to.index();
      since[s] = std::max(since[s], there_and_back(s, boundary) + once[next] + since[next]);
    }
  const auto load = sum_by_rank(rank, pipelined), turn = sum_by_rank(rank, once);
  const auto mini_batch = static_cast<double>(plan.training.mini_batch);
  const auto in_pipeline = static_cast<double>(
      std::ranges::count_if(plan.stages, [](const plan::Stage& stage) { return !stage.part; }));
  const double chunks = in_pipeline / (1 + *std::max_element(rank.begin(), rank.end()));
  double iteration = 0;
  for (std::size_t s = 0; s < tps.size(); ++s) {
    if (plan.stages[s].part) continue;
    const auto r = static_cast<std::size_t>(rank[s]);
    const double path = until[s] + once[s] + since[s];
    const double fill = std::max(0.0, path - turn[r]) / chunks;
    iteration = std::max({iteration, path, mini_batch * load[r] + fill});
  }
  return iteration + mini_batch * std::ranges::max(sum_by_rank(rank, only(plan, tps, true)));
}

std::vector<int> sizes_in(const plan::Plan& plan) {
  std::set<int> sizes;
  for (const plan::Stage& stage : whole_stages(plan))
    sizes.insert({static_cast<int>(reach(stage)), static_cast<int>(stage.replicas())});
  return {sizes.begin(), sizes.end()};
}

PlanEstimate estimate(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages) {
  return estimate(problem, plan, stages, assume_network(problem.cluster, problem.training, sizes_in(plan)));
}

PlanEstimate estimate(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages,
                      const AssumedNetwork& network) {
  PlanEstimate out;
  std::vector<double> tps;
  const bool in_turn =
      plan::asynchronous(plan);  // each replica takes whole micro-batches, and the pipeline never drains
  for (const plan::Stage& stage : whole_stages(plan)) {
    out.stages.push_back(terms_of(problem, network, stage,
                                  in_turn ? stage.micro_batch * stage.replicas() : stage.micro_batch));
    tps.push_back(out.stages.back().time_per_sample());
  }
  out.bottleneck = busiest_device(plan, tps);
  out.iteration = core::Seconds(in_turn ? static_cast<double>(plan.training.mini_batch) * out.bottleneck
                                        : iteration_seconds(plan, stages, tps, network));
  return out;
}

PlanEstimate estimate(const cost::Problem& problem, const plan::Plan& plan) {
  return estimate(problem, plan, plan::StageGraph(problem.graph, plan));
}

}  // namespace penstock::score
