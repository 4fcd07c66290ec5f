#pragma once
// Problem given to planners: a model, a cluster, how it is trained, what costs are.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "command.hpp"
#include "penstock/experiment/assumptions.hpp"
#include "penstock/experiment/cell.hpp"

namespace penstock::cli {

/// Inputs that ProblemFlags name, read.
struct LoadedProblem {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  std::shared_ptr<const cost::CostModel> costs;
  experiment::Cell cell;  ///< all but the planner
  experiment::Assumptions assumptions{};
  bool whole_layers = false;  ///< stages begin and end between layers, though no framework limits the search

  cost::Problem problem() const { return {graph, cluster, *costs, cell.training}; }
};

struct ProblemFlags {
  ModelFlags model;
  ClusterFlags cluster;
  std::string optimizer;         ///< "": the model's default
  std::int64_t mini_batch = 0;   ///< 0: from the tokens
  std::string tokens_per_batch;  ///< "4M"; "": the default
  CostFlags costs;
  CompressionFlags compression;
  PrecisionFlag precision;
  BucketFlag bucket;

  void add_problem(CLI::App& command);   ///< model, cluster, and what add_batch adds
  void add_batch(CLI::App& command);     ///< mini-batch or its tokens, optimizer, costs
  void add_training(CLI::App& command);  ///< compression, precision, bucket
  /// True of a language model that comes from elsewhere: a released network, a Hugging Face config or a plan file.
  bool is_released() const;
  /// `for_framework`: a framework limits the search. Then, and of released models, attention is flash unless
  /// stated: the zoo's other defaults are those of papers. Throws as its parts.
  LoadedProblem load(bool for_framework) const;
  /// Samples per iteration of the same problem on another number of devices. Throws as load.
  std::int64_t samples_on(const LoadedProblem& loaded, std::int64_t devices) const;
  std::string batch_tokens() const;  ///< tokens per iteration, as text; "": samples are given

 private:
  std::int64_t samples_of(const graph::OpGraph& graph, bool language, std::int64_t devices) const;
  experiment::StatedTraining stated_training(bool reserved) const;
  experiment::Assumptions assumptions(const LoadedProblem& loaded, const frameworks::NamedModel& named,
                                      const experiment::ChosenTraining& chosen, bool chosen_attention) const;
};

}  // namespace penstock::cli
