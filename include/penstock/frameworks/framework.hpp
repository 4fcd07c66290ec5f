#pragma once
// Training frameworks that a plan can be handed to.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/frameworks/layer_plan.hpp"

namespace penstock::frameworks {

/// Input of a writer.
struct Handover {
  const graph::OpGraph& graph;
  const plan::Plan& plan;
  const LayerPlan& layers;
  std::string csv;  ///< file that holds the order of passes; empty: the framework's own schedule by name
};

struct Framework {
  std::string name;     ///< as --to takes it
  std::string version;  ///< release whose words are written; of later ones as far as they take them
  std::string title;    ///< as its users call it
  std::string summary;  ///< what is written
  std::string source;   ///< where its syntax is documented
  Abilities can;
  std::vector<std::string>
      models;  ///< families of the zoo it can name the modules of; empty: any row of layers
  std::string (*write)(const Handover&);
  /// Values of the model that what is written needs, by parameter: others would make another network.
  std::map<std::string, std::string> demands{};
  /// Parts of the model that it has no words for, as PARAMETER=VALUE or in words; nullptr: not looked for.
  std::vector<std::string> (*unknown_parts)(const plan::ModelRef&) = nullptr;
};

/// megatron, torchtitan, deepspeed, automodel, pytorch, accelerate; each in its current release.
const std::vector<Framework>& catalogue();
std::vector<std::string> framework_names();  ///< of the catalogue
/// Older releases whose words differ: torchtitan 0.2.
const std::vector<Framework>& older_versions();
/// `version` "": the one of the catalogue. Throws BadInput with a hint.
const Framework& framework_named(std::string_view name, std::string_view version = "");

/// Why the framework cannot run the plan, each in a sentence that begins with its title; empty when it can.
/// `with_order`: the order of passes goes along in a file.
std::vector<std::string> refusals(const Framework& framework, const graph::OpGraph& graph,
                                  const plan::Plan& plan, bool with_order);

/// The plan in the framework's words; `csv` names the file of its order, or is empty. Nothing is refused of
/// it.
std::string exported(const Framework& framework, const graph::OpGraph& graph, const plan::Plan& plan,
                     const std::string& csv);

/// The next plan that the framework can run, if there is one (`mended`).
std::optional<plan::Plan> nearest(const Framework& framework, const graph::OpGraph& graph,
                                  const plan::Plan& plan);

/// The plans of a model that a framework can run, for searches. Both must outlive it.
class RunnablePlans {
 public:
  /// Throws BadInput for a model that is no row of layers, or that the framework cannot train.
  RunnablePlans(const Framework& framework, const graph::OpGraph& graph, const plan::ModelRef& model);
  /// The next plan that the framework can run under names of its own (`mended`), without in-flight counts;
  /// nothing where there is none. May be called from any thread.
  std::optional<plan::Plan> nearest(const plan::Plan& plan, const plan::Plan* before) const;

 private:
  const Framework& framework_;
  const graph::OpGraph& graph_;
  plan::LayerRow row_;
};

/// The order of a plan's passes as torch.distributed.pipelining loads it: only forward and backward passes.
std::string order_csv(const plan::Plan& plan);

}  // namespace penstock::frameworks
