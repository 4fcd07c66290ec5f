// Names of CUDA devices and partitions, and who gets which.

#include "kernels/device_name.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "penstock/core/error.hpp"

using namespace penstock;
using kernels::CudaName;

namespace {

std::vector<std::string> spread(std::size_t count, std::size_t gpus) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(to_string(kernels::spread(i, {0, count, count}, gpus)));
  return out;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a name identifies the device, and how many equal partitions it is one of") {
  CHECK(kernels::cuda_name("cuda:0") == CudaName{0, 0});
  CHECK(kernels::cuda_name("cuda:12") == CudaName{12, 0});
  CHECK(kernels::cuda_name("cuda:1/1") == CudaName{1, 1});
  CHECK(kernels::cuda_name("cuda:0/16") == CudaName{0, 16});
  CHECK(kernels::cuda_name("cuda:0/256") == CudaName{0, 256});
  for (const char* name : {"cuda:0", "cuda:3", "cuda:0/1", "cuda:7/4"})
    CHECK(to_string(kernels::cuda_name(name)) == name);
}

TEST_CASE("an invalid name is refused, and its wrong half is named") {
  for (const char* name : {"cuda:", "cuda:x", "cuda:-1", "cuda:/2", "cuda: 1", "cuda:99999999999"})
    CHECK_THROWS_WITH_AS(kernels::cuda_name(name), "'cuda:' is followed by a number from 0", core::BadInput);
  for (const char* name :
       {"cuda:0/", "cuda:0/0", "cuda:0/-2", "cuda:0/2/2", "cuda:0/x", "cuda:0/257", "cuda:0/99999999999"})
    CHECK_THROWS_WITH_AS(kernels::cuda_name(name),
                         "'/' is followed by how many equal partitions the device is cut into, 1 to 256",
                         core::BadInput);
}

TEST_CASE("devices side by side have a GPU each, or an equal part of one beside their neighbour") {
  CHECK(spread(1, 1) == Names{"cuda:0"});
  CHECK(spread(2, 2) == Names{"cuda:0", "cuda:1"});
  CHECK(spread(2, 4) == Names{"cuda:0", "cuda:1"});
  CHECK(spread(3, 1) == Names{"cuda:0/3", "cuda:0/3", "cuda:0/3"});
  CHECK(spread(4, 2) == Names{"cuda:0/2", "cuda:0/2", "cuda:1/2", "cuda:1/2"});
  CHECK(spread(5, 2) == Names{"cuda:0/3", "cuda:0/3", "cuda:0/3", "cuda:1/3", "cuda:1/3"});
  CHECK(spread(1, 0) == Names{"cuda:0"});  // opening it gives the reason
}

TEST_CASE("devices of several processes of a machine have a GPU each, as far as these are seen by all") {
  const auto last_of = [](const kernels::MachineShare& share, std::size_t gpus) {
    return to_string(kernels::spread(share.own - 1, share, gpus));
  };
  CHECK(last_of({2, 2, 4}, 4) == "cuda:3");
  CHECK(last_of({2, 2, 4}, 2) == "cuda:1");  // the launcher has given each process two
  CHECK(last_of({3, 1, 4}, 1) == "cuda:0");
  CHECK(last_of({2, 2, 4}, 1) == "cuda:0/2");
}

TEST_CASE("beside a GPU are the others, beside a partition those of its GPU") {
  CHECK(kernels::peers({0, 0}, 1) == std::vector<CudaName>{{0, 0}});
  CHECK(kernels::peers({1, 0}, 3) == std::vector<CudaName>{{1, 0}, {0, 0}, {2, 0}});
  CHECK(kernels::peers({1, 2}, 3) == std::vector<CudaName>{{1, 2}, {1, 2}});
}
