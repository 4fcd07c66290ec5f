#pragma once
// Cache of finished cells, by what their results depend on, shared by processes.

#include <optional>
#include <string>

#include "entry.hpp"
#include "penstock/core/file_lock.hpp"

namespace penstock::experiment {

/// A folder. `<key>.cell` is an entry, `<key>.part` an unfinished one. A process that works on a cell holds
/// the lock of its part. So the cell of a process that died is free at once, and running work is never lost.
/// Any number of processes may use it, also on several machines if their file system shares locks.
class CellCache {
 public:
  explicit CellCache(std::string folder) : folder_(std::move(folder)) {}

  /// Returns nothing if there is none, or if it is damaged.
  std::optional<CacheEntry> find(const std::string& key) const;

  /// Removes the entry, if there is one.
  void forget(const std::string& key) const;

  /// Number of times the cell was begun and not finished, by processes that died or were interrupted.
  std::size_t attempts(const std::string& key) const;

  /// Exclusive right to work on a cell.
  struct CellClaim {
    core::FileLock lock;
    std::string key;
  };
  /// Returns nothing while another process has it, or if the entry exists by now. Throws BadInput if the
  /// folder cannot be written.
  std::optional<CellClaim> claim(const std::string& key) const;
  /// Stores the whole entry. Throws BadInput like claim.
  void store(CellClaim claim, const CacheEntry& entry) const;

  /// Seconds of the last run of the cell with that name, by any version of the program; nothing if there was
  /// none.
  std::optional<double> seconds(const std::string& cell_name) const;
  void remember(const std::string& cell_name, double seconds) const;

 private:
  std::string part(const std::string& key) const { return folder_ + "/" + key + ".part"; }
  std::string whole(const std::string& key) const { return folder_ + "/" + key + ".cell"; }
  std::string hint(const std::string& name) const { return folder_ + "/seconds/" + name; }
  std::string folder_;
};

}  // namespace penstock::experiment
