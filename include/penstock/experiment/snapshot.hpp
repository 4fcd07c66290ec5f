#pragma once
// The files of an experiment as they were when it began.

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

/// Names of schedules that end in .csv are files.
bool is_order_file(const std::string& schedule);

/// A calibration or a profile, as load_costs tells them apart. Throws BadInput naming the path.
std::shared_ptr<const cost::CostModel> parse_costs(const std::string& text, const std::string& path);

/// What the cells of one experiment read, each file once: whoever asks again gets what it held the first
/// time, whatever has become of it since. So every cell runs on the very bytes that its digest was taken of.
/// From any thread; references hold as long as this does. Every member throws BadInput.
class Snapshot {
 public:
  /// Path to text, of files read already.
  using Texts = std::map<std::string, std::string>;

  Snapshot();
  /// Files of which another snapshot has told, on whatever machine; others are read where this one is.
  explicit Snapshot(const Texts& texts);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  /// All that was read so far.
  Texts texts() const;
  /// As the function of that name.
  plan::ModelRef resolved(const plan::ModelRef& ref) const;

  /// Inputs as load_model, load_cluster and load_costs read them; a cluster file is read once for all numbers
  /// of its devices.
  const graph::OpGraph& model(const plan::ModelRef& ref) const;
  const cluster::Cluster& cluster(const plan::ClusterRef& ref) const;
  std::shared_ptr<const cost::CostModel> costs(const std::optional<std::string>& path) const;
  sim::Perturbation perturbation(const std::string& path, const plan::ClusterRef& ref) const;

  /// core::digest of the file's bytes; of a model of the zoo, of its file form; of a built-in cluster
  /// likewise.
  std::string digest(const std::string& path) const;
  std::string digest(const plan::ModelRef& ref) const;
  std::string digest(const plan::ClusterRef& ref) const;

  /// Whether nobody has written the file since its digest was taken: for files that others read again.
  bool unchanged(const std::string& path) const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace penstock::experiment
