// models, planners, schedules: what there is.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "models/catalogue.hpp"
#include "penstock/report/table.hpp"
#include "penstock/schedule/catalogue.hpp"

namespace penstock::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::Align;
using report::Table;

core::ExitCode list_models(bool json) {
  Json all = Json::array();
  Table table({{"model"},
               {"operators", Align::right},
               {"parameters", Align::right},
               {"GFLOP/sample", Align::right},
               {"summary"}});
  for (const auto& info : models::catalogue()) {
    const graph::OpGraph graph = models::build(info.name);
    const double gflop = graph.forward_flops().value() * 1e-9;
    all.push_back({{"name", info.name},
                   {"summary", info.summary},
                   {"source", info.source},
                   {"operators", graph.size()},
                   {"parameters", graph.parameters()},
                   {"forward_gflop_per_sample", gflop}});
    table.add({info.name, std::to_string(graph.size()),
               fmt::format("{:.1f} M", static_cast<double>(graph.parameters()) * 1e-6),
               fmt::format("{:.2f}", gflop), info.summary});
  }
  fmt::print("{}", json ? all.dump(2) + "\n" : table.text());
  return core::ExitCode::done;
}

core::ExitCode list_planners(bool json) {
  Json all = Json::array();
  Table table({{"planner"}, {"what it searches"}, {"source"}});
  Table options({{"planner"}, {"option"}, {"values"}, {"default"}, {"meaning"}});
  for (const auto& info : planners::catalogue()) {
    Json own = Json::array();
    for (const auto& option : info.options) {
      own.push_back({{"name", option.name},
                     {"values", allowed(option)},
                     {"default", option.standard},
                     {"meaning", option.meaning}});
      options.add({info.name, option.name, allowed(option), option.standard, option.meaning});
    }
    all.push_back(
        {{"name", info.name}, {"summary", info.summary}, {"source", info.source}, {"options", own}});
    table.add({info.name, info.summary, info.source});
  }
  fmt::print("{}", json ? all.dump(2) + "\n" : table.text() + "\n" + options.text());
  return core::ExitCode::done;
}

core::ExitCode list_schedules(bool json) {
  Json all = Json::array();
  Table table({{"schedule"}, {"what it does"}, {"needs"}, {"closed form"}, {"source"}});
  for (const auto& info : schedule::grid_families()) {
    all.push_back({{"name", info.name},
                   {"summary", info.summary},
                   {"constraints", info.constraints},
                   {"closed_form", info.closed_form},
                   {"source", info.source},
                   {"default_chunks", info.chunks},
                   {"weights", info.weights}});
    table.add({info.name, info.summary, info.constraints, info.closed_form, info.source});
  }
  fmt::print("{}", json ? all.dump(2) + "\n" : table.text());
  if (!json)
    fmt::print(
        "\np ranks, v chunks per rank, m micro-batches; F, I, W, B = I + W of a full stage, FB overlapped\n");
  return core::ExitCode::done;
}

void add_list(CLI::App& app, Action& action, const char* name, const char* help,
              core::ExitCode (*list)(bool)) {
  auto* command = app.add_subcommand(name, help);
  auto json = std::make_shared<bool>(false);
  add_json(*command, *json);
  command->callback([json, list, &action] { action = [json, list](const Session&) { return list(*json); }; });
}

}  // namespace

void add_models(CLI::App& app, Action& action) {
  add_list(app, action, "models", "List the networks of the zoo.", list_models);
}
void add_planners(CLI::App& app, Action& action) {
  add_list(app, action, "planners", "List the planners with their sources and options.", list_planners);
}

void add_schedules(CLI::App& app, Action& action) {
  add_list(app, action, "schedules",
           "List the families of pipeline schedules with their constraints and closed forms.",
           list_schedules);
}

}  // namespace penstock::cli
