#include "cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "overwrite.hpp"
#include "penstock/core/files.hpp"

namespace penstock::experiment {
namespace fs = std::filesystem;

std::optional<CacheEntry> CellCache::find(const std::string& key) const {
  std::error_code fault;
  if (!fs::exists(whole(key), fault)) return std::nullopt;
  try {
    return decode(core::read_file(whole(key)), key);
  } catch (const core::BadInput&) {  // unreadable counts as missing
    return std::nullopt;
  }
}

void CellCache::forget(const std::string& key) const {
  std::error_code fault;  // errors are ignored: the entry then stays
  fs::remove(whole(key), fault);
}

/// The length in bytes of an unfinished part is the number of attempts; it is longer if the last one died
/// while writing.
std::size_t CellCache::attempts(const std::string& key) const {
  constexpr std::uintmax_t kMost = 100;
  std::error_code fault;
  const auto size = fs::file_size(part(key), fault);
  return fault ? 0 : static_cast<std::size_t>(std::min(size, kMost));
}

std::optional<CellCache::CellClaim> CellCache::claim(const std::string& key) const {
  auto lock = core::FileLock::take(part(key));
  if (!lock) return std::nullopt;
  if (find(key)) {  // finished between the look-up and the lock
    std::error_code fault;
    fs::remove(part(key), fault);
    return std::nullopt;
  }
  overwrite(part(key), std::string(attempts(key) + 1, '.'));
  return CellClaim{std::move(*lock), key};
}

void CellCache::store(CellClaim claim, const CacheEntry& entry) const {
  overwrite(part(claim.key), encode(entry, claim.key));
  std::error_code fault;
  fs::rename(part(claim.key), whole(claim.key), fault);
  if (fault) throw core::BadInput("cannot write file '" + whole(claim.key) + "'");
}

std::optional<double> CellCache::seconds(const std::string& cell_name) const {
  double value = 0;
  std::ifstream in(hint(cell_name));
  return in >> value && value >= 0 ? std::optional(value) : std::nullopt;
}

void CellCache::remember(const std::string& cell_name, double seconds) const {
  std::error_code fault;
  fs::create_directories(folder_ + "/seconds", fault);
  std::ofstream(hint(cell_name)) << fmt::format("{:.6f}\n", seconds);  // only a hint: losing it does no harm
}

}  // namespace penstock::experiment
