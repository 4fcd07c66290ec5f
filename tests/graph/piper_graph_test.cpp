#include "penstock/graph/piper_graph.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/graph/graph_file.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"
#include "support/reference_data.hpp"

using namespace penstock;
using namespace penstock::graph;

namespace {

/// body (id 2, degrees 1 and 2) feeds head (id 7); the file lists head first.
std::string two() {
  return core::read_file(support::checkout("/tests/fuzz/seeds/piper/two.json"));
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = two();
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void refuses(const std::string& text, const std::string& message) {
  CHECK_THROWS_WITH_AS(parse_piper(text, "w.json", PiperTime::seconds), message.c_str(), core::BadInput);
}

}  // namespace

TEST_CASE("piper workload: layers in topological order, sync bytes by edge end and degree") {
  const auto workload = parse_piper(two(), "w.json", PiperTime::seconds);
  REQUIRE(workload.layers.size() == 2);
  CHECK(workload.layers[0].name == "body");
  REQUIRE(workload.layers[0].degrees.size() == 2);
  const auto& plain = workload.layers[0].degrees[0];
  CHECK(plain.weights == 4);
  REQUIRE(plain.configurations.size() == 2);
  CHECK(plain.configurations[1].time == 3);
  CHECK(plain.configurations[1].per_micro_batch == 1);
  CHECK(plain.configurations[1].fixed == 12);
  REQUIRE(workload.edges.size() == 1);
  CHECK(workload.edges[0].bytes == 6);
  CHECK(workload.edges[0].leaving == std::vector<double>{0, 6});
  CHECK(workload.edges[0].entering == std::vector<double>{0});
  CHECK(workload.setting.devices == 4);
  CHECK(workload.setting.micro_batches == 8);
}

TEST_CASE("piper workload: the unit is the caller's word") {
  CHECK(parse_piper(two(), "w.json", PiperTime::milliseconds).layers[1].degrees[0].configurations[0].time ==
        support::near(0.004));
}

TEST_CASE("piper workload: faults are named with their key") {
  refuses("{", "w.json:1: not valid JSON: unexpected end of input; expected string literal");
  refuses("[]", "w.json: expected an object");
  refuses(with("\"bandwidth\": 10,", ""), "w.json: the key 'bandwidth' is missing");
  refuses(with("\"timePerSample\": 3", "\"timePerSample\": -3"),
          "w.json: nodes[1].TMPCs.1[1].timePerSample: expected a number from 0 to 1e+07, found -3");
  refuses(with("\"timePerSample\": 3", "\"timePerSample\": \"3\""),
          "w.json: nodes[1].TMPCs.1[1].timePerSample: expected a number");
  refuses(with("\"id\": 7", "\"id\": 2"), "w.json: nodes[1].id: a second node has this id");
  refuses(with("\"destId\": 7", "\"destId\": 8"), "w.json: edges[0].destId: no node has this id");
  refuses(with("\"destId\": 7", "\"destId\": 2"), "w.json: edges[0]: the edge joins a node with itself");
  refuses(with("\"syncTimeFw\": {\"2\": 0}", "\"syncTimeFw\": {}"),
          "w.json: nodes[0].TMPCs.1[0].syncTimeFw: expected one entry per edge");
  refuses(with("\"syncTimeFw\": {\"2\": 0}", "\"syncTimeFw\": {\"7\": 0}"),
          "w.json: nodes[0].TMPCs.1[0].syncTimeFw.7: no edge joins these nodes");
  refuses(with("\"2\": [{", "\"x\": [{"),
          "w.json: nodes[1].TMPCs.x: expected a whole number from 1 to 10000 as key");
  refuses(with("\"activation recomp\"", "\"vanilla\""),
          "w.json: nodes[1].TMPCs.1[1].id: a second configuration has this id");
  refuses(with("\"parameterSize\": 4, \"memoryUsageA\": 1", "\"parameterSize\": 5, \"memoryUsageA\": 1"),
          "w.json: nodes[1].TMPCs.1[1]: the configurations of a degree differ in weights or sync bytes");
  refuses(with("\"communicationCost\": 6}",
               "\"communicationCost\": 6}, {\"sourceId\": 2, \"destId\": 7, \"communicationCost\": 6}"),
          "w.json: edges[1]: the edge appears twice");
  refuses(with("\"communicationCost\": 6}",
               "\"communicationCost\": 6}, {\"sourceId\": 7, \"destId\": 2, \"communicationCost\": 6}"),
          "w.json: edges: model piper: the operators form a cycle: head -> body -> head");
  refuses(with("\"mbsInBatch\": 8", "\"mbsInBatch\": 0"),
          "w.json: mbsInBatch: expected a whole number from 1 to 16777216");
  refuses(with("\"communicationCost\": 6", "\"communicationCost\": 1e999"),
          "w.json: not valid JSON: a number is too large");
}

TEST_CASE("piper workload: repeated names get their ids, and become a model") {
  const auto workload = parse_piper(with("\"head\"", "\"body\""), "w.json", PiperTime::seconds);
  CHECK(workload.layers[0].name == "body_2");
  CHECK(workload.layers[1].name == "body_7");
  const auto model = op_graph_of(workload, "two");
  CHECK(model.parameters() == 3);  // (4 + 8) / 4
  CHECK(model.op(core::OpId(0)).output_bytes == core::Bytes(6));
  CHECK(model.op(core::OpId(0)).saved_bytes == core::Bytes(5));
  CHECK(parse_graph(to_json(model), "again").size() == 2);
}

TEST_CASE("piper workload: the published files") {
  const std::string folder = support::reference_data("piper");
  if (folder.empty()) return;
  const auto bert = load_piper(folder + "/bert32a100.json", PiperTime::seconds);
  CHECK(bert.layers.size() == 37);
  CHECK(bert.edges.size() == 67);
  double time = 0;
  for (const auto& layer : bert.layers) time += layer.degrees.front().configurations.front().time;
  CHECK(time == support::near(0.972864));
  CHECK(load_piper(folder + "/resnet.json", PiperTime::milliseconds).edges.size() == 193);
}
