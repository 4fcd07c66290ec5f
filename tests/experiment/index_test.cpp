#include "penstock/experiment/index.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/schedule_study.hpp"
#include "support/checkout.hpp"
#include "support/scratch.hpp"

using namespace penstock;

TEST_CASE(
    "the index lists folders with results by name, verdicts counted, reasons for what is not reproduced") {
  const support::ScratchFolder scratch("index");
  core::write_file(scratch.path("b/results.json"), R"({"results": [{"x": 1}, {"x": 2}]})");
  core::write_file(scratch.path("a/one.json"), R"({"provenance": {}, "results": [{}]})");
  core::write_file(scratch.path("hardware/gpu.yaml"), "x: 1\n");  // no results
  core::write_file(scratch.path("b/claims.json"), R"({"experiment": "b", "summary": "this | that", "claims": [
    {"claim": "fast", "source": "Fig. 1", "paper": [1.5, 1.5], "ours": [1.25, 1.25], "verdict": "same direction",
     "reason": "slower links"},
    {"claim": "all", "source": "Fig. 2", "paper": [9, null], "ours": null, "verdict": "ambiguous", "reason": ""}]})");
  const std::string text = experiment::results_index(scratch.path(""));
  CHECK(text.find("| [a](a/) |  | 1 | 0 | 0 | 0 | 0 |\n"
                  "| [b](b/) | this \\| that | 2 | 0 | 1 | 0 | 1 |\n") != std::string::npos);
  CHECK(
      text.ends_with("## b\n\n| claim | source | paper | ours | verdict |\n| --- | --- | --- | --- | --- |\n"
                     "| fast | Fig. 1 | 1.5 | 1.25 | same direction: slower links |\n"
                     "| all | Fig. 2 | at least 9 | - | ambiguous |\n"));
  CHECK(text.find("hardware") == std::string::npos);
  core::write_file(scratch.path("b/claims.json"), "{}");
  CHECK_THROWS_AS(experiment::results_index(scratch.path("")), core::BadInput);
  CHECK_THROWS_AS(experiment::results_index(scratch.path("none")), core::BadInput);
}

TEST_CASE("names and claims begin no HTML, and folders with blanks have addresses") {
  const support::ScratchFolder scratch("index_html");
  core::write_file(scratch.path("a <b> c/results.json"), R"({"results": [{"x": 1}]})");
  core::write_file(scratch.path("a <b> c/claims.json"),
                   R"({"experiment": "b", "summary": "<img src=x>", "claims": [
    {"claim": "< 5 %", "source": "s", "paper": null, "ours": null, "verdict": "ambiguous", "reason": "<i>"}]})");
  const std::string text = experiment::results_index(scratch.path(""));
  CHECK(text.find("| [a &lt;b> c](a%20%3Cb%3E%20c/) | &lt;img src=x> | 1 |") != std::string::npos);
  CHECK(text.find("| &lt; 5 % | s | - | - | ambiguous: &lt;i> |") != std::string::npos);
  CHECK(text.find('<') == std::string::npos);
}

TEST_CASE("a row that nests without end is refused") {
  const support::ScratchFolder scratch("index_deep");
  constexpr std::size_t kDeep = 1'000'000;
  core::write_file(scratch.path("a/results.json"),
                   R"({"results": [)" + std::string(kDeep, '[') + std::string(kDeep, ']') + "]}");
  CHECK_THROWS_AS(experiment::results_index(scratch.path("")), core::BadInput);
}

TEST_CASE("every experiment file can run, its claims have rows, and it is named after its results folder") {
  for (const auto& entry : std::filesystem::directory_iterator(support::checkout("/experiments"))) {
    const std::string file = entry.path().string();
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(file);
    const bool schedules = experiment::is_schedule_study(core::read_file(file), file);
    const std::string name =
        schedules ? experiment::load_schedule_study(file).name : experiment::load_spec(file).name;
    CHECK(name == entry.path().stem().string());
  }
}
