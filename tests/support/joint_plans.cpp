#include "support/joint_plans.hpp"

#include "penstock/core/error.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "support/partitions.hpp"

namespace penstock::support {
namespace {

class JointPlans {
 public:
  JointPlans(const cost::Problem& problem, const std::function<void(const plan::Plan&)>& visit)
      : problem_(problem), visit_(visit) {}

  /// A rank per stage.
  void apart(const Partition& stages) {
    place(stages, stages.size(), {"gpipe", "1f1b", "zb_h1", "zb_h2"}, false);
  }

  /// Two stages per rank.
  void together(const Partition& stages) {
    if (stages.size() % 2 != 0) return;
    place(stages, stages.size() / 2, {"looped_bfs", "interleaved_1f1b", "interleaved_zb"}, false);
    place(stages, stages.size() / 2, {"zbv"}, true);
  }

 private:
  using Names = std::vector<const char*>;

  void place(const Partition& stages, std::size_t ranks, const Names& schedules, bool to_and_fro) {
    if (ranks > problem_.cluster.size()) return;
    stages_ = &stages;
    schedules_ = schedules;
    to_and_fro_ = to_and_fro;
    counts_.assign(ranks, 1);
    degrees_.assign(ranks, 1);
    rank(0, problem_.cluster.size());
  }

  /// Gives rank r and those behind it the devices that are left, in every way.
  void rank(std::size_t r, std::size_t left) {
    if (r == counts_.size()) {
      if (left == 0) settle();
      return;
    }
    for (std::size_t n = 1; n <= left; ++n)
      for (std::size_t t = 1; t <= n; t *= 2) {
        if (n % t != 0) continue;
        counts_[r] = n;
        degrees_[r] = static_cast<int>(t);
        rank(r + 1, left - n);
      }
  }

  void settle() {
    const std::int64_t mini_batch = problem_.training.mini_batch;
    for (std::int64_t b = 1; b <= mini_batch; ++b)
      for (const int zero : {0, 1, 2, 3})
        for (const auto& again : {plan::Recomputation{}, plan::kRecomputeStage})
          for (const char* schedule : schedules_)
            if (mini_batch % b == 0) offer(made(b, zero, again, schedule));
  }

  plan::Plan made(std::int64_t b, int zero, const plan::Recomputation& again, const char* schedule) const {
    plan::Plan out;
    out.training = problem_.training;
    out.schedule = schedule;
    const std::size_t ranks = counts_.size();
    for (std::size_t s = 0; s < stages_->size(); ++s) {
      plan::Stage& stage = out.stages.emplace_back();
      const std::size_t r = s < ranks ? s : to_and_fro_ ? 2 * ranks - 1 - s : s - ranks;
      std::size_t first = 0;
      for (std::size_t before = 0; before < r; ++before) first += counts_[before];
      for (std::size_t d = 0; d < counts_[r]; ++d) stage.devices.emplace_back(first + d);
      for (std::size_t op = 0; op < problem_.graph.size(); ++op)
        if ((*stages_)[s] >> op & 1) stage.operators.emplace_back(op);
      stage.micro_batch = b;
      stage.zero = zero;
      stage.recompute = again;
      stage.tensor_parallel = degrees_[r];
    }
    return out;
  }

  void offer(plan::Plan plan) {
    try {
      if (!score::stage_violations(problem_, plan).empty()) return;
      score::derive_in_flight(problem_, plan);
      if (score::violations(problem_, plan).empty()) visit_(plan);
    } catch (const core::BadInput&) {  // the schedule has no such order
    }
  }

  const cost::Problem& problem_;
  const std::function<void(const plan::Plan&)>& visit_;
  const Partition* stages_ = nullptr;
  Names schedules_;
  bool to_and_fro_ = false;
  std::vector<std::size_t> counts_;  ///< [rank] devices
  std::vector<int> degrees_;         ///< [rank]
};

}  // namespace

void for_each_joint_plan(const cost::Problem& problem, const std::function<void(const plan::Plan&)>& visit) {
  JointPlans plans(problem, visit);
  for (const Partition& stages : all_partitions(problem.graph.dag())) {
    plans.apart(stages);
    plans.together(stages);
  }
}

}  // namespace penstock::support
