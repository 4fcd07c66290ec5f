#include "start_answer.hpp"

#include <nlohmann/json.hpp>

#include "penstock/core/json_text.hpp"
#include "penstock/plan/plan_file.hpp"

namespace penstock::experiment {
namespace {

using Json = nlohmann::json;
constexpr const char* kAnswer = "a planner's answer";

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

[[noreturn]] void raise(core::ExitCode code, const std::string& words) {
  if (code == core::ExitCode::infeasible) throw core::Infeasible(words);
  if (code == core::ExitCode::bad_input) throw core::BadInput(words);
  throw core::Error(code, words);
}

}  // namespace

std::string to_text(const graph::OpGraph& graph, const planners::SearchResult& found) {
  Json out{
      {"plan", plan::to_yaml(graph, found.plan)}, {"states", found.states}, {"complete", found.complete}};
  if (found.estimate) out["estimate_s"] = found.estimate->value();
  return dumped(out);
}

std::string to_text(const core::Error& error) {
  return dumped({{"code", static_cast<int>(error.code())}, {"error", error.what()}});
}

planners::SearchResult answered(const graph::OpGraph& graph, const std::string& text) {
  const Json json = core::parse_json<Json>(text, kAnswer);
  try {
    if (json.contains("error"))
      raise(static_cast<core::ExitCode>(json.at("code").get<int>()), json.at("error").get<std::string>());
    planners::SearchResult out;
    out.plan = plan::parse_plan(json.at("plan").get<std::string>(), kAnswer, graph);
    out.states = json.at("states").get<std::uint64_t>();
    out.complete = json.at("complete").get<bool>();
    if (const auto estimate = json.find("estimate_s"); estimate != json.end())
      out.estimate = core::Seconds(estimate->get<double>());
    return out;
  } catch (const Json::exception& e) {
    throw core::BadInput({kAnswer, 0, ""}, e.what());
  }
}

}  // namespace penstock::experiment
