// penstock models and penstock schedules.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "models/catalogue.hpp"
#include "models/released.hpp"
#include "penstock/report/table.hpp"
#include "penstock/schedule/catalogue.hpp"

namespace penstock::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::Align;
using report::Table;

Json released_names(const std::string& family) {
  Json out = Json::array();
  for (const auto& model : models::released_models())
    if (model.family == family) out.push_back(model.name);
  return out;
}

/// "llama: llama3-8b, llama3-70b", one line per family.
std::string released_list() {
  std::string out = "\nReleased networks, which --model takes by name (sources: penstock model NAME):\n";
  for (std::string family; const auto& model : models::released_models()) {
    out +=
        (model.family == family ? ", " : (family.empty() ? "  " : "\n  ") + model.family + ": ") + model.name;
    family = model.family;
  }
  return out + "\n";
}

core::ExitCode list_models(bool json, const report::ScreenLimits& screen) {
  Json all = Json::array();
  Table table({{"model"},
               {"operators", Align::right},
               {"parameters", Align::right},
               {"GFLOP/sample", Align::right},
               {.title = "summary", .folds = true}});
  for (const auto& info : models::catalogue()) {
    const graph::OpGraph graph = models::build(info.name);
    const double gflop = graph.forward_flops().value() * 1e-9;
    all.push_back({{"name", info.name},
                   {"summary", info.summary},
                   {"source", info.source},
                   {"released", released_names(info.name)},
                   {"operators", graph.size()},
                   {"parameters", graph.parameters()},
                   {"forward_gflop_per_sample", gflop}});
    table.add({info.name, std::to_string(graph.size()),
               fmt::format("{:.1f} M", static_cast<double>(graph.parameters()) * 1e-6),
               fmt::format("{:.2f}", gflop), info.summary});
  }
  if (json)
    print(all.dump(2) + "\n");
  else
    print_page(table.text(screen) + released_list(), screen);
  return core::ExitCode::done;
}

core::ExitCode list_schedules(bool json, const report::ScreenLimits& screen) {
  Json all = Json::array();
  Table table({{"schedule"},
               {.title = "what it does", .folds = true},
               {.title = "needs", .folds = true},
               {.title = "closed form", .leaves = 2, .folds = true},
               {.title = "source", .leaves = 1, .folds = true}});
  for (const auto& info : schedule::families()) {
    all.push_back({{"name", info.name},
                   {"summary", info.summary},
                   {"constraints", info.constraints},
                   {"closed_form", info.closed_form},
                   {"source", info.source},
                   {"default_chunks", info.chunks},
                   {"weights", info.weights}});
    table.add({info.name, info.summary, info.constraints, info.closed_form, info.source});
  }
  constexpr const char* kLetters =
      "\np ranks, v chunks per rank, m micro-batches; F, I, W, B = I + W of a full stage, FB overlapped\n";
  json ? print(all.dump(2) + "\n") : print_page(table.text(screen) + kLetters, screen);
  return core::ExitCode::done;
}

void add_list(CLI::App& app, Action& action, const char* name, const char* help,
              core::ExitCode (*list)(bool, const report::ScreenLimits&)) {
  struct ListFlags {
    bool json = false;
    WideFlag wide;
  };
  auto* command = app.add_subcommand(name, help);
  auto flags = std::make_shared<ListFlags>();
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback([flags, list, &action] {
    action = [flags, list](const CommandContext&) { return list(flags->json, flags->wide.screen()); };
  });
}

}  // namespace

void add_models(CLI::App& app, Action& action) {
  add_list(app, action, "models", "List the networks of the zoo and the released networks by name.",
           list_models);
}

void add_schedules(CLI::App& app, Action& action) {
  add_list(app, action, "schedules",
           "List the families of pipeline schedules with their constraints and closed forms.",
           list_schedules);
}

}  // namespace penstock::cli
