// A results file and a table of replays of any bytes are read or refused. Accepted results can be written and
// read again.

#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/report/replay_rows.hpp"
#include "penstock/report/results.hpp"

using namespace penstock;

namespace {

void check_results(const std::string& text) {
  std::string once;
  try {
    const report::ResultSet read = report::parse_results(text, "fuzz");
    once = report::to_json(read.rows, read.provenance);
  } catch (const core::BadInput&) {
    return;
  }
  const report::ResultSet again = report::parse_results(once, "fuzz");  // a refusal here is a fault
  core::require(report::to_json(again.rows, again.provenance) == once, "results read back the same");
}

void check_replays(const std::string& text) {
  try {
    report::to_csv(report::parse_replay_rows(text, "fuzz"));
  } catch (const core::BadInput&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_results(text);
  check_replays(text);
  return 0;
}
