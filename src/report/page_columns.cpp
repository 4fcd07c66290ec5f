#include "page_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "columns.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;

/// What the page calls a column and how it shows it (page/values.js). A narrow page drops those of the
/// highest priority number first, so what tells rows apart has low ones; from kDetail on they are in a row's
/// own section alone.
struct Words {
  std::string_view name, title, kind;
  int priority;
  std::string_view meaning;
};
constexpr int kDetail = 100;

constexpr Words kPlans[] = {
    {"model", "Model", "text", 0, "the network"},
    {"cluster", "Cluster", "text", 10, "the cluster file"},
    {"devices", "Devices", "count", 4, "how many of the cluster's devices take part"},
    {"mini_batch", "Mini-batch", "count", 5, "samples per iteration"},
    {"setting", "Setting", "text", 3, "values of the experiment's further axes"},
    {"planner", "Planner", "text", 1, "who made the plan"},
    {"strategy", "Plan", "text", 6, "pipeline-, data- and tensor-parallel degrees, schedule, micro-batch"},
    {"samples_per_s", "Samples/s", "rate", 2, "throughput of the simulated iteration"},
    {"tokens_per_s", "Tokens/s", "rate", 13, "throughput in tokens, of sequence models"},
    {"tflops_per_device", "TFLOP/s per GPU", "rate", 14, "model FLOPs per second and device"},
    {"mfu", "MFU", "share", 12, "model FLOPs over what the devices could do at their peak"},
    {"iteration_s", "Iteration", "time", 9, "simulated time of one iteration"},
    {"peak_memory_bytes", "Memory", "bytes", 7, "peak memory of the fullest device"},
    {"bubble", "Bubble", "share", 11, "share of time that devices do not compute"},
    {"gap", "Gap", "share", 15, "how far the iteration is above a lower bound for any such plan"},
    {"estimate_error", "Estimate error", "signed", 20,
     "time the planner expected, against the simulated one"},
    {"stages", "Stages", "count", 17, "number of pipeline stages"},
    {"depth", "Depth", "count", 18, "stages on the longest path"},
    {"pipeline_parallel", "PP", "count", 22, "pipeline-parallel degree"},
    {"data_parallel", "DP", "count", 23, "data-parallel degrees of the stages"},
    {"tensor_parallel", "TP", "count", 24, "tensor-parallel degrees of the stages"},
    {"zero", "ZeRO", "count", 25, "ZeRO stages"},
    {"recompute", "Recompute", "count", 26, "stages that compute their forward pass again"},
    {"micro_batch", "Micro-batch", "count", 16, "samples that a replica takes at a time"},
    {"schedule", "Schedule", "text", 19, "the order of passes"},
    {"search_s", "Search", "time", 8, "wall time the planner took"},
    {"states", "States", "count", 21, "table rows the planner computed"},
    {"estimate_s", "Estimate", "time", kDetail, "iteration time the planner expected"},
    {"lower_bound_s", "Lower bound", "time", kDetail, "no plan of its family is faster"},
    {"judging_s", "Judging", "time", kDetail, "of the search, simulating candidates, summed over threads"},
    {"search_memory_bytes", "Search memory", "bytes", kDetail,
     "growth of the process's memory during the search"},
    {"costs", "Costs", "text", kDetail, "where the operators' times come from"},
    {"status", "Status", "text", kDetail, "ok, or why there is no plan"},
    {"date", "Searched", "text", kDetail, "when the plan was searched"},
    {"hardware", "Searched on", "text", kDetail, "the machine that searched"},
};
constexpr Words kSchedules[] = {
    {"pipeline", "Pipeline", "text", 3, "the stages' times, as the experiment names them"},
    {"ranks", "Ranks", "count", 2, "pipeline ranks"},
    {"micro_batches", "Micro-batches", "count", 4, "per mini-batch"},
    {"schedule", "Schedule", "text", 0, "the family, with its options"},
    {"bubble", "Bubble", "share", 1, "idle share of the longest rank's span"},
    {"makespan_s", "Makespan", "time", 6, "from the first pass's start to the last one's end"},
    {"span_s", "Longest rank", "time", 9, "from a rank's first pass to its last, of the longest"},
    {"bubble_s", "Idle", "time", 10, "idle time of that rank"},
    {"peak_live", "Live activations", "ratio", 5, "full-stage activations that the fullest rank holds"},
    {"weight_versions", "Weight versions", "count", 7, "most that a rank holds"},
    {"chunks", "Chunks", "count", 8, "stages of a rank"},
    {"status", "Status", "text", kDetail, "ok, or why the family cannot do this"},
};

/// "zero_stage" is "Zero stage" where nobody has found better words.
std::string title_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  if (!name.empty()) name.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(name.front())));
  return name;
}

/// `place` orders columns as they stand side by side.
Json column(std::span<const Words> words, const std::string& name, const char* otherwise) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const Words& w) { return w.name == name; });
  const auto place = found - words.begin();
  if (found == words.end())
    return {{"name", name},      {"title", title_of(name)}, {"meaning", ""},
            {"kind", otherwise}, {"priority", kDetail - 1}, {"place", place}};
  return {{"name", name},        {"title", found->title},       {"meaning", found->meaning},
          {"kind", found->kind}, {"priority", found->priority}, {"place", place}};
}

Json value(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}
Json value(std::int64_t number) {
  return number;
}
/// Nine digits are more than the page shows and half as long. One that is not finite becomes null when
/// written.
Json value(double number) {
  return std::strtod(fmt::format("{:.9g}", number).c_str(), nullptr);
}
/// The least and the most of something that stages may differ in.
template <class T>
concept Extent = requires(const T& extent) {
  extent.least, extent.most;
};
template <Extent T>
Json value(const T& extent) {
  return extent.least == extent.most ? Json(extent.least)
                                     : Json(fmt::format("{}-{}", extent.least, extent.most));
}
template <class T>
Json value(const std::optional<T>& there) {
  return there ? value(*there) : Json();
}

constexpr const char* kind(const std::string&) {
  return "text";
}
constexpr const char* kind(double) {
  return "ratio";
}
constexpr const char* kind(std::int64_t) {
  return "count";
}
template <Extent T>
constexpr const char* kind(const T&) {
  return "count";
}
template <class T>
constexpr const char* kind(const std::optional<T>&) {
  return kind(T{});
}

void add_plans(const std::vector<CellResult>& rows, Json& columns, Json& values) {
  const CellResult none;
  each_field(none, kAll, [&](const char* name, const auto& field) {
    columns.push_back(column(kPlans, name, kind(field)));
    values.push_back(Json::array());
  });
  for (const CellResult& row : rows) {
    std::size_t c = 0;
    each_field(row, kAll, [&](const char*, const auto& field) { values[c++].push_back(value(field)); });
  }
}

/// What a cell says: nothing, a number or a text.
Json read(const std::string& cell, bool text) {
  double number = 0;
  const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (cell.empty()) return {};
  return !text && fault == std::errc() && end == cell.data() + cell.size() ? Json(number) : Json(cell);
}

void add_schedules(const Rows& rows, Json& columns, Json& values) {
  for (std::size_t c = 0; c < rows.columns.size(); ++c) {
    const Json words = column(kSchedules, rows.columns[c], "text");
    Json list = Json::array();
    for (const auto& cells : rows.cells) list.push_back(read(cells.at(c), words["kind"] == "text"));
    columns.push_back(words);
    values.push_back(std::move(list));
  }
}

}  // namespace

std::string columns_json(const Page& page) {
  const bool plans = page.schedules.cells.empty();
  Json columns = Json::array(), values = Json::array(), notes = Json::array();
  if (plans)
    add_plans(page.results.rows, columns, values);
  else
    add_schedules(page.schedules, columns, values);
  for (const PageCell& cell : page.cells) notes.push_back(cell.note);
  const Json out = {{"study", plans ? "plans" : "schedules"},
                    {"columns", std::move(columns)},
                    {"values", std::move(values)},
                    {"notes", std::move(notes)}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace penstock::report
