#pragma once
// Parameters of one stage on one device: versions, gradients, optimizer.

#include "worker/device.hpp"

namespace penstock::replay {

/// Number of a program's passes that use each version, named by the updates in it, and number of updates.
struct VersionUse {
  std::map<int, int> passes;
  int updates = 0;
};

/// A version is kept while later passes need it (PipeDream's weight stashing: Narayanan et al., SOSP 2019,
/// section 3.3; the two versions of 2BW: Narayanan et al., ICML 2021, section 3.1); otherwise an update is
/// made in place. After the program's last update, the result becomes its first version, so that the program
/// may start again.
class StageWeights {
 public:
  /// For the parameters that `operators` use, including copies of other stages' parameters. Throws BadInput
  /// like the kernels.
  StageWeights(DeviceContext& device, const std::vector<core::OpId>& operators, VersionUse use);

  /// Index of a parameter of the stage in the lists below.
  std::size_t place(kernels::ParameterRef parameter) const { return places_.at(parameter); }

  core::OpId owner(std::size_t place) const { return owners_[place]; }

  const std::vector<Lease>& newest() const { return versions_.at(newest_); }
  /// Weights after `updates` updates; the newest if negative.
  const std::vector<Lease>& version(int updates) const;
  /// A pass that used the version has ended.
  void used(int updates);

  /// Gradient sums of a mini-batch, zeros at first, null for frozen parameters; those of the next one may
  /// begin before the update is made.
  const std::vector<Lease>& gradients(std::int64_t mini_batch) { return sums_of(mini_batch); }
  const std::vector<Lease>& last_gradients() { return gradients(last_); }

  /// Runs the optimizer's update with the gradients of the oldest mini-batch that has some.
  void step();

 private:
  void add(const kernels::ParameterSlot& used);
  void add_update(const kernels::Buffer& weights, const std::string& what);
  bool trains(std::size_t place) const { return updates_[place] != nullptr; }
  std::vector<Lease>& sums_of(std::int64_t mini_batch);
  Lease successor(const Lease& old);
  void retire_gradients();

  DeviceContext& device_;
  VersionUse use_;
  std::map<int, int> left_;  ///< [version] later passes that use it
  std::map<kernels::ParameterRef, std::size_t> places_;
  std::vector<core::OpId> owners_;
  std::vector<kernels::Slot> slots_;
  std::map<int, std::vector<Lease>> versions_;
  int newest_ = 0;
  std::map<std::int64_t, std::vector<Lease>> gradients_;  ///< [mini-batch]
  std::int64_t last_ = 0;
  std::vector<std::unique_ptr<kernels::OptimizerStep>> updates_;  ///< null: frozen
  std::vector<std::vector<Lease>> states_;
  std::int64_t steps_ = 0;
};

}  // namespace penstock::replay
