#include "tasks/apply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "normal.hpp"
#include "penstock/core/random.hpp"

namespace penstock::sim {
namespace {

using trace::TaskKind;

/// Random number of a task: hash of the seed and of everything that distinguishes the task.
double draw(std::uint64_t seed, const TaskGraph& graph, const Task& task) {
  std::uint64_t state = core::Random(seed).next();
  const auto mix = [&](std::int64_t part) {
    state = core::Random(state ^ static_cast<std::uint64_t>(part)).next();
  };
  const auto mix_task = [&](const Task& t) {
    mix(static_cast<std::int64_t>(t.kind));
    mix(static_cast<std::int64_t>(t.stage.index()));
    mix(t.micro_batch);
  };
  mix_task(task);
  if (task.travels()) {
    const TransferPath& path = graph.paths[static_cast<std::size_t>(task.place)];
    mix(static_cast<std::int64_t>(path.from.index()));
    mix(static_cast<std::int64_t>(path.to.index()));
    if (task.next >= 0) mix_task(graph.task(task.next));
  } else {
    mix(task.place);
  }
  return core::Random(state).unit();
}

class PerturbationApplier {
 public:
  PerturbationApplier(const Perturbation& perturbation, std::uint64_t seed, TaskGraph& graph)
      : perturbation_(perturbation), seed_(seed), graph_(graph), speed_(graph.devices, 1) {}

  void apply() {
    for (const auto& slow : perturbation_.slow_devices)
      if (slow.device < speed_.size()) speed_[slow.device] = slow.speed;
    for (std::size_t t = 0; t < graph_.tasks.size(); ++t) change_duration(t);
    add_stragglers();
    add_capacity_changes();
    check_clock();
  }

 private:
  void change_duration(std::size_t t) {
    const Task task = graph_.tasks[t];
    double stretch = jitter_of(task);
    std::int64_t fixed = 0;
    if (task.travels()) {
      fixed = graph_.path(static_cast<TaskId>(t)).latency;
      keep_stretch(t, stretch);
    } else if (trace::computes(task.kind)) {
      stretch /= speed_[static_cast<std::size_t>(task.place)];
    }
    if (stretch == 1) return tally(task, static_cast<double>(task.duration));
    const double changed = static_cast<double>(fixed) + static_cast<double>(task.duration - fixed) * stretch;
    tally(task, changed);
    graph_.tasks.set_duration(t, std::llround(changed));
  }

  double jitter_of(const Task& task) const {
    const auto jitter = perturbation_.jitter.find(task.kind);
    if (jitter == perturbation_.jitter.end()) return 1;
    return factor(jitter->second.distribution, jitter->second.width, draw(seed_, graph_, task));
  }

  void keep_stretch(std::size_t transfer, double stretch) {
    if (stretch == 1) return;
    graph_.stretch.resize(graph_.tasks.size(), 1);
    graph_.stretch[transfer] = stretch;
  }

  /// Checks the clock before a duration becomes a whole number.
  void tally(const Task& task, double duration) {
    (task.travels() ? moved_ : computed_) += duration;
    if (!(computed_ + moved_ < kClock)) refuse();
  }

  void add_stragglers() {
    auto windows = perturbation_.stragglers;
    std::stable_sort(windows.begin(), windows.end(),
                     [](const auto& a, const auto& b) { return a.from < b.from; });
    for (const auto& window : windows) {
      if (window.device >= speed_.size()) continue;
      graph_.speed.resize(speed_.size());
      graph_.speed[window.device].change(window.from.value(), window.speed);
      graph_.speed[window.device].change(window.to.value(), 1);
      slowest_ = std::min(slowest_, window.speed);
    }
  }

  void add_capacity_changes() {
    auto faults = perturbation_.link_faults;
    std::stable_sort(faults.begin(), faults.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    for (const auto& fault : faults)
      for (const auto& left : fault.links) add_capacity_change(fault, left);
    std::stable_sort(graph_.changes.begin(), graph_.changes.end(),
                     [](const auto& a, const auto& b) { return a.time < b.time; });
  }

  void add_capacity_change(const Perturbation::LinkFault& fault,
                           const Perturbation::LinkFault::FaultyLink& left) {
    constexpr double kSecondsPerPicosecond = 1e-12;
    const double whole = graph_.capacity[left.link], part = left.bandwidth.value() * kSecondsPerPicosecond;
    const auto link = static_cast<std::uint32_t>(left.link);
    graph_.changes.push_back({fault.at.value(), link, part, fault.name, fault.place});
    last_ = std::max(last_, fault.at);
    if (part > 0) narrowest_ = std::min(narrowest_, part / whole);
    if (fault.restored == Perturbation::kNever) return;
    graph_.changes.push_back({fault.restored.value(), link, whole, fault.name, fault.place});
    last_ = std::max(last_, fault.restored);
  }

  /// Checks the clock: no iteration is longer than the sum of its tasks, each at its slowest, plus the time
  /// until the last change of a link.
  void check_clock() const {
    if (!(static_cast<double>(last_.value()) + computed_ / slowest_ + moved_ / narrowest_ < kClock)) refuse();
  }

  [[noreturn]] static void refuse() {
    throw core::BadInput(
        fmt::format("with every task at its slowest the iteration might outlast the simulator's "
                    "clock, which ends at {:.0f} days",
                    kClock / 86400e12));
  }

  static constexpr double kClock = 9e18;  // ps, a little below 2^63
  const Perturbation& perturbation_;
  std::uint64_t seed_;
  TaskGraph& graph_;
  std::vector<double> speed_;        ///< [device]
  double computed_ = 0, moved_ = 0;  ///< ps, sums over tasks
  /// Minimum over all windows; over all faults that leave some bandwidth.
  double slowest_ = 1, narrowest_ = 1;
  core::Picoseconds last_;  ///< last capacity change
};

}  // namespace

double factor(JitterDistribution distribution, double width, double unit) {
  switch (distribution) {
    case JitterDistribution::lognormal: {
      const double variance = std::log1p(width * width);
      return std::exp(std::sqrt(variance) * normal_quantile(unit) - variance / 2);
    }
    case JitterDistribution::normal: {
      const double cut = normal_share_below(-1 / width);
      return std::max(0.0, 1 + width * normal_quantile(cut + (1 - cut) * unit));
    }
    case JitterDistribution::uniform:
      break;
  }
  return 1 + width * (2 * unit - 1);
}

void apply(const Perturbation& perturbation, std::uint64_t seed, TaskGraph& graph) {
  PerturbationApplier(perturbation, seed, graph).apply();
}

}  // namespace penstock::sim
