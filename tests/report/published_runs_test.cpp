#include "penstock/report/published_runs.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/report/published_errors.hpp"
#include "penstock/report/published_scatter.hpp"
#include "support/near.hpp"
#include "support/published_row.hpp"

using namespace penstock;
using support::near;
using support::published_csv;

namespace {

std::string refusal(const std::string& text) {
  try {
    (void)report::parse_published_runs(text, "runs.csv");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("two rows of one run, two columns of one name and fields without a column are refused") {
  CHECK(refusal(published_csv({{}, {{"id", "7"}}, {{"set", "other"}}})) == "");
  CHECK(refusal(published_csv({{{"id", "7"}}, {}, {{"id", "7"}}})) ==
        "runs.csv:4: id: '7' of set 'made_up' is in line 2 too: a run has one row");
  std::string twice = published_csv({{}});
  twice.replace(twice.find("note"), 4, "cluster");
  CHECK(refusal(twice) == "runs.csv:1: cluster: two columns have this name");
  CHECK(refusal(published_csv({{{"id", std::string("a\0b", 3)}}})) ==
        "runs.csv:2: the line is not UTF-8 text");
  std::string longer = published_csv({{}});
  longer.insert(longer.size() - 1, ",1");
  CHECK(refusal(longer) == "runs.csv:2: 34 fields under 33 columns");
}

TEST_CASE("a published run is read by the names of its columns") {
  const auto runs =
      report::parse_published_runs(published_csv({{}, {{"layers_per_stage", "1 3"}}}), "runs.csv");
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].line == 2);
  CHECK(runs[0].tp == 2);
  CHECK(runs[0].recompute == "full");
  CHECK(runs[0].measured_s == 0.5);
  CHECK(!runs[0].measured_gib);
  CHECK(runs[1].layers_per_stage == std::vector<std::int64_t>{1, 3});
  const auto mixture = report::parse_published_runs(published_csv({{{"block", "mixtral"},
                                                                    {"parameters", "experts=8  chosen=2"},
                                                                    {"devices", "16"},
                                                                    {"cp", "2"},
                                                                    {"dp", "2"},
                                                                    {"ep", "4"},
                                                                    {"vpp", "2"},
                                                                    {"schedule", "interleaved_1f1b"},
                                                                    {"layers_per_stage", "1 1 1 1"}}}),
                                                    "runs.csv");
  CHECK(mixture[0].parameters == std::map<std::string, std::string>{{"experts", "8"}, {"chosen", "2"}});
  CHECK(mixture[0].cp == 2);
  CHECK(mixture[0].ep == 4);
  CHECK(mixture[0].vpp == 2);
}

TEST_CASE("the column products names the format in which layers multiply") {
  const auto with = [](const std::string& products, const std::string& bytes) {
    std::string text = published_csv({{{"element_bytes", bytes}}});
    text.insert(text.find('\n'), ",products");
    text.insert(text.rfind('\n'), "," + products);
    return text;
  };
  const auto products = [&](const std::string& name) {
    return report::parse_published_runs(with(name, "2"), "runs.csv")[0].products;
  };
  CHECK(products("nvfp4") == graph::ProductFormat::nvfp4);
  CHECK(products("") == graph::ProductFormat::stored);
  CHECK(refusal(with("fp8", "2")).starts_with("runs.csv:2: products: expected"));
  CHECK(refusal(with("mxfp8", "4")) ==
        "runs.csv:2: products: expected element_bytes 2 beside a format of 8 or 4 bits");
}

TEST_CASE("context and expert degrees, virtual stages and parameters may be missing") {
  std::string text = published_csv({{}});
  for (const std::string column : {"cp", "ep", "vpp", "parameters"}) {
    const std::size_t at = text.find("," + column + ",");
    text.replace(at + 1, column.size(), "not_" + column);
  }
  const auto runs = report::parse_published_runs(text, "runs.csv");
  CHECK(runs[0].cp == 1);
  CHECK(runs[0].ep == 1);
  CHECK(runs[0].vpp == 1);
  CHECK(runs[0].parameters.empty());
}

TEST_CASE("a published run may name its framework") {
  const std::string plain = published_csv({{}});
  const auto with = [&](const std::string& framework) {
    std::string out = plain;
    out.insert(out.find('\n'), ",framework");
    out.insert(out.size() - 1, "," + framework);
    return out;
  };
  const auto framework = [](const std::string& csv) {
    return report::parse_published_runs(csv, "runs.csv")[0].framework;
  };
  CHECK(framework(plain) == "");
  CHECK(framework(with("")) == "");
  CHECK(framework(with("torchtitan+compiled")) == "torchtitan+compiled");
  CHECK(refusal(with("torchtitn")).find("runs.csv:2: framework: 'torchtitn' is no training framework") == 0);
}

TEST_CASE("a wrong published run is refused with file, line and column") {
  CHECK(refusal("set,id\na,b\n").starts_with("runs.csv:1: group: this column is missing"));
  CHECK(refusal("") == "runs.csv:1: expected rows of measured runs below a header");
  const auto of = [](const std::string& column, const std::string& value) {
    return refusal(published_csv({{}, {{column, value}}}));
  };
  CHECK(of("layers", "0").starts_with("runs.csv:3: layers: expected an integer from 1"));
  CHECK(of("hidden", "64.5").starts_with("runs.csv:3: hidden: expected an integer"));
  CHECK(of("block", "mamba") ==
        "runs.csv:3: block: expected gpt or llama or mixtral or deepseek_v3, not 'mamba'");
  CHECK(of("measured_s", "-1") == "runs.csv:3: measured_s: expected a number above zero, not '-1'");
  CHECK(of("measured_s", "0").starts_with("runs.csv:3: measured_s: expected a number above zero"));
  CHECK(of("measured_s", "") == "");  // only predicted
  CHECK(of("measured_s", "1e308") ==
        "runs.csv:3: measured_s: expected seconds of an iteration, at most 1e+06, not '1e308'");
  CHECK(of("measured_gib", "nan").starts_with("runs.csv:3: measured_gib: expected a number above zero"));
  CHECK(of("dp", "2") == "runs.csv:3: devices: tp x cp x pp x dp is 2 x 1 x 2 x 2 = 8, not 4");
  CHECK(of("cp", "2") == "runs.csv:3: devices: tp x cp x pp x dp is 2 x 2 x 2 x 1 = 8, not 4");
  CHECK(of("ep", "2") == "runs.csv:3: ep: 1 devices of equal weights are not groups of 2");
  CHECK(of("vpp", "2") == "runs.csv:3: schedule: 2 stages per rank are not 1f1b");
  CHECK(of("vpp", "3") == "runs.csv:3: layers_per_stage: 6 stages do not have 4 layers in all");
  CHECK(of("parameters", "experts") ==
        "runs.csv:3: parameters: expected NAME=VALUE, each name once, not 'experts'");
  CHECK(of("micro_batch", "3") ==
        "runs.csv:3: mini_batch: 1 replicas that take 3 at a time cannot share 8 samples");
  CHECK(of("layers_per_stage", "2 3") ==
        "runs.csv:3: layers_per_stage: 2 stages do not have 4 layers in all");
  CHECK(of("heads", "5") == "runs.csv:3: heads: 5 do not divide a width of 64");
  CHECK(of("kv_heads", "3") == "runs.csv:3: kv_heads: 3 do not divide 4 heads");
  CHECK(of("layers", "5") == "runs.csv:3: layers_per_stage: 2 stages do not have 5 layers in all");
}

TEST_CASE("errors by set: their size, their sign, the ranking in groups and what the choice costs") {
  auto runs = report::parse_published_runs(published_csv({{{"measured_s", "1"}},
                                                          {{"measured_s", "2"}},
                                                          {{"measured_s", "4"}, {"measured_gib", "10"}},
                                                          {{"set", "other"}, {"measured_s", "1"}}}),
                                           "runs.csv");
  const std::vector<report::PublishedPrediction> predictions = {
      {&runs[0], 1.1, 1}, {&runs[1], 1, 1}, {&runs[2], 4.8, 12}, {&runs[3], 1, 1}};
  const auto errors = report::published_errors(predictions);
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].runs == 3);
  CHECK(errors[0].mean == near((0.1 + 0.5 + 0.2) / 3));
  CHECK(errors[0].median == near(0.2));
  CHECK(errors[0].worst == near(0.5));
  CHECK(errors[0].bias == near((0.1 - 0.5 + 0.2) / 3));
  CHECK(*errors[0].tau == near(1.0 / 3));  // one of three pairs is ranked the other way
  CHECK(*errors[0].regret == near(1));     // the second run is chosen, the first is twice as fast
  CHECK(errors[0].memory_runs == 1);
  CHECK(*errors[0].memory == near(0.2));
  CHECK(!errors[1].tau);
  const std::string csv = report::published_errors_csv({{"as stated", predictions}});
  CHECK(csv.find("as stated,other,1,0,0,0,0,0,,,0,\n") != std::string::npos);
  CHECK(report::predictions_csv({{"as stated", predictions}}).find("made_up,1,4,as stated,1.1,0.1,1\n") !=
        std::string::npos);
}

TEST_CASE("a picture of predictions: a dot per run, those that are exact on the diagonal") {
  auto runs = report::parse_published_runs(
      published_csv(
          {{{"measured_s", "0.1"}}, {{"measured_s", "1"}}, {{"set", "a<b"}, {"measured_s", "0.1"}}}),
      "runs.csv");
  const std::vector<report::PublishedPrediction> predictions = {
      {&runs[0], 0.1, 1}, {&runs[1], 1, 1}, {&runs[2], 1, 1}};
  const std::string svg = report::published_scatter_svg(predictions, "Costs: made up");
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = svg.find(what); at != svg.npos; at = svg.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(count("r=\"3\"") == 3);
  CHECK(count("r=\"4\"") == 2);                                 // the legend's
  CHECK(count("<circle cx=\"70\" cy=\"530\" r=\"3\"/>") == 1);  // 0.1 s both ways: the origin
  CHECK(count("<circle cx=\"550\" cy=\"50\" r=\"3\"/>") == 1);  // 1 s both ways
  CHECK(count("<circle cx=\"70\" cy=\"50\" r=\"3\"/>") == 1);   // ten times as long
  CHECK(count(">0.2</text>") == 2);                             // a tick on either axis
  CHECK(count("a&lt;b: 1 run, 900.0 % off") == 1);
  // A single run has an axis too.
  CHECK(report::published_scatter_svg({{{&runs[1], 1, 1}}}, "one").find(">2</text>") != std::string::npos);
}
