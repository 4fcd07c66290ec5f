#include "micro_batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "own_options.hpp"
#include "penstock/plan/violations.hpp"

namespace penstock::planners {

using core::BadInput;

std::vector<std::int64_t> free_sizes(const cost::Problem& problem) {
  std::vector<std::int64_t> out;
  for (std::int64_t b = 1; b <= problem.training.mini_batch && problem.training.mini_batch % b == 0; b *= 2)
    out.push_back(b);
  return out;
}

namespace {

/// True if the size gives few enough passes: see plan::structural_violations.
bool handled(const cost::Problem& problem, std::int64_t size) {
  return 2 * (problem.training.mini_batch / size) * static_cast<std::int64_t>(problem.cluster.size()) <=
         plan::kMostPasses;
}

void check_divides(const cost::Problem& problem, std::int64_t size) {
  if (size < 1 || problem.training.mini_batch % size != 0)
    throw BadInput(
        fmt::format("micro-batch {} does not divide the mini-batch {}", size, problem.training.mini_batch));
}

void check_options(const cost::Problem& problem, const SearchOptions& options) {
  if (const auto violation = plan::mini_batch_violation(problem.graph, problem.training.mini_batch))
    throw BadInput(*violation);
  if (const auto violation = plan::precision_violation(problem.graph, problem.training))
    throw BadInput(*violation);
  if (options.micro_batch && options.pipeline_micro_batch)
    throw BadInput("micro_batch and pipeline_micro_batch pin the same thing: give one of them");
}

[[noreturn]] void too_many_passes(std::int64_t size) {
  throw BadInput(fmt::format("micro-batch {} splits the mini-batch into too many passes", size));
}

std::vector<std::int64_t> sizes(const cost::Problem& problem, const std::optional<std::int64_t>& pinned) {
  if (pinned) {
    check_divides(problem, *pinned);
    if (!handled(problem, *pinned)) too_many_passes(*pinned);
    return {*pinned};
  }
  std::vector<std::int64_t> out = free_sizes(problem);
  std::erase_if(out, [&](std::int64_t size) { return !handled(problem, size); });
  if (out.empty())
    throw BadInput(fmt::format("no power of two splits the mini-batch {} into few enough passes",
                               problem.training.mini_batch));
  return out;
}

/// Adds sizes that give each replica a free size: these differ if `replicas` is no power of two.
void add_even_sizes(const cost::Problem& problem, int replicas, std::vector<std::int64_t>& sizes) {
  for (const std::int64_t each : free_sizes(problem))
    if (const std::int64_t size = each * replicas;
        problem.training.mini_batch % size == 0 && handled(problem, size))
      sizes.push_back(size);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
}

}  // namespace

std::vector<std::int64_t> replica_sizes(const cost::Problem& problem, const SearchOptions& options,
                                        const char* planner) {
  check_options(problem, options);
  if (options.pipeline_micro_batch)
    throw BadInput(fmt::format(
        "{}: replicas take whole micro-batches, none is split over them: pin micro_batch", planner));
  return sizes(problem, options.micro_batch);
}

std::vector<std::int64_t> shared_sizes(const cost::Problem& problem, const SearchOptions& options,
                                       int replicas) {
  check_options(problem, options);
  if (!options.micro_batch) {
    auto out = sizes(problem, options.pipeline_micro_batch);
    std::erase_if(out, [&](std::int64_t size) { return size < replicas; });
    if (!options.pipeline_micro_batch) add_even_sizes(problem, replicas, out);
    return out;
  }
  check_divides(problem, *options.micro_batch);
  const std::int64_t size = *options.micro_batch * replicas;
  if (problem.training.mini_batch % size != 0 || !handled(problem, size)) return {};
  return {size};
}

std::vector<PipelineFlow> pinned_flows(const cost::Problem& problem, SearchOptions options,
                                       const std::vector<int>& counts, std::int64_t per_replica) {
  options.micro_batch = per_replica;
  std::vector<PipelineFlow> out;
  for (const int replicas : counts)
    if (problem.cluster.size() % static_cast<std::size_t>(replicas) == 0)
      for (const std::int64_t size : shared_sizes(problem, options, replicas))
        out.push_back({size, replicas});
  return out;
}

std::vector<int> replica_counts(const SearchOptions& options, int most) {
  std::vector<int> counts;
  for (int r = 1; r <= most; r = options.any_degree ? r + 1 : r * 2) counts.push_back(r);
  return counts;
}

std::vector<std::int64_t> pinnable_sizes(const cost::Problem& problem, const SearchOptions& options) {
  const auto counts = replica_counts(options, static_cast<int>(problem.cluster.size()));
  auto out = free_sizes(problem);
  std::erase_if(out, [&](std::int64_t size) {
    return pinned_flows(problem, options, counts, size).empty() ||
           (std::isfinite(options.give_up.value()) && least_compute(problem, size) >= options.give_up);
  });
  return out;
}

std::vector<PipelineFlow> flows(const cost::Problem& problem, const SearchOptions& options,
                                const std::vector<int>& counts, FreeFlows free) {
  check_options(problem, options);
  if (options.micro_batch) {
    auto out = pinned_flows(problem, options, counts, *options.micro_batch);
    if (out.empty()) too_many_passes(*options.micro_batch);
    return out;
  }
  std::vector<PipelineFlow> out;
  if (free == FreeFlows::all_pins && !options.pipeline_micro_batch)
    for (const std::int64_t size : free_sizes(problem))
      for (const PipelineFlow& flow : pinned_flows(problem, options, counts, size)) out.push_back(flow);
  for (const std::int64_t size : shared_sizes(problem, options, 1)) out.push_back({size});
  return out;
}

core::Seconds least_compute(const cost::Problem& problem, std::int64_t samples) {
  core::Seconds pass;  // time of one replica's samples through all operators, each on its fastest device type
  for (std::size_t v = 0; v < problem.graph.size(); ++v) {
    const core::OpId op(v);
    core::Seconds fastest(std::numeric_limits<double>::infinity());
    for (const cluster::DeviceType& type : problem.cluster.types())
      fastest = std::min(fastest, cost::compute_time(problem, {&op, 1}, type, samples).total());
    pass += fastest;
  }
  constexpr double kRounding = 1 - 1e-9;  // simulation counts whole picoseconds
  const auto passes = static_cast<double>(problem.training.mini_batch) / static_cast<double>(samples);
  return pass * (passes / static_cast<double>(problem.cluster.size()) * kRounding);
}

PlannerOption choose_by_option() {
  return words(
      kChooseBy, {"simulation", "paper"},
      "simulation: also tries every equal replica count, so that no pinned micro-batch is faster than "
      "a free search; paper: one partition per micro-batch size, by its slowest stage");
}

FreeFlows free_flows(const std::string& choose_by) {
  return choose_by == "paper" ? FreeFlows::paper : FreeFlows::all_pins;
}

}  // namespace penstock::planners
