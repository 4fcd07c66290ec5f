#pragma once
// A published run as Penstock states it: model, cluster and plan.

#include "penstock/cluster/cluster.hpp"
#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/report/published_runs.hpp"

namespace penstock::experiment {

/// What of a run nothing here can state, "rope positions in gpt blocks" for one; empty: all of it can.
std::string unstated(const report::PublishedRun& run);

struct PublishedProblem {
  graph::OpGraph graph;
  plan::Plan plan;  ///< as Megatron-LM divides it; in-flight counts are not set
};

/// The zoo's gpt with its head tied, or its llama, mixtral or deepseek_v3, with the softmax of its loss,
/// trained by Adam. Stages have whole layers, the first one the embeddings too, the last one the head;
/// devices are numbered tensor, then context, then data, then pipeline parallel. Throws BadInput for a run of
/// which something is unstated or no model.
PublishedProblem published_problem(const report::PublishedRun& run);

}  // namespace penstock::experiment
