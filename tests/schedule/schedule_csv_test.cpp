#include "penstock/schedule/schedule_csv.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/schedule/schedule_violations.hpp"
#include "support/reference_data.hpp"

using namespace penstock;
using schedule::ActionKind;
using schedule::parse_schedule;

TEST_CASE("every form of a cell reads and prints the same") {
  const std::string text =
      "0F0,1I2,3W1,2B5,,3SEND_F1,2RECV_F1,1SEND_B0,0RECV_B0,1UNSHARD,1RESHARD,1REDUCE_GRAD,1WAIT_REDUCE_GRAD,"
      "(0F7;7B3)OVERLAP_F_B,3WAIT_SEND_F1,1WAIT_SEND_B0\n"
      "4F0,12F345\n"
      "5F0,5R0,6EVICT1,6LOAD1,5STEP,BARRIER\n";
  const auto schedule = parse_schedule(text, "g.csv");
  CHECK(to_csv(schedule) == text);
  CHECK(schedule.ranks[0][1] == schedule::input_gradient(1, 2));
  CHECK(schedule.ranks[0][4].kind == ActionKind::idle);
  CHECK(schedule.ranks[0][12] == overlapped(schedule::forward(0, 7), schedule::backward(7, 3)));
  CHECK(micro_batches(schedule) == 346);
}

// Places as torch 2.15 writes them (_add_reduce_grad, _add_wait_send).
TEST_CASE("each send and reduction is written with its wait, and waits are read in any allowed place") {
  const std::string bare =
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1I1,1SEND_B1,1W1,1REDUCE_GRAD\n";
  const std::string whole =
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0WAIT_SEND_F0,0RECV_B1,0B1,0WAIT_SEND_F1,0REDUCE_GRAD,"
      "0WAIT_REDUCE_GRAD\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1I1,1SEND_B1,1W1,1REDUCE_GRAD,1WAIT_REDUCE_GRAD,1WAIT_SEND_B0,"
      "1WAIT_SEND_B1\n";
  CHECK(to_csv(parse_schedule(bare, "g.csv")) == whole);
  CHECK(parse_schedule(whole, "g.csv") == parse_schedule(bare, "g.csv"));
  // A pair's backward ends the send of its own stage.
  CHECK(to_csv(parse_schedule("0F0,0SEND_F0,(3F0;0B0)OVERLAP_F_B,3F1", "g.csv")) ==
        "0F0,0SEND_F0,(3F0;0B0)OVERLAP_F_B,0WAIT_SEND_F0,3F1\n");
  const auto refusal = [](const std::string& text) {
    try {
      parse_schedule(text, "g.csv");
    } catch (const core::BadInput& e) {
      return std::string(e.what());
    }
    return std::string("taken");
  };
  CHECK(refusal("0SEND_F0,0WAIT_SEND_F0,0WAIT_SEND_F0") ==
        "g.csv:1: cell 2: '0WAIT_SEND_F0' waits for nothing: no 0SEND_F0 without a wait is before it on this "
        "rank");
  CHECK(refusal("0SEND_F0\n0WAIT_SEND_F0").starts_with("g.csv:2: cell 0: '0WAIT_SEND_F0' waits for nothing"));
  CHECK(refusal("0REDUCE_GRAD,1WAIT_REDUCE_GRAD").find("waits for nothing") != std::string::npos);
  CHECK(refusal("0F0,0WAIT_F0").find("waits for nothing") != std::string::npos);
}

TEST_CASE("halves of micro-batches are refused: read back they would be whole ones, and longer") {
  auto schedule = parse_schedule("0F0,0F1,0F2,0B0,0B1,0B2\n", "g.csv");
  CHECK(parse_schedule(to_csv(schedule), "g.csv") == schedule);
  schedule.halves = 2;
  CHECK_THROWS_AS(to_csv(schedule), core::BadInput);
}

TEST_CASE("the rank of a stage is the first that names it; an unnamed stage has none") {
  const auto schedule = parse_schedule("0F0,3F0\n1F0", "g.csv");
  CHECK(schedule.rank_of_stage == std::vector<std::int32_t>{0, 1, -1, 0});
}

TEST_CASE("line ends of either kind, blanks around a cell, an idle rank") {
  const auto schedule = parse_schedule("0F0, 0B0 \r\n   \r\n1F0\r\n\r\n \t", "g.csv");
  REQUIRE(schedule.ranks.size() == 3);
  CHECK(token(schedule.ranks[0][1]) == "0B0");
  CHECK(schedule.ranks[1] == schedule::RankOrder{{}});
}

TEST_CASE("bad cells are refused with line and cell") {
  const auto refused = [](const std::string& cell) {
    try {
      parse_schedule("0F0,0F1\n1F0," + cell, "g.csv");
    } catch (const core::BadInput& e) {
      return std::string(e.what()).starts_with("g.csv:2: cell 1: expected an action such as 0F0");
    }
    return false;
  };
  for (const char* cell : {"F",
                           "0",
                           "00",
                           "F0",
                           "0F",
                           "0X0",
                           "0f0",
                           "0F-1",
                           "-1F0",
                           "0F0x",
                           "1UNSHARD2",
                           "0R",
                           "EVICT1",
                           "1EVICT",
                           "0STEP0",
                           "STEP",
                           "0BARRIER",
                           "BARRIER0",
                           "9999999F0",
                           "65536F0",
                           "0F1234567",
                           "(0F0)OVERLAP_F_B",
                           "(0F0;1F0)OVERLAP_F_B",
                           "(0B0;1F0)OVERLAP_F_B",
                           "(0F0;1B0)",
                           "(0F0;1B0;2B0)OVERLAP_F_B",
                           "()OVERLAP_F_B",
                           "(OVERLAP_F_B",
                           "0F0;1B0"})
    CHECK_MESSAGE(refused(cell), cell);
  CHECK_THROWS_WITH_AS(parse_schedule("", "g.csv"), "g.csv: the schedule has no actions", core::BadInput);
}

TEST_CASE("published schedules read, print the same and have no faults") {
  const std::string folder = support::reference_data("schedules");
  if (folder.empty()) return;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".csv" || entry.path().filename() == "schedules_expected.csv") continue;
    CAPTURE(path);
    const auto schedule = schedule::load_schedule(path);
    CHECK(parse_schedule(to_csv(schedule), path) == schedule);
    CHECK(schedule_violations(schedule, micro_batches(schedule)) == std::vector<std::string>{});
    ++files;
  }
  CHECK(files >= 5);
}
