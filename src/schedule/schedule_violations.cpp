#include "penstock/schedule/schedule_violations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "penstock/schedule/run_order.hpp"

namespace penstock::schedule {
namespace {

constexpr std::size_t kMostViolations = 20;

using Key = std::tuple<ActionKind, std::int32_t, std::int32_t>;  ///< pass, stage, micro-batch
using Where = std::map<Key, RowCell>;

bool computes(ActionKind kind) {
  return kind == ActionKind::forward || kind == ActionKind::input_gradient ||
         kind == ActionKind::weight_gradient || kind == ActionKind::backward;
}
bool is_send(ActionKind kind) {
  return kind == ActionKind::send_forward || kind == ActionKind::send_backward;
}
bool is_receive(ActionKind kind) {
  return kind == ActionKind::receive_forward || kind == ActionKind::receive_backward;
}

class ScheduleCheck {
 public:
  ScheduleCheck(const Schedule& schedule, int count) : schedule_(schedule), count_(count) {}

  std::vector<std::string> violations() {
    placement();
    collect();
    if (violations_.empty()) passes();
    if (violations_.empty()) memory_moves();
    if (violations_.empty()) iteration_ends();
    if (violations_.empty()) messages();
    if (!violations_.empty()) return violations_;
    if (const std::string circle = deadlock(schedule_); !circle.empty()) violations_.push_back(circle);
    return violations_;
  }

 private:
  void violation(std::string text) {
    if (violations_.size() < kMostViolations) violations_.push_back(std::move(text));
  }
  void violation(const RowCell& at, const Action& action, const std::string& text) {
    violation(fmt::format("rank {} cell {} ({}): {}", at.rank, at.position, token(action), text));
  }
  const RowCell* find(ActionKind kind, int stage, int micro_batch) const {
    const auto found = where_.find({kind, stage, micro_batch});
    return found == where_.end() ? nullptr : &found->second;
  }
  const RowCell* find_input_gradient(int stage, int micro_batch) const {
    const RowCell* whole = find(ActionKind::backward, stage, micro_batch);
    return whole ? whole : find(ActionKind::input_gradient, stage, micro_batch);
  }
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t r = 0; r < schedule_.ranks.size(); ++r)
      for (std::size_t c = 0; c < schedule_.ranks[r].size(); ++c)
        for (const Action& part : parts(schedule_.ranks[r][c]))
          if (part.kind != ActionKind::idle)
            visit(RowCell{static_cast<std::int32_t>(r), static_cast<std::int32_t>(c)}, part);
  }

  void placement() {
    if (count_ < 1) return violation("there are no micro-batches");
    if (schedule_.copies < 1 || schedule_.stages() % schedule_.copies != 0)
      return violation("the copies are not equally long");
    for (int s = 0; s < schedule_.stages(); ++s)
      if (schedule_.rank_of_stage[static_cast<std::size_t>(s)] < 0)
        violation(fmt::format("no rank runs stage {}", s));
  }

  void collect() {
    each([&](const RowCell& at, const Action& part) {
      if (part.kind == ActionKind::barrier) return;
      if (part.stage < 0 || part.stage >= schedule_.stages())
        return violation(at, part, "there is no such stage");
      const int home = schedule_.rank_of_stage[static_cast<std::size_t>(part.stage)];
      if (home != at.rank) violation(at, part, fmt::format("stage {} belongs to rank {}", part.stage, home));
      if (part.micro_batch < 0 && part.kind != ActionKind::step) return;
      if (part.micro_batch >= count_) violation(at, part, fmt::format("there are {} micro-batches", count_));
      if (const auto [first, fresh] = where_.insert({{part.kind, part.stage, part.micro_batch}, at}); !fresh)
        violation(at, part,
                  fmt::format("done before, in rank {} cell {}", first->second.rank, first->second.position));
    });
  }

  /// Stops after kMostViolations: a schedule with few cells may name a large stage and a large micro-batch.
  void passes() {
    for (int s = 0; s < schedule_.stages(); ++s)
      for (int m = 0; m < count_ && violations_.size() < kMostViolations; ++m) passes(s, m);
  }
  void passes(int s, int m) {
    const int home = schedule_.rank_of_stage[static_cast<std::size_t>(s)];
    const auto missing = [&](const char* what) {
      violation(fmt::format("rank {}: the {} of micro-batch {} in stage {} is missing", home, what, m, s));
    };
    const RowCell *f = find(ActionKind::forward, s, m), *i = find(ActionKind::input_gradient, s, m),
                  *w = find(ActionKind::weight_gradient, s, m), *b = find(ActionKind::backward, s, m);
    if (!f) return missing("forward");
    if (!b && !i) return missing("backward");
    if (b && i) return violation(*i, input_gradient(s, m), "the full backward does this too");
    if (f->position > (b ? b : i)->position)
      return violation(*(b ? b : i), b ? backward(s, m) : input_gradient(s, m), "comes before its forward");
    if (b && w) return violation(*w, weight_gradient(s, m), "the full backward does this too");
    if (i && !w) return missing("weight gradient");
    if (i && w->position < i->position)
      violation(*w, weight_gradient(s, m), "comes before its input gradient");
  }

  /// Checks that R, EVICT and LOAD lie between the forward and the backward of their micro-batch.
  void memory_moves() {
    each([&](const RowCell& at, const Action& part) {
      const bool load = part.kind == ActionKind::load;
      if (part.kind != ActionKind::recompute && part.kind != ActionKind::evict && !load) return;
      if (find(ActionKind::forward, part.stage, part.micro_batch)->position > at.position)
        violation(at, part, "comes before its forward");
      if (find_input_gradient(part.stage, part.micro_batch)->position < at.position)
        violation(at, part, "comes after its backward");
      if (part.kind == ActionKind::evict) judge_evict(at, part);
      const RowCell* evicted = find(ActionKind::evict, part.stage, part.micro_batch);
      if (load && (!evicted || evicted->position > at.position)) violation(at, part, "has not been evicted");
    });
  }
  void judge_evict(const RowCell& at, const Action& part) {
    const auto rank = static_cast<std::size_t>(at.rank);
    if (partner(rank, schedule_.ranks.size()) == rank)
      violation(at, part, "the rank in the middle has no partner");
    if (find(ActionKind::recompute, part.stage, part.micro_batch))
      violation(at, part, "there is nothing to evict, the micro-batch is recomputed");
    if (!find(ActionKind::load, part.stage, part.micro_batch)) violation(at, part, "is never loaded again");
  }

  void iteration_ends() {
    std::vector<int> barriers(schedule_.ranks.size(), 0);
    each([&](const RowCell& at, const Action& part) {
      if (part.kind == ActionKind::step) judge_step(at, part);
      if (part.kind == ActionKind::barrier) ++barriers[static_cast<std::size_t>(at.rank)];
      const RowCell* step =
          part.kind == ActionKind::reduce_gradient ? find(ActionKind::step, part.stage, -1) : nullptr;
      if (step && step->position < at.position) violation(at, part, "comes after the stage's step");
    });
    const auto least = std::min_element(barriers.begin(), barriers.end());
    std::vector<int> seen(barriers.size(), 0);
    each([&](const RowCell& at, const Action& part) {
      if (part.kind == ActionKind::barrier && seen[static_cast<std::size_t>(at.rank)]++ >= *least)
        violation(at, part, fmt::format("rank {} has only {} of them", least - barriers.begin(), *least));
    });
  }
  void judge_step(const RowCell& at, const Action& part) {
    for (int m = 0; m < count_; ++m) {
      const RowCell* w = find(ActionKind::weight_gradient, part.stage, m);
      if (!w) w = find(ActionKind::backward, part.stage, m);
      if (w->position > at.position)
        return violation(at, part, fmt::format("comes before the weight gradient of micro-batch {}", m));
    }
  }

  void messages() {
    std::vector<char> receives(schedule_.ranks.size(), false);
    each([&](const RowCell& at, const Action& part) {
      if (is_receive(part.kind)) receives[static_cast<std::size_t>(at.rank)] = true;
      if (is_receive(part.kind) && !counterpart(part)) violation(at, part, "nobody sends this");
      if (is_send(part.kind)) judge_send(at, part);
    });
    each([&](const RowCell& at, const Action& part) {
      if (receives[static_cast<std::size_t>(at.rank)] && computes(part.kind)) judge_input(at, part);
    });
  }
  const RowCell* counterpart(const Action& part) const {
    const int back =
        part.kind == ActionKind::receive_forward || part.kind == ActionKind::send_backward ? -1 : 1;
    if (back < 0 ? schedule_.first(part.stage) : schedule_.last(part.stage)) return nullptr;
    const ActionKind other = part.kind == ActionKind::receive_forward    ? ActionKind::send_forward
                             : part.kind == ActionKind::send_forward     ? ActionKind::receive_forward
                             : part.kind == ActionKind::receive_backward ? ActionKind::send_backward
                                                                         : ActionKind::receive_backward;
    return find(other, part.stage + back, part.micro_batch);
  }
  void judge_send(const RowCell& at, const Action& part) {
    if (!counterpart(part)) violation(at, part, "nobody receives this");
    const RowCell* made = part.kind == ActionKind::send_forward
                              ? find(ActionKind::forward, part.stage, part.micro_batch)
                              : find_input_gradient(part.stage, part.micro_batch);
    if (made && made->position > at.position) violation(at, part, "sent before it is computed");
  }
  void judge_input(const RowCell& at, const Action& part) {
    const bool ahead = part.kind == ActionKind::forward;
    if (part.kind == ActionKind::weight_gradient ||
        (ahead ? schedule_.first(part.stage) : schedule_.last(part.stage)))
      return;
    const int from = schedule_.rank_of_stage[static_cast<std::size_t>(part.stage + (ahead ? -1 : 1))];
    if (from == at.rank) return;
    const RowCell* got = find(ahead ? ActionKind::receive_forward : ActionKind::receive_backward, part.stage,
                              part.micro_batch);
    if (!got || got->position > at.position) violation(at, part, "its input has not been received");
  }

  const Schedule& schedule_;
  int count_;
  Where where_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> schedule_violations(const Schedule& schedule, int micro_batches) {
  return ScheduleCheck(schedule, micro_batches).violations();
}

}  // namespace penstock::schedule
