#pragma once
// Out of memory at every allocation, one after the other, in the way of SQLite's tests
// (https://www.sqlite.org/testing.html).

#include <cstdint>
#include <functional>
#include <string>

namespace penstock::faults {

/// Runs `work` again and again: its first allocation is refused, its second, ..., beyond the first `samples`
/// some `samples` more over all that it makes. Each is refused by itself, and then with all after it. However
/// it goes, `work` must end in std::bad_alloc, which penstock reports as exit code 31, or give the answer
/// that it gives in peace. It must hold no memory afterwards. JSON cannot be tried so: nlohmann's allocates
/// in its destructor, and ends the program where that fails.
void refuse_each(const std::function<std::string()>& work, std::int64_t samples = 25);

}  // namespace penstock::faults
