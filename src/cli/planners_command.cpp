// penstock planners: a list, or all about one.

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "penstock/report/table.hpp"

namespace penstock::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::Table;

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

/// Name, idea and limits of each planner, in at most 80 columns.
std::string planner_list(report::ScreenLimits screen) {
  screen.width = text_width(screen);
  Table table({{"planner"}, {.title = "idea", .folds = true}, {.title = "limits", .folds = true}});
  for (const auto& info : planners::catalogue()) table.add({info.name, info.brief.idea, info.brief.limits});
  return table.text(screen) +
         "\nTP: tensor parallelism. The limits are the main ones; `penstock planners NAME`\n"
         "shows all of them, with source and options.\n";
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
  const report::ScreenLimits screen = flags.wide.screen();
  Json all = Json::array();
  for (const auto& info : planners::catalogue())
    if (flags.name.empty() || info.name == flags.name) all.push_back(planner_json(info));
  if (flags.json)
    print((flags.name.empty() ? all : all.front()).dump(2) + "\n");
  else if (!flags.name.empty())
    print(planner_page(planners::planner(flags.name), text_width(screen)));
  else
    flags.wide.wide ? print(planner_tables()) : print_page(planner_list(screen), screen);
  return core::ExitCode::done;
}

}  // namespace

void add_planners(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("planners", "List the planners, or show idea, limits, source and options of one.");
  command->footer(
      "Examples:\n"
      "  penstock planners\n"
      "  penstock planners joint");
  auto flags = std::make_shared<PlannersFlags>();
  command->add_option("NAME", flags->name, "planner to show with its options")
      ->type_name("NAME")
      ->check(one_of(planner_names()));
  add_json(*command, flags->json);
  command->add_flag("--wide", flags->wide.wide,
                    "print sources and options of all planners too, as two wide tables");
  command->callback(
      [flags, &action] { action = [flags](const CommandContext&) { return list_planners(*flags); }; });
}

}  // namespace penstock::cli
