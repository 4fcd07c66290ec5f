#include "penstock/experiment/run.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <tbb/global_control.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <new>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/peak_memory.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/forecast.hpp"
#include "support/checkout.hpp"
#include "support/lasting_files.hpp"
#include "support/scratch.hpp"
#include "support/small_spec.hpp"

using namespace penstock;
using support::lasting_files;
using support::small_spec;
namespace fs = std::filesystem;

namespace {

std::size_t files(const std::string& folder) {
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    CHECK(entry.path().extension() != ".tmp");
    count += entry.is_regular_file() && entry.path().string().find("/.cache/") == std::string::npos;
  }
  return count;
}

/// Everything but what was measured.
std::string timeless(const std::vector<report::CellResult>& rows) {
  return report::to_csv(rows, {.measured = false});
}

}  // namespace

TEST_CASE("a run leaves a complete results folder, the same for any number of threads") {
  const support::ScratchFolder scratch("run_test");
  std::string first;
  for (std::size_t threads : {1, 2, 4}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    const std::string folder = scratch.path(std::to_string(threads));
    const auto outcome = experiment::run(small_spec(), {folder, {}, {}}, {});
    REQUIRE(outcome.rows.size() == 4);
    for (const auto& row : outcome.rows) CHECK(row.status == "ok");
    CHECK(files(folder) == 6 + 4 * 4);  // three of results, experiment, timings, provenance; configuration,
                                        // plan, trace, timeline per cell
    const std::string all = timeless(outcome.rows) +
                            core::read_file(folder + "/plans/case_study-summit-4-graphpipe-32.yaml") +
                            core::read_file(folder + "/traces/candle_uno-summit-4-spp-32.pftrace");
    if (first.empty()) first = all;
    CHECK(all == first);
  }
}

TEST_CASE("an infeasible cell is a row with its reason and costs no other cell") {
  const support::ScratchFolder scratch("run_test");
  auto spec = small_spec();
  spec.cells[0].training.mini_batch = 1;
  spec.cells[0].cluster.devices = 32;  // one sample, 24 units: not enough stages for 32 devices
  const auto outcome = experiment::run(spec, {scratch.path("r"), {}, {}}, {});
  REQUIRE(outcome.rows.size() == 4);
  CHECK(outcome.rows[0].status.starts_with("infeasible: no plan uses exactly 32 devices"));
  CHECK(outcome.rows[1].status == "ok");
  CHECK(core::read_file(scratch.path("r/results.csv")).find("infeasible") != std::string::npos);
}

TEST_CASE("an interrupted run keeps the finished cells, whole files only") {
  const support::ScratchFolder scratch("run_test");
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  std::atomic<bool> stop{false};
  experiment::RunOptions options{scratch.path("r"), {}, {}};
  options.progress = [&](std::size_t done, auto&&...) { stop = done == 2; };
  const auto outcome = experiment::run(small_spec(), options, core::StopToken(&stop));
  CHECK(outcome.interrupted);
  CHECK(outcome.rows.size() == 2);
  CHECK(files(scratch.path("r")) == 6 + 2 * 4);
}

TEST_CASE("a cell is run once: the second run finds all, the same files and the same search times") {
  const support::ScratchFolder scratch("run_cache");
  experiment::RunOptions options{scratch.path("a"), {}, {}};
  std::size_t ran = 0;
  options.progress = [&](auto&&, auto&&, auto&&, bool cached) { ran += !cached; };
  options.provenance.date = "2000-01-01T00:00:00Z";
  experiment::run(small_spec(), options, {});
  CHECK(ran == 4);
  const auto first = lasting_files(scratch.path("a"));
  const std::string timings = core::read_file(scratch.path("a/timings.csv"));
  CHECK(timings.find(",2000-01-01T00:00:00Z,") != std::string::npos);

  options.provenance.date = "2001-01-01T00:00:00Z";
  experiment::run(small_spec(), options, {});
  CHECK(ran == 4);
  CHECK(lasting_files(scratch.path("a")) == first);
  CHECK(core::read_file(scratch.path("a/timings.csv")) == timings);

  options.cache = scratch.path("a/.cache");  // elsewhere, from the same cache
  options.folder = scratch.path("b");
  experiment::run(small_spec(), options, {});
  CHECK(ran == 4);
  CHECK(lasting_files(scratch.path("b")) == first);
}

TEST_CASE("every input of a cell's result is part of its key") {
  const support::ScratchFolder scratch("run_keys");
  core::write_file(scratch.path("c.yaml"),
                   core::read_file(support::checkout("/experiments/clusters/summit.yaml")));
  core::write_file(scratch.path("slow.yaml"), "devices:\n  - {device: 0, speed: 0.5}\n");
  core::write_file(scratch.path("order.csv"), "0F0,0B0\n");
  auto spec = small_spec();
  spec.cells.resize(1);
  spec.cells[0].cluster.name = scratch.path("c.yaml");
  experiment::RunOptions options{scratch.path("a"), {}, {}};
  const auto is_cached = [&] { return !experiment::forecast(spec, options)[0].status.empty(); };
  CHECK_FALSE(is_cached());
  CHECK_FALSE(fs::exists(scratch.path("a")));
  experiment::run(spec, options, {});
  CHECK(is_cached());
  /// Not found after the change, found when all is as before.
  const auto decides = [&](auto change) {
    const auto before = spec;
    change(spec);
    CHECK_FALSE(is_cached());
    CHECK(experiment::forecast(spec, options)[0].cell.starts_with("case_study"));
    spec = before;
    CHECK(is_cached());
  };
  decides([](auto& s) { s.cells[0].planner = planners::planner_choice("graphpipe"); });
  decides([](auto& s) { s.cells[0].model.parameters["layers"] = "1"; });
  decides([](auto& s) { s.cells[0].cluster.devices = 8; });
  decides([](auto& s) { s.cells[0].training.mini_batch = 64; });
  decides([](auto& s) { s.cells[0].training.optimizer = plan::Optimizer::adam; });
  decides([](auto& s) { s.cells[0].training.compression.gradients = 0.5; });
  decides([](auto& s) { s.cells[0].micro_batch = 8; });
  decides([](auto& s) { s.cells[0].search.per_stage_micro_batch = true; });
  decides([](auto& s) { s.cells[0].search.any_degree = true; });
  decides([](auto& s) { s.cells[0].search.k = 2; });
  decides([](auto& s) { s.cells[0].schedule = "gpipe"; });
  decides([&](auto& s) { s.cells[0].schedule = scratch.path("order.csv"); });
  decides([&](auto& s) { s.cells[0].perturbation = scratch.path("slow.yaml"); });
  decides([](auto& s) { s.cells[0].simulation.network = sim::NetworkModel::fifo; });
  decides([](auto& s) { s.cells[0].simulation.collective = sim::collective("ring"); });
  decides([](auto& s) { s.cells[0].training.bucket = core::Bytes(1); });
  decides([](auto& s) { s.cells[0].cluster.runtime = "20us/task"; });
  decides([](auto& s) { s.memory.activation_copies = 2; });
  decides([](auto& s) { s.choose_by_simulation = false; });
  decides([](auto& s) { s.time_limit = core::Seconds(9); });
  decides([](auto& s) { s.one_by_one = true; });
  decides([](auto& s) { s.memory_limit = core::Bytes(std::int64_t{1} << 33); });
  options.program = "another build";
  CHECK_FALSE(is_cached());
  options.program = "";
  core::write_file(scratch.path("c.yaml"), core::read_file(scratch.path("c.yaml")) + "# a comment\n");
  CHECK(is_cached());  // this experiment has read the file
  spec.inputs = std::make_shared<experiment::InputSnapshot>();
  CHECK_FALSE(is_cached());
  CHECK(experiment::forecast(spec, options)[0].seconds);  // what it took is known all the same
}

TEST_CASE("a file that is edited during a run and put back has no part in it") {
  const support::ScratchFolder scratch("run_edited");
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  const std::string file = scratch.path("c.yaml");
  const std::string content = core::read_file(support::checkout("/experiments/clusters/summit.yaml"));
  core::write_file(file, content);
  const auto spec = [&] {
    experiment::Spec out = small_spec();
    for (auto& cell : out.cells) cell.cluster.name = file;
    return out;
  };
  experiment::run(spec(), {scratch.path("undisturbed"), {}, {}}, {});

  experiment::RunOptions options{scratch.path("r"), {}, {}};
  options.progress = [&](std::size_t done, auto&&...) {
    const std::size_t speed = content.find("15.7TFLOP/s");
    REQUIRE(speed != std::string::npos);
    core::write_file(file, done < 4 ? std::string(content).replace(speed, 4, "1.57") : content);
  };
  experiment::run(spec(), options, {});
  CHECK(core::read_file(file) == content);
  options.progress = [](auto&&, auto&&, auto&&, bool cached) { CHECK(cached); };
  experiment::run(spec(), options, {});
  CHECK(lasting_files(scratch.path("r")) == lasting_files(scratch.path("undisturbed")));
}

TEST_CASE("a cell whose order was written while the run read it is a failure, and run again") {
  const support::ScratchFolder scratch("run_order_edited");
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  const std::string file = scratch.path("order.csv");
  core::write_file(file, "0F0,0B0\n");
  const auto spec = [&] {
    experiment::Spec out = small_spec();
    for (auto& cell : out.cells) {
      cell.planner.name = "single_device";
      cell.cluster.devices = 1;
      cell.micro_batch = 32;
    }
    out.cells = {out.cells[0], out.cells[2]};
    out.cells[1].schedule = file;
    return out;
  };
  experiment::RunOptions options{scratch.path("r"), {}, {}};
  options.progress = [&](auto&&...) {  // the same content once more, a little later
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1));
  };
  const auto edited = experiment::run(spec(), options, {}).rows;
  CHECK(edited[0].status == "ok");
  CHECK(edited[1].status == "bad input: " + file + " has changed since the run began");
  options.progress = {};
  CHECK(experiment::run(spec(), options, {}).rows[1].status == "ok");
}

TEST_CASE("a run that is interrupted at once leaves a finished folder's tables whole") {
  const support::ScratchFolder scratch("run_interrupted_again");
  const experiment::RunOptions options{scratch.path("r"), {}, {}};
  const auto whole = experiment::run(small_spec(), options, {});
  const auto table = core::read_file(scratch.path("r/results.csv"));
  const auto before = lasting_files(scratch.path("r"));
  const std::atomic<bool> interrupt{true};
  const auto again = experiment::run(small_spec(), options, core::StopToken(&interrupt));
  CHECK(again.interrupted);
  CHECK(again.rows.size() == whole.rows.size());
  CHECK(again.removed == 0);
  CHECK(core::read_file(scratch.path("r/results.csv")) == table);
  CHECK(lasting_files(scratch.path("r")) == before);
}

TEST_CASE("a cell that hit a limit is run again by the next run, one that has its answer is not") {
  const support::ScratchFolder scratch("run_again");
  auto spec = small_spec();
  spec.time_limit = core::Seconds(0);
  spec.cells[0].training.mini_batch = 1;
  spec.cells[0].cluster.devices = 32;  // found infeasible before the clock is looked at
  spec.cells[0].planner = planners::planner_choice("gpipe_equal");
  experiment::RunOptions options{scratch.path("r"), {}, {}};
  std::size_t ran = 0;
  options.progress = [&](auto&&, auto&&, auto&&, bool cached) { ran += !cached; };
  const auto rows = experiment::run(spec, options, {}).rows;
  std::size_t again = 0;
  for (const auto& row : rows) again += row.status.starts_with("timed out: ");
  REQUIRE(again >= 3);
  std::size_t to_run = 0;
  for (const auto& cell : experiment::forecast(spec, options)) {
    CHECK_FALSE(cell.status.empty());
    to_run += cell.run;
  }
  CHECK(to_run == again);
  CHECK(ran == 4);
  experiment::run(spec, options, {});
  CHECK(ran == 4 + again);
  options.leader = false;  // beside a leader: what it has is taken
  experiment::run(spec, options, {});
  CHECK(ran == 4 + again);
}

TEST_CASE("lack of memory is reported as such, is no defect and no answer") {
  struct GreedyCosts : cost::CostModel {
    cost::OpTime op_time(const graph::OpGraph&, core::OpId, const cluster::DeviceType&,
                         std::int64_t) const override {
      throw std::bad_alloc();
    }
  };
  const auto spec = small_spec();
  const auto row = experiment::try_cell(spec, spec.cells[0], GreedyCosts(), {}).row;
  CHECK(row.status == "out of memory: the cell needs more memory than the machine has");
  CHECK(experiment::out_of_memory(row));
  CHECK_FALSE(experiment::lasting(row));
}

TEST_CASE("a cell that fails is a row with its reason, and costs no other") {
  const support::ScratchFolder scratch("run_failure");
  auto spec = small_spec();
  spec.cells[1].planner.options["no such"] = "option";
  const auto outcome = experiment::run(spec, {scratch.path("r"), {}, {}}, {});
  REQUIRE(outcome.rows.size() == 4);
  CHECK(outcome.rows[1].status.starts_with("bad input: graphpipe"));
  for (std::size_t i : {0, 2, 3}) CHECK(outcome.rows[i].status == "ok");
}

TEST_CASE("with a memory limit each search has the process to itself, and may hit it") {
  if (!core::resident_memory()) return;
  const support::ScratchFolder scratch("run_memory");
  auto spec = small_spec();
  spec.memory_limit = core::Bytes(std::int64_t{8} << 30);
  const auto all = experiment::run(spec, {scratch.path("r"), {}, {}}, {});
  for (const auto& row : all.rows) CHECK(row.search_memory_bytes);
  spec.memory_limit = core::Bytes(0);
  const auto none = experiment::run(spec, {scratch.path("r"), {}, {}}, {});
  for (const auto& row : none.rows) CHECK(row.status.starts_with("memory full"));
}

TEST_CASE("searches that run one by one have threads and memory for themselves, and find the same") {
  if (!core::resident_memory()) return;
  const support::ScratchFolder scratch("run_one_by_one");
  auto spec = small_spec();
  const auto beside = experiment::run(spec, {scratch.path("a"), {}, {}}, {});
  spec.one_by_one = true;
  const auto alone = experiment::run(spec, {scratch.path("b"), {}, {}}, {});
  REQUIRE(alone.rows.size() == beside.rows.size());
  for (std::size_t i = 0; i < alone.rows.size(); ++i) {
    CHECK(alone.rows[i].search_memory_bytes);
    CHECK_FALSE(beside.rows[i].search_memory_bytes);
    CHECK(alone.rows[i].iteration_s == beside.rows[i].iteration_s);
  }
}

TEST_CASE("a follower runs cells and writes no results; the leader finds them") {
  const support::ScratchFolder scratch("run_follower");
  experiment::RunOptions options{scratch.path("r"), {}, {}};
  options.leader = false;
  CHECK(experiment::run(small_spec(), options, {}).rows.size() == 4);
  CHECK_FALSE(fs::exists(scratch.path("r/results.csv")));
  options.leader = true;
  options.progress = [](auto&&, auto&&, auto&&, bool cached) { CHECK(cached); };
  CHECK(experiment::run(small_spec(), options, {}).rows.size() == 4);
  CHECK(files(scratch.path("r")) == 6 + 4 * 4);
}

TEST_CASE("a cell that took processes down is tried last, so that it costs no other") {
  const support::ScratchFolder scratch("run_order");
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  std::atomic<bool> stop{false};
  experiment::RunOptions options{scratch.path("r"), {}, {}};
  std::vector<std::string> order;
  options.progress = [&](auto&&, auto&&, const auto& row, auto&&) {
    order.push_back(row.model + " " + row.planner);
    stop = true;
  };
  experiment::run(small_spec(), options, core::StopToken(&stop));
  REQUIRE(order == std::vector<std::string>{"case_study spp"});
  // Begun once and never finished, as if its process had died: what is in the cache of the cell that was
  // done.
  for (const auto& entry : fs::directory_iterator(scratch.path("r/.cache")))
    if (entry.path().extension() == ".cell") {
      core::write_file(fs::path(entry.path()).replace_extension(".part").string(), ".");
      fs::remove(entry.path());
    }
  order.clear();
  options.progress = [&](auto&&, auto&&, const auto& row, auto&&) {
    order.push_back(row.model + " " + row.planner);
  };
  experiment::run(small_spec(), options, {});
  CHECK(order == std::vector<std::string>{"case_study graphpipe", "candle_uno spp", "candle_uno graphpipe",
                                          "case_study spp"});
}

TEST_CASE("unfinished files of a killed run are removed, and two leaders do not write into one folder") {
  const support::ScratchFolder scratch("run_leftover");
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  waitpid(dead, nullptr, 0);
  core::write_file(scratch.path("r/plans/.penstock-" + std::to_string(dead) + "-0123456789abcdef.tmp"),
                   "half");
  core::write_file(scratch.path("r/plans/notes.tmp"), "a stranger's");
  const auto spec = small_spec();
  experiment::RunOptions options{scratch.path("r"), {}, {}};
  options.progress = [&](auto&&...) {
    CHECK_THROWS_AS(experiment::run(spec, {scratch.path("r"), {}, {}}, {}), core::BadInput);
  };
  CHECK(experiment::run(spec, options, {}).rows.size() == 4);
  CHECK(fs::remove(scratch.path("r/plans/notes.tmp")));
  CHECK(files(scratch.path("r")) == 6 + 4 * 4);
}

TEST_CASE("the results of one experiment do not go over those of another") {
  const support::ScratchFolder scratch("run_occupied");
  auto spec = small_spec();
  spec.summary = "four cells";
  const experiment::RunOptions options{scratch.path("r"), {}, {}};
  experiment::run(spec, options, {});
  CHECK(core::read_file(scratch.path("r/experiment.json")) ==
        "{\n  \"experiment\": \"small\",\n  \"summary\": \"four cells\"\n}\n");
  const auto before = lasting_files(scratch.path("r"));
  spec.name = "other";
  spec.cells.resize(1);
  std::string said;
  try {
    experiment::run(spec, options, {});
  } catch (const core::Error& e) {
    CHECK(e.code() == experiment::kOccupied);
    said = e.what();
  }
  CHECK(said.find("'small'") != said.npos);
  CHECK(said.find("'other'") != said.npos);
  CHECK(lasting_files(scratch.path("r")) == before);
}

TEST_CASE("files of cells that have no row any more go, those of others stay") {
  const support::ScratchFolder scratch("run_others");
  auto spec = small_spec();
  const experiment::RunOptions options{scratch.path("r"), {}, {}};
  CHECK(experiment::run(spec, options, {}).removed == 0);
  core::write_file(scratch.path("r/plans/mine.yaml"), "a: 1\n");
  spec.cells.resize(2);
  CHECK(experiment::run(spec, options, {}).removed == 2);
  CHECK(fs::exists(scratch.path("r/plans/mine.yaml")));
  CHECK(files(scratch.path("r")) == 6 + 2 * 4 + 1);
  spec.time_limit = core::Seconds(0);  // the same cells, without plans
  CHECK(experiment::run(spec, options, {}).removed == 0);
  CHECK(files(scratch.path("r")) == 6 + 2 * 1 + 1);
}

TEST_CASE("some cells are run, the others taken from the cache or left out") {
  const support::ScratchFolder scratch("run_only");
  experiment::RunOptions options{scratch.path("r"), {}, {}};
  std::vector<std::string> ran;
  options.began = [&](const report::CellResult& row) { ran.push_back(row.model + " " + row.planner); };
  std::size_t total = 0;
  options.progress = [&](std::size_t, std::size_t of, auto&&...) { total = of; };
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  options.only = {"model=candle_uno,planner=spp"};
  CHECK(experiment::forecast(small_spec(), options).size() == 1);
  CHECK(experiment::run(small_spec(), options, {}).rows.size() == 1);
  CHECK(total == 1);
  options.only = {"model=case_study,planner=spp", "model=case_study,planner=graphpipe"};
  CHECK(experiment::run(small_spec(), options, {}).rows.size() == 3);
  CHECK(total == 2);
  CHECK(ran == std::vector<std::string>{"candle_uno spp", "case_study spp", "case_study graphpipe"});
  CHECK(files(scratch.path("r")) == 6 + 3 * 4);
  for (const char* wrong : {"planer=spp", "planner=gpipe", "planner", ""}) {
    options.only = {wrong};
    CHECK_THROWS_AS(experiment::run(small_spec(), options, {}), core::BadInput);
  }
}

TEST_CASE("a process beside a leader that has died does its part") {
  const support::ScratchFolder scratch("run_leader");
  experiment::RunOptions options{scratch.path("r"), {}, {}};
  options.job = "job 7";
  experiment::run(small_spec(), options, {});
  options.leader = false;
  CHECK(experiment::run(small_spec(), options, {}).rows.size() == 4);
  fs::remove(scratch.path("r/results.csv"));
  CHECK_FALSE(experiment::run(small_spec(), options, {}).led);
  CHECK_FALSE(fs::exists(scratch.path("r/results.csv")));
  core::write_file(scratch.path("r/.cache/writer"), "writing job 7");  // and no process holds it
  CHECK(experiment::run(small_spec(), options, {}).led);
  CHECK(files(scratch.path("r")) == 6 + 4 * 4);
}

TEST_CASE("claims are judged when all cells have run") {
  const support::ScratchFolder scratch("run_claims");
  auto spec = small_spec();
  report::Claim claim;
  claim.what = "not slower";
  claim.paper.low = 1;
  claim.measure.column = "samples_per_s";
  claim.measure.of = {{"planner", {"graphpipe"}}};
  claim.measure.over = report::Selector{{"planner", {"spp"}}};
  spec.claims = {claim};
  CHECK(experiment::run(spec, {scratch.path("r"), {}, {}}, {}).claims.find("not slower") !=
        std::string::npos);
  CHECK(core::read_file(scratch.path("r/claims.csv")).find("not slower,,at least 1,") != std::string::npos);
  // A claim is no part of a cell: judged again on the cached results.
  spec.claims[0].paper.low = 2;
  spec.claims[0].measure.column = "search_s";  // of timings.csv
  experiment::RunOptions options{scratch.path("r"), {}, {}};
  options.progress = [](auto&&, auto&&, auto&&, bool cached) { CHECK(cached); };
  experiment::run(spec, options, {});
  CHECK(core::read_file(scratch.path("r/claims.csv")).find("not slower,,at least 2,") != std::string::npos);
}

TEST_CASE("an interrupted run judges no claim, because rows are missing") {
  const support::ScratchFolder scratch("run_claims_late");
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  auto spec = small_spec();
  report::Claim claim;
  claim.measure.column = "gap";
  claim.measure.of = {{"model", {"candle_uno"}}};
  spec.claims = {claim};
  std::atomic<bool> stop{false};
  experiment::RunOptions options{scratch.path("r"), {}, {}};
  options.progress = [&](auto&&...) { stop = true; };
  const auto outcome = experiment::run(spec, options, core::StopToken(&stop));
  CHECK(outcome.interrupted);
  CHECK(outcome.claims.empty());
  CHECK_FALSE(fs::exists(scratch.path("r/claims.csv")));
}

TEST_CASE("claims of an earlier run do not outlive its rows") {
  const support::ScratchFolder scratch("run_claims");
  experiment::RunOptions options;
  options.folder = scratch.path("out");
  experiment::Spec spec = small_spec();
  report::Claim claim;
  claim.measure.column = "samples_per_s";
  spec.claims = {claim};
  experiment::run(spec, options, {});
  for (const char* file : {"out/claims.csv", "out/claims.json"}) REQUIRE(fs::exists(scratch.path(file)));
  SUBCASE("interrupted before the end") {
    const std::atomic<bool> stopped{true};
    spec.cells.front().training.mini_batch *= 2;  // a cell that no run has finished
    experiment::run(spec, options, core::StopToken(&stopped));
  }
  SUBCASE("without claims") {
    spec.claims.clear();
    experiment::run(spec, options, {});
  }
  for (const char* file : {"out/claims.csv", "out/claims.json"}) CHECK_FALSE(fs::exists(scratch.path(file)));
}
