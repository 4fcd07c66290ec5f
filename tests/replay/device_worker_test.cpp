// What a worker refuses, and what it says.

#include "penstock/replay/device_worker.hpp"

#include <doctest/doctest.h>

#include "cut_model.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/schedule/plan_order.hpp"

using namespace penstock;
using replay::test::cut_model;
using replay::test::CutModel;

namespace {

const std::map<std::string, std::string> kGpt = {
    {"vocabulary", "13"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "3"}};

std::unique_ptr<replay::DeviceWorker> first_worker(kernels::Backend& host, const CutModel& cut,
                                                   const replay::Program& program) {
  return make_worker(host, cut.problem(), cut.plan, core::DeviceId(0), program, {});
}

}  // namespace

TEST_CASE("parameters shared by two stages are refused, by one are not") {
  const auto host = kernels::open_device("host", 1);
  const CutModel cut = cut_model(models::build("gpt", kGpt), {});
  const auto program = replay::lower(cut.graph, cut.plan, schedule::plan_order(cut.plan));
  CHECK_THROWS_WITH_AS(first_worker(*host, cut, program),
                       "operator 'head' of stage 2 shares parameters with 'token.embedding' of stage 0; that "
                       "is not replayed",
                       core::BadInput);
  const CutModel whole = cut_model(models::build("gpt", kGpt), {.rank = {0}});
  const auto alone = replay::lower(whole.graph, whole.plan, schedule::plan_order(whole.plan));
  CHECK_NOTHROW(first_worker(*host, whole, alone));
}

TEST_CASE("a device without room says who asked for it") {
  const auto host = kernels::open_device("host", 1);
  CutModel cut = cut_model(models::build("gpt", kGpt), {.rank = {0}});
  cut.cluster = support::tiny_cluster(1, 1000);
  const auto program = replay::lower(cut.graph, cut.plan, schedule::plan_order(cut.plan));
  CHECK_THROWS_WITH_AS(
      first_worker(*host, cut, program),
      "out of memory on device 0: operator 'position.embedding': table wants 96.0 B, and 928 "
      "B of 1000 B are in use",
      core::Error);
}
