#include "penstock/report/results.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "penstock/core/error.hpp"

using namespace penstock::report;

namespace {

CellResult solved() {
  CellResult row;
  row.model = "mmt", row.cluster = "summit", row.devices = 8, row.planner = "graphpipe", row.mini_batch = 64;
  row.strategy = "PP4 (5 stages, depth 3) x DP1-4, 1F1B, mb 4";
  row.pipeline_parallel = 4, row.data_parallel = {1, 4}, row.tensor_parallel = {1, 1}, row.zero = {0, 0};
  row.recompute = 2, row.micro_batch = {4, 4}, row.stages = 5, row.depth = 3, row.schedule = "1f1b";
  row.estimate_s = 0.1, row.iteration_s = 0.25, row.estimate_error = -0.6;
  row.lower_bound_s = 0.2, row.gap = 0.25, row.samples_per_s = 256.0, row.tokens_per_s = 512.0;
  row.tflops_per_device = 7.5, row.mfu = 0.5, row.bubble = 1.0 / 3, row.peak_memory_bytes = 17179869184;
  row.search_s = 1e-7, row.states = 12, row.search_memory_bytes = 4096, row.costs = "analytic";
  row.status = "ok";
  return row;
}

CellResult failed() {
  CellResult row;
  row.model = "candle, \"uno\"";
  row.cluster = "summit";
  row.status = "infeasible: stage 0\nneeds more";
  return row;
}

}  // namespace

TEST_CASE("the CSV has fixed columns, shortest numbers and RFC 4180 quotes") {
  const CellResult rows[] = {solved(), failed()};
  CHECK(
      to_csv(rows) ==
      "model,cluster,devices,planner,mini_batch,strategy,pipeline_parallel,data_parallel,tensor_parallel,"
      "zero,recompute,micro_batch,stages,depth,schedule,estimate_s,iteration_s,estimate_error,"
      "lower_bound_s,gap,samples_per_s,tokens_per_s,tflops_per_device,mfu,bubble,peak_memory_bytes,search_s,"
      "judging_s,states,search_memory_bytes,costs,status\n"
      "mmt,summit,8,graphpipe,64,\"PP4 (5 stages, depth 3) x DP1-4, 1F1B, mb 4\",4,1-4,1,0,2,4,5,3,1f1b,0.1,"
      "0.25,-0.6,0.2,0.25,256,512,7.5,0.5,0.3333333333333333,17179869184,1e-07,,12,4096,analytic,ok\n"
      "\"candle, \"\"uno\"\"\",summit,0,,0,,,,,,,,,,,,,,,,,,,,,,,,,,,\"infeasible: stage 0\nneeds more\"\n");
}

TEST_CASE("an empty first cell still keeps its comma") {
  const CellResult rows[] = {CellResult{}};
  std::istringstream lines(to_csv(rows));
  std::string header, row;
  std::getline(lines, header), std::getline(lines, row);
  CHECK(row == ",,0,,0" + std::string(27, ','));
}

TEST_CASE("JSON carries the provenance and null for what is missing") {
  Provenance provenance;
  provenance.version = "0.1.0";
  provenance.dirty = true;
  provenance.libraries = {{"tbb", "2021.8"}, {"fmt", "9.1"}};
  provenance.seed = std::numeric_limits<std::uint64_t>::max();
  const CellResult rows[] = {solved(), failed()};
  const auto json = nlohmann::json::parse(to_json(rows, provenance));
  CHECK(json["provenance"]["dirty"] == true);
  CHECK(json["provenance"]["libraries"]["fmt"] == "9.1");
  CHECK(json["provenance"]["seed"] == provenance.seed);
  CHECK(json["results"][0]["bubble"] == 1.0 / 3);
  CHECK(json["results"][1]["bubble"].is_null());
  CHECK(json["results"][1]["model"] == "candle, \"uno\"");
}

TEST_CASE("a text that is no number is no value in either form") {
  CellResult row = solved();
  row.estimate_s = std::numeric_limits<double>::infinity();
  const CellResult rows[] = {row};
  CHECK(to_csv(rows).find(",1f1b,,0.25,") != std::string::npos);
  CHECK(nlohmann::json::parse(to_json(rows, {}))["results"][0]["estimate_s"].is_null());
}

TEST_CASE("JSON survives text that is not UTF-8") {
  CellResult row = solved();
  row.model = "caf\xe9";
  const CellResult rows[] = {row};
  CHECK(nlohmann::json::parse(to_json(rows, {}))["results"][0]["model"] == "caf\xef\xbf\xbd");
}

TEST_CASE("JSON reads back: the same rows and provenance give the same text") {
  Provenance provenance;
  provenance.commit = "abc";
  provenance.libraries = {{"tbb", "2021.8"}};
  provenance.seed = std::numeric_limits<std::uint64_t>::max();
  const CellResult rows[] = {solved(), failed()};
  const std::string text = to_json(rows, provenance);
  const ResultSet back = parse_results(text, "results.json");
  CHECK(to_json(back.rows, back.provenance) == text);
  CHECK(to_csv(back.rows) == to_csv(rows));
}

TEST_CASE("a property of stages is one number if they agree, otherwise the least and the most") {
  const CellResult rows[] = {solved()};
  const auto json = nlohmann::json::parse(to_json(rows, {}))["results"][0];
  CHECK(json["micro_batch"] == 4);
  CHECK(json["data_parallel"] == "1-4");
  const CellResult back = parse_record(to_record(rows[0]));
  CHECK(back.data_parallel == penstock::plan::ValueRange{1, 4});
  CHECK(back.micro_batch == penstock::plan::ValueRange{4, 4});
  for (const char* text : {"", "-", "4-", "4-1", "1-4x", "-1", "1.5"}) {
    auto odd = json;
    odd["micro_batch"] = text;
    CHECK_THROWS_AS(parse_record(odd.dump()), penstock::core::BadInput);
  }
}

TEST_CASE("a results file with a fault is refused with its place") {
  const auto fault = [](const std::string& text) -> std::string {
    try {
      parse_results(text, "r.json");
    } catch (const penstock::core::BadInput& e) {
      return e.what();
    }
    return "";
  };
  const CellResult rows[] = {solved()};
  auto json = nlohmann::json::parse(to_json(rows, {}));
  CHECK(fault(json.dump()).empty());
  json["results"][0].erase("gap");  // a row can do without
  CHECK(fault(json.dump()).empty());
  json["results"][0]["stages"] = 2.5;
  CHECK(fault(json.dump()).find("r.json: results[0].stages: expected a whole number") == 0);
  json["results"][0].erase("stages");
  json["results"][0].erase("planner");
  CHECK(fault(json.dump()).find("r.json: results[0]: 'planner' is missing") == 0);
  CHECK(fault("[]").find("r.json: results: this is no results file") == 0);
  CHECK(fault("{\"provenance\": {\"version\": 1}, \"results\": []}").find("r.json: provenance.version: ") ==
        0);
  CHECK(fault("{\"provenance\": {}, \"results\": []}").find("r.json: provenance: 'version' is missing") == 0);
  CHECK(fault("{").find("r.json:1: not valid JSON") == 0);
}

TEST_CASE("lasting and measured columns are separate, each with the subject of the row") {
  CellResult row = solved();
  row.setting = "network=fifo";
  row.date = "2000-01-01T00:00:00Z";
  const CellResult rows[] = {row};
  const ColumnGroups lasting{.axes = true, .measured = false},
      timings{.axes = true, .results = false, .origin = true};
  CHECK(to_csv(rows, timings) ==
        "model,cluster,devices,planner,mini_batch,setting,search_s,judging_s,search_memory_bytes,date,"
        "hardware\n"
        "mmt,summit,8,graphpipe,64,network=fifo,1e-07,,4096,2000-01-01T00:00:00Z,\n");
  CHECK(to_csv(rows, lasting).starts_with("model,cluster,devices,planner,mini_batch,setting,strategy,"));
  CHECK(to_csv(rows, lasting).find("search_s") == std::string::npos);
  CHECK(nlohmann::json::parse(rows_json(rows, lasting))["results"][0]["setting"] == "network=fifo");
}

TEST_CASE("a record holds every column, and nothing else is read as one") {
  CellResult row = solved();
  row.setting = "optimizer=adam";
  row.hardware = "a machine";
  CHECK(to_record(parse_record(to_record(row))) == to_record(row));
  CHECK(*parse_record(to_record(row)).bubble == 1.0 / 3);
  CHECK_FALSE(parse_record(to_record(row)).judging_s);
  CHECK_THROWS_AS(parse_record("{}"), penstock::core::BadInput);
  CHECK_THROWS_AS(parse_record("{\"model\": 3}"), penstock::core::BadInput);
}

TEST_CASE("rows and provenance in files of their own read back too") {
  Provenance provenance;
  provenance.version = "0.1.0";
  provenance.seed = 7;
  CellResult row = solved();
  row.setting = "network=fifo";
  const CellResult rows[] = {row, failed()};
  const ColumnGroups lasting{.axes = true, .measured = false};
  const std::string text = rows_json(rows, lasting);
  const ResultSet back = parse_results(text, "results.json");
  CHECK(rows_json(back.rows, lasting) == text);
  CHECK(back.provenance.version.empty());
  CHECK(to_json(parse_provenance(to_json(provenance), "provenance.json")) == to_json(provenance));
  CHECK_THROWS_WITH_AS(parse_provenance("[]", "provenance.json"), "provenance.json: expected an object",
                       penstock::core::BadInput);
}

TEST_CASE("columns of a CSV find the rows that are about the same, whatever their order") {
  CellResult row = solved(), other = solved();
  other.setting = "network=fifo";
  other.search_s = 2;
  other.hardware = "two lines,\n\"one\" machine";
  const CellResult written[] = {failed(), other, row};
  const ColumnGroups timings{.axes = true, .results = false, .origin = true};
  const std::string csv = to_csv(written, timings);
  row.search_s = other.search_s = {};
  other.hardware.clear();
  std::vector<CellResult> rows = {row, other};
  add_columns(rows, csv, "timings.csv");
  CHECK(*rows[0].search_s == 1e-7);
  CHECK(rows[0].hardware.empty());
  CHECK(*rows[0].search_memory_bytes == 4096);
  CHECK_FALSE(rows[0].judging_s);
  CHECK(*rows[0].bubble == 1.0 / 3);  // not a column of the CSV: it stays
  CHECK(*rows[1].search_s == 2);
  CHECK(rows[1].hardware == "two lines,\n\"one\" machine");
  CHECK(rows.size() == 2);
}

TEST_CASE("a CSV with a fault is refused with its line and column") {
  const auto fault = [](const std::string& text) -> std::string {
    std::vector<CellResult> rows = {solved()};
    try {
      add_columns(rows, text, "t.csv");
    } catch (const penstock::core::BadInput& e) {
      return e.what();
    }
    return "";
  };
  const std::string head = "model,cluster,devices,planner,mini_batch,search_s\n",
                    row = "mmt,summit,8,graphpipe,64,";
  CHECK(fault(head + row + "2\r\n").empty());
  CHECK(fault(head + "\n" + row + "1\n" + row + "fast\n").find("t.csv:4: search_s: expected a number") == 0);
  CHECK(fault(head + row + "inf\n").find("t.csv:2: search_s: expected a number") == 0);
  CHECK(fault(head + "mmt,summit,many,graphpipe,64,2\n").find("t.csv:2: devices: expected a number") == 0);
  CHECK(fault(head + "mmt\n") == "t.csv:2: 'cluster' is missing");
  CHECK(fault("") == "t.csv:1: expected a header");
}

TEST_CASE(
    "for claims further axes are columns that name a row; a result of that name gives way to what was "
    "asked") {
  CellResult row = solved(), other = row;
  row.setting = "micro_batch=4 network=fifo";
  other.setting = "micro_batch=8 network=fair";
  other.micro_batch.reset();  // without a plan
  const CellResult both[] = {row, other};
  const TextRows rows = to_rows(both);
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(rows.columns.begin(), rows.columns.end(), name) -
                                    rows.columns.begin());
  };
  CHECK(rows.axes == std::vector<std::string>{"model", "cluster", "devices", "planner", "mini_batch",
                                              "micro_batch", "network"});
  CHECK(rows.columns.size() == to_rows({}).columns.size() + 1);  // micro_batch is there without
  for (const auto& cells : rows.cells) CHECK(cells.size() == rows.columns.size());
  CHECK(rows.cells[0][column("network")] == "fifo");
  CHECK(rows.cells[1][column("micro_batch")] == "8");
  CHECK(rows.cells[1][column("schedule")] == "1f1b");
}
