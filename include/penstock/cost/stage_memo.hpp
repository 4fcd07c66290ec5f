#pragma once
// Results about stages, for a search that needs the same ones over and over.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "penstock/core/units.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::cost {

class StageForms;

/// Everything about a stage that its passes, its memory and its reductions depend on, and what else a
/// question depends on, as bytes: equal keys have equal answers.
class StageKey {
 public:
  StageKey(const char* question, const plan::Stage& stage) : StageKey(nullptr, question, stage) {}
  /// For results that name no operator and no device. Stages that differ only by numbers of equal operators
  /// and devices have one key, where the problem remembers (stage_forms.hpp).
  StageKey(const char* question, const Problem& problem, const plan::Stage& stage);
  /// For results that depend only on what is added.
  explicit StageKey(const char* question) : bytes_(question) {}
  StageKey& add(std::int64_t value);
  StageKey& add(std::span<const core::OpId> operators);
  StageKey& add(const std::vector<std::vector<core::OpId>>& sets);  ///< of operators
  const std::string& bytes() const { return bytes_; }

 private:
  StageKey(StageForms* forms, const char* question, const plan::Stage& stage);
  void add(core::OpId op);
  std::string bytes_;
  std::span<const core::OpId> places_;  ///< the stage's operators, where these go by their places
};

/// About as many bytes as an answer takes.
template <class Answer>
std::int64_t held_bytes(const Answer&) {
  return sizeof(Answer);
}
template <class Item>
std::int64_t held_bytes(const std::vector<Item>& list) {
  std::int64_t out = sizeof(list);
  for (const Item& item : list) out += held_bytes(item);
  return out;
}

/// Answers about stages of one problem (Problem::memo). Safe to call from any thread; answers are the same as
/// without it. Forgets a part when it would hold more than it may, and does not keep what is more than a
/// part.
class StageMemo {
 public:
  /// A memo that proves makes every answer it already holds again, and throws an internal Error where the two
  /// differ: for tests, since it saves no time.
  enum class MemoProof : std::uint8_t { none, every_answer };
  explicit StageMemo(core::Bytes most = core::Bytes(std::int64_t{128} << 20),
                     MemoProof proof = MemoProof::none);
  ~StageMemo();

  /// This problem remembers, not the copies that are made of it, which may be changed. Must outlive it.
  void serve(Problem& problem);
  /// Null where the problem does not remember.
  static StageForms* forms(const Problem& problem) {
    return remembers(problem) ? problem.memo->forms_.get() : nullptr;
  }

  /// The answer to this key, made by `make()` unless it is known. `problem` without a memo of its own: made.
  /// All answers to a question (StageKey) have one type.
  template <class Make>
  static auto recall(const Problem& problem, const StageKey& key, const Make& make)
      -> std::shared_ptr<const decltype(make())> {
    using Answer = decltype(make());
    if (!remembers(problem)) return std::make_shared<const Answer>(make());
    StageMemo* memo = problem.memo;
    if (auto found = memo->find(key)) {
      auto known = std::static_pointer_cast<const Answer>(found);
      if (memo->proof_ == MemoProof::every_answer && !(*known == make())) refute(key);
      return known;
    }
    auto made = std::make_shared<const Answer>(make());
    memo->keep(key, made, held_bytes(*made));
    return made;
  }

 private:
  static bool remembers(const Problem& problem) {
    return problem.memo != nullptr && problem.memo->problem_ == &problem;
  }
  static constexpr std::size_t kShards = 16;
  struct MemoShard {
    std::mutex mutex;
    std::unordered_map<std::string, std::shared_ptr<const void>> answers;
    std::int64_t bytes = 0;  ///< about, of keys and answers
  };
  [[noreturn]] static void refute(const StageKey& key);
  std::shared_ptr<const void> find(const StageKey& key);
  void keep(const StageKey& key, std::shared_ptr<const void> answer, std::int64_t bytes);
  MemoShard& shard(const StageKey& key) { return shards_[std::hash<std::string>{}(key.bytes()) % kShards]; }

  core::Bytes most_;
  MemoProof proof_;
  const Problem* problem_ = nullptr;
  std::unique_ptr<StageForms> forms_;
  std::array<MemoShard, kShards> shards_;
};

}  // namespace penstock::cost
