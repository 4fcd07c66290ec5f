// Results in the repository are what the code gives.

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "penstock/core/files.hpp"
#include "penstock/experiment/schedule_study.hpp"
#include "support/checkout.hpp"
#include "support/scratch.hpp"

using namespace penstock;

namespace {

std::vector<std::string> lines(const std::string& path) {
  std::istringstream in(core::read_file(path));
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace

TEST_CASE("committed studies of schedules are made again, byte for byte") {
  for (const std::string name : {"zero_bubble", "v_schedules", "schedule_families"}) {
    const support::ScratchFolder scratch("committed_test");
    const auto study = experiment::load_schedule_study(support::checkout("/experiments/" + name + ".yaml"));
    experiment::run(study, scratch.path("made"), {});
    for (const char* file : {"results.csv", "results.json", "table.txt", "claims.csv", "claims.json"}) {
      const std::string committed = support::checkout("/results/" + name + "/" + file);
      CAPTURE(committed);
      const auto made = lines(scratch.path("made/" + std::string(file))), kept = lines(committed);
      REQUIRE(made.size() == kept.size());
      for (std::size_t l = 0; l < made.size(); ++l) CHECK(made[l] == kept[l]);
    }
  }
}

TEST_CASE("README's picture of the committed quickstart's plan is drawn again by tools/page_picture") {
  const std::string picture = core::read_file(support::checkout("/results/report.png"));
  const std::string key("samples_per_s\0", 14);
  const auto at = picture.find(key);
  REQUIRE(at != std::string::npos);
  const std::string rate = picture.substr(
      at + key.size(), picture.find_first_not_of("0123456789.e+-", at + key.size()) - at - key.size());
  bool found = false;
  for (const std::string& line : lines(support::checkout("/results/quickstart/results.csv")))
    found |= line.find("," + rate.substr(0, 12)) != std::string::npos &&
             line.find(",8,graphpipe,") != std::string::npos;
  CAPTURE(rate);
  CHECK(found);
}
