#include "penstock/schedule/task_order.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::schedule {
namespace {

std::vector<Task> fill_drain(std::int32_t count) {
  std::vector<Task> out;
  for (std::int32_t m = 0; m < count; ++m) out.push_back({Phase::forward, m});
  for (std::int32_t m = 0; m < count; ++m) out.push_back({Phase::backward, m});
  return out;
}

/// `held` forwards to warm up, then runs of k backwards and k forwards until the forwards are spent. With fewer than k
/// in flight the runs are as long as that allows.
std::vector<Task> k_forward_k_backward(std::int32_t count, std::int32_t held, std::int32_t k) {
  std::vector<Task> out;
  std::int32_t forwards = 0, backwards = 0;
  while (forwards < std::min(held, count)) out.push_back({Phase::forward, forwards++});
  while (backwards < count) {
    for (std::int32_t run = 0; run < k && backwards < forwards; ++run) out.push_back({Phase::backward, backwards++});
    for (std::int32_t run = 0; run < k && forwards < std::min(count, backwards + held); ++run)
      out.push_back({Phase::forward, forwards++});
  }
  return out;
}

/// What is wrong with one stage's list; empty when nothing is.
std::string first_fault(const std::vector<Task>& order, std::int32_t count, std::int64_t held) {
  std::int32_t next[2] = {0, 0};
  for (const Task& task : order) {
    std::int32_t& expected = next[static_cast<std::size_t>(task.phase)];
    if (task.micro_batch != expected++) return "passes of one kind are not in micro-batch order, or one is missing";
    if (next[1] > next[0]) return "a backward pass stands before its forward pass";
    if (next[0] - next[1] > held) return fmt::format("more than {} micro-batches are in flight", held);
  }
  return next[0] == count && next[1] == count ? "" : "passes are missing or doubled";
}

}  // namespace

TaskOrder task_order(const plan::Plan& plan) {
  TaskOrder out;
  for (const plan::Stage& stage : plan.stages) {
    const auto count = static_cast<std::int32_t>(plan.training.mini_batch / stage.micro_batch);
    const auto held = static_cast<std::int32_t>(std::max<std::int64_t>(1, stage.in_flight / stage.micro_batch));
    out.push_back(plan.schedule == plan::ScheduleKind::fill_drain ? fill_drain(count)
                                                                  : k_forward_k_backward(count, held, stage.k));
  }
  return out;
}

std::string tokens(const std::vector<Task>& order) {
  std::string out;
  for (const Task& task : order)
    out += fmt::format("{}{}{}", out.empty() ? "" : " ", task.phase == Phase::forward ? 'F' : 'B', task.micro_batch);
  return out;
}

std::vector<std::string> order_faults(const plan::Plan& plan, const TaskOrder& order) {
  std::vector<std::string> faults;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    const auto count = static_cast<std::int32_t>(plan.training.mini_batch / stage.micro_batch);
    const std::string fault = first_fault(order[s], count, stage.in_flight / stage.micro_batch);
    if (!fault.empty()) faults.push_back(fmt::format("stage {}: {}", s, fault));
  }
  return faults;
}

}  // namespace penstock::schedule
