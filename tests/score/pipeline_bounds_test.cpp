#include "penstock/score/pipeline_bounds.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/schedule/list_order.hpp"

using namespace penstock;
using core::Picoseconds;
using schedule::Pipeline;
using score::BoundKind;

namespace {

Picoseconds bound(const Pipeline& pipeline, BoundKind kind) {
  return score::pipeline_bounds(pipeline).by_kind[static_cast<std::size_t>(kind)].time;
}

/// Three stages with F + B of 3, 6 and 3 (backward twice forward), links of 1 forward and 2 back, four
/// micro-batches.
Pipeline hill() {
  Pipeline out;
  out.micro_batches = 4;
  for (const int f : {1, 2, 1}) out.stages.push_back({Picoseconds(f), Picoseconds(2 * f)});
  for (const int s : {0, 1}) out.links.push_back({s, s + 1, Picoseconds(1), Picoseconds(2)});
  return out;
}

}  // namespace

TEST_CASE("a hill of three stages: every bound by hand") {
  const auto bounds = score::pipeline_bounds(hill());
  // Work: the middle, 4 * 6. Head/tail: F and link before it (2), link and B after it (4).
  CHECK(bound(hill(), BoundKind::work) == Picoseconds(24));
  CHECK(bound(hill(), BoundKind::head_tail) == Picoseconds(30));
  // Chain: 12 + 6 on the way of one; the others pass the longest task, B of 4, one by one: 18 + 3 * 4.
  CHECK(bound(hill(), BoundKind::chain) == Picoseconds(30));
  CHECK(bound(hill(), BoundKind::memory) == Picoseconds(0));
  CHECK(bounds.best().kind == BoundKind::head_tail);
  CHECK(bounds.best().site == 1);
  CHECK(list_order(hill()).makespan >= Picoseconds(30));
}

TEST_CASE("work of a backward pass before its gradient comes is on no path") {
  // The first and the middle stage recompute for 1 and 2 of their F + B, now 4 and 8: work 4 * 8, head/tail 6
  // more as before. The way of one takes 18 as before, then the others pass the middle's B of 6: 18 + 3 * 6.
  Pipeline recomputing = hill();
  for (const std::size_t s : {0u, 1u}) {
    recomputing.stages[s].early = recomputing.stages[s].forward;
    recomputing.stages[s].backward += recomputing.stages[s].early;
  }
  CHECK(bound(recomputing, BoundKind::work) == Picoseconds(32));
  CHECK(bound(recomputing, BoundKind::head_tail) == Picoseconds(38));
  CHECK(bound(recomputing, BoundKind::chain) == Picoseconds(36));
  // The last stage's backward follows its forward at once: 1 longer is 1 longer on the way.
  recomputing.stages[2].early = Picoseconds(1);
  recomputing.stages[2].backward += Picoseconds(1);
  CHECK(bound(recomputing, BoundKind::chain) == Picoseconds(37));
}

TEST_CASE("long links: the link binds, or with latency the chain of one micro-batch") {
  // Links of 50 each way: 12 + 4 * 50 = 212, then the longest task is a transfer: 3 * 50 more. In one
  // direction at a time a link works 4 * 100, after F (1) and, for the first link, before the last B (2). The
  // second has 1 + 50 + 2 before it and 4 + 50 + 2 after it.
  Pipeline far = hill();
  for (auto& link : far.links) link.forward = link.backward = Picoseconds(50);
  CHECK(score::pipeline_bounds(far).best().kind == BoundKind::head_tail);
  CHECK(score::pipeline_bounds(far).best().site == 3);
  CHECK(score::pipeline_bounds(far).best().time == Picoseconds(362));
  CHECK(bound(far, BoundKind::chain) == Picoseconds(362));
  far.full_duplex = false;
  CHECK(score::pipeline_bounds(far).best().kind == BoundKind::head_tail);
  CHECK(score::pipeline_bounds(far).best().site == 4);
  CHECK(score::pipeline_bounds(far).best().time == Picoseconds(400 + 53 + 56));
  // Links with only latency let any number pass: 212 + 3 * 4 by the middle's B.
  far.full_duplex = true;
  for (auto& link : far.links)
    link = {link.from, link.to, Picoseconds(0), Picoseconds(0), Picoseconds(50), Picoseconds(50)};
  CHECK(score::pipeline_bounds(far).best().kind == BoundKind::chain);
  CHECK(score::pipeline_bounds(far).best().time == Picoseconds(224));
}

TEST_CASE("room for few micro-batches costs round trips") {
  // From F of the first stage to the end of its B all is one round trip, 18. Room for two of four: two round
  // trips, and one more B of 2 as the fourth leaves after the third. Room for three: two, no more. Four: no
  // limit.
  const auto with_room = [](int room) {
    Pipeline out = hill();
    out.stages[0].room = room;
    return out;
  };
  CHECK(bound(with_room(1), BoundKind::memory) == Picoseconds(72));
  CHECK(bound(with_room(2), BoundKind::memory) == Picoseconds(38));
  CHECK(bound(with_room(3), BoundKind::memory) == Picoseconds(36));
  CHECK(bound(with_room(4), BoundKind::memory) == Picoseconds(0));
  CHECK(list_order(with_room(1)).makespan == Picoseconds(72));
  CHECK(list_order(with_room(2)).makespan >= Picoseconds(38));
  // In the middle: 2 before, a round trip of 12, 4 after.
  Pipeline middle = hill();
  middle.stages[1].room = 1;
  CHECK(score::pipeline_bounds(middle).best().time == Picoseconds(2 + 4 * 12 + 4));
  CHECK(score::pipeline_bounds(middle).best().kind == BoundKind::memory);
  CHECK(score::pipeline_bounds(middle).best().site == 1);
}

TEST_CASE("all-reduces count where nothing hides them") {
  // The middle ends 4 before the end: an all-reduce of 4 there is hidden, one of 5 is not. Work has no tail:
  // 24 + 5.
  Pipeline reduced = hill();
  reduced.stages[1].after = Picoseconds(4);
  CHECK(score::pipeline_bounds(reduced).best().time == Picoseconds(30));
  reduced.stages[1].after = Picoseconds(5);
  CHECK(score::pipeline_bounds(reduced).best().time == Picoseconds(31));
  CHECK(bound(reduced, BoundKind::work) == Picoseconds(29));
}

TEST_CASE("on a DAG the longest of the branches counts, and the way back may be another") {
  //   0 -> 1 -> 3 with a slow way there, 0 -> 2 -> 3 with a slow way back.
  Pipeline fork;
  fork.micro_batches = 1;
  fork.stages.assign(4, {Picoseconds(1), Picoseconds(1)});
  fork.links = {{0, 1, Picoseconds(9), Picoseconds(0)},
                {0, 2, Picoseconds(0), Picoseconds(9)},
                {1, 3, Picoseconds(0), Picoseconds(0)},
                {2, 3, Picoseconds(0), Picoseconds(0)}};
  // Three forwards, three backwards, 9 there and 9 back.
  CHECK(bound(fork, BoundKind::chain) == Picoseconds(24));
  CHECK(list_order(fork).makespan == Picoseconds(24));
  fork.micro_batches = 3;
  fork.stages[0].room = 1;
  CHECK(bound(fork, BoundKind::memory) == Picoseconds(72));
}

TEST_CASE("one stage: the bound is met exactly") {
  Pipeline one;
  one.micro_batches = 7;
  one.stages = {{Picoseconds(2), Picoseconds(3), 0, Picoseconds(4)}};
  CHECK(score::pipeline_bounds(one).best().time == Picoseconds(39));
  CHECK(list_order(one).makespan == Picoseconds(39));
  one.stages[0].room = -1;
  CHECK_THROWS_AS(score::pipeline_bounds(one), core::BadInput);
}
