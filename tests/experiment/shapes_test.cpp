#include "penstock/experiment/shapes.hpp"

#include <doctest/doctest.h>

#include "penstock/core/files.hpp"
#include "support/checkout.hpp"
#include "support/scratch.hpp"

using namespace penstock;

namespace {

/// On 6 devices per node of summit.
std::vector<experiment::ModelShapes> shapes_of(const std::string& models, const std::string& rest) {
  const support::ScratchFolder scratch("shapes_test");
  core::write_file(scratch.path("e.yaml"), "experiment: e\nmodels:\n" + models + "clusters:\n  - {file: " +
                                               support::checkout("/experiments/clusters/summit.yaml") +
                                               ", devices: [4]}\n" + rest);
  return experiment::shapes(experiment::load_grid(scratch.path("e.yaml")));
}

using Samples = std::set<std::int64_t>;
using Degrees = std::set<int>;

}  // namespace

TEST_CASE("every micro-batch size that planners try, whole and divided among replicas") {
  // 24 is divided by 1, 2, 4 and 8
  const auto found = shapes_of("  - {name: mmt, mini_batch: [24]}\n", "planners: [spp]\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].model.name == "mmt");
  CHECK(found[0].samples == Samples{1, 2, 4, 8});
  CHECK(found[0].tensor_degrees.empty());
}

TEST_CASE("a size pinned for the pipeline is divided, one of a replica is not") {
  const std::string model = "  - {name: mmt, mini_batch: [24]}\n", spp = "planners: [spp]\n";
  CHECK(shapes_of(model, spp + "pipeline_micro_batch: 12\n")[0].samples == Samples{12, 6, 3});
  CHECK(shapes_of(model, spp + "pipeline_micro_batch: 12\nsearch: {any_degree: true}\n")[0].samples ==
        Samples{12, 6, 4, 3});
  CHECK(shapes_of(model, spp + "micro_batch: 6\n")[0].samples == Samples{6});
}

TEST_CASE("degrees of planners that divide operators, up to a node and their own limit") {
  const std::string model = "  - {name: mmt, mini_batch: [4]}\n";
  CHECK(shapes_of(model, "planners: [spp, megatron]\n")[0].tensor_degrees == Degrees{2, 4});
  CHECK(shapes_of(model, "planners: [megatron: {max_tensor_parallel: 2}]\n")[0].tensor_degrees == Degrees{2});
  CHECK(shapes_of(model, "planners: [joint, joint: {max_tensor_parallel: 1}]\n")[0].tensor_degrees ==
        Degrees{2, 4});
  CHECK(shapes_of(model, "planners: [joint: {max_tensor_parallel: 1}]\n")[0].tensor_degrees.empty());
}

TEST_CASE("models with other parameters are others, and costs need not be there yet") {
  const auto found = shapes_of(
      "  - {name: mmt, mini_batch: [2]}\n  - {name: mmt, parameters: {branches: 2}, mini_batch: [4, 8]}\n",
      "planners: [spp]\ncosts: not_there_yet.yaml\n");
  REQUIRE(found.size() == 2);
  CHECK(found[0].samples == Samples{1, 2});
  CHECK(found[1].model.parameters.at("branches") == "2");
  CHECK(found[1].samples == Samples{1, 2, 4, 8});
}
