#include "penstock/plan/mesh.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace penstock;
using core::DeviceId;
using plan::Mesh;
using plan::MeshDim;
using Devices = std::vector<DeviceId>;

TEST_CASE("a mesh of three replicas of two devices: a group holds all coordinates of its dimension") {
  //             tensor 0   tensor 1
  //   data 0        4          5
  //   data 1        0          1
  //   data 2        6          7
  plan::Stage stage;
  for (const std::size_t d : {4, 5, 0, 1, 6, 7}) stage.devices.emplace_back(d);
  stage.tensor_parallel = 2;
  const Mesh mesh(stage);
  CHECK(mesh.extent(MeshDim::data) == 3);
  CHECK(mesh.extent(MeshDim::tensor) == 2);
  CHECK(mesh.coordinate(3, MeshDim::data) == 1);  // device 1
  CHECK(mesh.coordinate(3, MeshDim::tensor) == 1);
  CHECK(mesh.groups(MeshDim::data) == std::vector<Devices>{{DeviceId(4), DeviceId(0), DeviceId(6)},
                                                           {DeviceId(5), DeviceId(1), DeviceId(7)}});
  CHECK(mesh.groups(MeshDim::tensor) == std::vector<Devices>{{DeviceId(4), DeviceId(5)},
                                                             {DeviceId(0), DeviceId(1)},
                                                             {DeviceId(6), DeviceId(7)}});
  const auto replica = mesh.replica(2);
  CHECK(Devices(replica.begin(), replica.end()) == Devices{DeviceId(6), DeviceId(7)});
}

TEST_CASE("a mesh of two replicas of two context groups of two devices: tensor innermost, data outermost") {
  //            context 0   context 1
  //   data 0     0 1         2 3
  //   data 1     4 5         6 7
  plan::Stage stage;
  for (std::size_t d = 0; d < 8; ++d) stage.devices.emplace_back(d);
  stage.tensor_parallel = 2;
  stage.context_parallel = 2;
  CHECK(stage.replicas() == 2);
  CHECK(stage.weight_replicas() == 4);
  const Mesh mesh(stage);
  CHECK(mesh.coordinate(6, MeshDim::data) == 1);
  CHECK(mesh.coordinate(6, MeshDim::context) == 1);
  CHECK(mesh.coordinate(6, MeshDim::tensor) == 0);
  const auto numbers = [](const std::vector<Devices>& groups) {
    std::string out;
    for (const Devices& group : groups) {
      for (const DeviceId d : group) out += std::to_string(d.index());
      out += ' ';
    }
    return out;
  };
  CHECK(numbers(mesh.groups(MeshDim::tensor)) == "01 23 45 67 ");
  CHECK(numbers(mesh.groups(MeshDim::context)) == "02 13 46 57 ");
  CHECK(numbers(mesh.groups(MeshDim::data)) == "04 15 26 37 ");
  CHECK(numbers(mesh.groups({MeshDim::data, MeshDim::context})) == "0246 1357 ");  // equal weights
  CHECK(mesh.replica(1).size() == 4);
  CHECK(mesh.replica(1).front() == DeviceId(4));
}
