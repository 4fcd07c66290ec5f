#include "penstock/cost/stage_memo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/varint.hpp"
#include "stage_forms.hpp"

namespace penstock::cost {

StageKey::StageKey(const char* question, const Problem& problem, const plan::Stage& stage)
    : StageKey(StageMemo::forms(problem), question, stage) {}

StageKey::StageKey(StageForms* forms, const char* question, const plan::Stage& stage) : bytes_(question) {
  // All members by name: a new one does not compile before it has its place here.
  const auto& [operators, devices, micro_batch, k, in_flight, after, recompute, tensor_parallel, partition,
               shares, zero, zero_over, sequence_parallel, context_parallel, context_exchange,
               expert_parallel, whole_experts, imbalance, part] = stage;
  const auto whole = [](auto value) { return static_cast<std::int64_t>(value); };
  add(forms != nullptr);
  if (forms != nullptr) {
    const auto form = forms->operators(operators);
    if (form.by_place) places_ = operators;
    add(whole(form.number)).add(whole(forms->devices(devices).number));
  } else {
    add(operators).add(whole(devices.size()));
    for (const core::DeviceId device : devices) add(whole(device.index()));
  }
  // k, in_flight and after are about the order of passes.
  add(micro_batch).add(whole(recompute.of)).add(recompute.early).add(recompute.first);
  add(tensor_parallel).add(whole(partition.size()));
  for (const auto& [op, how] : partition) add(op), add(whole(how));
  add(whole(shares.size()));
  for (const std::int64_t share : shares) add(share);
  add(zero).add(zero_over).add(sequence_parallel).add(context_parallel).add(whole(context_exchange));
  add(expert_parallel)
      .add(whole_experts)
      .add(std::bit_cast<std::int64_t>(imbalance))
      .add(part.before)
      .add(part.of);
}

/// By its place in the stage, plus one; another's by its number, behind a zero.
void StageKey::add(core::OpId op) {
  const auto place = std::ranges::lower_bound(places_, op);
  if (place != places_.end() && *place == op) {
    add(static_cast<std::int64_t>(place - places_.begin()) + 1);
    return;
  }
  if (!places_.empty()) add(std::int64_t{0});
  add(static_cast<std::int64_t>(op.index()));
}

StageKey& StageKey::add(std::int64_t value) {
  core::append_varint(bytes_, static_cast<std::uint64_t>(value));
  return *this;
}

StageKey& StageKey::add(std::span<const core::OpId> operators) {
  add(static_cast<std::int64_t>(operators.size()));
  for (const core::OpId op : operators) add(op);
  return *this;
}

StageKey& StageKey::add(const std::vector<std::vector<core::OpId>>& sets) {
  add(static_cast<std::int64_t>(sets.size()));
  for (const auto& operators : sets) add(operators);
  return *this;
}

StageMemo::StageMemo(core::Bytes most, MemoProof proof) : most_(most), proof_(proof) {}
StageMemo::~StageMemo() = default;

void StageMemo::serve(Problem& problem) {
  problem.memo = this;
  problem_ = &problem;
  forms_ = std::make_unique<StageForms>(problem);
}

void StageMemo::refute(const StageKey& key) {
  // A question is the text before its first byte that is no letter.
  const auto letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == ' ' || c == '-';
  };
  const std::string& bytes = key.bytes();
  const std::string question(bytes.begin(), std::ranges::find_if_not(bytes, letter));
  throw core::Error(core::ExitCode::internal,
                    fmt::format("the memo holds another answer to '{}' than the stage has", question));
}

std::shared_ptr<const void> StageMemo::find(const StageKey& key) {
  MemoShard& mine = shard(key);
  const std::lock_guard lock(mine.mutex);
  const auto known = mine.answers.find(key.bytes());
  return known == mine.answers.end() ? nullptr : known->second;
}

void StageMemo::keep(const StageKey& key, std::shared_ptr<const void> answer, std::int64_t bytes) {
  constexpr std::int64_t kEntry = 128;  // of the table, or so
  bytes += static_cast<std::int64_t>(key.bytes().size()) + kEntry;
  const std::int64_t most = most_.value() / static_cast<std::int64_t>(kShards);
  if (bytes > most) return;
  MemoShard& mine = shard(key);
  const std::lock_guard lock(mine.mutex);
  if (mine.bytes + bytes > most) {
    mine.answers.clear();
    mine.bytes = 0;
  }
  mine.bytes += bytes;
  mine.answers.emplace(key.bytes(), std::move(answer));
}

}  // namespace penstock::cost
