#include "penstock/experiment/rl_job.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Seconds;
using experiment::GpuTimes;
using experiment::RlJob;

namespace {

constexpr const char* kJob =
    "gpus: 16\n"
    "prompts: 4\n"
    "samples_per_prompt: 8\n"
    "generator:\n"
    "  gpus_per_instance: 2\n"
    "  rates: {1: 40, 8: 200}\n"
    "  lengths: 100\n"
    "trainer:\n"
    "  training: 10s\n"
    "transfer: 1s\n";

RlJob read(const std::string& text) {
  return experiment::read_rl_job(core::Yaml::parse(text, "job.yaml"));
}

/// The job with one text in place of another.
std::string changed(const std::string& from, const std::string& to) {
  std::string out = kJob;
  const auto at = out.find(from);
  REQUIRE(at != out.npos);
  return out.replace(at, from.size(), to);
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "read";
}

}  // namespace

TEST_CASE("a job has the values of its file") {
  const RlJob job = read(kJob);
  CHECK(job.gpus == 16);
  CHECK(job.samples == 32);
  CHECK(job.lag == 0);
  CHECK(job.rates.tokens_per_s(8) == 200);
  CHECK(job.training.at(5, {}) == Seconds(10));
  CHECK_FALSE(job.placement);
  CHECK(job.most_decoding(0) == 32);
  CHECK(job.most_decoding(3) == 96);
  CHECK(read(changed("lengths: 100", "lengths: 100\n  batches_at_once: 1.5")).most_decoding(3) == 48);
  CHECK(read(changed("transfer: 1s", "transfer: {bytes: 40GB, bandwidth: 10GB/s}")).transfer == Seconds(4));
  CHECK(read(changed("transfer: 1s", "update: drained\ntransfer: 1s")).update == jobs::WeightUpdate::drained);
  CHECK(read(changed("transfer: 1s", "placement: {trainer: 4, generator: 12}\ntransfer: 1s"))
            .placement->generator == 12);
}

TEST_CASE("times between two numbers of GPUs have GPU-seconds on a line") {
  const GpuTimes times{{{8, Seconds(100)}, {16, Seconds(60)}}};  // 800 and 960 GPU-seconds
  CHECK(times.at(8, {}) == Seconds(100));
  CHECK(times.at(16, {}) == Seconds(60));
  CHECK(times.at(12, {}).value() == support::near(880.0 / 12));
  CHECK(times.at(4, {}).value() == support::near(200));
  CHECK(times.at(32, {}).value() == support::near(30));
  CHECK(GpuTimes{{}, 0.25}.at(4, Seconds(40)) == Seconds(10));
  CHECK(GpuTimes{}.at(4, Seconds(40)) == Seconds(0));
}

TEST_CASE("lengths are drawn from the file's distribution, and equal for one seed") {
  const RlJob job = read(changed("lengths: 100", "lengths: {counts: {10: 1, 30: 3}}"));
  const auto drawn = experiment::drawn_lengths(job, 200);
  CHECK(drawn == experiment::drawn_lengths(job, 200));
  std::ptrdiff_t tens = 0;
  for (const auto& batch : drawn) {
    tens += std::ranges::count(batch, 10);
    CHECK(std::ranges::all_of(batch, [](std::int64_t length) { return length == 10 || length == 30; }));
  }
  CHECK(static_cast<double>(tens) / (200 * 32) == support::near(0.25, 0.05));
  RlJob other = job;
  other.seed = 1;
  CHECK(drawn != experiment::drawn_lengths(other, 200));
  const RlJob cut =
      read(changed("lengths: 100", "lengths: {lognormal: {median: 50, sigma: 2}, maximum: 60}"));
  const auto lengths = experiment::drawn_lengths(cut, 1).front();
  CHECK(std::ranges::max(lengths) == 60);
  CHECK(std::ranges::min(lengths) < 50);
  const auto listed =
      experiment::drawn_lengths(read(changed("lengths: 100", "lengths: [7, 7, 7]")), 1).front();
  CHECK(listed == std::vector<std::int64_t>(32, 7));
}

TEST_CASE("a bad job is refused with line and key") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {changed("transfer: 1s", "transfers: 1s"), "job.yaml:10: transfers: unknown key"},
      {changed("  lengths: 100\n", ""), "job.yaml:5: generator: the key 'lengths' is missing"},
      {changed("8: 200", "8: 0"), "job.yaml:6: generator.rates.8: expected tokens per second"},
      {changed("8: 200", "x: 7"), "job.yaml:6: generator.rates.x: expected a number of sequences"},
      {changed("lengths: 100", "lengths: {counts: {5: 1}, lognormal: {median: 5, sigma: 1}}"),
       "job.yaml:7: generator.lengths: expected one of lognormal and counts"},
      {changed("training: 10s", "training: 10"), "job.yaml:9: trainer.training"},
      {changed("training: 10s", "training: 50%"), "job.yaml:9: trainer.training"},
      {changed("training: 10s", "training: {model: llama}"),
       "job.yaml:9: trainer.training: the key 'gpu' is missing"},
      {changed("transfer: 1s", "transfer: {bytes: 1GB, bandwidth: 0GB/s}"),
       "job.yaml:10: transfer.bandwidth"},
      {changed("transfer: 1s", "transfer: 1s\nupdate: late"), "job.yaml:11: update: unknown update"},
      {changed("transfer: 1s", "transfer: 1s\nlag: 1\nplacement: colocated"),
       "job.yaml:12: placement: colocated"},
      {changed("transfer: 1s", "transfer: 1s\nplacement: {trainer: 8, generator: 12}"),
       "job.yaml:11: placement: 8 + 12 GPUs are more than the job's 16"},
      {changed("transfer: 1s", "transfer: 1s\nplacement: {trainer: 8, generator: 7}"),
       "job.yaml:11: placement.generator: expected a multiple of gpus_per_instance (2)"},
      {changed("prompts: 4", "prompts: 1000000"), "job.yaml:2: prompts: expected at most 1,000,000 samples"},
      {changed("lengths: 100", "lengths: 100\n  batches_at_once: 0"),
       "job.yaml:8: generator.batches_at_once"},
      {changed("gpus: 16", "gpus: 0"), "job.yaml:1: gpus"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(message);
    CHECK(refusal(text).find(message) == 0);
  }
}
