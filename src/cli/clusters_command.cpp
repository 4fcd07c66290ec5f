// penstock clusters: those that are built in.

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "penstock/cluster/catalogue.hpp"
#include "penstock/cluster/cluster.hpp"
#include "penstock/cluster/short_form.hpp"

namespace penstock::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::Align;

struct ClustersFlags {
  std::string name;
  bool json = false;
  WideFlag wide;
};

/// How many of each type there are.
std::map<std::string, int> devices(const cluster::Cluster& cluster) {
  std::map<std::string, int> count;
  for (std::size_t d = 0; d < cluster.size(); ++d) ++count[cluster.type(core::DeviceId(d)).name];
  return count;
}

core::ExitCode list(const ClustersFlags& flags) {
  Json all = Json::array();
  report::Table table({{"cluster"}, {"devices"}, {.title = "what it is", .folds = true}});
  for (const cluster::BuiltIn& built_in : cluster::catalogue()) {
    const auto cluster = cluster::load_cluster(built_in.name);
    std::string types;
    for (const auto& [type, count] : devices(cluster))
      types += fmt::format("{}{} {}", types.empty() ? "" : " + ", count, type);
    table.add({built_in.name, types, built_in.summary()});
    all.push_back({{"name", built_in.name},
                   {"devices", cluster.size()},
                   {"types", devices(cluster)},
                   {"summary", built_in.summary()}});
  }
  report::Table rented({{"GPU"},
                        {"per node", Align::right},
                        {.title = "what it is", .folds = true},
                        {.title = "source", .folds = true}});
  for (const cluster::RentedGpu& gpu : cluster::rented())
    rented.add({std::string(gpu.name), fmt::format("1 to {}", gpu.most), std::string(gpu.summary),
                std::string(gpu.source)});
  const report::ScreenLimits screen = flags.wide.screen();
  if (flags.json)
    print(all.dump(2) + "\n");
  else
    print_page(
        table.text(screen) + "\n" + rented.text(screen) +
            "\n"
            "--cluster takes a name above; or GPUs per node, GPU and nodes, as in 8xH100x32 (8xH100x32-rails "
            "for a rail-optimised fabric); or a cluster file. `penstock clusters NAME` prints a file to "
            "start from.\n",
        screen);
  return core::ExitCode::done;
}

core::ExitCode run(const ClustersFlags& flags) {
  if (flags.name.empty()) return list(flags);
  print(cluster::cluster_text(flags.name));
  return core::ExitCode::done;
}

}  // namespace

std::vector<std::string> cluster_names() {
  std::vector<std::string> names;
  for (const cluster::BuiltIn& built_in : cluster::catalogue()) names.push_back(built_in.name);
  return names;
}

void add_clusters(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "clusters", "List the built-in clusters and GPU types, or print the file of a cluster.");
  command->footer(
      "Examples:\n"
      "  penstock clusters\n"
      "  penstock clusters summit >mine.yaml\n"
      "  penstock clusters 8xH100x4-rails");
  auto flags = std::make_shared<ClustersFlags>();
  command
      ->add_option("NAME", flags->name, "print the file of this cluster, or of a short form such as 8xH100x4")
      ->type_name("NAME")
      ->check(suggest(cluster_names()));
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback([flags, &action] { action = [flags](const CommandContext&) { return run(*flags); }; });
}

}  // namespace penstock::cli
