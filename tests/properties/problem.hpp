#pragma once
// A planning problem with a plan, drawn by seed, in a form that can be made smaller and written to files.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::properties {

/// An operator of a random graph; all per sample.
struct OperatorSpec {
  std::string name;
  double flops = 0;
  std::int64_t parameters = 0, output = 0, saved = 0;  ///< numbers; bytes
  std::vector<std::size_t> inputs;                     ///< operators before it
};

struct ClusterSpec {
  int nodes = 1, devices = 1;                   ///< devices of a node
  double memory = 0;                            ///< bytes
  double flops = 0, bandwidth = 0, launch = 0;  ///< FLOP/s; B/s; s
  double link = 0, link_latency = 0;            ///< B/s, s: within nodes
  double uplink = 0, uplink_latency = 0;        ///< of a node
  std::string runtime{};                        ///< as cluster::runtime reads it; "": none
  int count() const { return nodes * devices; }
};

enum class CostsKind : std::uint8_t { analytic, tables, profile };

/// How the plan comes about.
struct PlanSpec {
  int ranks = 1, chunks = 1, tensor = 1;
  std::int64_t micro_batch = 1;  ///< of all replicas
  std::string schedule = "1f1b";
  int zero = 0;
  plan::Recomputation recompute{};
};

struct ProblemSpec {
  std::uint64_t seed = 0;
  std::vector<OperatorSpec> operators;  ///< of a random graph
  plan::ModelRef zoo{};                 ///< or a model of the zoo
  ClusterSpec cluster;
  CostsKind costs = CostsKind::analytic;
  plan::Training training{};
  PlanSpec plan{};
};

/// Equal seeds give equal specs.
ProblemSpec random_problem(std::uint64_t seed);

std::string cluster_yaml(const ClusterSpec& spec);
/// In bytes and numbers; operators in the order given.
graph::OpGraph random_graph_of(const std::vector<OperatorSpec>& operators);

/// Everything built. Throws core::BadInput for a spec that cannot be.
class BuiltProblem {
 public:
  explicit BuiltProblem(ProblemSpec spec);
  BuiltProblem(const BuiltProblem&) = delete;

  const ProblemSpec& spec() const { return spec_; }
  std::uint64_t id() const { return id_; }  ///< different for each object, unlike its address
  const graph::OpGraph& graph() const { return graph_; }
  const cluster::Cluster& cluster() const { return cluster_; }
  const cost::CostModel& costs() const { return *costs_; }
  cost::Problem problem() const { return {graph_, cluster_, *costs_, spec_.training}; }
  /// Valid, with in-flight counts; none where the spec has no valid one.
  const std::optional<plan::Plan>& plan() const { return plan_; }
  /// Text for `--costs`; empty: analytic.
  const std::string& costs_text() const { return costs_text_; }

 private:
  std::uint64_t id_;
  ProblemSpec spec_;
  graph::OpGraph graph_;
  cluster::Cluster cluster_;
  std::string costs_text_;
  std::unique_ptr<const cost::CostModel> costs_;
  std::optional<plan::Plan> plan_;
};

/// The plan of the spec, valid or not; nothing where its degrees do not divide.
std::optional<plan::Plan> plan_of(const cost::Problem& problem, const ProblemSpec& spec);

/// Writes model.json (of a random graph), cluster.yaml, costs.yaml (unless analytic) and plan.yaml (where
/// there is one) into the folder; returns the command that simulates or plans them.
std::string write_files(const BuiltProblem& world, const std::string& folder);

}  // namespace penstock::properties
