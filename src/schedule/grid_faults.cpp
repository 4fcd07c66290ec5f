#include "penstock/schedule/grid_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "penstock/schedule/run_order.hpp"

namespace penstock::schedule {
namespace {

constexpr std::size_t kMostFaults = 20;

using Key = std::tuple<Pass, std::int32_t, std::int32_t>;  ///< pass, stage, micro-batch
using Where = std::map<Key, Cell>;

bool computes(Pass pass) {
  return pass == Pass::forward || pass == Pass::input_gradient || pass == Pass::weight_gradient ||
         pass == Pass::backward;
}
bool is_send(Pass pass) {
  return pass == Pass::send_forward || pass == Pass::send_backward;
}
bool is_receive(Pass pass) {
  return pass == Pass::receive_forward || pass == Pass::receive_backward;
}

class Judge {
 public:
  Judge(const Grid& grid, int count) : grid_(grid), count_(count) {}

  std::vector<std::string> faults() {
    placement();
    collect();
    if (faults_.empty()) passes();
    if (faults_.empty()) memory_moves();
    if (faults_.empty()) iteration_ends();
    if (faults_.empty()) messages();
    if (!faults_.empty()) return faults_;
    if (const std::string circle = deadlock(grid_); !circle.empty()) faults_.push_back(circle);
    return faults_;
  }

 private:
  void fault(std::string text) {
    if (faults_.size() < kMostFaults) faults_.push_back(std::move(text));
  }
  void fault(const Cell& at, const Action& action, const std::string& text) {
    fault(fmt::format("rank {} cell {} ({}): {}", at.rank, at.position, token(action), text));
  }
  const Cell* find(Pass pass, int stage, int micro_batch) const {
    const auto found = where_.find({pass, stage, micro_batch});
    return found == where_.end() ? nullptr : &found->second;
  }
  const Cell* find_input_gradient(int stage, int micro_batch) const {
    const Cell* whole = find(Pass::backward, stage, micro_batch);
    return whole ? whole : find(Pass::input_gradient, stage, micro_batch);
  }
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t r = 0; r < grid_.ranks.size(); ++r)
      for (std::size_t c = 0; c < grid_.ranks[r].size(); ++c)
        for (const Action& part : parts(grid_.ranks[r][c]))
          if (part.pass != Pass::idle)
            visit(Cell{static_cast<std::int32_t>(r), static_cast<std::int32_t>(c)}, part);
  }

  void placement() {
    if (count_ < 1) return fault("there are no micro-batches");
    if (grid_.copies < 1 || grid_.stages() % grid_.copies != 0)
      return fault("the copies are not equally long");
    for (int s = 0; s < grid_.stages(); ++s)
      if (grid_.rank_of_stage[static_cast<std::size_t>(s)] < 0)
        fault(fmt::format("no rank runs stage {}", s));
  }

  void collect() {
    each([&](const Cell& at, const Action& part) {
      if (part.pass == Pass::barrier) return;
      if (part.stage < 0 || part.stage >= grid_.stages()) return fault(at, part, "there is no such stage");
      const int home = grid_.rank_of_stage[static_cast<std::size_t>(part.stage)];
      if (home != at.rank) fault(at, part, fmt::format("stage {} belongs to rank {}", part.stage, home));
      if (part.micro_batch < 0 && part.pass != Pass::step) return;
      if (part.micro_batch >= count_) fault(at, part, fmt::format("there are {} micro-batches", count_));
      if (const auto [first, fresh] = where_.insert({{part.pass, part.stage, part.micro_batch}, at}); !fresh)
        fault(at, part,
              fmt::format("done before, in rank {} cell {}", first->second.rank, first->second.position));
    });
  }

  /// Ends early: a grid with few cells may name a large stage and a large micro-batch.
  void passes() {
    for (int s = 0; s < grid_.stages(); ++s)
      for (int m = 0; m < count_ && faults_.size() < kMostFaults; ++m) passes(s, m);
  }
  void passes(int s, int m) {
    const int home = grid_.rank_of_stage[static_cast<std::size_t>(s)];
    const auto missing = [&](const char* what) {
      fault(fmt::format("rank {}: the {} of micro-batch {} in stage {} is missing", home, what, m, s));
    };
    const Cell *f = find(Pass::forward, s, m), *i = find(Pass::input_gradient, s, m),
               *w = find(Pass::weight_gradient, s, m), *b = find(Pass::backward, s, m);
    if (!f) return missing("forward");
    if (!b && !i) return missing("backward");
    if (b && i) return fault(*i, input_gradient(s, m), "the full backward does this too");
    if (f->position > (b ? b : i)->position)
      return fault(*(b ? b : i), b ? backward(s, m) : input_gradient(s, m), "stands before its forward");
    if (b && w) return fault(*w, weight_gradient(s, m), "the full backward does this too");
    if (i && !w) return missing("weight gradient");
    if (i && w->position < i->position) fault(*w, weight_gradient(s, m), "stands before its input gradient");
  }

  /// R, EVICT and LOAD lie between the forward and the backward of their micro-batch.
  void memory_moves() {
    each([&](const Cell& at, const Action& part) {
      const bool load = part.pass == Pass::load;
      if (part.pass != Pass::recompute && part.pass != Pass::evict && !load) return;
      if (find(Pass::forward, part.stage, part.micro_batch)->position > at.position)
        fault(at, part, "stands before its forward");
      if (find_input_gradient(part.stage, part.micro_batch)->position < at.position)
        fault(at, part, "stands after its backward");
      if (part.pass == Pass::evict) judge_evict(at, part);
      const Cell* evicted = find(Pass::evict, part.stage, part.micro_batch);
      if (load && (!evicted || evicted->position > at.position)) fault(at, part, "has not been evicted");
    });
  }
  void judge_evict(const Cell& at, const Action& part) {
    const auto rank = static_cast<std::size_t>(at.rank);
    if (partner(rank, grid_.ranks.size()) == rank) fault(at, part, "the rank in the middle has no partner");
    if (find(Pass::recompute, part.stage, part.micro_batch))
      fault(at, part, "there is nothing to evict, the micro-batch is recomputed");
    if (!find(Pass::load, part.stage, part.micro_batch)) fault(at, part, "is never loaded again");
  }

  void iteration_ends() {
    std::vector<int> barriers(grid_.ranks.size(), 0);
    each([&](const Cell& at, const Action& part) {
      if (part.pass == Pass::step) judge_step(at, part);
      if (part.pass == Pass::barrier) ++barriers[static_cast<std::size_t>(at.rank)];
      const Cell* step = part.pass == Pass::reduce_gradient ? find(Pass::step, part.stage, -1) : nullptr;
      if (step && step->position < at.position) fault(at, part, "stands after the stage's step");
    });
    const auto least = std::min_element(barriers.begin(), barriers.end());
    std::vector<int> seen(barriers.size(), 0);
    each([&](const Cell& at, const Action& part) {
      if (part.pass == Pass::barrier && seen[static_cast<std::size_t>(at.rank)]++ >= *least)
        fault(at, part, fmt::format("rank {} has only {} of them", least - barriers.begin(), *least));
    });
  }
  void judge_step(const Cell& at, const Action& part) {
    for (int m = 0; m < count_; ++m) {
      const Cell* w = find(Pass::weight_gradient, part.stage, m);
      if (!w) w = find(Pass::backward, part.stage, m);
      if (w->position > at.position)
        return fault(at, part, fmt::format("stands before the weight gradient of micro-batch {}", m));
    }
  }

  void messages() {
    std::vector<char> receives(grid_.ranks.size(), false);
    each([&](const Cell& at, const Action& part) {
      if (is_receive(part.pass)) receives[static_cast<std::size_t>(at.rank)] = true;
      if (is_receive(part.pass) && !counterpart(part)) fault(at, part, "nobody sends this");
      if (is_send(part.pass)) judge_send(at, part);
    });
    each([&](const Cell& at, const Action& part) {
      if (receives[static_cast<std::size_t>(at.rank)] && computes(part.pass)) judge_input(at, part);
    });
  }
  const Cell* counterpart(const Action& part) const {
    const int back = part.pass == Pass::receive_forward || part.pass == Pass::send_backward ? -1 : 1;
    if (back < 0 ? grid_.first(part.stage) : grid_.last(part.stage)) return nullptr;
    const Pass other = part.pass == Pass::receive_forward    ? Pass::send_forward
                       : part.pass == Pass::send_forward     ? Pass::receive_forward
                       : part.pass == Pass::receive_backward ? Pass::send_backward
                                                             : Pass::receive_backward;
    return find(other, part.stage + back, part.micro_batch);
  }
  void judge_send(const Cell& at, const Action& part) {
    if (!counterpart(part)) fault(at, part, "nobody receives this");
    const Cell* made = part.pass == Pass::send_forward ? find(Pass::forward, part.stage, part.micro_batch)
                                                       : find_input_gradient(part.stage, part.micro_batch);
    if (made && made->position > at.position) fault(at, part, "sent before it is computed");
  }
  void judge_input(const Cell& at, const Action& part) {
    const bool ahead = part.pass == Pass::forward;
    if (part.pass == Pass::weight_gradient || (ahead ? grid_.first(part.stage) : grid_.last(part.stage)))
      return;
    const int from = grid_.rank_of_stage[static_cast<std::size_t>(part.stage + (ahead ? -1 : 1))];
    if (from == at.rank) return;
    const Cell* got =
        find(ahead ? Pass::receive_forward : Pass::receive_backward, part.stage, part.micro_batch);
    if (!got || got->position > at.position) fault(at, part, "its input has not been received");
  }

  const Grid& grid_;
  int count_;
  Where where_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> grid_faults(const Grid& grid, int micro_batches) {
  return Judge(grid, micro_batches).faults();
}

}  // namespace penstock::schedule
