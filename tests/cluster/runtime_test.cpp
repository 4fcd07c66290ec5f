#include "penstock/cluster/runtime.hpp"

#include <doctest/doctest.h>

#include <set>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"
#include "support/near.hpp"

using namespace penstock;
using cluster::FrameworkRuntime;
using core::Seconds;
using support::near;

namespace {

cluster::DeviceType type_with(const std::string& keys) {
  return cluster::parse_cluster(
             "name: c\ndevice_types:\n  g: {memory: 1GiB, memory_bandwidth: 1GB/s, multiprocessors: 1, "
             "launch_overhead: 1us,\n      " +
                 keys + "peak: {fp32: 1TFLOP/s}}\nmachines:\n  - {name: a, device: g}\n",
             "c.yaml")
      .types()[0];
}

}  // namespace

TEST_CASE("each runtime of the list has its own name, a description and the source of its number") {
  std::set<std::string> names;
  for (const auto& named : cluster::runtimes()) {
    CHECK(names.insert(named.name).second);
    CHECK(cluster::runtime(named.name) == named.runtime);
    CHECK(named.summary.size() > 20);
    CHECK(named.source.size() > 20);
  }
  CHECK(names == std::set<std::string>{"megatron", "deepspeed", "torchtitan", "automodel", "accelerate",
                                       "pytorch", "none", "cuda_graph", "eager_pytorch", "legion_flexflow"});
  CHECK(cluster::usual_runtime().name == "megatron");
  cluster::FrameworkRuntime assumed = cluster::runtime("megatron");
  CHECK(assumed.memory.buckets_first_chunk);
  assumed.memory.buckets_first_chunk = false;
  CHECK(cluster::usual_runtime().runtime == assumed);
  CHECK(cluster::runtime("megatron").fused_gates);
  CHECK(cluster::runtime("megatron").fused_norms);
  CHECK_FALSE(cluster::runtime("torchtitan").fused_gates);
  CHECK(cluster::runtime("torchtitan").fused_norms);
  CHECK_FALSE(cluster::runtime("accelerate").fused_norms);
  CHECK(cluster::runtime("legion_flexflow") == FrameworkRuntime{.per_task = Seconds(50e-6)});
}

TEST_CASE("frameworks on DTensor save gathered inputs whole, at any time of the host") {
  for (const auto& named : cluster::runtimes()) {
    CAPTURE(named.name);
    const bool of_torch = named.name == "torchtitan" || named.name == "automodel" ||
                          named.name == "accelerate" || named.name == "pytorch";
    CHECK(named.runtime.memory.saves_gathered == of_torch);
    CHECK(named.runtime.with_host(Seconds(1e-6)).memory.saves_gathered == of_torch);
    CHECK(named.runtime.with_host(Seconds(1e-6)).per_task == Seconds(0));
  }
}

TEST_CASE("a compiled framework fuses kernels and has no host times") {
  CHECK(cluster::runtime("torchtitan+compiled") ==
        FrameworkRuntime{.memory = {.saves_gathered = true, .keeps_inputs = true}});
  CHECK(cluster::runtime("megatron+compiled") ==
        FrameworkRuntime{.memory = cluster::runtime("megatron").memory});
  CHECK_THROWS_WITH_AS(
      cluster::runtime("legion_flexflow+compiled"),
      "'legion_flexflow+compiled' is no training framework, nor a time such as 5us/kernel or "
      "50us/task; +compiled goes behind frameworks of PyTorch",
      core::BadInput);
}

TEST_CASE("a time of one's own is per kernel or per task") {
  CHECK(cluster::runtime("5us/kernel").per_kernel.value() == near(5e-6));
  CHECK(cluster::runtime("5us/kernel").per_task == Seconds(0));
  CHECK(cluster::runtime("0.02ms/task").per_task.value() == near(20e-6));
  CHECK(cluster::runtime("0.02ms/task").per_kernel == Seconds(0));
  CHECK(cluster::runtime("0us/task") == FrameworkRuntime{});
  for (const char* wrong : {"", "/task", "5/task", "5us", "5us/pass", "-1us/task", "2s/kernel", "nan/task"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(cluster::runtime(wrong), core::BadInput);
  }
  CHECK_THROWS_WITH_AS(
      cluster::runtime("eager_pytorc"),
      "'eager_pytorc' is no training framework, nor a time such as 5us/kernel or 50us/task; did you mean "
      "'eager_pytorch'?",
      core::BadInput);
}

TEST_CASE("a device type names its runtime, or how long its host takes for a launch, not both") {
  CHECK_FALSE(type_with("").runtime);
  CHECK(type_with("runtime: none, ").runtime == FrameworkRuntime{});
  CHECK(type_with("runtime: legion_flexflow, ").runtime == cluster::runtime("legion_flexflow"));
  CHECK(type_with("runtime: 7us/task, ").runtime == cluster::runtime("7us/task"));
  CHECK(type_with("host_launch: 7us, ").runtime == cluster::runtime("7us/kernel"));
  CHECK_THROWS_WITH_AS(type_with("host_launch: 7us, runtime: none, "),
                       "c.yaml:4: device_types.g.runtime: host_launch says the same thing: give one of them",
                       core::BadInput);
  CHECK_THROWS_AS(type_with("runtime: slow, "), core::BadInput);
}

TEST_CASE("the two Summits of GraphPipe's runtime differ only in the rails between nodes") {
  const auto plain = cluster::load_cluster("summit"), one = cluster::load_cluster("summit_flexflow"),
             two = cluster::load_cluster("summit_flexflow_two_rails");
  CHECK(one.types()[0].runtime == cluster::runtime("legion_flexflow"));
  CHECK(two.types()[0].runtime == one.types()[0].runtime);
  const auto between = [](const cluster::Cluster& c) {
    return c.route(core::DeviceId(0), core::DeviceId(4));
  };
  const auto within = [](const cluster::Cluster& c) { return c.route(core::DeviceId(0), core::DeviceId(1)); };
  CHECK(between(one).bandwidth == between(plain).bandwidth);
  CHECK(between(two).bandwidth == core::Bandwidth(2 * between(plain).bandwidth.value()));
  for (const auto* c : {&one, &two}) {
    CHECK(within(*c).bandwidth == within(plain).bandwidth);
    CHECK(c->size() == plain.size());
  }
}
