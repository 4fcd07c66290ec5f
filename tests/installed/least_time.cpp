// A program outside the tree: plans MMT on eight devices and prints the time of an iteration.

#include <cstdio>
#include <penstock/experiment/cell.hpp>
#include <penstock/experiment/inputs.hpp>

int main() {
  using namespace penstock;
  const plan::ModelRef model{"mmt", {}};
  const plan::ClusterRef devices{"summit", 8, ""};
  const graph::OpGraph graph = experiment::load_model(model);
  const cluster::Cluster cluster = experiment::load_cluster(devices);
  const auto costs = experiment::load_costs({});
  const plan::Training training{128, plan::Optimizer::adam};

  try {
    const auto found = experiment::search({graph, cluster, *costs, training},
                                          {model, devices, {"graphpipe", {}}, training, {}}, {}, {});
    std::printf("%s %.17g\n", found.row.strategy->c_str(), *found.row.iteration_s);
  } catch (const core::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return static_cast<int>(e.code());
  }
}
