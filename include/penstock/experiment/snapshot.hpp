#pragma once
// The files of an experiment as they were at its start.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "penstock/cost/cost_model.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::sim {
struct Perturbation;
}

namespace penstock::experiment {

/// True for schedule names that end in .csv.
bool is_order_file(const std::string& schedule);

/// Parses a calibration or a profile, distinguished as in load_costs. Throws BadInput naming the path.
std::shared_ptr<const cost::CostModel> parse_costs(const std::string& text, const std::string& path);

/// Inputs of the cells of one experiment. Each file is read once; later calls return the same content, even
/// if the file has changed. So every cell runs on the bytes of which its digest was taken. Thread-safe;
/// references are valid as long as this object. Every member throws BadInput.
class InputSnapshot {
 public:
  /// Path to text, for files already read.
  using Texts = std::map<std::string, std::string>;

  InputSnapshot();
  /// Uses files that another snapshot has read, on any machine; other files are read here.
  explicit InputSnapshot(const Texts& texts);
  ~InputSnapshot();
  InputSnapshot(const InputSnapshot&) = delete;
  InputSnapshot& operator=(const InputSnapshot&) = delete;

  /// All files read so far.
  Texts texts() const;
  /// Like the function of that name.
  plan::ModelRef resolved(const plan::ModelRef& ref) const;

  /// Inputs as read by load_model, load_cluster and load_costs; a cluster file is read once for all device
  /// counts.
  const graph::OpGraph& model(const plan::ModelRef& ref) const;
  const cluster::Cluster& cluster(const plan::ClusterRef& ref) const;
  std::shared_ptr<const cost::CostModel> costs(const std::optional<std::string>& path) const;
  sim::Perturbation perturbation(const std::string& path, const plan::ClusterRef& ref) const;

  /// core::digest of the file's bytes; for a model of the zoo, of its file form; for a built-in cluster, of
  /// its text.
  std::string digest(const std::string& path) const;
  std::string digest(const plan::ModelRef& ref) const;
  std::string digest(const plan::ClusterRef& ref) const;

  /// True if the file has not changed since its digest was taken: for files that are read again elsewhere.
  bool unchanged(const std::string& path) const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace penstock::experiment
