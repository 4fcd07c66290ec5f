// File calls fail while an experiment runs: it reports that, and the next run, in peace, ends with the
// results of one that was never disturbed.

#include "penstock/experiment/run.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "file_calls.hpp"
#include "penstock/core/files.hpp"
#include "support/scratch.hpp"
#include "support/tiny_cells.hpp"

using namespace penstock;
using faults::CallMishap;
namespace fs = std::filesystem;

namespace {

experiment::Spec tiny_spec() {
  experiment::Spec spec;
  spec.name = "tiny";
  for (const char* planner : {"graphpipe", "spp"}) spec.cells.push_back(support::tiny_cell(planner, 2));
  return spec;
}

/// Path to content of what does not depend on machine and day.
std::map<std::string, std::string> lasting_files(const std::string& folder) {
  std::map<std::string, std::string> out;
  if (!fs::exists(folder)) return out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = fs::relative(entry.path(), folder).string();
    const bool lasting = !path.starts_with(".cache/") && path != "timings.csv" && path != "provenance.json";
    if (entry.is_regular_file() && lasting) out[path] = core::read_file(entry.path().string());
  }
  return out;
}

struct RunDisturbance {
  bool needed = false;   ///< it makes as many calls
  bool refused = false;  ///< an input could not be read: its cells are rows that report it
};

/// Runs with the n-th file call failing.
RunDisturbance disturbed(const experiment::Spec& spec, const std::string& folder, std::int64_t n, int error) {
  RunDisturbance out;
  const faults::FileTrouble trouble(CallMishap::fails, n, error);
  try {
    for (const auto& row : experiment::run(spec, {folder, {}, {}}, {}).rows)
      out.refused |= row.status != "ok";
  } catch (const core::BadInput&) {
  } catch (const fs::filesystem_error&) {
  }
  out.needed = trouble.asked() >= n;
  return out;
}

}  // namespace

TEST_CASE("a run that a file call failed goes on later as if nothing had been") {
  const experiment::Spec spec = tiny_spec();
  const support::ScratchFolder scratch("run_violations");
  const std::string peaceful = scratch.path("peaceful");
  experiment::run(spec, {peaceful, {}, {}}, {});
  const auto expected = lasting_files(peaceful);
  REQUIRE(expected.size() > 8);
  RunDisturbance now{true};
  for (std::int64_t n = 1; now.needed; n += 1 + n / 5) {
    CAPTURE(n);
    now = disturbed(spec, scratch.path("out"), n, n % 2 ? EIO : ENOSPC);
    if (!now.refused) {
      for (const auto& [path, content] : lasting_files(scratch.path("out"))) {
        CAPTURE(path);
        REQUIRE(expected.contains(path));
        const bool table = path.find('/') == path.npos;  // of the cells that are done
        CHECK((table || content == expected.at(path)));  // what is there is whole
      }
      const auto again = experiment::run(spec, {scratch.path("out"), {}, {}}, {});
      CHECK(again.rows.size() == spec.cells.size());
      CHECK(lasting_files(scratch.path("out")) == expected);
    }
    fs::remove_all(scratch.path("out"));
  }
}
