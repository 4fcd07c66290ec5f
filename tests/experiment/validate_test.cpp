#include "penstock/experiment/validate.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>

#include "penstock/core/files.hpp"
#include "penstock/cost/analytic.hpp"
#include "support/scratch.hpp"
#include "support/tiny_cells.hpp"

using namespace penstock;
using experiment::ValidateOutcome;

namespace {

experiment::Spec spec_of(const std::vector<experiment::Cell>& cells) {
  experiment::Spec spec;
  spec.cells = cells;
  return spec;
}

/// One call of the command, which counts what it measures.
class ValidateCommand {
 public:
  explicit ValidateCommand(const std::string& folder) {
    options_.folder = folder;
    options_.conditions = "this machine";
    options_.replay.manner = replay::ReplayManner::sequential;
    options_.replay.options.iterations = 2;
    options_.stamp = [this](report::ReplayRow& row) { row.load = ++measured; };
    options_.progress = [this](const experiment::ValidateProgress& p) {
      CHECK(p.left.value() >= 0);
      if (p.done >= stop_after) stop_ = true;
    };
  }
  ValidateCommand& on(const std::string& conditions) {
    options_.conditions = conditions;
    return *this;
  }
  ValidateOutcome run(const experiment::Spec& spec) {
    return experiment::validate(spec, cost::AnalyticCosts(), options_, core::StopToken(&stop_));
  }
  int measured = 0;
  std::size_t stop_after = 1000;

 private:
  experiment::ValidateOptions options_;
  std::atomic<bool> stop_{false};
};

}  // namespace

TEST_CASE("every plan gets a row, what has none its reason, and the folder all of it") {
  const support::ScratchFolder scratch("validate");
  const auto spec = spec_of({support::tiny_cell("gpipe_equal", 2), support::tiny_cell("single_device", 2),
                             support::tiny_cell("data_parallel", 2)});
  const ValidateOutcome out = ValidateCommand(scratch.path("r")).run(spec);
  CHECK_FALSE(out.interrupted);
  CHECK_FALSE(out.failed);
  REQUIRE(out.table.rows.size() == 2);
  CHECK(out.table.rows[0].plan == experiment::cell_name(spec.cells[0]));
  REQUIRE(out.table.left_out.size() == 1);
  CHECK(out.table.left_out[0].reason.starts_with("infeasible: single_device uses one device"));
  CHECK(core::read_file(scratch.path("r/validation.csv")) == report::to_csv(out.table.rows));
  CHECK(core::read_file(scratch.path("r/table.txt")) == report::replay_table(out.table));
  CHECK(std::filesystem::exists(scratch.path("r/plans/" + out.table.rows[1].plan + ".yaml")));
}

TEST_CASE("rows of the same plan under the same conditions are kept, others measured again") {
  const support::ScratchFolder scratch("validate_again");
  const auto spec = spec_of({support::tiny_cell("gpipe_equal", 2), support::tiny_cell("data_parallel", 2)});
  ValidateCommand first(scratch.path("r")), again(scratch.path("r")), elsewhere(scratch.path("r"));
  first.run(spec);
  CHECK(first.measured == 2);
  const std::string csv = core::read_file(scratch.path("r/validation.csv"));
  again.run(spec);
  CHECK(again.measured == 0);
  CHECK(core::read_file(scratch.path("r/validation.csv")) == csv);
  auto larger = spec;  // the first cell's plan is another one now
  larger.cells[0].training.mini_batch = 16;
  ValidateCommand changed(scratch.path("r"));
  changed.run(larger);
  CHECK(changed.measured == 1);
  elsewhere.on("other costs").run(larger);
  CHECK(elsewhere.measured == 2);
}

TEST_CASE("an interruption keeps finished rows, and the same command goes on") {
  const support::ScratchFolder scratch("validate_stop");
  const auto spec = spec_of({support::tiny_cell("gpipe_equal", 2), support::tiny_cell("data_parallel", 2)});
  ValidateCommand first(scratch.path("r")), second(scratch.path("r"));
  first.stop_after = 1;
  const ValidateOutcome half = first.run(spec);
  CHECK(half.interrupted);
  REQUIRE(half.table.rows.size() == 1);
  CHECK(core::read_file(scratch.path("r/validation.csv")) == report::to_csv(half.table.rows));
  const ValidateOutcome all = second.run(spec);
  CHECK(second.measured == 1);
  REQUIRE(all.table.rows.size() == 2);
  CHECK(all.table.rows[0].date == half.table.rows[0].date);
  CHECK(all.table.rows[0].measured.median == half.table.rows[0].measured.median);
}

TEST_CASE("a plan that cannot be replayed is left out with its reason") {
  const support::ScratchFolder scratch("validate_compressed");
  auto cell = support::tiny_cell("data_parallel", 2);
  cell.training.compression.gradients = 0.5;
  const ValidateOutcome out = ValidateCommand(scratch.path("r")).run(spec_of({cell}));
  CHECK(out.table.rows.empty());
  REQUIRE(out.table.left_out.size() == 1);
  CHECK(out.table.left_out[0].reason.starts_with("not replayed: "));
}

TEST_CASE("a results file that is none is not overwritten") {
  const support::ScratchFolder scratch("validate_damaged");
  core::write_file(scratch.path("r/validation.json"), "{");
  CHECK_THROWS_AS(ValidateCommand(scratch.path("r")).run(spec_of({support::tiny_cell("data_parallel", 2)})),
                  core::BadInput);
  CHECK(core::read_file(scratch.path("r/validation.json")) == "{");
}
