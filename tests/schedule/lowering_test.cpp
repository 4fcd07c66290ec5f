#include "penstock/schedule/lowering.hpp"

#include <doctest/doctest.h>

#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "penstock/schedule/schedule_violations.hpp"
#include "support/reference_data.hpp"

using namespace penstock;
using namespace penstock::schedule;

namespace {

Schedule parsed(const std::string& text) {
  return parse_schedule(text, "g.csv");
}

}  // namespace

TEST_CASE("an input gradient joins the weight gradient right behind it") {
  CHECK(to_csv(merge_backwards(parsed("0F0,,0F1,0I0,0W0,0I1,,0W1,0W2"))) == "0F0,0F1,0B0,0B1,0W2\n");
  CHECK(to_csv(merge_backwards(parsed("0I0,1W0,0W0"))) == "0I0,1W0,0W0\n");
}

// The two instances of PyTorch's own test of this pass, test_schedule.py: 11 and 24 unit steps.
TEST_CASE("messages of two ranks in a row") {
  const Schedule lowered = add_messages(parsed("0F0,0F1,,0B0,,0B1\n,1F0,1B0,1F1,1B1,\n"));
  CHECK(to_csv(lowered) ==
        "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0WAIT_SEND_F0,0RECV_B1,0B1,0WAIT_SEND_F1\n"
        "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1WAIT_SEND_B0,1WAIT_SEND_B1\n");
  CHECK(unit_steps(lowered) == 11);
}

TEST_CASE("messages of two ranks in a V: none between stages on one rank") {
  const Schedule lowered = add_messages(
      parsed("0F0,0F1,,3F0,3B0,3F1,3B1,0B0,3W0,0B1,3W1,0W0,0W1\n,1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1,"
             "2W0,2W1,1W0,1W1\n"));
  CHECK(
      lowered ==
      parsed("0F0,0SEND_F0,0F1,0SEND_F1,3RECV_F0,3F0,3B0,3SEND_B0,3RECV_F1,3F1,3B1,3SEND_B1,0RECV_B0,0B0,3W0,"
             "0RECV_B1,0B1,"
             "3W1,0W0,0W1\n"
             "1RECV_F0,1RECV_F1,1F0,2F0,2SEND_F0,1F1,2RECV_B0,2F1,2SEND_F1,2B0,2RECV_B1,1B0,1SEND_B0,2B1,1B1,"
             "1SEND_B1,2W0,"
             "2W1,1W0,1W1\n"));
  CHECK(unit_steps(lowered) == 24);
}

// The two instances of PyTorch's own test of this pass, test_schedule.py.
TEST_CASE("stages are gathered ahead and dropped when none of the next three") {
  CHECK(to_csv(add_unshards(parsed("0F0,0F1,,0B0,0B1"))) == "0UNSHARD,0F0,0F1,0B0,0B1,0RESHARD\n");
  CHECK(to_csv(add_unshards(parsed("0F0,0F1,1F0,1F1,1B0,1B1,0B0,0B1"))) ==
        "0UNSHARD,1UNSHARD,0F0,0F1,1F0,1F1,1B0,1B1,1RESHARD,0B0,0B1,0RESHARD\n");
}

TEST_CASE("a window of two stages against four") {
  // At 1F0 the next two are 1 and 2, so 0 goes and 2 comes; and so on.
  CHECK(to_csv(add_unshards(parsed("0F0,1F0,2F0,3F0"), 2)) ==
        "0UNSHARD,1UNSHARD,0F0,0RESHARD,2UNSHARD,1F0,1RESHARD,3UNSHARD,2F0,2RESHARD,3F0,3RESHARD\n");
  // A pair needs two stages at once, whatever the window.
  CHECK(to_csv(add_unshards(parsed("(0F0;1B0)OVERLAP_F_B"), 1)) ==
        "0UNSHARD,1UNSHARD,(0F0;1B0)OVERLAP_F_B,0RESHARD,1RESHARD\n");
  // Both stages of a pair ahead come together, and stages go in the order in which they came (torch 2.15).
  CHECK(to_csv(add_unshards(parsed("(2F0;1B0)OVERLAP_F_B,(0F0;3B0)OVERLAP_F_B,5F0"), 3)) ==
        "2UNSHARD,1UNSHARD,0UNSHARD,3UNSHARD,(2F0;1B0)OVERLAP_F_B,2RESHARD,1RESHARD,5UNSHARD,(0F0;3B0)"
        "OVERLAP_F_B,"
        "0RESHARD,3RESHARD,5F0,5RESHARD\n");
}

TEST_CASE("gradients are reduced after a stage's last weight gradient") {
  CHECK(to_csv(add_reductions(parsed("0F0,0F1,1F0,1F1,1B0,1B1,0I0,0I1,0W0,0W1"))) ==
        "0F0,0F1,1F0,1F1,1B0,1B1,1REDUCE_GRAD,1WAIT_REDUCE_GRAD,0I0,0I1,0W0,0W1,0REDUCE_GRAD,"
        "0WAIT_REDUCE_GRAD\n");
}

TEST_CASE("every family stays free of faults after any addition, with each pass it had") {
  for (const ScheduleFamily& family : families()) {
    ScheduleShape shape;
    shape.ranks = 4, shape.micro_batches = 8;
    const Schedule made = make_schedule(family.name, shape);
    const Schedule lowered = add_messages(add_reductions(add_unshards(merge_backwards(made))));
    CAPTURE(family.name);
    CHECK(schedule_violations(lowered, micro_batches(made)) == std::vector<std::string>{});
    Schedule bare = lowered;
    for (RankOrder& row : bare.ranks)
      std::erase_if(row, [](const Action& a) {
        return a.kind >= ActionKind::send_forward && a.kind <= ActionKind::reduce_gradient;
      });
    CHECK(bare == merge_backwards(made));
  }
}

TEST_CASE("PyTorch's interleaved zero-bubble schedule lowers to its published form of 113 unit steps") {
  const std::string folder = support::reference_data("schedules");
  if (folder.empty()) return;
  const Schedule compute = load_schedule(folder + "/zb1p_2rank_2stagep_compute.csv");
  const Schedule published = load_schedule(folder + "/zb1p_2rank_2stagep_comms.csv");
  CHECK(to_csv(add_messages(merge_backwards(compute))) == to_csv(published));
  CHECK(unit_steps(published) == 113);
}
