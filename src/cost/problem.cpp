#include "penstock/cost/problem.hpp"

#include <algorithm>

#include "penstock/cost/host.hpp"
#include "penstock/cost/unfused.hpp"

namespace penstock::cost {

core::Bytes saved_bytes(const Problem& problem, const graph::Operator& op) {
  core::Bytes more;
  for (const cluster::DeviceType& type : problem.cluster.types())
    more = std::max(more, unfused_saved(op, problem.graph.element_bytes(), type.host()));
  return op.saved_bytes + more;
}

cluster::FrameworkMemory framework_memory(const Problem& problem) {
  const auto& types = problem.cluster.types();
  cluster::FrameworkMemory out = types.front().host().memory;
  for (const cluster::DeviceType& type : types) out = more_of(out, type.host().memory);
  return out;
}

std::int64_t whole_experts(const cluster::FrameworkMemory& framework, const graph::Operator& op) {
  const bool whole = framework.shards_whole_experts && op.kind == graph::OpKind::experts;
  return whole ? graph::as<graph::Experts>(op).experts : 0;
}

StageLoad stage_load(const Problem& problem, std::span<const core::OpId> operators) {
  const cluster::FrameworkMemory framework = framework_memory(problem);
  StageLoad load = stage_load(problem.graph, problem.costs, operators, framework.split);
  for (const core::OpId id : operators) {
    const graph::Operator& op = problem.graph.op(id);
    load.activations += saved_bytes(problem, op) - op.saved_bytes;
    if (const std::int64_t whole = whole_experts(framework, op); whole > 0)
      load.whole_experts = load.whole_experts == 0 ? whole : std::min(load.whole_experts, whole);
  }
  load.framework = framework;
  load.bucket = core::Bytes(framework.bucket_numbers * problem.graph.element_bytes());
  return load;
}

OpTime kernel_time(const Problem& problem, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part) {
  OpTime time = problem.costs.part_time(problem.graph, op, device, samples, part);
  time = unfused(problem.graph.op(op), time, device.host());
  // Behind only frozen operators no operator needs the gradient of an input.
  const graph::Operator& given = problem.graph.op(op);
  const bool own = given.adapter_rank > 0 && given.kind == graph::OpKind::attention;  // of its core
  if (problem.graph.frozen_parameters() > 0 && !problem.graph.trains_above(op) && !own)
    time.input_gradient = core::Seconds(0);
  for (core::Seconds* pass : {&time.forward, &time.input_gradient, &time.weight_gradient})
    *pass = *pass * device.slowdown();
  return time;
}

core::Seconds update_time(const Problem& problem, core::Bytes weights, const cluster::DeviceType& device) {
  return problem.costs.step_time(weights, problem.training, device) * device.slowdown();
}

OpTime operator_time(const Problem& problem, core::OpId op, const cluster::DeviceType& device,
                     std::int64_t samples, const OpShard& part) {
  return handed_over(problem.graph, op, device,
                     launched(kernel_time(problem, op, device, samples, part),
                              launch_time(problem.graph, op, device, samples, part)));
}

core::Seconds core_forward(const Problem& problem, core::OpId op, const cluster::DeviceType& device,
                           std::int64_t samples, const OpShard& part) {
  const core::Seconds kernels =
      problem.costs.core_forward(problem.graph, op, device, samples, part) * device.slowdown();
  return std::max(kernels, core_launch_time(problem.graph, op, device, samples, part)) +
         device.host().per_task;
}

OpTime compute_time(const Problem& problem, std::span<const core::OpId> operators,
                    const cluster::DeviceType& device, std::int64_t samples) {
  OpTime sum;
  for (const core::OpId op : operators) {
    const OpTime time = operator_time(problem, op, device, samples);
    sum.forward += time.forward;
    sum.input_gradient += time.input_gradient;
    sum.weight_gradient += time.weight_gradient;
  }
  return sum;
}

}  // namespace penstock::cost
