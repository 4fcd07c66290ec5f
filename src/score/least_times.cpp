#include "least_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/cost/backward_sweep.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/layout/experts.hpp"

namespace penstock::score {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr LeastTimes kNone{kInfinite, kInfinite, kInfinite, kInfinite, kInfinite, kInfinite};

void lower(double& value, double other) {
  value = std::min(value, other);
}

void lower_passes(LeastTimes& cell, const cost::OpTime& time) {
  lower(cell.forward, time.forward.value());
  lower(cell.input_gradient, time.input_gradient.value());
  lower(cell.weight_gradient, time.weight_gradient.value());
}

void lower(LeastTimes& cell, const cost::OpTime& time, std::int64_t samples) {
  const auto n = static_cast<double>(samples);
  lower_passes(cell, time);
  lower(cell.held_rate, (time.forward + time.input_gradient).value() / n);
  lower(cell.rate, time.total().value() / n);
}

void lower(LeastTimes& cell, const LeastTimes& other) {
  lower(cell.forward, other.forward);
  lower(cell.input_gradient, other.input_gradient);
  lower(cell.weight_gradient, other.weight_gradient);
  lower(cell.held_rate, other.held_rate);
  lower(cell.rate, other.rate);
  lower(cell.work, other.work);
}

std::vector<std::size_t> types_in_use(const cluster::Cluster& cluster) {
  std::set<std::size_t> types;
  for (const cluster::Device& device : cluster.devices()) types.insert(device.type);
  return {types.begin(), types.end()};
}

std::string_view divided(PlanFamily family) {
  constexpr std::string_view kWords[] = {"", ", its weights on all devices", ", divided over all devices"};
  return kWords[static_cast<std::size_t>(family)];
}

std::size_t class_of(std::int64_t share) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(share)) - 1);
}

}  // namespace

LeastTimesTable::LeastTimesTable(const cost::Problem& problem, PlanFamily family)
    : problem_(problem),
      family_(family),
      types_(types_in_use(problem.cluster)),
      classes_(class_of(problem.training.mini_batch) + 1),
      cells_(problem.graph.size() * classes_, kNone),
      over_all_(problem.graph.size(), kNone),
      rates_(cells_.size() * types_.size(), kInfinite) {
  const auto all = shares(problem.training.mini_batch, static_cast<std::int64_t>(problem.cluster.size()));
  core::parallel_for(problem.graph.size(), [&](std::size_t op) { fill(op, all); });
  weigh();
}

std::vector<LeastTimesTable::Share> LeastTimesTable::shares(std::int64_t mini_batch, std::int64_t devices) {
  std::set<std::pair<std::int64_t, std::int64_t>> out;
  const auto add = [&](std::int64_t b) {
    for (std::int64_t r = 1; r <= std::min(b, devices); ++r) out.emplace(b / r, (b + r - 1) / r);
  };
  for (std::int64_t b = 1; b * b <= mini_batch; ++b)
    if (mini_batch % b == 0) add(b), add(mini_batch / b);
  std::vector<Share> shares;
  for (const auto& [least, most] : out) shares.push_back({least, most});
  return shares;
}

/// Whatever else the stage holds: weights, one micro-batch's activations, the operator's own workspace.
bool LeastTimesTable::fits(const cost::StageLoad& load, std::int64_t samples, core::Bytes memory) const {
  const auto need = cost::stage_memory(load, problem_.memory, problem_.training, samples, 1);
  return plan::total(need) <= memory;
}

cost::StageLoad LeastTimesTable::least_load(core::OpId op) const {
  cost::StageLoad load = cost::stage_load(problem_, {&op, 1});
  load.inputs = load.outputs = core::Bytes(0);  // its neighbours may be in the same stage
  if (problem_.graph.op(op).parameters == 0)
    load.parameters = load.largest = load.fresh = core::Bytes(0);  // so may be what it is tied to
  const auto all = static_cast<std::int64_t>(problem_.cluster.size());
  const std::int64_t weights = family_ == PlanFamily::replicated ? 1 : all,
                     tensors = family_ == PlanFamily::tensor_parallel ? all : 1;
  load.parameters = core::Bytes(load.parameters.value() / weights);
  load.frozen = core::Bytes(load.frozen.value() / weights);
  load.activations = core::Bytes(load.activations.value() / tensors);
  load.workspace = {};
  const cost::Envelope least = cost::least_workspace(problem_.graph, problem_.costs, op);
  for (const cost::Line& line : least.lines())
    load.workspace.raise({line.fixed / weights, line.each / tensors});
  return load;
}

void LeastTimesTable::lower_to_part(LeastTimes& cell, core::OpId op, const cluster::DeviceType& type,
                                    std::int64_t samples) const {
  if (family_ != PlanFamily::tensor_parallel || problem_.cluster.size() < 2) return;
  const double part = 1.0 / static_cast<double>(problem_.cluster.size());
  using plan::Partition;
  for (const Partition how : {Partition::batch, Partition::column, Partition::row, Partition::sequence})
    lower_passes(cell, cost::kernel_time(problem_, op, type, samples,
                                         cost::op_shard(problem_.graph.op(op), how, part)));
}

void LeastTimesTable::lower_to_experts(std::size_t op, std::size_t type, const Share& share,
                                       const std::vector<graph::OpGraph>& divided_experts) {
  const std::size_t c = class_of(share.least);
  for (const graph::OpGraph& graph : divided_experts) {
    const cost::Problem local{graph, problem_.cluster, problem_.costs, problem_.training, problem_.memory};
    for (std::int64_t n = share.least; n <= share.most; ++n) {
      const cost::OpTime time =
          cost::operator_time(local, core::OpId(op), problem_.cluster.types()[types_[type]], n);
      lower(cells_[op * classes_ + c], time, n);
      lower(rate_on(type, op, c), time.total().value() / static_cast<double>(n));
    }
  }
}

std::vector<graph::OpGraph> LeastTimesTable::divided_experts(core::OpId id) const {
  std::vector<graph::OpGraph> out;
  const graph::Operator& op = problem_.graph.op(id);
  if (family_ != PlanFamily::tensor_parallel || op.kind != graph::OpKind::experts) return out;
  const std::int64_t experts = as<graph::Experts>(op).experts,
                     most = std::min(experts, static_cast<std::int64_t>(problem_.cluster.size()));
  for (std::int64_t e = 2; e <= most; ++e)
    if (experts % e == 0) out.push_back(layout::expert_graph(problem_.graph, static_cast<int>(e), 1));
  return out;
}

void LeastTimesTable::fill(std::size_t op, const std::vector<Share>& shares) {
  const core::OpId id(op);
  const cost::StageLoad load = least_load(id);
  const std::vector<graph::OpGraph> experts = divided_experts(id);
  for (std::size_t t = 0; t < types_.size(); ++t) {
    const cluster::DeviceType& type = problem_.cluster.types()[types_[t]];
    for (const Share& share : shares) {
      if (!fits(load, share.most, type.memory)) continue;
      lower_to_experts(op, t, share, experts);
      const std::size_t c = class_of(share.least);
      for (std::int64_t n = share.least; n <= share.most; ++n) {
        const cost::OpTime time = cost::operator_time(problem_, id, type, n);
        lower(cells_[op * classes_ + c], time, n);
        lower_to_part(cells_[op * classes_ + c], id, type, n);
        lower(rate_on(t, op, c), time.total().value() / static_cast<double>(n));
      }
    }
  }
  for (std::size_t c = 0; c < classes_; ++c) lower(over_all_[op], of(op, c));
  if (std::isinf(over_all_[op].rate))
    throw core::Infeasible(
        fmt::format("operator '{}' fits on no device, not even with the smallest share of a micro-batch{}",
                    problem_.graph.op(id).name, divided(family_)));
}

/// A type's speed is the inverse of what all operators take on it; one that does not fit there counts as on
/// the best.
void LeastTimesTable::weigh() {
  std::vector<double> speed(types_.size());
  for (std::size_t t = 0; t < types_.size(); ++t) {
    double all = 0;
    for (std::size_t op = 0; op < over_all_.size(); ++op) {
      double best = kInfinite;
      for (std::size_t c = 0; c < classes_; ++c) lower(best, rate_on(t, op, c));
      all += std::isinf(best) ? over_all_[op].rate : best;
    }
    constexpr double kNothing = 1e-18;  // seconds, a millionth of what the simulator tells apart
    speed[t] = all > kNothing ? 1 / all : 1;
  }
  double sum = 0;
  for (const cluster::Device& device : problem_.cluster.devices())
    for (std::size_t t = 0; t < types_.size(); ++t) sum += types_[t] == device.type ? speed[t] : 0;
  for (double v : speed) weight_.push_back(v / sum);
  for (std::size_t op = 0; op < over_all_.size(); ++op)
    for (std::size_t c = 0; c < classes_; ++c) {
      double& work = cells_[op * classes_ + c].work;
      for (std::size_t t = 0; t < types_.size(); ++t) lower(work, weight_[t] * rate_on(t, op, c));
      lower(over_all_[op].work, work);
    }
}

double LeastTimesTable::update(core::Bytes weights) const {
  if (weights.value() == 0) return 0;
  double least = kInfinite;
  for (std::size_t t : types_)
    lower(least, cost::update_time(problem_, weights, problem_.cluster.types()[t]).value());
  return least;
}

double LeastTimesTable::update_work(core::Bytes weights) const {
  if (weights.value() == 0) return 0;
  double least = kInfinite;
  for (std::size_t t = 0; t < types_.size(); ++t)
    lower(least,
          weight_[t] * cost::update_time(problem_, weights, problem_.cluster.types()[types_[t]]).value());
  return least;
}

}  // namespace penstock::score
