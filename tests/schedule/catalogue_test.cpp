#include "penstock/schedule/catalogue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/schedule/lowering.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "penstock/schedule/schedule_violations.hpp"
#include "support/reference_data.hpp"

using namespace penstock;
using namespace penstock::schedule;

namespace {

ScheduleShape shape(int ranks, int chunks, int micro_batches) {
  ScheduleShape out;
  out.ranks = ranks;
  out.chunks = chunks;
  out.micro_batches = micro_batches;
  return out;
}

std::vector<std::string> violations(const std::string& family, const ScheduleShape& shape) {
  const Schedule schedule = make_schedule(family, shape);
  return schedule_violations(schedule, (shape.micro_batches + schedule.halves / 2) / schedule.copies);
}

/// A schedule file without idle cells.
std::string published(const std::string& path) {
  Schedule schedule = load_schedule(path);
  for (RankOrder& row : schedule.ranks)
    std::erase_if(row, [](const Action& action) { return action.kind == ActionKind::idle; });
  return to_csv(schedule);
}

/// The rows of a schedule as one text without the messages and the like.
std::string computations(Schedule schedule) {
  for (RankOrder& row : schedule.ranks)
    std::erase_if(row, [](const Action& action) {
      return action.kind > ActionKind::backward && action.kind != ActionKind::overlapped;
    });
  return to_csv(schedule);
}

}  // namespace

TEST_CASE("small schedules of every handmade family") {
  CHECK(to_csv(make_schedule("gpipe", shape(2, 1, 2))) == "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
  CHECK(to_csv(make_schedule("1f1b", shape(2, 1, 3))) ==
        "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  CHECK(to_csv(make_schedule("looped_bfs", shape(1, 2, 2))) == "0F0,0F1,1F0,1F1,1B1,1B0,0B1,0B0\n");
  CHECK(to_csv(make_schedule("zb_h1", shape(2, 1, 2))) ==
        "0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1I0,1F1,1I1,1W0,1W1\n");
  // Two chunks, two ranks, rounds of two: both micro-batches through chunk 0, then through chunk 1.
  CHECK(to_csv(make_schedule("interleaved_1f1b", shape(2, 2, 2))) ==
        "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1\n");
}

TEST_CASE("Megatron's group sizes: order of micro-batches in groups of 3, the last one short") {
  ScheduleShape five = shape(2, 2, 5);
  five.group = 3;
  const Schedule schedule = make_schedule("interleaved_1f1b", five);
  std::string order;
  for (const Action& action : schedule.ranks[0])
    if (action.kind == ActionKind::forward) order += std::to_string(action.micro_batch);
  CHECK(order == "0120123434");
  CHECK(schedule_violations(schedule, 5).empty());
}

TEST_CASE("PyTorch's matrix of chunks, micro-batches and ranks has no faults") {
  // (chunks, micro-batches, ranks) of test_schedule.py
  const int matrix[][3] = {{2, 2, 2},   {2, 4, 4},    {2, 8, 2},  {2, 8, 4},  {2, 8, 8},  {4, 4, 4},
                           {4, 8, 4},   {4, 8, 8},    {4, 16, 4}, {4, 32, 4}, {4, 64, 4}, {4, 16, 16},
                           {4, 32, 32}, {4, 128, 64}, {3, 2, 2},  {3, 8, 2},  {3, 12, 4}, {4, 6, 3},
                           {4, 10, 5},  {2, 3, 4},    {2, 4, 4},  {2, 10, 4}, {2, 15, 4}};
  for (const auto& [chunks, micro_batches, ranks] : matrix) {
    CAPTURE(chunks);
    CAPTURE(micro_batches);
    CAPTURE(ranks);
    for (const char* family : {"looped_bfs", "interleaved_1f1b", "interleaved_zb"})
      if (family != std::string("looped_bfs") && micro_batches % std::max(1, micro_batches / ranks) != 0)
        CHECK_THROWS_AS(make_schedule(family, shape(ranks, chunks, micro_batches)), core::BadInput);
      else
        CHECK(violations(family, shape(ranks, chunks, micro_batches)).empty());
    for (const char* family : {"gpipe", "1f1b"})
      CHECK(violations(family, shape(ranks, 1, micro_batches)).empty());
    if (chunks == 2)
      CHECK(violations("zbv", shape(ranks, 2, micro_batches)).empty());
    else
      CHECK_THROWS_AS(make_schedule("zbv", shape(ranks, chunks, micro_batches)), core::BadInput);
    if (chunks == 2 && micro_batches >= 2 * ranks)
      CHECK(violations("dualpipev", shape(ranks, 2, micro_batches)).empty());
    else
      CHECK_THROWS_AS(make_schedule("dualpipev", shape(ranks, chunks, micro_batches)), core::BadInput);
  }
}

TEST_CASE("random shapes: every family either refuses in words or makes a schedule without faults") {
  core::Random random(1);
  std::set<std::string> made;
  for (int trial = 0; trial < 300; ++trial) {
    ScheduleShape s = shape(random.between(1, 7), random.between(0, 3), random.between(1, 24));
    if (random.chance(0.3)) s.group = random.between(1, 12);
    if (random.chance(0.5)) s.memory_limit = random.between(1, 20);
    for (const ScheduleFamily& family : families()) {
      CAPTURE(family.name);
      CAPTURE(s.ranks);
      CAPTURE(s.chunks);
      CAPTURE(s.micro_batches);
      CAPTURE(s.group);
      try {
        const auto found = violations(family.name, s);
        CHECK(found == std::vector<std::string>{});
        made.insert(family.name);
      } catch (const core::BadInput& e) {
        CHECK(std::string(e.what()).starts_with(family.name + ": needs "));
      }
    }
  }
  CHECK(made.size() == families().size());
}

TEST_CASE("shapes out of range and unknown names are refused") {
  CHECK_THROWS_WITH_AS(make_schedule("1f1c", shape(2, 1, 2)), "unknown schedule '1f1c'; did you mean '1f1b'?",
                       core::BadInput);
  CHECK_THROWS_WITH_AS(make_schedule("1f1b", shape(0, 1, 2)), "ranks must be 1 to 4096, not 0",
                       core::BadInput);
  CHECK_THROWS_WITH_AS(make_schedule("zbv", shape(2, 3, 2)),
                       "zbv: needs two stages per rank (ranks 2, chunks 3, micro-batches 2)", core::BadInput);
  CHECK_THROWS_AS(make_schedule("gpipe", shape(4096, 1, 100000)), core::BadInput);
}

TEST_CASE("generated orders equal the published schedules action for action") {
  const std::string folder = support::reference_data("schedules");
  if (folder.empty()) return;
  CHECK(to_csv(make_schedule("dualpipev", shape(4, 2, 10))) ==
        published(folder + "/dualpipev_4rank_10mb.csv"));
  CHECK(to_csv(make_schedule("interleaved_zb", shape(2, 2, 8))) ==
        published(folder + "/zb1p_2rank_2stagep_compute.csv"));
  CHECK(to_csv(make_schedule("interleaved_1f1b", shape(2, 2, 4))) ==
        computations(load_schedule(folder + "/torchtitan_interleaved1f1b_2ranks_4mb_comms.csv")));
  CHECK(to_csv(add_messages(merge_backwards(make_schedule("interleaved_zb", shape(2, 2, 8))))) ==
        published(folder + "/zb1p_2rank_2stagep_comms.csv"));
}

TEST_CASE("a group changes the schedule, or the family refuses it") {
  for (const ScheduleFamily& family : families()) {
    CAPTURE(family.name);
    ScheduleShape grouped = shape(4, family.chunks, 8);
    grouped.group =
        family.name == "chimera" ? 2 : 8;  // chimera: all of half the ranks; else all micro-batches
    if (family.grouped) {
      const auto& policy = weight_policy(family.weights);
      CHECK((make_schedule(family.name, grouped).ranks !=
                 make_schedule(family.name, shape(4, family.chunks, 8)).ranks ||
             micro_batches_per_update(policy, grouped) != micro_batches_per_update(policy, shape(4, 1, 8))));
    } else {
      std::string violation;
      try {
        make_schedule(family.name, grouped);
      } catch (const core::BadInput& e) {
        violation = e.what();
      }
      CHECK(violation.starts_with(family.name + ": needs no group, it has none (ranks 4"));
    }
  }
}

namespace {

/// [rank] micro-batches of a stage that it holds at most, from a forward to the weight gradient.
std::vector<int> most_held(const Schedule& schedule) {
  std::vector<int> out;
  for (const RankOrder& row : schedule.ranks) {
    int held = 0, most = 0;
    for (const Action& action : row) {
      using enum ActionKind;
      held += action.kind == forward || action.kind == load ? 1 : 0;
      most = std::max(most, held);
      held -= action.kind == backward || action.kind == weight_gradient || action.kind == evict ? 1 : 0;
    }
    out.push_back(most);
  }
  return out;
}

}  // namespace

TEST_CASE("ranks hold as many activations as in their families' papers") {
  using Counts = std::vector<int>;
  // DAPPLE's policy B: min(2 (p - r) - 1, m).
  CHECK(most_held(make_schedule("dapple", shape(3, 1, 8))) == Counts{5, 3, 1});
  CHECK(most_held(make_schedule("dapple", shape(3, 1, 4))) == Counts{4, 3, 1});
  CHECK(most_held(make_schedule("1f1b", shape(3, 1, 8))) == Counts{3, 2, 1});
  // BPipe: (p + 2) / 2, rounded up; of three ranks none has more than 1F1B's three, and nothing is parked.
  CHECK(most_held(make_schedule("bpipe", shape(3, 1, 8))) == Counts{3, 2, 1});
  CHECK(to_csv(make_schedule("bpipe", shape(3, 1, 8))) == to_csv(make_schedule("1f1b", shape(3, 1, 8))));
  CHECK(most_held(make_schedule("bpipe", shape(5, 1, 8)))[0] == 4);
  // ZB-H1 holds p, ZB-H2 2p - 1, on every rank.
  CHECK(most_held(make_schedule("zb_h1", shape(3, 1, 9))) == Counts{3, 3, 3});
  CHECK(most_held(make_schedule("zb_h2", shape(3, 1, 9))) == Counts{5, 5, 5});
}

TEST_CASE("ZB-H2 on two ranks: weight gradients of the second lag by two") {
  CHECK(to_csv(make_schedule("zb_h2", shape(2, 1, 3))) ==
        "0F0,0F1,0F2,0I0,0W0,0I1,0W1,0I2,0W2\n1F0,1I0,1F1,1I1,1F2,1I2,1W0,1W1,1W2\n");
}

TEST_CASE("a group of more micro-batches than there are is all of them") {
  ScheduleShape grouped = shape(2, 2, 3), all = grouped;
  grouped.group = 8;
  all.group = 3;
  CHECK(to_csv(make_schedule("interleaved_1f1b", grouped)) == to_csv(make_schedule("interleaved_1f1b", all)));
  // Rank 0 warms up with three micro-batches of its first chunk and two more: 3 (v - 1) + 2 (p - 1).
  CHECK(to_csv(make_schedule("interleaved_1f1b", grouped)).starts_with("0F0,0F1,0F2,2F0,2F1,2F2,2B0,"));
  CHECK(to_csv(make_schedule("interleaved_1f1b", grouped)).find("\n1F0,1F1,1F2,3F0,3B0,3F1,3B1,") !=
        std::string::npos);
}

TEST_CASE("enough micro-batches are cut in halves to keep the last rank busy: (p - 1) F / 2B, rounded up") {
  // With three ranks the last begins F earlier. It has done h cut micro-batches when the next whole one
  // comes, after (h + 2) F: h (F + B) + F >= (h + 2) F.
  const auto cut = [](std::int64_t forward, std::int64_t input, std::int64_t weight) {
    ScheduleShape out = shape(3, 1, 20);
    out.costs = {core::Picoseconds(forward), core::Picoseconds(input), core::Picoseconds(weight)};
    return make_schedule("sliced_1f1b", out).halves / 2;
  };
  CHECK(cut(10, 2, 1) == 4);  // 20 / 6
  CHECK(cut(9, 2, 1) == 3);   // 18 / 6
  CHECK(cut(10, 10, 10) == 1);
}

TEST_CASE("Hanayo's wave by hand: backward first, then the deeper stage; at most p micro-batches inside") {
  CHECK(to_csv(make_schedule("hanayo", shape(2, 2, 2))) ==
        "0F0,0F1,3F0,3B0,3F1,3B1,0B0,0B1\n1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1\n");
  for (const int p : {2, 3, 4}) {
    const RankOrder first = make_schedule("hanayo", shape(p, 2, 3 * p)).ranks[0];
    int inside = 0, most = 0;
    for (const Action& action : first)
      if (action.stage == 0) most = std::max(most, inside += action.kind == ActionKind::forward ? 1 : -1);
    CHECK(most == p);
  }
}
