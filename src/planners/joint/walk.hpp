#pragma once
// Local search over whole plans with kicks.

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
  PlanDraft draft;
  PlanScore worth;
};

/// Iterated local search (Lourenço, Martin, Stützle, Handbook of Metaheuristics, 2003). Takes the best of the
/// next few improving moves, in random order and one kind after the other, until none improves. Then applies
/// several random moves at once to the best plan so far, and descends again with less patience. Independent
/// of the number of threads.
class IteratedSearch {
 public:
  /// Space and judge must outlive it.
  IteratedSearch(const PlanSpace& space, const JointJudge& judge, ChangeScope change, JudgedDraft start,
                 std::uint64_t seed, core::StopToken stop);

  /// Runs until `plans` more evaluations are used (a plan with many passes counts as several), or many kicks
  /// in a row find nothing better. Calls `stepped` after every few evaluations. Throws LimitHit; best() is
  /// then the best plan so far.
  void go_on(std::size_t plans, const std::function<void()>& stepped);
  const JudgedDraft& best() const { return best_; }
  std::size_t judged() const { return judged_; }
  std::size_t counted() const;  ///< plans evaluated, as counted by go_on()

 private:
  bool descend();
  bool take_best(const std::vector<Move>& tried, std::size_t begin, std::size_t end);
  void kick();
  std::optional<PlanDraft> kicked();
  std::vector<Move> shuffled(const PlanDraft& draft);
  void arrive(PlanDraft draft, const PlanScore& worth);
  void spend(const plan::Plan& plan);

  const PlanSpace* space_;
  const JointJudge* judge_;
  ChangeScope change_;
  core::Random random_;
  core::StopToken stop_;
  JudgedDraft now_, best_;
  std::unordered_set<std::string> met_;  ///< keys of evaluated plans
  std::size_t judged_ = 0;
  std::size_t spent_ = 0, goal_ = 0;  ///< quarters of a plan, by evaluation time
  int kicks_ = 0;                     ///< since the best plan was found
};

}  // namespace penstock::planners
