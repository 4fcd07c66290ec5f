#include "penstock/experiment/memory_verdict.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "penstock/core/files.hpp"
#include "penstock/report/csv_record.hpp"
#include "support/checkout.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using experiment::MemoryVerdict;

namespace {

/// Two devices of 1,000 bytes.
MemoryVerdict verdict(std::int64_t first, std::int64_t second) {
  trace::Summary summary;
  summary.devices.resize(2);
  summary.devices[0].peak = core::Bytes(first);
  summary.devices[1].peak = core::Bytes(second);
  return experiment::memory_verdict(support::tiny_cluster(2, 1000, 1e9), summary);
}

}  // namespace

TEST_CASE("a peak within the measured error of a device's memory is too close to decide") {
  CHECK(verdict(0, 952) == MemoryVerdict::fits);  // 952 * 1.05 = 999.6
  CHECK(verdict(0, 953) == MemoryVerdict::close);
  CHECK(verdict(953, 0) == MemoryVerdict::close);
  CHECK(verdict(1000, 5) == MemoryVerdict::close);
  CHECK(verdict(5, 1001) == MemoryVerdict::full);
}

TEST_CASE("the error of memory is that of the committed results, in whole percent") {
  const auto rows = report::csv_records(
      core::read_file(support::checkout("/results/measured_memory/errors.csv")), "errors.csv");
  REQUIRE(rows.front().text("tests") == "all");
  CHECK(std::round(rows.front().positive("mean") * 100) == std::round(experiment::kMemoryError * 100));
}

TEST_CASE("a line of text names a verdict that is not plain") {
  CHECK(experiment::verdict_note(MemoryVerdict::fits).empty());
  CHECK(experiment::verdict_note(MemoryVerdict::close) ==
        " (too close to say whether it fits: measured peaks differ by 5 %)");
  CHECK(experiment::verdict_note(MemoryVerdict::full) == " (does not fit)");
  CHECK(experiment::in_words(MemoryVerdict::close) == "too close to say");
}
