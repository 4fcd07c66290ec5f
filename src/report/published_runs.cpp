#include "penstock/report/published_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <numeric>
#include <sstream>

#include "penstock/cluster/runtime.hpp"
#include "penstock/core/error.hpp"
#include "penstock/report/csv_record.hpp"

namespace penstock::report {
namespace {

constexpr double kLongest = 1e6;  ///< seconds of an iteration: more are in another unit, or no time
constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr std::int64_t kMostDegree = 1 << 20;

void check(const CsvRecord& record, const PublishedRun& run) {
  if (run.hidden % run.heads != 0)
    record.fail("heads", fmt::format("{} do not divide a width of {}", run.heads, run.hidden));
  if (run.heads % run.kv_heads != 0)
    record.fail("kv_heads", fmt::format("{} do not divide {} heads", run.kv_heads, run.heads));
  const std::int64_t product = std::int64_t{run.tp} * run.cp * run.pp * run.dp;
  if (product != run.devices)
    record.fail("devices", fmt::format("tp x cp x pp x dp is {} x {} x {} x {} = {}, not {}", run.tp, run.cp,
                                       run.pp, run.dp, product, run.devices));
  if (std::int64_t{run.cp} * run.dp % run.ep != 0)
    record.fail("ep",
                fmt::format("{} devices of equal weights are not groups of {}", run.cp * run.dp, run.ep));
  if (run.mini_batch % (run.micro_batch * run.dp) != 0)
    record.fail("mini_batch", fmt::format("{} replicas that take {} at a time cannot share {} samples",
                                          run.dp, run.micro_batch, run.mini_batch));
  const auto& parts = run.layers_per_stage;
  const std::int64_t stages = std::int64_t{run.pp} * run.vpp;
  if (parts.empty() ? run.layers % stages != 0
                    : static_cast<std::int64_t>(parts.size()) != stages ||
                          std::accumulate(parts.begin(), parts.end(), std::int64_t{0}) != run.layers)
    record.fail("layers_per_stage",
                fmt::format("{} stages do not have {} layers in all", stages, run.layers));
  if (run.vpp > 1 && run.schedule == "1f1b")
    record.fail("schedule", fmt::format("{} stages per rank are not 1f1b", run.vpp));
}

/// Splits "sequence parallelism; overlap" into trimmed parts.
std::vector<std::string> phrases(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ';');) {
    const std::size_t begin = part.find_first_not_of(' '), end = part.find_last_not_of(' ');
    if (begin != std::string::npos) out.push_back(part.substr(begin, end - begin + 1));
  }
  return out;
}

/// Parses "experts=128 chosen=8".
std::string framework(const CsvRecord& record) {
  std::string out = record.text("framework");
  try {
    if (!out.empty()) cluster::runtime(out);
  } catch (const core::BadInput& fault) {
    record.fail("framework", fault.what());
  }
  return out;
}

std::map<std::string, std::string> parameters(const CsvRecord& record) {
  std::map<std::string, std::string> out;
  std::istringstream in(record.text("parameters"));
  for (std::string word; in >> word;) {
    const std::size_t sign = word.find('=');
    if (sign == 0 || sign == std::string::npos ||
        !out.emplace(word.substr(0, sign), word.substr(sign + 1)).second)
      record.fail("parameters", fmt::format("expected NAME=VALUE, each name once, not '{}'", word));
  }
  return out;
}

graph::ProductFormat products(const CsvRecord& record, int element_bytes) {
  const auto out = graph::product_format(
      record.word("products", {"stored", "fp8_delayed", "fp8_current", "fp8_block", "mxfp8", "nvfp4"}));
  if (out != graph::ProductFormat::stored && element_bytes != 2)
    record.fail("products", "expected element_bytes 2 beside a format of 8 or 4 bits");
  return out;
}

PublishedRun run_of(const CsvRecord& r) {
  PublishedRun out;
  const auto size = [&](const char* column) { return r.count(column, 1, kMost); };
  const auto degree = [&](const char* column) { return static_cast<int>(r.count(column, 1, kMostDegree)); };
  out.line = r.line();
  out.set = r.text("set");
  out.id = r.text("id");
  out.group = r.text("group");
  out.cluster = r.text("cluster");
  out.devices = degree("devices");
  out.layers = size("layers");
  out.hidden = size("hidden");
  out.heads = size("heads");
  out.kv_heads = size("kv_heads");
  out.ffn = size("ffn");
  out.sequence = size("sequence");
  out.vocabulary = size("vocabulary");
  out.block = r.word("block", {"gpt", "llama", "mixtral", "deepseek_v3"});
  if (r.has("parameters")) out.parameters = parameters(r);
  if (r.has("framework")) out.framework = framework(r);
  out.positions = r.word("positions", {"table", "rope"});
  out.attention = r.word("attention", {"plain", "flash"});
  out.element_bytes = static_cast<int>(r.count("element_bytes", 2, 4));
  if (out.element_bytes == 3) r.fail("element_bytes", "expected 2 or 4, not '3'");
  if (r.has("products") && !r.text("products").empty()) out.products = products(r, out.element_bytes);
  out.layers_per_stage = r.counts("layers_per_stage", 1, kMost);
  out.tp = degree("tp");
  out.pp = degree("pp");
  out.dp = degree("dp");
  for (const auto& [column, value] :
       {std::pair{"cp", &out.cp}, std::pair{"ep", &out.ep}, std::pair{"vpp", &out.vpp}})
    if (r.has(column)) *value = degree(column);
  out.micro_batch = r.count("micro_batch", 1, kMostDegree);
  out.mini_batch = r.count("mini_batch", 1, kMostDegree);
  out.schedule = r.word("schedule", {"1f1b", "interleaved_1f1b"});
  out.recompute = r.word("recompute", {"none", "full", "selective"});
  out.zero = static_cast<int>(r.count("zero", 0, 3));
  if (r.has("ignored")) out.beside = phrases(r.text("ignored"));
  if (!r.text("measured_s").empty()) out.measured_s = r.positive("measured_s");
  if (out.measured_s > kLongest)
    r.fail("measured_s", fmt::format("expected seconds of an iteration, at most {:g}, not '{}'", kLongest,
                                     r.text("measured_s")));
  if (!r.text("measured_gib").empty()) out.measured_gib = r.positive("measured_gib");
  check(r, out);
  return out;
}

}  // namespace

std::vector<PublishedRun> parse_published_runs(const std::string& text, const std::string& file) {
  std::vector<PublishedRun> out;
  std::map<std::array<std::string, 2>, int> lines;
  for (const CsvRecord& record : csv_records(text, file)) {
    out.push_back(run_of(record));
    const auto [first, added] = lines.try_emplace({out.back().set, out.back().id}, record.line());
    if (!added)
      record.fail("id", fmt::format("'{}' of set '{}' is in line {} too: a run has one row", out.back().id,
                                    out.back().set, first->second));
  }
  if (out.empty()) throw core::BadInput({file, 1, ""}, "expected rows of measured runs below a header");
  return out;
}

}  // namespace penstock::report
