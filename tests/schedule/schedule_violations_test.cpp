#include "penstock/schedule/schedule_violations.hpp"

#include <doctest/doctest.h>

#include "penstock/schedule/schedule_csv.hpp"

using namespace penstock;
using Violations = std::vector<std::string>;

namespace {

Violations violations(const std::string& text, int micro_batches = 1) {
  return schedule::schedule_violations(schedule::parse_schedule(text, "g.csv"), micro_batches);
}

}  // namespace

TEST_CASE("sound schedules have no faults") {
  CHECK(violations("0F0,0B0\n1F0,1B0\n").empty());
  CHECK(violations("0F0,,0I0,0W0\n1F0,1I0,1W0\n").empty());
  CHECK(violations("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n").empty());
}

TEST_CASE("placement") {
  CHECK(violations("0F0,0B0,1B0\n1F0\n") == Violations{"rank 1 cell 0 (1F0): stage 1 belongs to rank 0"});
  CHECK(violations("0F0,0B0\n2F0,2B0\n") == Violations{"no rank runs stage 1"});
}

TEST_CASE("missing, doubled and surplus micro-batches") {
  CHECK(violations("0F0,0B0", 2) == Violations{"rank 0: the forward of micro-batch 1 in stage 0 is missing"});
  CHECK(violations("0F0,0F1,0B1", 2) ==
        Violations{"rank 0: the backward of micro-batch 0 in stage 0 is missing"});
  CHECK(violations("0F0,0I0") ==
        Violations{"rank 0: the weight gradient of micro-batch 0 in stage 0 is missing"});
  CHECK(violations("0F0,0B0,0F0") == Violations{"rank 0 cell 2 (0F0): done before, in rank 0 cell 0"});
  CHECK(violations("0F0,0F1,0B0,0B1") == Violations{"rank 0 cell 1 (0F1): there are 1 micro-batches",
                                                    "rank 0 cell 3 (0B1): there are 1 micro-batches"});
  CHECK(violations("0F0,0B0,0I0") == Violations{"rank 0 cell 2 (0I0): the full backward does this too"});
  CHECK(violations("0F0,0B0,0W0") == Violations{"rank 0 cell 2 (0W0): the full backward does this too"});
}

TEST_CASE("order within a rank") {
  CHECK(violations("0B0,0F0") == Violations{"rank 0 cell 0 (0B0): comes before its forward"});
  CHECK(violations("0F0,0W0,0I0") == Violations{"rank 0 cell 1 (0W0): comes before its input gradient"});
}

TEST_CASE("a recomputation comes between its forward and its backward") {
  CHECK(violations("0F0,0R0,0B0").empty());
  CHECK(violations("0F0,0R0,0I0,0W0").empty());
  CHECK(violations("0R0,0F0,0B0") == Violations{"rank 0 cell 0 (0R0): comes before its forward"});
  CHECK(violations("0F0,0I0,0R0,0W0") == Violations{"rank 0 cell 2 (0R0): comes after its backward"});
  CHECK(violations("0F0,0R0,0R0,0B0") == Violations{"rank 0 cell 2 (0R0): done before, in rank 0 cell 1"});
}

TEST_CASE("evicted tensors are loaded before their backward pass") {
  const std::string other = "\n1F0,1B0\n";
  CHECK(violations("0F0,0EVICT0,0LOAD0,0B0" + other).empty());
  CHECK(violations("0F0,0EVICT0,0B0" + other) ==
        Violations{"rank 0 cell 1 (0EVICT0): is never loaded again"});
  CHECK(violations("0F0,0LOAD0,0B0" + other) == Violations{"rank 0 cell 1 (0LOAD0): has not been evicted"});
  CHECK(violations("0F0,0LOAD0,0EVICT0,0B0" + other) ==
        Violations{"rank 0 cell 1 (0LOAD0): has not been evicted"});
  CHECK(violations("0EVICT0,0F0,0LOAD0,0B0" + other) ==
        Violations{"rank 0 cell 0 (0EVICT0): comes before its forward"});
  CHECK(violations("0F0,0EVICT0,0B0,0LOAD0" + other) ==
        Violations{"rank 0 cell 3 (0LOAD0): comes after its backward"});
  CHECK(violations("0F0,0EVICT0,0LOAD0,0R0,0B0" + other) ==
        Violations{"rank 0 cell 1 (0EVICT0): there is nothing to evict, the micro-batch is recomputed"});
  CHECK(violations("0F0,0EVICT0,0LOAD0,0B0") ==
        Violations{"rank 0 cell 1 (0EVICT0): the rank in the middle has no partner"});
}

TEST_CASE("the optimizer's step ends a stage's iteration") {
  CHECK(violations("0F0,0B0,0REDUCE_GRAD,0STEP").empty());
  CHECK(violations("0F0,0I0,0STEP,0W0") ==
        Violations{"rank 0 cell 2 (0STEP): comes before the weight gradient of micro-batch 0"});
  CHECK(violations("0F0,0F1,0B0,0STEP,0B1", 2) ==
        Violations{"rank 0 cell 3 (0STEP): comes before the weight gradient of micro-batch 1"});
  CHECK(violations("0F0,0B0,0STEP,0REDUCE_GRAD") ==
        Violations{"rank 0 cell 3 (0REDUCE_GRAD): comes after the stage's step"});
  CHECK(violations("0F0,0B0,0STEP,0STEP") ==
        Violations{"rank 0 cell 3 (0STEP): done before, in rank 0 cell 2"});
}

TEST_CASE("barriers: as many on every rank, and none that waits for itself") {
  CHECK(violations("BARRIER,0F0,BARRIER,0B0\nBARRIER,1F0,1B0,BARRIER\n").empty());
  CHECK(violations("0F0,0B0,BARRIER,BARRIER\n1F0,1B0,BARRIER\n") ==
        Violations{"rank 0 cell 3 (BARRIER): rank 1 has only 1 of them"});
  // Rank 0 comes to the barrier after its backward, which rank 1 lets go on only behind the barrier.
  CHECK(violations("0F0,0B0,BARRIER\n1F0,BARRIER,1B0\n") ==
        Violations{
            "deadlock: rank 0 cell 1 (0B0) waits for 1B0 in rank 1 cell 2, rank 1 cell 1 (BARRIER) waits for "
            "that of rank 0"});
}

TEST_CASE("messages") {
  CHECK(violations("0F0,0B0\n1RECV_F0,1F0,1B0\n") ==
        Violations{"rank 1 cell 0 (1RECV_F0): nobody sends this"});
  CHECK(violations("0F0,0SEND_F0,0B0\n1F0,1B0\n") ==
        Violations{"rank 0 cell 1 (0SEND_F0): nobody receives this"});
  CHECK(violations("0SEND_F0,0F0,0B0\n1RECV_F0,1F0,1B0\n") ==
        Violations{"rank 0 cell 0 (0SEND_F0): sent before it is computed"});
  CHECK(violations("0F0,0SEND_F0,0B0\n1F0,1RECV_F0,1B0\n") ==
        Violations{"rank 1 cell 0 (1F0): its input has not been received"});
}

TEST_CASE("a deadlock is reported as a circle") {
  // Rank 0 wants the gradient of micro-batch 0 first; rank 1 wants the forward of micro-batch 1 first.
  CHECK(violations("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", 2) ==
        Violations{
            "deadlock: rank 0 cell 1 (0B0) waits for 1B0 in rank 1 cell 2, rank 1 cell 1 (1F1) waits for "
            "0F1 in rank 0 "
            "cell 2"});
}

TEST_CASE("few cells with large numbers are judged at once") {
  CHECK(violations("0F0,0B0,0F999999,0B999999", 1000000).size() == 20);
  CHECK(violations("0UNSHARD", 0) == Violations{"there are no micro-batches"});
}
