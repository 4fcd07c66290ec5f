#pragma once
// A published run expressed in Penstock: model, cluster and plan.

#include "penstock/cluster/cluster.hpp"
#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/report/published_runs.hpp"

namespace penstock::experiment {

/// Feature of a run that Penstock cannot express, such as "rope positions in gpt blocks"; empty if it can
/// express all.
std::string unstated(const report::PublishedRun& run);

struct PublishedProblem {
  graph::OpGraph graph;
  plan::Plan plan;  ///< divided as in Megatron-LM; in-flight counts are not set
};

/// Builds the zoo's gpt with its head tied, or its llama, mixtral or deepseek_v3, with the softmax of its
/// loss, trained with Adam. Stages have whole layers, the first one also the embeddings, the last one the
/// head; devices are numbered tensor, then context, then data, then pipeline parallel. Throws BadInput for a
/// run with an unstated feature or no model.
PublishedProblem published_problem(const report::PublishedRun& run);

}  // namespace penstock::experiment
