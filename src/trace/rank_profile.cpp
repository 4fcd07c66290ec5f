#include "penstock/trace/rank_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <streambuf>
#include <unordered_map>

#include "penstock/core/unpacked_file.hpp"

namespace penstock::trace {
namespace {

using Json = nlohmann::json;

constexpr const char* kExpectedFile = "expected a file of torch.profiler's export_chrome_trace";
constexpr double kLatest = 4e15;  ///< us, the year 128,700: differences of such times stay exact in 64 bits

/// One entry of "traceEvents", with the fields that are used.
struct KinetoEvent {
  std::string phase, category, name;
  std::optional<double> start, duration;  ///< us
  std::optional<std::int64_t> correlation;
};

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view begin) { return text.starts_with(begin); });
}

/// Annotations and operators of torch's process groups, by backend.
bool communicates(std::string_view name) {
  return starts_with_any(name, {"gloo:", "nccl:", "mpi:", "ucc:", "xccl:"});
}

/// Collects a profile event by event; base time and order come last.
class ProfileCollector {
 public:
  ProfileCollector(RankProfile& out, const PassFunctions& functions) : out_(out), functions_(functions) {}

  void add(const KinetoEvent& event) {
    if (event.phase != "X") return;
    if (event.category == "cuda_runtime" || event.category == "cuda_driver") return add_launch(event);
    if (event.category == "kernel" || event.category == "gpu_memcpy" || event.category == "gpu_memset")
      return add_kernel(event);
    if (event.category == "cpu_op") return add_operator(event);
    if (event.category == "user_annotation" || event.category == "python_function") add_annotation(event);
  }

  void finish(std::int64_t base);

 private:
  struct CorrelatedKernel {
    std::int64_t correlation;
    HostInterval time;
  };

  HostInterval interval(const KinetoEvent& event) {
    const auto whole = [&](const std::optional<double>& us, const char* key) {
      if (!us) throw core::BadInput(fmt::format("event '{}' has no number '{}'", event.name, key));
      if (!(std::abs(*us) <= kLatest))
        throw core::BadInput(
            fmt::format("event '{}': '{}' is {}, which is no time in microseconds", event.name, key, *us));
      const double whole_us = std::floor(*us);  // apart, so that nanoseconds survive 16 digits
      return static_cast<std::int64_t>(whole_us) * 1000 + std::llround((*us - whole_us) * 1000);
    };
    const std::int64_t start = whole(event.start, "ts"), duration = whole(event.duration, "dur");
    if (duration < 0)
      throw core::BadInput(
          fmt::format("event '{}': 'dur' is {}, but must not be negative", event.name, *event.duration));
    if (++count_ > kMostProfiled)
      throw core::Error(core::ExitCode::limit,
                        fmt::format("{}: more than {} operators and kernels; record fewer steps", out_.file,
                                    kMostProfiled));
    return {start, start + duration};
  }

  void add_launch(const KinetoEvent& event) {
    if (event.correlation) launches_[*event.correlation] = interval(event).start;
  }
  void add_kernel(const KinetoEvent& event) {
    const HostInterval time = interval(event);
    if (starts_with_any(event.name, {"nccl", "rccl"}))
      out_.gpu_waits.push_back(time);
    else if (event.correlation)
      kernels_.push_back({*event.correlation, time});
  }
  void add_operator(const KinetoEvent& event) {
    if (!communicates(event.name) && !starts_with_any(event.name, {"c10d::", "record_param_comms"}))
      out_.operators.push_back(interval(event));
  }
  void add_annotation(const KinetoEvent& event);

  RankProfile& out_;
  const PassFunctions& functions_;
  std::vector<CorrelatedKernel> kernels_;
  std::unordered_map<std::int64_t, std::int64_t> launches_;  ///< [correlation] ns
  std::size_t count_ = 0;
};

void ProfileCollector::add_annotation(const KinetoEvent& event) {
  constexpr std::string_view kStep = "ProfilerStep#";
  if (event.name.starts_with(kStep)) {
    const char *begin = event.name.data() + kStep.size(), *end = event.name.data() + event.name.size();
    ProfiledStep step;
    if (std::from_chars(begin, end, step.number).ptr != end)
      throw core::BadInput(fmt::format("event '{}' has no number of a step", event.name));
    step.time = interval(event);
    out_.steps.push_back(step);
  } else if (communicates(event.name)) {
    out_.host_waits.push_back(interval(event));
  } else if (event.name.starts_with("PP:(")) {
    out_.paired = event.name;
  } else if (auto pass = announced_pass(event.name, functions_)) {
    pass->time = interval(event);
    out_.passes.push_back(*pass);
  }
}

/// Gives kernels their launches, adds the base to all times, and sorts.
void ProfileCollector::finish(std::int64_t base) {
  for (const CorrelatedKernel& kernel : kernels_)
    if (const auto launch = launches_.find(kernel.correlation); launch != launches_.end())
      out_.kernels.push_back({launch->second + base, {kernel.time.start + base, kernel.time.end + base}});
  const auto shift = [base](HostInterval& time) { time = {time.start + base, time.end + base}; };
  const auto earlier = [](const HostInterval& a, const HostInterval& b) {
    return std::pair(a.start, -a.end) < std::pair(b.start, -b.end);
  };
  for (auto* list : {&out_.operators, &out_.host_waits, &out_.gpu_waits}) {
    std::ranges::for_each(*list, shift);
    std::ranges::sort(*list, earlier);
  }
  for (ProfiledStep& step : out_.steps) shift(step.time);
  for (AnnouncedPass& pass : out_.passes) shift(pass.time);
  std::ranges::sort(out_.steps, earlier, &ProfiledStep::time);
  std::ranges::sort(out_.passes, earlier, &AnnouncedPass::time);
  std::ranges::sort(out_.kernels, {}, &LaunchedKernel::launch);
}

/// Follows the nesting of the document and passes on the events: a profile of gigabytes is never held whole.
class KinetoParser final : public nlohmann::json_sax<Json> {
 public:
  KinetoParser(RankProfile& out, const PassFunctions& functions, const core::StopToken& stop)
      : out_(out), collector_(out, functions), stop_(stop) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return whole(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return value <= static_cast<number_unsigned_t>(INT64_MAX) ? whole(static_cast<std::int64_t>(value))
                                                              : number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& value) override;
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override {
    if (depth_ == 1 && keys_[1] == "traceEvents") events_ = true;
    return open();
  }
  bool end_array() override { return --depth_, true; }
  bool key(string_t& value) override {
    if (depth_ < keys_.size()) keys_[depth_] = std::move(value);
    return true;
  }
  bool end_object() override;
  bool parse_error(std::size_t byte, const std::string&, const Json::exception& fault) override {
    const std::string_view why = fault.what();  // "[json.exception.parse_error.101] parse error at ...: why"
    const std::size_t colon = why.find(": ");
    throw core::BadInput(fmt::format("not valid JSON at byte {}: {}; {}", byte,
                                     why.substr(colon == why.npos ? 0 : colon + 2), kExpectedFile));
  }

  void finish() {
    if (!events_) throw core::BadInput(fmt::format("no list 'traceEvents': {}", kExpectedFile));
    collector_.finish(base_);
  }

 private:
  bool in_event() const { return depth_ == 3 && keys_[1] == "traceEvents" && events_; }
  bool open() {
    ++depth_;
    if (in_event()) event_ = {};
    return true;
  }
  bool whole(std::int64_t value);
  bool number(double value) {
    if (!in_event()) return true;
    if (keys_[3] == "ts") event_.start = value;
    if (keys_[3] == "dur") event_.duration = value;
    return true;
  }

  RankProfile& out_;
  ProfileCollector collector_;
  const core::StopToken& stop_;
  std::size_t depth_ = 0;            ///< of open lists and objects
  std::array<std::string, 5> keys_;  ///< [depth] last key there
  bool events_ = false;
  KinetoEvent event_;
  std::size_t seen_ = 0;
  std::int64_t base_ = 0;  ///< ns
};

bool KinetoParser::whole(std::int64_t value) {
  if (depth_ == 1 && keys_[1] == "baseTimeNanoseconds") {
    if (value < 0 || value > std::int64_t{4} * 1'000'000'000'000'000'000)
      throw core::BadInput(fmt::format("'baseTimeNanoseconds' is {}, which is no time", value));
    base_ = value;
  }
  if (depth_ == 2 && keys_[1] == "distributedInfo" && keys_[2] == "rank") out_.rank = value;
  if (depth_ == 4 && keys_[1] == "traceEvents" && keys_[3] == "args" && keys_[4] == "correlation")
    event_.correlation = value;
  return number(static_cast<double>(value));
}

bool KinetoParser::string(string_t& value) {
  if (depth_ == 1 && keys_[1] == "host_name") out_.host = value;
  if (!in_event()) return true;
  if (keys_[3] == "ph")
    event_.phase = std::move(value);
  else if (keys_[3] == "cat")
    event_.category = std::move(value);
  else if (keys_[3] == "name")
    event_.name = std::move(value);
  return true;
}

bool KinetoParser::end_object() {
  if (in_event()) {
    constexpr std::size_t kEventsPerCheck = 65'536;
    if (++seen_ % kEventsPerCheck == 0) stop_.check();
    try {
      collector_.add(event_);
    } catch (const core::BadInput& fault) {
      throw core::BadInput({out_.file, 0, fmt::format("traceEvents[{}]", seen_ - 1)}, fault.what());
    }
  }
  --depth_;
  return true;
}

/// An unpacked file as the stream that the parser reads.
class UnpackedBuffer final : public std::streambuf {
 public:
  explicit UnpackedBuffer(const std::string& path) : file_(path), bytes_(std::size_t{1} << 16) {}

 protected:
  int_type underflow() override {
    const std::size_t count = file_.read(bytes_);
    setg(bytes_.data(), bytes_.data(), bytes_.data() + count);
    return count == 0 ? traits_type::eof() : traits_type::to_int_type(bytes_.front());
  }

 private:
  core::UnpackedFile file_;
  std::vector<char> bytes_;
};

RankProfile parse(std::istream& in, const std::string& file, const PassFunctions& functions,
                  const core::StopToken& stop) {
  RankProfile out;
  out.file = file;
  KinetoParser parser(out, functions, stop);
  try {
    Json::sax_parse(in, &parser);
    parser.finish();
  } catch (const core::BadInput& fault) {
    if (!fault.place().file.empty()) throw;
    throw core::BadInput({file, 0, ""}, fault.what());
  }
  return out;
}

}  // namespace

RankProfile read_rank_profile(const std::string& path, const PassFunctions& functions,
                              const core::StopToken& stop) {
  UnpackedBuffer buffer(path);
  std::istream in(&buffer);
  return parse(in, path, functions, stop);
}

RankProfile parse_rank_profile(const std::string& text, const std::string& file,
                               const PassFunctions& functions) {
  std::istringstream in(text);
  return parse(in, file, functions, {});
}

}  // namespace penstock::trace
