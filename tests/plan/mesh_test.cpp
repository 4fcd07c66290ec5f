#include "penstock/plan/mesh.hpp"

#include <doctest/doctest.h>

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
