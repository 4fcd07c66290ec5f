#include "penstock/report/column_choice.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/report/comparison.hpp"

using namespace penstock::report;
using penstock::core::BadInput;

namespace {

CellResult row(const std::string& planner, double samples_per_s) {
  CellResult out;
  out.model = "mmt";
  out.planner = planner;
  out.samples_per_s = samples_per_s;
  out.setting = "optimizer=adam";
  out.mfu = 0.5;
  return out;
}

std::vector<CellResult> rows() {
  std::vector out{row("spp", 10), row("graphpipe", 12.5)};
  add_ratios(out, "spp");
  return out;
}

std::string fault(const std::string& names) {
  try {
    parse_columns(names, rows());
  } catch (const BadInput& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("columns by name, in the given order, an axis of the experiment among them") {
  const std::vector names = parse_columns("planner,ratio,optimizer,mfu", rows());
  CHECK(to_csv(chosen_rows(rows(), names)) ==
        "planner,ratio,optimizer,mfu\nspp,,adam,0.5\ngraphpipe,1.25,adam,0.5\n");
  CHECK(chosen_table(rows(), names) ==
        "Planner    Ratio  Optimizer    MFU\n"
        "---------  -----  ---------  -----\n"
        "spp            -  adam       50.0%\n"
        "graphpipe  1.25x  adam       50.0%\n");
  const std::string json = chosen_json(rows(), names, {.version = "9"});
  CHECK(json.find("\"version\": \"9\"") != std::string::npos);
  CHECK(json.find("\"ratio\": 1.25") != std::string::npos);
}

TEST_CASE(
    "an unknown column gets a hint and the list; none, twice and a ratio without a baseline are refused") {
  CHECK(fault("model,mfuu")
            .starts_with("unknown column 'mfuu'; did you mean 'mfu'?\ncolumns: model, cluster, "));
  CHECK(fault("model,mfuu").ends_with("optimizer"));
  CHECK(fault("mfu,mfu") == "column 'mfu' is given twice");
  CHECK(fault("").starts_with("expected names of columns"));
  CHECK_THROWS_AS(parse_columns("ratio", std::vector{row("spp", 10)}), BadInput);
}

TEST_CASE("CSV and JSON have a ratio only on request") {
  const ColumnGroups with{.axes = true, .ratio = true};
  CHECK(to_csv(rows(), with).find(",samples_per_s,ratio,tokens_per_s,") != std::string::npos);
  CHECK(to_csv(rows()).find(",ratio,") == std::string::npos);
  CHECK(to_json(rows(), {}, with).find("\"ratio\": 1.25") != std::string::npos);
  CHECK(to_record(rows()[1]).find("\"ratio\"") == std::string::npos);
}
