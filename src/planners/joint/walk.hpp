#pragma once
// One walk through whole plans, downhill and on from there by kicks.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>

#include "joint/joint_judge.hpp"
#include "joint/move.hpp"
#include "penstock/core/random.hpp"

namespace penstock::planners {

struct JudgedDraft {
  Draft draft;
  Worth worth;
};

/// Iterated local search (Lourenço, Martin, Stützle, Handbook of Metaheuristics, 2003): the best of the next
/// few moves that are better, in random order and one kind after the other, until none is; then some random
/// moves at once from the best plan so far, and downhill again, given up sooner. The same walk for any number
/// of threads.
class Walk {
 public:
  /// Space, judge outlive it.
  Walk(const PlanSpace& space, const JointJudge& judge, Change change, JudgedDraft start, std::uint64_t seed,
       core::StopToken stop);

  /// Until so many more plans are judged, one of many passes counted as several, or many kicks in a row lead
  /// to nothing better; `stepped` is called after each few of them. Throws LimitHit; best() is then the best
  /// until the limit.
  void go_on(std::size_t plans, const std::function<void()>& stepped);
  const JudgedDraft& best() const { return best_; }
  std::size_t judged() const { return judged_; }
  std::size_t counted() const;  ///< plans judged, as go_on() counts them

 private:
  bool descend();
  bool take_best(const std::vector<Move>& tried, std::size_t begin, std::size_t end);
  void kick();
  std::optional<Draft> kicked();
  std::vector<Move> shuffled(const Draft& draft);
  void arrive(Draft draft, const Worth& worth);
  void spend(const plan::Plan& plan);

  const PlanSpace* space_;
  const JointJudge* judge_;
  Change change_;
  core::Random random_;
  core::StopToken stop_;
  JudgedDraft now_, best_;
  std::unordered_set<std::string> met_;  ///< keys of plans
  std::size_t judged_ = 0;
  std::size_t spent_ = 0, goal_ = 0;  ///< quarters of a plan, by how long it takes to judge it
  int kicks_ = 0;                     ///< from the best plan
};

}  // namespace penstock::planners
