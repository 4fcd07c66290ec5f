#include "penstock/schedule/policy.hpp"

#include <algorithm>
#include <set>

#include "penstock/core/error.hpp"

namespace penstock::schedule {
namespace {

using core::Picoseconds;

struct WaitingAction {
  Picoseconds arrival;
  Action action;
};

struct RankWorker {
  std::vector<WaitingAction> queue;  ///< sorted by arrival
  Picoseconds busy_until{0};
  int live = 0;
};

class PolicyRun {
 public:
  PolicyRun(const PolicySetting& setting, const Policy& policy)
      : setting_(setting),
        policy_(policy),
        schedule_{std::vector<RankOrder>(static_cast<std::size_t>(setting.ranks)), setting.rank_of_stage},
        workers_(schedule_.ranks.size()) {
    for (int m = 0; m < setting.micro_batches; ++m) enqueue(forward(0, m), Picoseconds(0), 0);
  }

  Schedule finish() {
    for (moments_.insert(Picoseconds(0)); !moments_.empty(); moments_.erase(moments_.begin()))
      while (ask_all(*moments_.begin())) {
      }
    for (const RankWorker& worker : workers_)
      if (!worker.queue.empty())
        throw core::Error(core::ExitCode::invalid_plan, "the policy lets every rank wait for ever");
    return std::move(schedule_);
  }

 private:
  std::size_t home(int stage) const {
    return static_cast<std::size_t>(schedule_.rank_of_stage[static_cast<std::size_t>(stage)]);
  }

  void enqueue(const Action& action, Picoseconds done, std::size_t from) {
    const std::size_t rank = home(action.stage);
    const Picoseconds arrival = done + (rank == from ? Picoseconds(0) : setting_.costs.delay);
    auto& queue = workers_[rank].queue;
    const auto later = [](Picoseconds t, const WaitingAction& w) { return t < w.arrival; };
    queue.insert(std::upper_bound(queue.begin(), queue.end(), arrival, later), {arrival, action});
    moments_.insert(arrival);
  }

  /// Returns true if any rank started a pass; passes without duration make others ready immediately.
  bool ask_all(Picoseconds now) {
    bool started = false;
    for (std::size_t r = 0; r < workers_.size(); ++r) started |= ask(r, now);
    return started;
  }

  bool ask(std::size_t rank, Picoseconds now) {
    RankWorker& worker = workers_[rank];
    if (worker.busy_until > now) return false;
    RankChoice choice{static_cast<int>(rank), worker.live, {}};
    for (const WaitingAction& waiting : worker.queue)
      if (waiting.arrival <= now) choice.ready.push_back(waiting.action);
    if (choice.ready.empty()) return false;
    const auto chosen = policy_(choice);
    if (!chosen) return false;
    core::require(*chosen < choice.ready.size(), "a policy chooses one of the ready passes");
    worker.queue.erase(worker.queue.begin() + static_cast<std::ptrdiff_t>(*chosen));
    start(rank, choice.ready[*chosen], now);
    return true;
  }

  void start(std::size_t rank, const Action& action, Picoseconds now) {
    const Picoseconds end = now + duration(action.kind);
    schedule_.ranks[rank].push_back(action);
    workers_[rank].busy_until = end;
    moments_.insert(end);
    if (action.kind == ActionKind::forward) ++workers_[rank].live;
    if (action.kind == ActionKind::backward || action.kind == ActionKind::weight_gradient)
      --workers_[rank].live;
    release(rank, action, end);
  }

  /// Queues the passes that depend on `done`.
  void release(std::size_t rank, const Action& done, Picoseconds end) {
    const int s = done.stage, m = done.micro_batch;
    const auto gradient = setting_.split ? input_gradient : backward;
    if (done.kind == ActionKind::weight_gradient) return;
    if (done.kind == ActionKind::forward)
      return enqueue(schedule_.last(s) ? gradient(s, m) : forward(s + 1, m), end, rank);
    if (setting_.split) enqueue(weight_gradient(s, m), end, rank);
    if (!schedule_.first(s)) enqueue(gradient(s - 1, m), end, rank);
  }

  Picoseconds duration(ActionKind kind) const {
    const PassCosts& costs = setting_.costs;
    if (kind == ActionKind::forward) return costs.forward;
    if (kind == ActionKind::input_gradient) return costs.input_gradient;
    if (kind == ActionKind::weight_gradient) return costs.weight_gradient;
    return costs.input_gradient + costs.weight_gradient;
  }

  const PolicySetting& setting_;
  const Policy& policy_;
  Schedule schedule_;
  std::vector<RankWorker> workers_;
  std::set<Picoseconds> moments_;  ///< times at which something ends or arrives
};

}  // namespace

Schedule schedule_by_policy(const PolicySetting& setting, const Policy& policy) {
  return PolicyRun(setting, policy).finish();
}

}  // namespace penstock::schedule
