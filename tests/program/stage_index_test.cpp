// Positions of a stage's passes, and when there is room for their messages.

#include "penstock/program/stage_index.hpp"

#include <doctest/doctest.h>

using namespace penstock;
using program::index_stage;
using program::Instruction;
using program::Row;
using program::StageIndex;
using schedule::ActionKind;

namespace {

constexpr auto F = ActionKind::forward, B = ActionKind::backward, I = ActionKind::input_gradient,
               W = ActionKind::weight_gradient, R = ActionKind::recompute;

using Positions = std::vector<std::int32_t>;

/// A row of passes of stage 0.
Row row(const std::vector<std::pair<ActionKind, std::int32_t>>& passes) {
  Row out;
  for (const auto& [kind, micro_batch] : passes)
    out.push_back({.kind = kind, .stage = core::StageId(0), .micro_batch = micro_batch});
  return out;
}

Positions firsts(const std::vector<program::PassStretch>& passes) {
  Positions out;
  for (const auto& pass : passes) out.push_back(pass.first);
  return out;
}
Positions lasts(const std::vector<program::PassStretch>& passes) {
  Positions out;
  for (const auto& pass : passes) out.push_back(pass.last);
  return out;
}

}  // namespace

TEST_CASE("1F1B: room for one micro-batch ahead of the two held, and for gradients of two") {
  // 0F0 1F1 2B0 3F2 4B1 5F3 6B2 7B3. Two are held at once: there is room for three from the beginning, the
  // fourth may come after B0. Gradients of the third may come after B0, of the fourth after B1.
  const StageIndex index = index_stage(row({{F, 0}, {F, 1}, {B, 0}, {F, 2}, {B, 1}, {F, 3}, {B, 2}, {B, 3}}),
                                       core::StageId(0), false);
  CHECK(firsts(index.forward) == Positions{0, 1, 3, 5});
  CHECK(firsts(index.backward) == Positions{2, 4, 6, 7});
  CHECK(index.release == Positions{2, 4, 6, 7});
  CHECK(index.forward_gate == Positions{-1, -1, -1, 2});
  CHECK(index.backward_gate == Positions{-1, -1, 2, 4});
}

TEST_CASE("with a split backward, gradients leave after I and activations are free after W") {
  const StageIndex index =
      index_stage(row({{F, 0}, {F, 1}, {I, 0}, {I, 1}, {W, 1}, {W, 0}}), core::StageId(0), false);
  CHECK(lasts(index.backward) == Positions{2, 3});
  CHECK(index.release == Positions{5, 4});
}

TEST_CASE("late recomputation waits for the gradients, early does not") {
  const Row passes = row({{F, 0}, {R, 0}, {B, 0}});
  const StageIndex late = index_stage(passes, core::StageId(0), true),
                   early = index_stage(passes, core::StageId(0), false);
  CHECK(firsts(late.backward) == Positions{1});
  CHECK(firsts(early.backward) == Positions{2});
  CHECK(late.recompute == Positions{1});
  CHECK(lasts(late.backward) == Positions{2});
}

TEST_CASE("passes of other stages and updates are skipped; micro-batches may come in any order") {
  Row passes = row({{F, 2}, {F, 0}, {B, 2}, {B, 0}, {F, 1}, {B, 1}});
  passes.insert(passes.begin(), Instruction{.kind = F, .stage = core::StageId(1), .micro_batch = 7});
  passes.push_back({.kind = ActionKind::step, .stage = core::StageId(0)});
  const StageIndex index = index_stage(passes, core::StageId(0), false);
  CHECK(firsts(index.forward) == Positions{2, 5, 1});
  CHECK(firsts(index.backward) == Positions{4, 6, 3});
  CHECK(index.backward_gate == Positions{-1, 3, -1});  // the third backward of the row is micro-batch 1's
}
