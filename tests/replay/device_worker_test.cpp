// Instructions that a worker refuses, and its errors.

#include "penstock/replay/device_worker.hpp"

#include <doctest/doctest.h>

#include "cut_model.hpp"
#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/schedule/plan_order.hpp"

using namespace penstock;
using namespace std::string_literals;
using replay::test::cut_model;
using replay::test::CutModel;

namespace {

const std::map<std::string, std::string> kGpt = {
    {"vocabulary", "13"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "3"}};

std::unique_ptr<replay::DeviceWorker> first_worker(kernels::Backend& host, const CutModel& cut,
                                                   const replay::DevicePrograms& program) {
  return make_worker(host, cut.problem(), cut.plan, core::DeviceId(0), program, {});
}

/// A host whose softmax breaks in its gradient.
class BrokenHost final : public kernels::Backend {
 public:
  std::string name() const override { return host_->name(); }
  std::vector<std::pair<std::string, std::string>> identity() const override { return host_->identity(); }
  bool supports(kernels::Precision precision) const override { return host_->supports(precision); }
  std::unique_ptr<kernels::Buffer> allocate(kernels::Element element, std::int64_t count) override {
    return host_->allocate(element, count);
  }
  std::unique_ptr<kernels::Stream> make_stream() override { return host_->make_stream(); }
  void write(kernels::Buffer& to, std::span<const std::byte> bytes) override { host_->write(to, bytes); }
  void read(const kernels::Buffer& from, std::span<std::byte> bytes) override { host_->read(from, bytes); }
  void copy(kernels::Buffer& to, const kernels::Buffer& from, kernels::Stream& stream) override {
    host_->copy(to, from, stream);
  }
  void zero(kernels::Buffer& buffer, kernels::Stream& stream) override { host_->zero(buffer, stream); }
  void add(kernels::Buffer& to, const kernels::Buffer& term, kernels::Stream& stream) override {
    host_->add(to, term, stream);
  }
  std::unique_ptr<kernels::Kernel> make_kernel(const graph::Operator& op, std::int64_t samples,
                                               kernels::Precision precision) override {
    auto kernel = host_->make_kernel(op, samples, precision);
    if (op.kind != graph::OpKind::softmax) return kernel;
    return std::make_unique<BrokenKernel>(std::move(kernel));
  }
  std::unique_ptr<kernels::OptimizerStep> make_update(const kernels::UpdateRule& rule, std::int64_t count,
                                                      kernels::Precision precision) override {
    return host_->make_update(rule, count, precision);
  }

 private:
  struct BrokenKernel final : kernels::Kernel {
    explicit BrokenKernel(std::unique_ptr<kernels::Kernel> whole) : inner(std::move(whole)) {}
    const kernels::KernelSlots& slots() const override { return inner->slots(); }
    bool has(graph::Pass pass) const override { return inner->has(pass); }
    void run(graph::Pass pass, const kernels::Operands& operands, kernels::Stream& stream) override {
      if (pass == graph::Pass::input_gradient) throw std::runtime_error("it broke");
      inner->run(pass, operands, stream);
    }
    std::string algorithm(graph::Pass pass) const override { return inner->algorithm(pass); }
    core::Bytes workspace(graph::Pass pass) const override { return inner->workspace(pass); }
    std::unique_ptr<kernels::Kernel> inner;
  };
  std::unique_ptr<kernels::Backend> host_ = kernels::open_device("host", 1);
};

}  // namespace

TEST_CASE("a kernel that fails is named by its operator and pass") {
  models::Layers net("breaks");
  net.softmax("shares", net.linear("layer", net.input("x", {3}), 4));
  const CutModel cut = cut_model(net.build(), {.rank = {0}});
  const auto program = replay::lower(cut.graph, {cut.graph, cut.plan});
  BrokenHost device;
  const auto worker = first_worker(device, cut, program);
  CHECK_NOTHROW(worker->run(program.devices[0][0]));
  try {
    worker->run(program.devices[0][1]);
    FAIL("it should have thrown");
  } catch (const core::Error& error) {
    CHECK(error.code() == core::ExitCode::device_failed);
    CHECK(error.what() == "operator 'shares': input_gradient: it broke"s);
  }
}

TEST_CASE("operators of unknown work are refused by name") {
  const auto host = kernels::open_device("host", 1);
  const CutModel cut = cut_model(support::tiny_graph(1, {}), {.rank = {0}});
  const auto program = replay::lower(cut.graph, {cut.graph, cut.plan});
  CHECK_THROWS_WITH_AS(first_worker(*host, cut, program), "operator 'a': kind profiled has no kernel",
                       core::BadInput);
}

TEST_CASE("parameters shared by two stages are refused without a flush, by one are not") {
  const auto host = kernels::open_device("host", 1);
  const CutModel cut = cut_model(models::build("gpt", kGpt), {.schedule = "pipedream_2bw"});
  CHECK_THROWS_WITH_AS(replay::lower(cut.graph, {cut.graph, cut.plan}),
                       "stages 0, 2 share the parameters of 'token.embedding': a schedule without a flush is "
                       "not replayed",
                       core::BadInput);
  const CutModel whole = cut_model(models::build("gpt", kGpt), {.schedule = "pipedream_2bw", .rank = {0}});
  const auto alone = replay::lower(whole.graph, {whole.graph, whole.plan});
  CHECK_NOTHROW(first_worker(*host, whole, alone));
}

TEST_CASE("a device without room names the task that needs it") {
  const auto host = kernels::open_device("host", 1);
  CutModel cut = cut_model(models::build("gpt", kGpt), {.rank = {0}});
  cut.cluster = support::tiny_cluster(1, 1000);
  const auto program = replay::lower(cut.graph, {cut.graph, cut.plan});
  CHECK_THROWS_WITH_AS(
      first_worker(*host, cut, program),
      "out of memory on device 0: operator 'position.embedding': table wants 96.0 B, and 928 "
      "B of 1000 B are in use",
      core::Error);
}
