#pragma once
// Finished cells, found by what their results depend on, and shared out among processes.

#include <optional>
#include <string>

#include "entry.hpp"
#include "penstock/core/file_lock.hpp"

namespace penstock::experiment {

/// A folder. `<key>.cell` is an entry, `<key>.part` one in the making: whoever works on the cell holds its
/// lock, so that a cell whose process died is free at once, and nobody else's work is lost. Any number of
/// processes may use it, on several machines where their file system shares locks.
class Cache {
 public:
  explicit Cache(std::string folder) : folder_(std::move(folder)) {}

  /// Nothing when there is none, or it is damaged.
  std::optional<Entry> find(const std::string& key) const;

  /// Takes the entry out, where there is one.
  void forget(const std::string& key) const;

  /// How often the cell was begun and not finished: by processes that died, or were interrupted.
  std::size_t attempts(const std::string& key) const;

  /// The right to work on a cell.
  struct Claim {
    core::FileLock lock;
    std::string key;
  };
  /// Nothing while another has it, or when the entry is there by now. Throws BadInput when the folder cannot
  /// be written.
  std::optional<Claim> claim(const std::string& key) const;
  /// Puts the entry there, whole. Throws BadInput likewise.
  void store(Claim claim, const Entry& entry) const;

  /// Seconds that the cell of that name took when last run, by whatever program. Nothing when never.
  std::optional<double> seconds(const std::string& cell_name) const;
  void remember(const std::string& cell_name, double seconds) const;

 private:
  std::string part(const std::string& key) const { return folder_ + "/" + key + ".part"; }
  std::string whole(const std::string& key) const { return folder_ + "/" + key + ".cell"; }
  std::string hint(const std::string& name) const { return folder_ + "/seconds/" + name; }
  std::string folder_;
};

}  // namespace penstock::experiment
