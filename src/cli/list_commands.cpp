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

core::ExitCode list_models(bool json, const report::Screen& screen) {
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
                   {"operators", graph.size()},
                   {"parameters", graph.parameters()},
                   {"forward_gflop_per_sample", gflop}});
    table.add({info.name, std::to_string(graph.size()),
               fmt::format("{:.1f} M", static_cast<double>(graph.parameters()) * 1e-6),
               fmt::format("{:.2f}", gflop), info.summary});
  }
  print(json ? all.dump(2) + "\n" : table.text(screen));
  return core::ExitCode::done;
}

Json planner_json(const planners::PlannerInfo& info) {
  Json own = Json::array();
  for (const auto& option : info.options)
    own.push_back({{"name", option.name},
                   {"values", allowed(option)},
                   {"default", option.standard},
                   {"meaning", option.meaning}});
  return {{"name", info.name},
          {"summary", info.summary},
          {"unseen", info.unseen},
          {"source", info.source},
          {"options", own}};
}

/// `text` behind `before`, further lines below its beginning.
std::string hanging(const std::string& before, const std::string& text, std::size_t width) {
  std::string out, in_front = before;
  for (const std::string& line : report::wrapped(text, width - before.size())) {
    out += in_front + line + "\n";
    in_front.assign(before.size(), ' ');
  }
  return out;
}

/// All that is known of one planner, for a person.
std::string planner_page(const planners::PlannerInfo& info, std::size_t width) {
  std::string out = info.name + "\n";
  out += hanging("  searches    ", info.summary, width);
  out += hanging("  leaves out  ", info.unseen, width);
  out += hanging("  source      ", info.source, width);
  if (info.options.empty()) return out + "\nNo options of its own.\n";
  out += "\nOptions (penstock plan --planner " + info.name + " --option KEY=VALUE):\n";
  for (const auto& option : info.options) {
    out += hanging("  " + option.name + "  ", allowed(option) + "; default: " + option.standard, width);
    out += hanging("      ", option.meaning, width);
  }
  return out;
}

/// A name and an idea for each: 80 columns.
std::string planner_list(const report::Screen& screen) {
  Table table({{"planner"}, {.title = "what it searches", .folds = true}});
  for (const auto& info : planners::catalogue()) table.add({info.name, info.summary});
  return table.text(screen) +
         "\n'penstock planners NAME' shows what one leaves out, its source and options.\n";
}

/// Everything of all planners as two tables.
std::string planner_tables() {
  Table table({{"planner"}, {"what it searches"}, {"what it leaves out"}, {"source"}});
  Table options({{"planner"}, {"option"}, {"values"}, {"default"}, {"meaning"}});
  for (const auto& info : planners::catalogue()) {
    table.add({info.name, info.summary, info.unseen, info.source});
    for (const auto& option : info.options)
      options.add({info.name, option.name, allowed(option), option.standard, option.meaning});
  }
  return table.text() + "\n" + options.text();
}

struct PlannersFlags {
  std::string name;
  bool json = false;
  WideFlag wide;
};

core::ExitCode list_planners(const PlannersFlags& flags) {
  constexpr std::size_t kUsualWidth = 80;  ///< where there is no terminal
  const report::Screen screen = flags.wide.screen();
  Json all = Json::array();
  for (const auto& info : planners::catalogue())
    if (flags.name.empty() || info.name == flags.name) all.push_back(planner_json(info));
  if (flags.json)
    print((flags.name.empty() ? all : all.front()).dump(2) + "\n");
  else if (!flags.name.empty())
    print(planner_page(planners::planner(flags.name), screen.width == 0 ? kUsualWidth : screen.width));
  else
    flags.wide.wide ? print(planner_tables()) : print_page(planner_list(screen), screen);
  return core::ExitCode::done;
}

core::ExitCode list_schedules(bool json, const report::Screen& screen) {
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
              core::ExitCode (*list)(bool, const report::Screen&)) {
  struct Flags {
    bool json = false;
    WideFlag wide;
  };
  auto* command = app.add_subcommand(name, help);
  auto flags = std::make_shared<Flags>();
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback([flags, list, &action] {
    action = [flags, list](const Session&) { return list(flags->json, flags->wide.screen()); };
  });
}

}  // namespace

void add_models(CLI::App& app, Action& action) {
  add_list(app, action, "models", "List the networks of the zoo.", list_models);
}
void add_planners(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "planners", "List the planners, or show what one of them searches, its source and its options.");
  command->footer(
      "Examples:\n"
      "  penstock planners\n"
      "  penstock planners piper");
  auto flags = std::make_shared<PlannersFlags>();
  command->add_option("NAME", flags->name, "planner to show whole")
      ->type_name("NAME")
      ->check(one_of(planner_names()));
  add_json(*command, flags->json);
  command->add_flag("--wide", flags->wide.wide, "print everything of all planners as two wide tables");
  command->callback([flags, &action] { action = [flags](const Session&) { return list_planners(*flags); }; });
}

void add_schedules(CLI::App& app, Action& action) {
  add_list(app, action, "schedules",
           "List the families of pipeline schedules with their constraints and closed forms.",
           list_schedules);
}

}  // namespace penstock::cli
