#include "penstock/report/published_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>

#include "csv_reader.hpp"
#include "penstock/core/error.hpp"

namespace penstock::report {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr std::int64_t kMostDegree = 1 << 20;

/// Column to its place in a record.
using Header = std::map<std::string, std::size_t>;

/// One record, read by the names of its columns.
class RunRecord {
 public:
  RunRecord(const Header& header, const CsvReader& reader, const std::string& file)
      : header_(header), fields_(reader.fields()), line_(reader.line()), file_(file) {}

  int line() const { return line_; }
  [[noreturn]] void fail(const std::string& column, const std::string& message) const {
    throw core::BadInput({file_, line_, column}, message);
  }

  std::string text(const std::string& column) const {
    const auto found = header_.find(column);
    if (found == header_.end()) throw core::BadInput({file_, 1, column}, "this column is missing");
    return found->second < fields_.size() ? fields_[found->second] : "";
  }

  std::string word(const std::string& column, const std::vector<std::string>& known) const {
    const std::string out = text(column);
    if (std::find(known.begin(), known.end(), out) == known.end())
      fail(column, fmt::format("expected {}, not '{}'", fmt::join(known, " or "), out));
    return out;
  }

  std::int64_t count(const std::string& column, std::int64_t least, std::int64_t most) const {
    return whole(column, text(column), least, most);
  }

  std::vector<std::int64_t> counts(const std::string& column) const {
    std::istringstream in(text(column));
    std::vector<std::int64_t> out;
    for (std::string part; in >> part;) out.push_back(whole(column, part, 1, kMost));
    return out;
  }

  double positive(const std::string& column) const {
    const std::string value = text(column);
    double out = 0;
    const char* end = value.data() + value.size();
    const auto [stop, fault] = std::from_chars(value.data(), end, out);
    if (fault != std::errc() || stop != end || !std::isfinite(out) || out <= 0)
      fail(column, fmt::format("expected a number above zero, not '{}'", value));
    return out;
  }

 private:
  std::int64_t whole(const std::string& column, const std::string& value, std::int64_t least,
                     std::int64_t most) const {
    std::int64_t out = 0;
    const char* end = value.data() + value.size();
    const auto [stop, fault] = std::from_chars(value.data(), end, out);
    if (fault != std::errc() || stop != end || out < least || out > most)
      fail(column, fmt::format("expected an integer from {} to {}, not '{}'", least, most, value));
    return out;
  }

  const Header& header_;
  const std::vector<std::string>& fields_;
  int line_;
  const std::string& file_;
};

void check(const RunRecord& record, const PublishedRun& run) {
  const std::int64_t product = std::int64_t{run.tp} * run.pp * run.dp;
  if (product != run.devices)
    record.fail("devices", fmt::format("tp x pp x dp is {} x {} x {} = {}, not {}", run.tp, run.pp, run.dp,
                                       product, run.devices));
  if (run.mini_batch % (run.micro_batch * run.dp) != 0)
    record.fail("mini_batch", fmt::format("{} replicas that take {} at a time cannot share {} samples",
                                          run.dp, run.micro_batch, run.mini_batch));
  const auto& parts = run.layers_per_stage;
  if (parts.empty() ? run.layers % run.pp != 0
                    : parts.size() != static_cast<std::size_t>(run.pp) ||
                          std::accumulate(parts.begin(), parts.end(), std::int64_t{0}) != run.layers)
    record.fail("layers_per_stage",
                fmt::format("{} stages do not have {} layers in all", run.pp, run.layers));
}

PublishedRun run_of(const RunRecord& r) {
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
  out.block = r.word("block", {"gpt", "llama"});
  out.positions = r.word("positions", {"table", "rope"});
  out.attention = r.word("attention", {"plain", "flash"});
  out.element_bytes = static_cast<int>(r.count("element_bytes", 2, 4));
  if (out.element_bytes == 3) r.fail("element_bytes", "expected 2 or 4, not '3'");
  out.layers_per_stage = r.counts("layers_per_stage");
  out.tp = degree("tp");
  out.pp = degree("pp");
  out.dp = degree("dp");
  out.micro_batch = r.count("micro_batch", 1, kMostDegree);
  out.mini_batch = r.count("mini_batch", 1, kMostDegree);
  out.schedule = r.word("schedule", {"1f1b"});
  out.recompute = r.word("recompute", {"none", "full"}) == "full";
  out.zero = static_cast<int>(r.count("zero", 0, 3));
  out.measured_s = r.positive("measured_s");
  if (!r.text("measured_gib").empty()) out.measured_gib = r.positive("measured_gib");
  check(r, out);
  return out;
}

}  // namespace

std::vector<PublishedRun> parse_published_runs(const std::string& text, const std::string& file) {
  CsvReader reader(text);
  Header header;
  if (reader.next())
    for (std::size_t i = 0; i < reader.fields().size(); ++i) header.emplace(reader.fields()[i], i);
  std::vector<PublishedRun> out;
  while (reader.next()) out.push_back(run_of(RunRecord(header, reader, file)));
  if (out.empty()) throw core::BadInput({file, 1, ""}, "expected rows of measured runs below a header");
  return out;
}

}  // namespace penstock::report
