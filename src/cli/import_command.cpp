#include "import_command.hpp"

#include <fmt/format.h>

#include "penstock/core/files.hpp"
#include "penstock/graph/graph_file.hpp"

namespace penstock::cli {

void ImportOutputs::add(CLI::App& command) {
  command.add_option("-o,--output", model, "write the model file here (.json)")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--costs", costs,
                  "write the operators' times here (.yaml), for the --costs of plan and run")
      ->type_name("FILE");
}

void ImportOutputs::write(const ImportedModel& imported) const {
  core::FileWriter model_file(model);
  model_file.write(graph::to_json(imported.model));
  if (!costs.empty()) {
    core::FileWriter costs_file(costs);
    costs_file.write(cost::to_yaml(imported.costs));
    costs_file.commit();
  }
  model_file.commit();
  print(fmt::format("{}: {} operators, {:.1f} M parameters\n", imported.model.name(), imported.model.size(),
                    static_cast<double>(imported.model.parameters()) * 1e-6));
}

void add_import(CLI::App& app, Action& action) {
  auto* import = app.add_subcommand(
      "import", "Turn what another tool wrote into a model, a plan, costs, a cluster or a comparison.");
  import->require_subcommand(1);
  for (auto add : {add_import_hf, add_import_megatron, add_import_pipedream, add_import_piper,
                   add_import_kernels, add_import_topo, add_import_trace})
    add(*import, action);
}

}  // namespace penstock::cli
